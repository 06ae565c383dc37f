/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mete: per-key rate limits that are exact, thread-safe and bounded in memory.
 *
 * The nouns, from the outside in:
 *
 *   store    memory that holds what every key has spent; bounded at creation;
 *            private to the process, or a file shared by processes
 *   limiter  one named limit over a store; its keys are its own
 *   limit    the rule: count units per period, at most burst at one instant
 *   request  a key, a cost and a time
 *   decision allowed or denied, and what the caller may tell the client
 *
 * Threads: every function that takes a store or a limiter may run from any
 * thread at any time, except _create, _destroy and (per limiter) _set_limit
 * among themselves on the same object.  Deciding is lock-free: a thread or a
 * process that stops, or is killed, at any instruction never holds up another.
 *
 * Forking: a child may go on using a private store's copy, or a file's store.  Fork
 * while no other thread is in a function that creates, destroys, changes a limit or
 * takes statistics; they use mutexes.
 *
 * Errors: a denial is not an error.  Functions return METE_OK or a negative
 * status; `out` parameters are written only on METE_OK.  No function sets
 * errno, prints, or keeps a "last error".
 *
 * Times are nanoseconds.  A store's time reads like Unix time with the default
 * clock, but it is monotonic: it never steps with the wall clock.  Times above
 * METE_TIME_MAX are refused with METE_ERANGE.
 */
#ifndef METE_METE_H
#define METE_METE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define METE_VERSION "0.1.0"

#if defined(_WIN32)
#error "mete needs a POSIX system"
#elif defined(__GNUC__)
#define METE_API __attribute__((visibility("default")))
#else
#define METE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* As now_ns: read the store's clock. */
#define METE_NOW UINT64_MAX
/* As a wait: can never pass, however long one waits. */
#define METE_NEVER UINT64_MAX
/* The latest time a store accepts: 2100-01-01T00:00:00Z. */
#define METE_TIME_MAX UINT64_C(4102444800000000000)
/* The longest period of a limit: 2^62 - 1 ns, 146 years. */
#define METE_PERIOD_MAX UINT64_C(4611686018427387903)
/* The most units a sliding log can hold per key. */
#define METE_LOG_COUNT_MAX 1048575u

/* --- status ------------------------------------------------------------- */

typedef enum mete_status {
    METE_OK = 0,
    METE_EINVAL = -1,       /* an argument is malformed, missing or contradicts another */
    METE_ERANGE = -2,       /* well-formed, but outside what can be represented */
    METE_ENOMEM = -3,       /* no memory */
    METE_EFULL = -4,        /* a named bound is reached: distinct rates or limits, logs, a queue's room */
    METE_EIO = -5,          /* the operating system refused a file or a mapping */
    METE_ECORRUPT = -6,     /* the store file is damaged, truncated or foreign; it is left as it was */
    METE_ETIMEDOUT = -7,    /* the time allowed for waiting is over */
    METE_EUNAVAILABLE = -8, /* closed, or cannot be reached now */
    METE_ENOTSUP = -9       /* this machine, or this kind of limit, cannot do it */
} mete_status;

/* A short constant sentence for a status; never NULL.  Any thread. */
METE_API const char *mete_status_text(mete_status status);

/* The version of the library that runs, as "1.2.3". */
METE_API const char *mete_version(void);

/* --- limit -------------------------------------------------------------- */

enum mete_algorithm {
    METE_TOKEN_BUCKET = 0,   /* burst at once, then count per period, refilled continuously (GCRA) */
    METE_LEAKY_BUCKET = 1,   /* the mirror image: take meters a level, reserve queues at the drain rate */
    METE_FIXED_WINDOW = 2,   /* count per window; lets twice the count pass around a boundary */
    METE_SLIDING_WINDOW = 3, /* two counters, the previous window weighted by its overlap */
    METE_SLIDING_LOG = 4     /* one timestamp per unit: never more than count in any period */
};

/* Where the windows of METE_FIXED_WINDOW start.  Other algorithms: METE_ALIGN_EPOCH. */
enum mete_alignment {
    METE_ALIGN_EPOCH = 0,  /* at multiples of the period since the clock's zero (Unix epoch by default) */
    METE_ALIGN_FIRST = 1,  /* at the first request of the key after its last window ended */
    METE_ALIGN_MINUTE = 2, /* at calendar units of time_zone; period_ns must be 0; the */
    METE_ALIGN_HOUR = 3,   /* store's clock must read as Unix time; weeks start on Monday */
    METE_ALIGN_DAY = 4,
    METE_ALIGN_WEEK = 5,
    METE_ALIGN_MONTH = 6,
    METE_ALIGN_YEAR = 7
};

#define METE_TIME_ZONE_SIZE 40

/*
 * A limit: count units per period_ns, an exact fraction that is never rounded.
 * Rates from 1 per 10 years (3652.5 days) to 1e9 per second.
 * A value: copy it freely.
 */
