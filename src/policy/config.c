/* SPDX-License-Identifier: Apache-2.0 */
/* A configuration from a file, from memory, or built in; and its first level. */
#include "policy/config.h"

#include <stdlib.h>
#include <string.h>

#include "policy/load.h"
#include "policy/schema.h"
#include "policy/source.h"

/* What a configuration may take: the largest file, mostly plans of eight limits. */
#define MEMORY_MAX ((size_t)256 << 20)
#define STORE_KEYS_MAX (UINT64_C(1) << 36) /* of mete_store_create */
#define PATH_LEN_MAX 4095u
#define HOUR_MS UINT64_C(3600000)

/* --- the tables -------------------------------------------------------------- */

enum {
    ROOT_LISTEN,
    ROOT_THREADS,
    ROOT_STORE,
    ROOT_TLS,
    ROOT_USERS,
    ROOT_CLIENT_ADDRESS,
    ROOT_BOUNDS,
    ROOT_LOG,
    ROOT_POLICIES,
    ROOT_COUNT
};

static const struct mete__field root_fields[ROOT_COUNT] = {
    [ROOT_LISTEN] = {.name = "listen",
                     .kind = METE__FIELD_OTHER,
                     .shown_type = "list of mappings, at most 16",
                     .shown_default = "RESP on 127.0.0.1:6379, HTTP on 127.0.0.1:8080",
                     .help = "where clients connect"},
    [ROOT_THREADS] = {.name = "threads",
                      .kind = METE__FIELD_COUNT,
                      METE__MEMBER(struct mete__config, threads),
                      .max = 256,
                      .shown_default = "0: one per processor",
                      .help = "event loops, each with its own share of the connections"},
    [ROOT_STORE] = {.name = "store",
                    .kind = METE__FIELD_OTHER,
                    .shown_type = "mapping",
                    .help = "where what was spent is kept"},
    [ROOT_TLS] = {.name = "tls",
                  .kind = METE__FIELD_OTHER,
                  .shown_type = "mapping",
                  .shown_default = "no TLS",
                  .help = "the certificate of the listeners with `tls: true`"},
    [ROOT_USERS] = {.name = "users",
                    .kind = METE__FIELD_OTHER,
                    .shown_type = "list of mappings, at most 1024",
                    .shown_default = "everybody may do everything",
                    .help = "who may do what; without a user `default` everybody must log in"},
    [ROOT_CLIENT_ADDRESS] = {.name = "client_address",
                             .kind = METE__FIELD_OTHER,
                             .shown_type = "mapping",
                             .help = "how the address of a client is found behind proxies"},
    [ROOT_BOUNDS] = {.name = "bounds",
                     .kind = METE__FIELD_OTHER,
                     .shown_type = "mapping",
                     .help = "what connections may take, in number, bytes and time"},
    [ROOT_LOG] = {.name = "log",
                  .kind = METE__FIELD_OTHER,
                  .shown_type = "mapping",
                  .help = "what is written to standard error"},
    [ROOT_POLICIES] = {.name = "policies",
                       .kind = METE__FIELD_OTHER,
                       .shown_type = "mapping from names to policies, at most 1024",
                       .shown_default = "none: only limits that clients bring",
                       .help = "the limits, by the name that requests call them"},
};

const struct mete__section mete__section_root = {"", root_fields, ROOT_COUNT, "The file."};

const struct mete__choice mete__on_full_words[] = {
    {"evict", METE_FULL_EVICT}, {"deny", METE_FULL_DENY}, {"allow", METE_FULL_ALLOW}, {NULL, 0}};

enum { STORE_PATH, STORE_KEYS_MAX_FIELD, STORE_LOG_UNITS_MAX, STORE_ON_FULL, STORE_COUNT };

static const struct mete__field store_fields[STORE_COUNT] = {
    [STORE_PATH] = {.name = "path",
                    .kind = METE__FIELD_TEXT,
                    METE__MEMBER(struct mete__config, store_path),
                    .max = PATH_LEN_MAX,
                    .shown_type = "`memory` or a file",
                    .shown_default = "memory",
                    .help = "a file survives a restart and is created when absent"},
    [STORE_KEYS_MAX_FIELD] = {.name = "keys_max",
                              .kind = METE__FIELD_COUNT,
                              METE__MEMBER(struct mete__config, keys_max),
                              .min = 1,
                              .max = STORE_KEYS_MAX,
                              .fallback = 1000000,
                              .help = "live keys held, at 21.3 bytes each; a file made for another number is refused"},
    [STORE_LOG_UNITS_MAX] = {.name = "log_units_max",
                             .kind = METE__FIELD_COUNT,
                             METE__MEMBER(struct mete__config, log_units_max),
                             .min = 1,
                             .max = STORE_KEYS_MAX,
                             .fallback = 1048576,
                             .help = "units kept for all keys of each sliding_log limit, at 8 bytes each"},
    [STORE_ON_FULL] = {.name = "on_full",
                       .kind = METE__FIELD_CHOICE,
                       METE__MEMBER(struct mete__config, on_full),
                       .fallback = METE_FULL_EVICT,
                       .choices = mete__on_full_words,
                       .help = "a new key finds no room: forget the key closest to full, deny, or allow uncounted"},
};

