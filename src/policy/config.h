/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a configuration file says, read and checked: the policies and how the
 * daemon runs.  Immutable once loaded; a reload makes another one.
 *
 * A policy is a named set of limits that are checked all or nothing.  Its own
 * limits are plan 0; each further plan has the same limits, by name, with other
 * figures, and overrides say which keys are on which plan.
 */
#ifndef METE_POLICY_CONFIG_H
#define METE_POLICY_CONFIG_H

#include <mete/mete.h>

#define METE__POLICIES_MAX 1024u
#define METE__LIMITS_MAX 8u /* per policy */
#define METE__PLANS_MAX 64u /* per policy, its own included */
#define METE__NAME_MAX 64u  /* policies, limits, plans, users: [A-Za-z0-9_.-]{1,64} */
#define METE__LISTENERS_MAX 16u
#define METE__USERS_MAX 1024u
#define METE__KEY_PARTS_MAX 8u
#define METE__PROXIES_MAX 64u

struct mete__policy_limit {
    const char *name;
    struct mete_limit limit;
    bool has_cost; /* charged `cost` whatever the request costs */
    uint64_t cost;
};

struct mete__plan {
    const char *name; /* "" for plan 0 */
    struct mete__policy_limit limits[METE__LIMITS_MAX];
};

struct mete__override {
    const char *key; /* bytes */
    size_t key_len;
    bool is_prefix; /* of two that match, the exact one counts, else the longest prefix */
    unsigned plan;
};

enum mete__on_store_failure { METE__FAIL_DENY = 0, METE__FAIL_ALLOW = 1 };

/* Response header styles; any set of them.  Names as in the file: draft-06 ... */
enum mete__header_style {
    METE__HEADERS_DRAFT_06 = 1 << 0,
    METE__HEADERS_DRAFT_07 = 1 << 1,
    METE__HEADERS_DRAFT_10 = 1 << 2, /* the default */
    METE__HEADERS_DRAFT_12 = 1 << 3, /* "draft-12-provisional" */
    METE__HEADERS_X_DELTA = 1 << 4,  /* "x-ratelimit-delta" */
    METE__HEADERS_X_EPOCH = 1 << 5   /* "x-ratelimit-epoch" */
};

/* A part of the key that /check/POLICY makes from a request; parts are joined with 0x1F. */
enum mete__key_source {
    METE__KEY_CLIENT_ADDRESS, /* as struct mete__client_address says */
    METE__KEY_HEADER,         /* name: the header's value; absent is empty */
    METE__KEY_QUERY,          /* name: a query parameter of the request to /check */
    METE__KEY_METHOD,         /* X-Forwarded-Method, else the request's own */
    METE__KEY_PATH            /* X-Forwarded-Uri or X-Original-URI up to '?', else the request's own */
};

struct mete__key_part {
    enum mete__key_source source;
    const char *name; /* header or query */
};

struct mete__policy {
    const char *name;
    size_t limit_count; /* the same in every plan */
    struct mete__plan *plans;
    size_t plan_count;                /* at least 1 */
    struct mete__override *overrides; /* sorted: exact ones by key bytes, then prefixes, longest first */
    size_t override_count;
    size_t exact_count; /* how many of the overrides are exact */
    uint64_t cost;      /* of a request that names none; default 1 */
    bool dry_run;
    enum mete_full_policy on_full;
    enum mete__on_store_failure on_store_failure;
    unsigned headers;                                     /* enum mete__header_style */
    unsigned deny_status;                                 /* of /v1/take and /check: 400..599, default 429 */
    struct mete__key_part key_parts[METE__KEY_PARTS_MAX]; /* default: client_address */
    size_t key_part_count;
    size_t index; /* its place in the configuration */
};

/* The plan a key is on. */
const struct mete__plan *mete__policy_plan(const struct mete__policy *policy, const void *key, size_t key_len);

struct mete__network {
    unsigned char address[16]; /* IPv4 as ::ffff:a.b.c.d */
    unsigned prefix_len;       /* 0..128 */
};

