/* SPDX-License-Identifier: Apache-2.0 */
/* Reads one mapping by its table. */
#include "policy/schema.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "policy/nearest.h"

/* --- storing -------------------------------------------------------------------- */

/* The member's size says its type: bool, unsigned or an enumeration, uint64_t. */
static void store_number(const struct mete__field *field, void *target, uint64_t value)
{
    unsigned char *member = (unsigned char *)target + field->offset;
    unsigned small = (unsigned)value;
    bool is_set = value != 0;
    if (field->size == sizeof(value)) {
        memcpy(member, &value, sizeof(value));
    } else if (field->size == sizeof(small)) {
        memcpy(member, &small, sizeof(small));
    } else {
        memcpy(member, &is_set, sizeof(is_set));
    }
}

static void store_text(const struct mete__field *field, void *target, const char *text)
{
    memcpy((unsigned char *)target + field->offset, &text, sizeof(text));
}

void mete__section_defaults(const struct mete__section *section, void *target)
{
    for (size_t i = 0; i < section->field_count; i++) {
        const struct mete__field *field = &section->fields[i];
        if (field->kind == METE__FIELD_TEXT || field->kind == METE__FIELD_NAME) {
            store_text(field, target, NULL);
        } else if (field->kind != METE__FIELD_OTHER) {
            store_number(field, target, field->fallback);
        }
    }
}

/* --- one value ------------------------------------------------------------------- */

static void read_value(const struct mete__loader *loader, const struct mete__field *field,
                       const struct mete__node *node, void *target)
{
    uint64_t number = 0;
    unsigned word = 0;
    const char *text = NULL;
    switch (field->kind) {
    case METE__FIELD_COUNT:
    case METE__FIELD_BYTES:
    case METE__FIELD_SPAN:
        if (mete__read_number(loader, field, node, &number)) {
            store_number(field, target, number);
        }
        return;
    case METE__FIELD_SWITCH:
    case METE__FIELD_CHOICE:
        if (mete__read_word(loader, field, node, &word)) {
            store_number(field, target, word);
        }
        return;
    case METE__FIELD_TEXT:
        if (mete__read_text(loader, field->name, node, field->max, &text)) {
            store_text(field, target, text);
        }
        return;
    case METE__FIELD_NAME:
        if (mete__read_name(loader, field->name, node, &text)) {
            store_text(field, target, text);
        }
        return;
    case METE__FIELD_OTHER:
        return;
    }
}

/* --- one mapping ------------------------------------------------------------------ */

static void tell_unknown(const struct mete__loader *loader, const struct mete__section *section,
                         const struct mete__node *key)
{
    struct mete__quote found = mete__quote(key->text, key->len);
    struct mete__nearest nearest = mete__nearest_to(key->text, key->len);
    const char *where = section->path[0] != '\0' ? section->path : "the file";
    for (size_t i = 0; i < section->field_count; i++) {
        mete__nearest_try(&nearest, section->fields[i].name);
    }
    if (nearest.found != NULL) {
        mete__fault_at(loader, key, "unknown key %s in %s; did you mean '%s'?", found.text, where, nearest.found);
        return;
    }
    char names[METE__SENTENCE_SIZE / 2];
    size_t len = 0;
    for (size_t i = 0; i < section->field_count && len < sizeof(names); i++) {
        int added = snprintf(names + len, sizeof(names) - len, "%s%s", i == 0 ? "" : ", ", section->fields[i].name);
        len += added > 0 ? (size_t)added : 0;
    }
    mete__fault_at(loader, key, "unknown key %s in %s; it may have: %s", found.text, where, names);
}

static const struct mete__field *find(const struct mete__section *section, const struct mete__node *key)
{
    for (size_t i = 0; i < section->field_count; i++) {
        if (mete__node_is(key, section->fields[i].name)) {
            return &section->fields[i];
        }
    }
    return NULL;
}

/* The first key of the map that reads the same. */
static const struct mete__node *first_like(const struct mete__node *map, const struct mete__node *key)
{
    const struct mete__node *other = map->first;
    while (other != key && !mete__node_is(other, key->text)) {
        other = other->next->next;
    }
    return other;
}

static void read_pair(const struct mete__loader *loader, const struct mete__section *section,
                      const struct mete__node *map, const struct mete__node *key, void *target,
                      const struct mete__node *seen[METE__FIELDS_MAX])
{
    if (key->kind != METE__NODE_TEXT) {
        mete__fault_at(loader, key, "%s, where the name of a key belongs", mete__node_kind_words(key));
        return;
    }
    const struct mete__field *field = find(section, key);
    if (field == NULL) {
        tell_unknown(loader, section, key);
        return;
    }
    size_t index = (size_t)(field - section->fields);
    if (seen[index] != NULL) {
        mete__fault_at(loader, key, "the key '%s' was already given in line %u", field->name,
                       first_like(map, key)->place.line);
        return;
    }
    seen[index] = key->next;
    read_value(loader, field, key->next, target);
}

void mete__section_read(const struct mete__loader *loader, const struct mete__section *section,
                        const struct mete__node *node, void *target, const struct mete__node *seen[METE__FIELDS_MAX])
{
    const char *where = section->path[0] != '\0' ? section->path : "the file";
    memset(seen, 0, METE__FIELDS_MAX * sizeof(seen[0]));
    mete__section_defaults(section, target);
    if (node->kind != METE__NODE_MAP) {
        mete__fault_at(loader, node, "%s: %s, where a mapping of keys to values belongs", where,
                       mete__node_kind_words(node));
        return;
    }
    for (const struct mete__node *key = node->first; key != NULL; key = key->next->next) {
        read_pair(loader, section, node, key, target, seen);
    }
    for (size_t i = 0; i < section->field_count; i++) {
        if (section->fields[i].is_required && seen[i] == NULL) {
            mete__fault_at(loader, node, "%s: the key '%s' is missing", where, section->fields[i].name);
        }
    }
}
