/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/node.h"

#include <string.h>

#include <yaml.h>

#include "policy/source.h"

struct builder {
    yaml_parser_t parser;
    struct mete__arena *arena;
    struct mete__faults *faults;
    struct mete__node *open[METE__DEPTH_MAX]; /* the lists and maps that are not over */
    size_t depth;
    struct mete__node *root;
    size_t nodes;
};

static struct mete__place place_of(yaml_mark_t mark)
{
    return (struct mete__place){(unsigned)mark.line + 1, (unsigned)mark.column + 1};
}

static bool refuse(struct builder *builder, struct mete__place place, const char *sentence)
{
    mete__faults_add(builder->faults, place, "%s", sentence);
    return false;
}

/* A new node, hung where the text is now. */
static struct mete__node *add(struct builder *builder, const yaml_event_t *event, enum mete__node_kind kind)
{
    struct mete__place place = place_of(event->start_mark);
    if (++builder->nodes > METE__NODES_MAX) {
        mete__faults_add(builder->faults, place, "the file has more than %u keys and values", METE__NODES_MAX);
        return NULL;
    }
    struct mete__node *node = mete__arena_take(builder->arena, sizeof(*node));
    if (node == NULL) {
        return NULL;
    }
    node->kind = kind;
    node->place = place;
    struct mete__node *parent = builder->depth > 0 ? builder->open[builder->depth - 1] : NULL;
    if (parent == NULL) {
        builder->root = node;
        return node;
    }
    if (parent->last != NULL) {
        parent->last->next = node;
    } else {
        parent->first = node;
    }
    parent->last = node;
    parent->count++;
    return node;
}

static bool add_text(struct builder *builder, const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;
    size_t len = event->data.scalar.length;
    struct mete__node *node = add(builder, event, METE__NODE_TEXT);
    if (node == NULL) {
        return false;
    }
    /* "\0" in double quotes. */
    if (memchr(text, '\0', len) != NULL) {
        return refuse(builder, node->place, "a text may not contain the character U+0000");
    }
    node->is_plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    node->len = len;
    node->text = mete__arena_copy(builder->arena, text, len);
    return node->text != NULL;
}

static bool open_node(struct builder *builder, const yaml_event_t *event, enum mete__node_kind kind)
{
    if (builder->depth == METE__DEPTH_MAX) {
        mete__faults_add(builder->faults, place_of(event->start_mark), "nested deeper than %u levels", METE__DEPTH_MAX);
        return false;
    }
    struct mete__node *node = add(builder, event, kind);
    if (node == NULL) {
        return false;
    }
    builder->open[builder->depth++] = node;
    return true;
}

static void close_node(struct builder *builder)
{
    struct mete__node *node = builder->open[--builder->depth];
    if (node->kind == METE__NODE_MAP) {
        node->count /= 2;
    }
}

static bool is_decorated(const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return event->data.scalar.anchor != NULL || event->data.scalar.tag != NULL;
    case YAML_SEQUENCE_START_EVENT:
        return event->data.sequence_start.anchor != NULL || event->data.sequence_start.tag != NULL;
    case YAML_MAPPING_START_EVENT:
        return event->data.mapping_start.anchor != NULL || event->data.mapping_start.tag != NULL;
    default:
        return event->type == YAML_ALIAS_EVENT;
    }
}

static bool take_event(struct builder *builder, const yaml_event_t *event)
{
    struct mete__place place = place_of(event->start_mark);
    if (is_decorated(event)) {
        return refuse(builder, place, "anchors (&), aliases (*) and tags (!) are not taken; write the value itself");
    }
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        return builder->root == NULL || refuse(builder, place, "a second document; a configuration is one");
    case YAML_SCALAR_EVENT:
        return add_text(builder, event);
    case YAML_SEQUENCE_START_EVENT:
        return open_node(builder, event, METE__NODE_LIST);
    case YAML_MAPPING_START_EVENT:
        return open_node(builder, event, METE__NODE_MAP);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        close_node(builder);
        return true;
    default:
        return true;
    }
}

static void tell_problem(struct builder *builder)
{
    const yaml_parser_t *parser = &builder->parser;
    if (parser->error == YAML_MEMORY_ERROR) {
        builder->arena->is_exhausted = true;
        return;
    }
    const char *problem = parser->problem != NULL ? parser->problem : "it cannot be read";
    if (parser->context != NULL) {
        mete__faults_add(builder->faults, place_of(parser->problem_mark), "not YAML: %s, %s (from line %zu)",
                         parser->context, problem, parser->context_mark.line + 1);
    } else {
        mete__faults_add(builder->faults, place_of(parser->problem_mark), "not YAML: %s", problem);
    }
}

static bool take_events(struct builder *builder)
{
    for (;;) {
        yaml_event_t event;
        if (yaml_parser_parse(&builder->parser, &event) == 0) {
            tell_problem(builder);
            return false;
        }
        bool is_end = event.type == YAML_STREAM_END_EVENT;
        bool is_taken = take_event(builder, &event);
        yaml_event_delete(&event);
        if (is_end || !is_taken) {
            return is_taken;
        }
    }
}

struct mete__node *mete__node_parse(const char *text, size_t len, struct mete__arena *arena,
                                    struct mete__faults *faults)
{
    static const char byte_order_mark[] = "\xef\xbb\xbf";
    if (len >= 3 && memcmp(text, byte_order_mark, 3) == 0) {
        text += 3;
        len -= 3;
    }
    if (!mete__source_check(text, len, faults)) {
        return NULL;
    }
    struct builder builder = {.arena = arena, .faults = faults};
    if (yaml_parser_initialize(&builder.parser) == 0) {
        arena->is_exhausted = true;
        return NULL;
    }
    yaml_parser_set_encoding(&builder.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&builder.parser, (const unsigned char *)text, len);
    bool is_whole = take_events(&builder);
    yaml_parser_delete(&builder.parser);
    if (!is_whole) {
        return NULL;
    }
    if (builder.root == NULL) {
        mete__faults_add(faults, (struct mete__place){1, 1}, "the file is empty; it should at least name a policy");
    }
    return builder.root;
}

const char *mete__node_kind_words(const struct mete__node *node)
{
    switch (node->kind) {
    case METE__NODE_LIST:
        return "a list";
    case METE__NODE_MAP:
        return "a mapping";
    case METE__NODE_TEXT:
        break;
    }
    return "a single value";
}

bool mete__node_is(const struct mete__node *node, const char *word)
{
    return node->kind == METE__NODE_TEXT && node->len == strlen(word) && memcmp(node->text, word, node->len) == 0;
}
