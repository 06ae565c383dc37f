/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A limiter: a name, the secret its keys are hashed with, and the rule in force
 * with the changes that led to it.
 *
 * rule is what the hot path reads: one pointer to something immutable.  The
 * history is for cells written under an earlier rule.  It is kept twice: a
 * change is prepared in the copy nobody reads, then `which` is flipped, then
 * rule is stored.  A reader copies and looks whether `which` moved; so it waits
 * for nobody, however long a changer is stopped.  While a change is under way a
 * decision may go by either rule.
 */
#ifndef METE_LIMITER_LIMITER_H
#define METE_LIMITER_LIMITER_H

#include <mete/mete.h>

#include "limiter/log.h"
#include "limiter/rule.h"
#include "limiter/store.h"

#define METE__CHANGES_MAX 8u
#define METE__NAME_MAX 255u

struct mete__change {
    struct mete__rule *before; /* the rule that was in force until ... */
    uint64_t at_ns;            /* ... this store time */
};

struct mete__history {
    struct mete__rule *current;
    uint64_t count;
    struct mete__change changes[METE__CHANGES_MAX]; /* oldest first */
};

struct mete_limiter {
    struct mete__table table; /* a copy of the store's: it never changes */
    struct mete__rule *rule;  /* acquire; pairs with the release in limiter.c */
    mete_store *store;
    struct mete__secret secret;
    uint64_t which; /* the history in force: histories[which % 2] */
    struct mete__history histories[2];
    uint64_t name_hash;
    struct mete__log *log; /* sliding logs: the mapping in use; acquire */
    unsigned eras_used;    /* set_limit: which era comes next */
    pthread_mutex_t mutex; /* set_limit */
};

static inline struct mete__rule *mete__limiter_rule(const mete_limiter *limiter)
{
    return mete__load_pointer_acquire(&limiter->rule);
}

/* The log in use: another limiter of the name may have gone on to a larger one. */
static inline struct mete__log *mete__limiter_log(const mete_limiter *limiter)
{
    struct mete__log *log = mete__load_pointer_acquire(&limiter->log);
    for (struct mete__log *newer = log; newer != NULL; newer = mete__load_pointer_acquire(&log->newer)) {
        log = newer;
    }
    return log;
}

/* A consistent copy of the history in force. */
void mete__limiter_history(const mete_limiter *limiter, struct mete__history *out);

/*
 * When a change is settled for a request at now_ns: at the change, also when the
 * request's time lies a little before it, as that of a thread that read the clock
 * and was held up.  A request from long before brings a time of its own making; it
 * is settled at that, or its key would owe all the time in between.
 */
#define METE__HELD_UP_MAX_NS UINT64_C(3600000000000)

static inline uint64_t mete__history_settled_ns(const struct mete__history *history, uint64_t index, uint64_t now_ns)
{
    uint64_t at_ns = history->changes[index].at_ns;
    return now_ns < at_ns && at_ns - now_ns > METE__HELD_UP_MAX_NS ? now_ns : at_ns;
}

/* The rule that took over at a change. */
static inline struct mete__rule *mete__history_after(const struct mete__history *history, uint64_t index)
{
    return index + 1 < history->count ? history->changes[index + 1].before : history->current;
}

#endif