struct mete_limit {
    enum mete_algorithm algorithm;
    uint64_t count;                /* units, at least 1 ... */
    uint64_t period_ns;            /* ... per this many nanoseconds, 1..METE_PERIOD_MAX; 0 with a calendar alignment */
    uint64_t burst;                /* buckets: most units that may pass at one instant; 0 means count.
                           windows and log: must be 0 (their capacity is count) */
    enum mete_alignment alignment; /* fixed window only */
    char time_zone[METE_TIME_ZONE_SIZE]; /* calendar alignments: an IANA name such as "Europe/Berlin",
                                            NUL-terminated; "" is UTC.  Otherwise "" */
};

/*
 * Reads a limit from text:
 *
 *   [ALGORITHM] COUNT/PERIOD [burst N] [anchored | calendar] [zone NAME]
 *
 * "100/s", "100/1m burst 20", "10/15m", "5/1d", "sliding_window 100/1m",
 * "sliding_log 5/1m", "leaky_bucket 10/s burst 5", "fixed_window 100/1h anchored",
 * "fixed_window 1000/month calendar zone Europe/Berlin".
 * ALGORITHM defaults to token_bucket; "gcra" is token_bucket.  PERIOD is an
 * optional whole number and a unit: ns, us, ms, s, m, h, d, w (or second,
 * minute, hour, day, week and their plurals); with "calendar" one of minute,
 * hour, day, week, month, year.  A month or a year without "calendar" is
 * refused: they are not a fixed span.
 *
 * Returns METE_EINVAL (malformed) or METE_ERANGE (not representable).
 */
METE_API mete_status mete_limit_parse(const char *text, struct mete_limit *out);

/*
 * As mete_limit_parse; on failure also writes a sentence that names the field
 * ("burst: '20x' is not a whole number") to why[0..why_size-1], always
 * NUL-terminated when why_size > 0.  why may be NULL.
 */
METE_API mete_status mete_limit_parse_why(const char *text, struct mete_limit *out, char *why, size_t why_size);

/*
 * Writes a limit as text that mete_limit_parse reads back to the same limit.
 * Like snprintf: returns the length without the NUL, truncates to text_size - 1
 * and NUL-terminates when text_size > 0.  Returns 0 for an invalid limit.
 */
METE_API size_t mete_limit_format(const struct mete_limit *limit, char *text, size_t text_size);

/* METE_OK when a limiter could be made with this limit; else METE_EINVAL,
 * METE_ERANGE or METE_ENOTSUP and, when why is not NULL, the sentence why. */
METE_API mete_status mete_limit_check(const struct mete_limit *limit, char *why, size_t why_size);

/* --- decision ----------------------------------------------------------- */

struct mete_decision {
    bool allowed;
    uint64_t limit;          /* capacity: burst for buckets, count for windows and log */
    uint64_t remaining;      /* most units that would pass now */
    uint64_t wait_ns;        /* reserve: act after this long; else 0 */
    uint64_t retry_after_ns; /* 0 if allowed; METE_NEVER if cost > capacity; else the shortest wait
                                after which this request passes if nobody else comes */
    uint64_t reset_after_ns; /* until the key is as if never seen */
};

struct mete_request {
    const void *key;      /* bytes, any value; may be NULL when key_len is 0; not kept */
    size_t key_len;       /* from 0 up */
    uint64_t cost;        /* units; 0 takes nothing and reports the state */
    uint64_t now_ns;      /* METE_NOW, or a time of the store's clock up to METE_TIME_MAX */
    uint64_t wait_ns_max; /* mete_reserve and mete_wait: longest acceptable wait; others ignore it */
};

/* clang-format off */
#define METE_REQUEST_INIT { NULL, 0, 1, METE_NOW, 0 }
/* clang-format on */

/* --- store -------------------------------------------------------------- */

typedef struct mete_store mete_store;
typedef struct mete_limiter mete_limiter;

/* What happens to a new key when every cell it may use holds a live key. */
enum mete_full_policy {
    METE_FULL_EVICT = 0, /* forget the live key that is closest to full, take its place */
    METE_FULL_DENY = 1,  /* deny the new key; retry_after_ns says when the first place is free */
    METE_FULL_ALLOW = 2  /* admit the new key without keeping count of it */
};

/* A clock of the caller's: must never go back for one thread, and must be safe
 * to call from every thread that uses the store.  Returns at most METE_TIME_MAX. */
struct mete_clock {
    uint64_t (*now_ns)(void *context);
    void *context;
};

/* Which clock METE_NOW reads when the caller brings none. */
enum mete_clock_source {
    METE_CLOCK_AUTO = 0,  /* the processor's counter where the kernel itself trusts it, else as SYSTEM */
    METE_CLOCK_SYSTEM = 1 /* clock_gettime(CLOCK_MONOTONIC) at every call */
};

