/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rule: a limit with all that deciding by it needs.  Immutable once made, kept
 * until the store is destroyed, one per distinct limit: so a decision may use it
 * without counting references.
 */
#ifndef METE_LIMITER_RULE_H
#define METE_LIMITER_RULE_H

#include <mete/mete.h>

#include "algorithm/step.h"
#include "base/why.h"
#include "limiter/zone.h"
#include "table/table.h"

struct mete__rule {
    struct mete__profile profile;
    uint64_t scale_id;            /* under which cells and rings of this rule are written */
    unsigned era;                 /* which of several scale ids for one scale; see limiter.c */
    struct mete__zone *zone;      /* calendar kinds */
    struct mete__pair span_cache; /* calendar kinds: the last window, start and end in ns */
    struct mete_limit limit;
    struct mete__rule *next; /* in its chain of rules */
};

#define METE__RULE_CHAINS 256u

struct mete__rules {
    struct mete__rule *chains[METE__RULE_CHAINS];
    /* By scale id, for judging cells: NULL for scales only other processes use. */
    const struct mete__profile *by_scale[METE__SCALES];
    struct mete__profile *extra; /* profiles of scales found in a file when it was opened */
    unsigned count;
};

#define METE__ERAS 64u

/* The rule for a limit and an era, new or known.  The store's mutex is held.
 * Statuses as mete_limiter_create. */
mete_status mete__rule_intern(struct mete_store *store, const struct mete_limit *limit, unsigned era,
                              struct mete__rule **out, const struct mete__why *why);

/* Learns the scales that a file already holds. */
mete_status mete__rules_learn(struct mete_store *store);
void mete__rules_clear(struct mete__rules *rules);

/* The profile of a scale id; NULL when the id stands for nothing.  scratch is
 * used when this process has not met the scale before. */
const struct mete__profile *mete__rules_profile(struct mete_store *store, uint64_t scale_id,
                                                struct mete__profile *scratch);

/* A word carried from one rule to another, neither a log, settled at settled_ns. */
uint64_t mete__rule_convert(struct mete__rule *from, struct mete__rule *to, uint64_t word, uint64_t settled_ns);

/* When a word is judged: for calendar kinds with the window that holds the later
 * of now and the window the word is in. */
struct mete__moment mete__rule_moment_calendar(struct mete__rule *rule, uint64_t word, uint64_t now_ns);

static inline struct mete__moment mete__rule_moment(struct mete__rule *rule, uint64_t word, uint64_t now_ns)
{
    if (mete__kind_is_calendar(rule->profile.scale.kind)) {
        return mete__rule_moment_calendar(rule, word, now_ns);
    }
    return (struct mete__moment){.now_ns = now_ns};
}

#endif
