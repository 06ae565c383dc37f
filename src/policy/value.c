/* SPDX-License-Identifier: Apache-2.0 */
/* Single values of a configuration file, and how the sentences about them read. */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "policy/schema.h"

struct unit {
    const char *word;
    uint64_t factor;
};

static const struct unit byte_units[] = {{"KiB", 1024}, {"MiB", 1024 * 1024}, {"GiB", 1024 * 1024 * 1024}, {NULL, 0}};
static const struct unit span_units[] = {{"ms", 1},      {"s", 1000},     {"m", 60000},
                                         {"h", 3600000}, {"d", 86400000}, {NULL, 0}};
static const struct unit no_units[] = {{NULL, 0}};

/* True when the node is one value; the sentence says what else it is. */
static bool is_single(const struct mete__loader *loader, const char *field, const struct mete__node *node)
{
    if (node->kind != METE__NODE_TEXT) {
        mete__fault_at(loader, node, "%s: %s, where a single value belongs", field, mete__node_kind_words(node));
        return false;
    }
    if (node->len == 0 || (node->is_plain && (mete__node_is(node, "~") || mete__node_is(node, "null")))) {
        mete__fault_at(loader, node, "%s: has no value; give one or leave the key out", field);
        return false;
    }
    return true;
}

bool mete__read_text(const struct mete__loader *loader, const char *field, const struct mete__node *node,
                     size_t len_max, const char **out)
{
    if (!is_single(loader, field, node)) {
        return false;
    }
    if (node->len > len_max) {
        mete__fault_at(loader, node, "%s: longer than %zu bytes", field, len_max);
        return false;
    }
    *out = mete__arena_copy(loader->arena, node->text, node->len);
    return *out != NULL;
}

static bool is_name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || mete__is_digit(c) || c == '_' || c == '.' || c == '-';
}

static bool is_name(const struct mete__node *node)
{
    for (size_t i = 0; i < node->len; i++) {
        if (!is_name_byte(node->text[i])) {
            return false;
        }
    }
    return node->len >= 1 && node->len <= METE__NAME_MAX;
}

/* A node that is known to be one value, as a name. */
static bool check_name(const struct mete__loader *loader, const char *field, const struct mete__node *node)
{
    if (!is_name(node)) {
        mete__fault_at(loader, node, "%s: %s is not a name; names are 1 to %u of letters, digits, '_', '.', '-'", field,
                       mete__quote(node->text, node->len).text, METE__NAME_MAX);
        return false;
    }
    return true;
}

bool mete__read_name(const struct mete__loader *loader, const char *field, const struct mete__node *node,
                     const char **out)
{
    if (!is_single(loader, field, node) || !check_name(loader, field, node)) {
        return false;
    }
    *out = mete__arena_copy(loader->arena, node->text, node->len);
    return *out != NULL;
}

/* --- numbers ------------------------------------------------------------------- */

static const struct unit *units_of(const struct mete__field *field)
{
    return field->kind == METE__FIELD_BYTES ? byte_units : field->kind == METE__FIELD_SPAN ? span_units : no_units;
}

static const char *number_form(const struct mete__field *field)
{
    return field->kind == METE__FIELD_BYTES  ? "a number of bytes such as 65536, 64KiB or 1MiB"
           : field->kind == METE__FIELD_SPAN ? "a time such as 500ms, 10s, 5m or 1h"
                                             : "a whole number; write digits only";
}

/* The factor of the unit; 0 when it is unknown.  A span of 0 needs none. */
static uint64_t factor_of(const struct mete__field *field, const struct mete__text *unit, uint64_t number)
{
    if (mete__text_is_empty(unit)) {
        return field->kind != METE__FIELD_SPAN || number == 0 ? 1 : 0;
    }
    for (const struct unit *known = units_of(field); known->word != NULL; known++) {
        if (mete__text_is(unit, known->word)) {
            return known->factor;
        }
    }
    return 0;
}

bool mete__read_number(const struct mete__loader *loader, const struct mete__field *field,
                       const struct mete__node *node, uint64_t *out)
{
    if (!is_single(loader, field->name, node)) {
        return false;
    }
    struct mete__quote found = mete__quote(node->text, node->len);
    struct mete__text text = mete__text_of(node->text, node->len);
    uint64_t number = 0;
    enum mete__number result = mete__text_u64(&text, &number);
    uint64_t factor = factor_of(field, &text, number);
    if (result == METE__NUMBER_NONE || factor == 0 || !node->is_plain) {
        mete__fault_at(loader, node, "%s: %s is not %s%s", field->name, found.text, number_form(field),
                       node->is_plain ? "" : ", without quotes");
        return false;
    }
    bool is_over = result == METE__NUMBER_TOO_LARGE || __builtin_mul_overflow(number, factor, &number);
    if (is_over || number < field->min || number > field->max) {
        mete__fault_at(loader, node, "%s: %s is outside %" PRIu64 "..%" PRIu64 "%s", field->name, found.text,
                       field->min, field->max, field->kind == METE__FIELD_SPAN ? " ms" : "");
        return false;
    }
    *out = number;
    return true;
}