const struct mete__section mete__section_store = {"store", store_fields, STORE_COUNT,
                                                  "Where what was spent is kept, and how much of it."};

#define BOUND(member_name, kind_name, least, most, standard, text)                                                 \
    {                                                                                                              \
        .name = #member_name, .kind = (kind_name), METE__MEMBER(struct mete__bounds, member_name), .min = (least), \
        .max = (most), .fallback = (standard), .help = (text)                                                      \
    }
#define TIMEOUT(name_text, member_name, least, most, standard, text)                                                   \
    {                                                                                                                  \
        .name = (name_text), .kind = METE__FIELD_SPAN, METE__MEMBER(struct mete__bounds, member_name), .min = (least), \
        .max = (most), .fallback = (standard), .help = (text)                                                          \
    }

static const struct mete__field bounds_fields[] = {
    BOUND(connections_max, METE__FIELD_COUNT, 1, 1000000, 10000, "connections at once; more are closed at once"),
    BOUND(request_bytes_max, METE__FIELD_BYTES, 1024, UINT64_C(64) << 20, 65536,
          "one RESP command, or the head or the body of one HTTP request"),
    BOUND(output_bytes_max, METE__FIELD_BYTES, 4096, UINT64_C(1) << 30, 1048576,
          "replies a connection may leave unread before it is not read any more"),
    TIMEOUT("idle_timeout", idle_timeout_ms, 0, 24 * HOUR_MS, 300000,
            "a connection without a request; 0: never closed; looked at once a second"),
    TIMEOUT("request_timeout", request_timeout_ms, 10, HOUR_MS, 10000,
            "from the first byte of a request to its last; looked at once a second"),
    TIMEOUT("drain_timeout", drain_timeout_ms, 0, HOUR_MS, 10000, "from the signal to stop to the end"),
};

const struct mete__section mete__section_bounds = {"bounds", bounds_fields, METE__COUNT_OF(bounds_fields),
                                                   "What connections may take. Nothing grows beyond these."};

static const struct mete__choice format_words[] = {{"logfmt", METE__LOG_LOGFMT}, {"json", METE__LOG_JSON}, {NULL, 0}};
static const struct mete__choice level_words[] = {{"debug", 0}, {"info", 1}, {"warn", 2}, {"error", 3}, {NULL, 0}};

static const struct mete__field log_fields[] = {
    {.name = "format",
     .kind = METE__FIELD_CHOICE,
     METE__MEMBER(struct mete__config, log_format),
     .fallback = METE__LOG_LOGFMT,
     .choices = format_words,
     .help = "one line per event"},
    {.name = "level",
     .kind = METE__FIELD_CHOICE,
     METE__MEMBER(struct mete__config, log_level),
     .fallback = 1,
     .choices = level_words,
     .help = "the least that is written"},
    {.name = "keys",
     .kind = METE__FIELD_SWITCH,
     METE__MEMBER(struct mete__config, log_keys),
     .help = "log each denial with its key, at most 100 lines a second and loop; else no line shows a key"},
};

const struct mete__section mete__section_log = {"log", log_fields, METE__COUNT_OF(log_fields),
                                                "What is written to standard error."};

/* --- reading ------------------------------------------------------------------- */

/* A section without keys of its own kind; absent, its defaults. */
static void load_plain(const struct mete__loader *loader, const struct mete__section *section,
                       const struct mete__node *node, void *target)
{
    const struct mete__node *seen[METE__FIELDS_MAX];
    if (node == NULL) {
        mete__section_defaults(section, target);
        return;
    }
    mete__section_read(loader, section, node, target, seen);
}

static void load_root(const struct mete__loader *loader, const struct mete__node *root)
{
    struct mete__config *config = loader->config;
    const struct mete__node *seen[METE__FIELDS_MAX];
    mete__section_read(loader, &mete__section_root, root, config, seen);
    load_plain(loader, &mete__section_store, seen[ROOT_STORE], config);
    if (config->store_path != NULL && strcmp(config->store_path, "memory") == 0) {
        config->store_path = NULL;
    }
    load_plain(loader, &mete__section_bounds, seen[ROOT_BOUNDS], &config->bounds);
    load_plain(loader, &mete__section_log, seen[ROOT_LOG], config);
    mete__load_tls(loader, seen[ROOT_TLS]);
    mete__load_listeners(loader, seen[ROOT_LISTEN]);
    mete__load_client_address(loader, seen[ROOT_CLIENT_ADDRESS]);
    mete__load_policies(loader, seen[ROOT_POLICIES]);
    mete__load_users(loader, seen[ROOT_USERS]);
}

/* What a configuration points into, itself included. */
struct memory {
    struct mete__arena arena;
    struct mete__config config;
    const struct mete__policy **by_name; /* sorted: requests name their policy */
};

