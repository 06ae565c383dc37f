/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration file as tables: one section per kind of mapping, one field
 * per key.  What is read, what is refused, the defaults and the documented
 * reference all come from them, so they cannot differ.
 */
#ifndef METE_POLICY_SCHEMA_H
#define METE_POLICY_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "policy/config.h"
#include "policy/node.h"

#define METE__FIELDS_MAX 16u

/* What a file is read with. */
struct mete__loader {
    struct mete__arena *arena; /* what lives as long as the configuration */
    struct mete__faults *faults;
    struct mete__config *config;
};

enum mete__field_kind {
    METE__FIELD_COUNT,  /* digits */
    METE__FIELD_BYTES,  /* digits, alone or with KiB, MiB, GiB */
    METE__FIELD_SPAN,   /* digits with ms, s, m, h, d; kept in milliseconds */
    METE__FIELD_SWITCH, /* true or false */
    METE__FIELD_CHOICE, /* one of the words of `choices` */
    METE__FIELD_TEXT,   /* at most `max` bytes, not empty */
    METE__FIELD_NAME,   /* [A-Za-z0-9_.-]{1,64} */
    METE__FIELD_OTHER   /* the section's own code reads it, from `seen` */
};

struct mete__choice {
    const char *word;
    unsigned value;
};

struct mete__field {
    const char *name;
    enum mete__field_kind kind;
    bool is_required;
    size_t offset; /* of the member it fills */
    size_t size;
    uint64_t min;
    uint64_t max;
    uint64_t fallback;                  /* numbers, switches, choices: the default */
    const char *shown_type;             /* for the reference, where the kind does not say enough */
    const char *shown_default;          /* for the reference, where the fallback does not say it */
    const struct mete__choice *choices; /* up to the one without a word */
    const char *help;
};

struct mete__section {
    const char *path; /* as the reference shows it: "policies.NAME" */
    const struct mete__field *fields;
    size_t field_count;
    const char *help;
};

#define METE__MEMBER(type, member) .offset = offsetof(type, member), .size = sizeof(((type *)NULL)->member)
#define METE__COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/*
 * Sets the defaults in target (whose other members stay), then reads the
 * mapping.  Faults: no mapping, unknown and repeated keys, values that are not of
 * the kind or out of range, missing fields.  seen[i] becomes the value of field i
 * or NULL, also when it is wrong.
 */
void mete__section_read(const struct mete__loader *loader, const struct mete__section *section,
                        const struct mete__node *node, void *target, const struct mete__node *seen[METE__FIELDS_MAX]);

/* The defaults alone; texts become NULL. */
void mete__section_defaults(const struct mete__section *section, void *target);

#define mete__fault_at(loader, node, ...) mete__faults_add((loader)->faults, (node)->place, __VA_ARGS__)

/* --- values: all add a fault and return false when the node is not one ---------- */

bool mete__read_text(const struct mete__loader *loader, const char *field, const struct mete__node *node,
                     size_t len_max, const char **out);
bool mete__read_name(const struct mete__loader *loader, const char *field, const struct mete__node *node,
                     const char **out);
bool mete__read_number(const struct mete__loader *loader, const struct mete__field *field,
                       const struct mete__node *node, uint64_t *out);
bool mete__read_word(const struct mete__loader *loader, const struct mete__field *field, const struct mete__node *node,
                     unsigned *out);

/* A list of 1..count_max items: a fault and false when it is none. */
bool mete__read_list(const struct mete__loader *loader, const char *field, const struct mete__node *node,
                     size_t count_max);

/* A mapping whose 1..count_max keys are names of the file's own, each but once:
 * false when it is no mapping or too large.  Wrong keys are faults too, but stay
 * in it, so that faults in their values are found; such a key may be no text. */
bool mete__read_names(const struct mete__loader *loader, const char *field, const struct mete__node *node,
                      size_t count_max);

/* A field-name of HTTP: RFC 9110, section 5.6.2. */
bool mete__is_token(const char *text, size_t len);

extern const struct mete__choice mete__on_full_words[];

/* --- the sections, in the order of the reference ------------------------------- */

extern const struct mete__section mete__section_root;
extern const struct mete__section mete__section_listen;
extern const struct mete__section mete__section_store;
extern const struct mete__section mete__section_tls;
extern const struct mete__section mete__section_user;
extern const struct mete__section mete__section_client_address;
extern const struct mete__section mete__section_bounds;
extern const struct mete__section mete__section_log;
extern const struct mete__section mete__section_policy;
extern const struct mete__section mete__section_limit;
extern const struct mete__section mete__section_override;

/* Each reads one key of the root.  node may be NULL: absent. */
void mete__load_listeners(const struct mete__loader *loader, const struct mete__node *node);
void mete__load_tls(const struct mete__loader *loader, const struct mete__node *node);
void mete__load_client_address(const struct mete__loader *loader, const struct mete__node *node);
void mete__load_policies(const struct mete__loader *loader, const struct mete__node *node);
void mete__load_users(const struct mete__loader *loader, const struct mete__node *node); /* after policies, tls */

/* Of one policy, when its plans are known. */
void mete__load_overrides(const struct mete__loader *loader, const struct mete__node *node,
                          struct mete__policy *policy);

/* The plan's index by its name, "default" being the policy's own limits; false when there is none. */
bool mete__plan_find(const struct mete__policy *policy, const char *name, size_t name_len, unsigned *out);

#endif