/* --- words ---------------------------------------------------------------------- */

static const struct mete__choice switch_words[] = {{"false", 0}, {"true", 1}, {NULL, 0}};

static size_t list_words(const struct mete__choice *choices, char *text, size_t size)
{
    size_t len = 0;
    text[0] = '\0';
    for (const struct mete__choice *choice = choices; choice->word != NULL && len < size; choice++) {
        const char *gap = choice == choices ? "" : choice[1].word == NULL ? " or " : ", ";
        int added = snprintf(text + len, size - len, "%s%s", gap, choice->word);
        len += added > 0 ? (size_t)added : 0;
    }
    return len;
}

bool mete__read_word(const struct mete__loader *loader, const struct mete__field *field, const struct mete__node *node,
                     unsigned *out)
{
    const struct mete__choice *choices = field->kind == METE__FIELD_SWITCH ? switch_words : field->choices;
    if (!is_single(loader, field->name, node)) {
        return false;
    }
    for (const struct mete__choice *choice = choices; choice->word != NULL; choice++) {
        if (mete__node_is(node, choice->word) && (node->is_plain || field->kind != METE__FIELD_SWITCH)) {
            *out = choice->value;
            return true;
        }
    }
    char words[METE__SENTENCE_SIZE / 2];
    list_words(choices, words, sizeof(words));
    mete__fault_at(loader, node, "%s: %s is not %s%s", field->name, mete__quote(node->text, node->len).text, words,
                   field->kind == METE__FIELD_SWITCH ? ", without quotes" : "");
    return false;
}

bool mete__is_token(const char *text, size_t len)
{
    static const char marks[] = "!#$%&'*+-.^_`|~";
    for (size_t i = 0; i < len; i++) {
        bool is_word = is_name_byte(text[i]);
        if (!is_word && (text[i] == '\0' || strchr(marks, text[i]) == NULL)) {
            return false;
        }
    }
    return len > 0;
}

/* --- collections ------------------------------------------------------------------ */

static bool is_countable(const struct mete__loader *loader, const char *field, const struct mete__node *node,
                         size_t count_max)
{
    if (node->count == 0) {
        mete__fault_at(loader, node, "%s: is empty; fill it or leave the key out", field);
        return false;
    }
    if (node->count > count_max) {
        mete__fault_at(loader, node, "%s: %zu given, at most %zu taken", field, node->count, count_max);
        return false;
    }
    return true;
}

static bool is_kind(const struct mete__loader *loader, const char *field, const struct mete__node *node,
                    enum mete__node_kind kind, const char *wanted)
{
    if (node->kind == kind) {
        return true;
    }
    if (node->kind == METE__NODE_TEXT && node->len == 0) {
        mete__fault_at(loader, node, "%s: is empty; %s belongs here", field, wanted);
    } else {
        mete__fault_at(loader, node, "%s: %s, where %s belongs", field, mete__node_kind_words(node), wanted);
    }
    return false;
}

bool mete__read_list(const struct mete__loader *loader, const char *field, const struct mete__node *node,
                     size_t count_max)
{
    return is_kind(loader, field, node, METE__NODE_LIST, "a list") && is_countable(loader, field, node, count_max);
}

/* The lines of both, when a name comes twice. */
static void check_new(const struct mete__loader *loader, const char *field, const struct mete__node *map,
                      const struct mete__node *key)
{
    for (const struct mete__node *other = map->first; other != key; other = other->next->next) {
        if (other->kind == METE__NODE_TEXT && mete__node_is(key, other->text)) {
            mete__fault_at(loader, key, "%s: '%s' was already given in line %u", field, key->text, other->place.line);
            return;
        }
    }
}

bool mete__read_names(const struct mete__loader *loader, const char *field, const struct mete__node *node,
                      size_t count_max)
{
    if (!is_kind(loader, field, node, METE__NODE_MAP, "a mapping") || !is_countable(loader, field, node, count_max)) {
        return false;
    }
    for (const struct mete__node *key = node->first; key != NULL; key = key->next->next) {
        if (key->kind != METE__NODE_TEXT) {
            mete__fault_at(loader, key, "%s: %s, where a name belongs", field, mete__node_kind_words(key));
        } else if (check_name(loader, field, key)) {
            check_new(loader, field, node, key);
        }
    }
    return true;
}