static int compare_names(const char *a, size_t a_len, const char *b, size_t b_len)
{
    if (a_len != b_len) {
        return a_len < b_len ? -1 : 1;
    }
    return memcmp(a, b, a_len);
}

static int compare_policies(const void *a, const void *b)
{
    const char *a_name = (*(const struct mete__policy *const *)a)->name;
    const char *b_name = (*(const struct mete__policy *const *)b)->name;
    return compare_names(a_name, strlen(a_name), b_name, strlen(b_name));
}

static void sort_by_name(struct memory *memory)
{
    const struct mete__config *config = &memory->config;
    memory->by_name = mete__arena_take_array(&memory->arena, config->policy_count + 1, sizeof(memory->by_name[0]));
    if (memory->by_name == NULL) {
        return;
    }
    for (size_t i = 0; i < config->policy_count; i++) {
        memory->by_name[i] = &config->policies[i];
    }
    qsort(memory->by_name, config->policy_count, sizeof(memory->by_name[0]), compare_policies);
}

static struct memory *memory_create(size_t budget)
{
    struct memory *memory = calloc(1, sizeof(*memory));
    if (memory != NULL) {
        memory->arena.budget = budget;
        memory->config.memory = memory;
    }
    return memory;
}

void mete__config_destroy(struct mete__config *config)
{
    if (config != NULL) {
        struct memory *memory = config->memory;
        mete__arena_clear(&memory->arena);
        free(memory);
    }
}

static mete_status parse(struct memory *memory, const char *text, size_t len, struct mete__faults *faults)
{
    struct mete__arena nodes = {.budget = memory->arena.budget};
    const struct mete__loader loader = {&memory->arena, faults, &memory->config};
    const struct mete__node *root = mete__node_parse(text, len, &nodes, faults);
    if (root != NULL) {
        load_root(&loader, root);
    }
    if (faults->count == 0) {
        sort_by_name(memory);
    }
    bool is_exhausted = nodes.is_exhausted || memory->arena.is_exhausted;
    mete__arena_clear(&nodes);
    if (is_exhausted) {
        /* What else was found may be because of it. */
        faults->count = 0;
        mete__faults_add(faults, (struct mete__place){0, 0}, "no memory to read it");
        return METE_ENOMEM;
    }
    return faults->count == 0 ? METE_OK : METE_EINVAL;
}

mete_status mete__config_parse_within(size_t budget, const char *name, const char *text, size_t text_len,
                                      struct mete__config **out, char *why, size_t why_size)
{
    struct mete__faults faults = {.count = 0};
    struct memory *memory = memory_create(budget);
    mete_status status = METE_ENOMEM;
    if (memory != NULL) {
        status = parse(memory, text, text_len, &faults);
    } else {
        mete__faults_add(&faults, (struct mete__place){0, 0}, "no memory to read it");
    }
    if (status == METE_OK) {
        memory->config.path = mete__arena_copy(&memory->arena, name, strlen(name));
        status = memory->config.path != NULL ? METE_OK : METE_ENOMEM;
    }
    mete__faults_write(&faults, name, why, why_size);
    if (status != METE_OK) {
        mete__config_destroy(memory != NULL ? &memory->config : NULL);
        return status;
    }
    *out = &memory->config;
    return METE_OK;
}

mete_status mete__config_parse(const char *name, const char *text, size_t text_len, struct mete__config **out,
                               char *why, size_t why_size)
{
    return mete__config_parse_within(MEMORY_MAX, name, text, text_len, out, why, why_size);
}

mete_status mete__config_load(const char *path, struct mete__config **out, char *why, size_t why_size)
{
    struct mete__arena arena = {.budget = MEMORY_MAX};
    struct mete__faults faults = {.count = 0};
    char sentence[METE__SENTENCE_SIZE];
    char *text = NULL;
    size_t len = 0;
    mete_status status = mete__source_read(path, METE__FILE_BYTES_MAX, &arena, &text, &len, sentence);
    if (status == METE_OK) {
        status = mete__config_parse(path, text, len, out, why, why_size);
    } else {
        mete__faults_add(&faults, (struct mete__place){0, 0}, "%s", sentence);
        mete__faults_write(&faults, path, why, why_size);
    }
    mete__arena_clear(&arena);
    return status;
}

mete_status mete__config_builtin(struct mete__config **out)
{
    static const char text[] = "policies:\n"
                               "  example:\n"
                               "    limits:\n"
                               "      per_minute: 10/1m burst 5\n";
    mete_status status = mete__config_parse("built-in", text, sizeof(text) - 1, out, NULL, 0);
    if (status == METE_OK) {
        (*out)->path = NULL;
    }
    return status;
}

const struct mete__policy *mete__config_policy(const struct mete__config *config, const char *name, size_t name_len)
{
    const struct memory *memory = config->memory;
    size_t low = 0;
    size_t high = config->policy_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct mete__policy *policy = memory->by_name[middle];
        int order = compare_names(name, name_len, policy->name, strlen(policy->name));
        if (order == 0) {
            return policy;
        }
        if (order < 0) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return NULL;
}