#define METE_STORE_NO_HUGE_PAGES 1u /* do not ask for huge pages */
#define METE_STORE_NO_PREFAULT 2u   /* do not touch the memory at creation: less memory, slower first use */

struct mete_store_options {
    size_t size;                         /* sizeof(struct mete_store_options) */
    uint64_t keys_max;                   /* live keys held, 1..2^36; default 1,000,000; about 1 in 100,000 of
                                            them is forgotten before the last has its place */
    const char *path;                    /* NULL: private memory; else a file shared by processes and kept */
    enum mete_full_policy on_full;       /* default METE_FULL_EVICT; per process, not kept in the file */
    const struct mete_clock *clock;      /* NULL: monotonic; copied; its context must outlive the store */
    enum mete_clock_source clock_source; /* used when clock is NULL */
    unsigned flags;                      /* METE_STORE_NO_... */
    uint64_t log_units_max;              /* how many keys each sliding log limiter has room for: this / count, at
                                            least 8, each with count slots of 8 bytes; default 1,048,576.  Private
                                            memory is taken as it is used, a file's at once */
};

/* clang-format off */
#define METE_STORE_OPTIONS_INIT \
    { sizeof(struct mete_store_options), 1000000, NULL, METE_FULL_EVICT, NULL, METE_CLOCK_AUTO, 0, 1048576 }
/* clang-format on */

/*
 * Creates a store, or opens the file at path (creating it when absent, mode
 * 0600).  options may be NULL for all defaults.  All memory for keys is taken
 * here: nothing is allocated while deciding.
 *
 * METE_EINVAL     a field is malformed, or differs from the file's (keys_max, clock)
 * METE_ERANGE     keys_max or log_units_max outside its range
 * METE_ENOMEM     no memory
 * METE_EIO        the file cannot be opened, created, sized (disk full) or mapped
 * METE_ECORRUPT   the file is not a store, is damaged or truncated; it is not changed
 * METE_ENOTSUP    path given, but this machine lacks a 16-byte compare-and-swap
 */
METE_API mete_status mete_store_create(const struct mete_store_options *options, mete_store **out);

/* As mete_store_create, and on failure a sentence naming the field or the file. */
METE_API mete_status mete_store_create_why(const struct mete_store_options *options, mete_store **out, char *why,
                                           size_t why_size);

/* Frees the store; a file keeps its content.  NULL is fine.  Its limiters must
 * have been destroyed and no call may be running. */
METE_API void mete_store_destroy(mete_store *store);

/* The store's time now: what METE_NOW stands for.  0 when store is NULL. */
METE_API uint64_t mete_store_now(const mete_store *store);

/*
 * What happened to this store since it was created; a file's counts are kept
 * with it and shared by its processes.  Decisions are not counted: every caller
 * sees its own, and counting them here would slow them down.
 */
struct mete_store_stats {
    uint64_t keys_max;
    uint64_t cells;          /* places for keys: keys_max / 0.75, to whole buckets of 8; up to 8: keys_max */
    uint64_t memory_bytes;   /* the mapping, header included; sliding logs not included */
    uint64_t log_bytes;      /* mappings of this process's sliding log limiters */
    uint64_t keys_inserted;  /* keys given a cell */
    uint64_t keys_evicted;   /* live keys forgotten to make room (METE_FULL_EVICT) */
    uint64_t full_denied;    /* new keys denied because the table was full (METE_FULL_DENY) */
    uint64_t full_untracked; /* decisions admitted untracked (METE_FULL_ALLOW) */
    uint64_t swap_retries;   /* decisions repeated because another thread was first */
    uint64_t claims_removed; /* half-made claims of other threads or killed processes cleared away */
    uint64_t keys_rescaled;  /* keys carried over to a changed limit */
    uint64_t scales_used;    /* distinct rates, to lowest terms and by kind of algorithm, of at most 65,535 */
    uint64_t clock_steps;    /* this process: clock readings that would have gone back and were held */
    uint64_t reserved[11];   /* zero */
};

METE_API mete_status mete_store_stats(const mete_store *store, struct mete_store_stats *out);

/* Counts the keys that are live now (not as if never seen), by walking the
 * table: slow, O(cells), any thread.  Keys of sliding logs are not included. */
METE_API mete_status mete_store_keys_live(const mete_store *store, uint64_t *out);

/* --- limiter ------------------------------------------------------------ */

/*
 * Makes a limiter named `name` (1..255 bytes) over store.  The name decides
 * which keys it shares: two limiters of one name over one store (in one or
 * several processes) are the same limiter and should have the same limit.
 *
 * METE_EINVAL, METE_ERANGE, METE_ENOTSUP   as mete_limit_check; or the name is empty or too long
 * METE_EFULL    65,535 distinct (kind, count, period) triples have been used in this store, or
 *               65,535 distinct limits or 1,024 sliding logs by this process
 * METE_ENOMEM   no memory;  METE_EIO, METE_ECORRUPT   a sliding log's file, as mete_store_create
 */