struct mete__client_address {
    const char *header; /* default "X-Forwarded-For"; a header with one address works too */
    /* Which address of the header: with trusted proxies the last one that is not trusted; else `depth` from the
     * right, 1 being the last.  Only believed when the peer is trusted (no trusted_proxies given: loopback and
     * Unix sockets are).  Too few addresses: the leftmost. */
    unsigned depth;
    struct mete__network proxies[METE__PROXIES_MAX];
    size_t proxy_count;
    unsigned ipv6_prefix_len; /* default 64 */
};

enum mete__protocol_kind { METE__PROTOCOL_RESP, METE__PROTOCOL_HTTP };

struct mete__listener {
    enum mete__protocol_kind protocol;
    const char *
        address; /* "127.0.0.1:6379", "[::1]:80", "localhost:0", "unix:/run/mete.sock", "fd:NAME" (socket activation) */
    unsigned unix_mode; /* permission bits of a Unix socket; default 0600 */
    bool is_tls;
};

struct mete__tls_settings {
    const char *certificate; /* PEM files; NULL when there is no TLS */
    const char *key;
    const char *client_ca; /* NULL: clients show no certificate */
};

struct mete__user {
    const char *name; /* "default" is who has not logged in */
    bool has_password;
    unsigned char password_sha256[32];
    const char *certificate_name; /* NULL, or the subject common name of a client certificate that is this user */
    bool may_bring_limits;        /* CL.THROTTLE and its cousins */
    bool may_administer;          /* refund, reset, top, policies, metrics, client list */
    bool may_use_all;             /* policies */
    uint64_t *policies;           /* else: a bit per policy index */
};

struct mete__bounds {
    uint64_t connections_max;    /* default 10000 */
    uint64_t request_bytes_max;  /* one RESP command or HTTP head or body; default 65536 */
    uint64_t output_bytes_max;   /* unsent replies per connection before it is not read any more; default 1 MiB */
    uint64_t idle_timeout_ms;    /* 0: never; default 300000 */
    uint64_t request_timeout_ms; /* from a request's first byte to its last; default 10000 */
    uint64_t drain_timeout_ms;   /* SIGTERM to the end; default 10000 */
};

enum mete__log_format { METE__LOG_LOGFMT, METE__LOG_JSON };

struct mete__config {
    const char *path; /* of the file; NULL for the built-in one */
    struct mete__policy *policies;
    size_t policy_count;
    struct mete__listener listeners[METE__LISTENERS_MAX];
    size_t listener_count;
    unsigned threads; /* 0: one per processor */

    const char *store_path; /* NULL: private memory */
    uint64_t keys_max;
    uint64_t log_units_max;
    enum mete_full_policy on_full; /* of policies that name none, and of CL.THROTTLE */

    struct mete__tls_settings tls;
    bool is_login_required;   /* users are configured and "default" is not among them */
    struct mete__user *users; /* users[0] is "default": who has not logged in */
    size_t user_count;

    struct mete__client_address client_address;
    struct mete__bounds bounds;
    enum mete__log_format log_format;
    unsigned log_level; /* enum mete__log_level of server/log.h: 0 debug, 1 info, 2 warn, 3 error */
    bool log_keys;
    void *memory; /* what everything above points into; the loader's own */
};

/*
 * Reads and checks a file.  On failure every fault found (at most 20) is one line
 * "FILE:LINE:COLUMN: SENTENCE" in why, which is always NUL-terminated.
 * METE_EINVAL (malformed), METE_EIO (cannot be read), METE_ENOMEM.
 */
mete_status mete__config_load(const char *path, struct mete__config **out, char *why, size_t why_size);

/* The same from memory; name stands for the file in sentences. */
mete_status mete__config_parse(const char *name, const char *text, size_t text_len, struct mete__config **out,
                               char *why, size_t why_size);

/* What `mete serve` runs without a file: RESP and HTTP on loopback, one example policy. */
mete_status mete__config_builtin(struct mete__config **out);

void mete__config_destroy(struct mete__config *config); /* NULL is fine */

/* By name; NULL when there is none. */
const struct mete__policy *mete__config_policy(const struct mete__config *config, const char *name, size_t name_len);

#endif