METE_API mete_status mete_limiter_create(mete_store *store, const char *name, const struct mete_limit *limit,
                                         mete_limiter **out);

/* As mete_limiter_create, and on failure a sentence naming the field. */
METE_API mete_status mete_limiter_create_why(mete_store *store, const char *name, const struct mete_limit *limit,
                                             mete_limiter **out, char *why, size_t why_size);

/* Frees the limiter, not what its keys have spent.  NULL is fine.  No call on
 * it may be running. */
METE_API void mete_limiter_destroy(mete_limiter *limiter);

/*
 * Changes the limit while calls run.  What was spent stays spent: at the time
 * of this call what every key owes is settled under the old limit, kept up to
 * the new capacity, and from then on judged by the new one.  A change of only
 * the burst leaves what is owed as it is.  docs/algorithms.md has the rule.
 * Changing to and fro forgives each time what lies above the smaller capacity.
 * Statuses as mete_limiter_create; on failure nothing changes.
 */
METE_API mete_status mete_limiter_set_limit(mete_limiter *limiter, const struct mete_limit *limit);

/* The limit in force.  Any thread. */
METE_API mete_status mete_limiter_limit(const mete_limiter *limiter, struct mete_limit *out);

/* --- deciding ----------------------------------------------------------- */

/*
 * All of these: METE_EINVAL when a pointer is NULL (key with key_len 0 may be),
 * METE_ERANGE when now_ns is above METE_TIME_MAX and not METE_NOW.
 * Cost: one or two cache misses for a key out of cache; no allocation, lock,
 * log or system call but the clock.  An older now_ns never earns: it may only
 * be stricter.
 */

/* One unit, now.  False when denied, and when an argument is invalid. */
METE_API bool mete_allow(mete_limiter *limiter, const void *key, size_t key_len);

/* Takes request->cost units if they are there; a denial writes nothing. */
METE_API mete_status mete_take(mete_limiter *limiter, const struct mete_request *request, struct mete_decision *out);

/* What mete_take would answer; writes nothing; `remaining` is before the take. */
METE_API mete_status mete_peek(mete_limiter *limiter, const struct mete_request *request, struct mete_decision *out);

/* Takes now, to be acted on after out->wait_ns, if that is at most wait_ns_max. */
METE_API mete_status mete_reserve(mete_limiter *limiter, const struct mete_request *request, struct mete_decision *out);

/*
 * Gives request->cost units back, never above full.  Buckets: at any time.
 * Windows: now_ns is the time of the take that is undone (METE_NOW: now; of a
 * reservation: its time plus its wait); when its window is over nothing is given
 * back.  Log: the newest units are removed.
 * out is the state afterwards, as a cost 0 request; allowed is true.
 */
METE_API mete_status mete_refund(mete_limiter *limiter, const struct mete_request *request, struct mete_decision *out);

/* Forgets what the key has spent: it is as if never seen. */
METE_API mete_status mete_reset(mete_limiter *limiter, const void *key, size_t key_len);

/*
 * mete_reserve, then sleeps until the time to act.  For clients that pace
 * themselves.  now_ns must be METE_NOW (any other: METE_EINVAL).  A denial returns at
 * once, without sleeping.  With a clock of the caller's the sleep polls it.
 */
METE_API mete_status mete_wait(mete_limiter *limiter, const struct mete_request *request, struct mete_decision *out);

/*
 * n takes, with the results of n calls of mete_take in this order, but the
 * clock is read once and the memory latency of the keys overlaps.  On a status
 * other than METE_OK nothing was taken: all requests are checked first.
 */
METE_API mete_status mete_take_batch(mete_limiter *limiter, const struct mete_request *requests, size_t n,
                                     struct mete_decision *out);

struct mete_demand {
    mete_limiter *limiter;
    struct mete_request request;
};

#define METE_DEMANDS_MAX 64

/*
 * All or nothing over n (1..METE_DEMANDS_MAX) demands, of any limiters and
 * stores: if one denies, none is charged.  out[i].allowed is the demand's own
 * verdict; everything passed when all are true.  *binding is the index of the
 * demand with the longest wait on denial, else of the one with the fewest units
 * remaining.  binding may be NULL.  While a denied call rolls back, a rival may
 * see a state that is too strict for a moment, never one that is too generous.
 * One key may stand in several demands; its retry_after is then for each alone.
 */
METE_API mete_status mete_take_all(const struct mete_demand *demands, size_t n, struct mete_decision *out,
                                   size_t *binding);

#ifdef __cplusplus
}
#endif

#endif
