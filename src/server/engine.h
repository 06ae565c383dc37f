/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policies of a configuration bound to limiters over stores: what a decision
 * needs, without any protocol.
 *
 * One engine per daemon.  It owns the stores (one per full-table policy in use)
 * and the limiters, which live as long as it does.  A snapshot is one
 * configuration bound to them: immutable, shared by all loops.
 */
#ifndef METE_SERVER_ENGINE_H
#define METE_SERVER_ENGINE_H

#include <mete/mete.h>

#include "policy/config.h"

struct mete__engine;

struct mete__bound_plan {
    mete_limiter *limiters[METE__LIMITS_MAX];
};

struct mete__bound_policy {
    const struct mete__policy *policy;
    struct mete__bound_plan *plans; /* as policy->plans */
    uint32_t place;                 /* of its name, in counters: places.h */
};

struct mete__snapshot {
    const struct mete__config *config;   /* owned */
    struct mete__bound_policy *policies; /* as config->policies */
    uint64_t version;                    /* counts up from 1 */
};

enum mete__verb { METE__VERB_TAKE, METE__VERB_PEEK, METE__VERB_RESERVE, METE__VERB_REFUND, METE__VERB_RESET };

/* What a policy said to one request. */
struct mete__outcome {
    mete_status status; /* METE_OK, or why no decision could be made (then allowed is as on_store_failure says) */
    bool allowed;       /* what to tell the client; true under dry_run */
    bool would_deny;    /* dry_run: the limits denied */
    bool is_failure;    /* decided by on_store_failure */
    size_t binding;     /* the limit to name first: the longest wait when denied, else the fewest remaining */
    size_t count;
    /* Over all limits: after this the same request passes, or METE_NEVER; of a dry run what it would be. */
    uint64_t retry_after_ns;
    struct mete_decision decisions[METE__LIMITS_MAX]; /* one per limit, in the policy's order */
};

struct mete__engine_options {
    const char *store_path; /* of the command line: above the configuration's; NULL: not given */
    bool has_test_clock;    /* time stands until mete__engine_set_clock moves it */
};

/* Takes the first configuration over (also on failure). */
mete_status mete__engine_create(struct mete__config *config, const struct mete__engine_options *options,
                                struct mete__engine **out, char *why, size_t why_size);
void mete__engine_destroy(struct mete__engine *engine);

/*
 * Binds another configuration and makes it the current one.  All or nothing: on
 * failure (a bound of the store, memory, a store setting that cannot change
 * while running) the current one stays.  Takes config over in both cases.
 * One thread at a time.
 */
mete_status mete__engine_reload(struct mete__engine *engine, struct mete__config *config, char *why, size_t why_size);

/* The current snapshot.  A loop that switches to a newer one calls leave with the
 * old: when the last loop has left, it is freed. */
const struct mete__snapshot *mete__engine_join(struct mete__engine *engine);
void mete__engine_leave(struct mete__engine *engine, const struct mete__snapshot *snapshot);

const struct mete__bound_policy *mete__snapshot_find(const struct mete__snapshot *snapshot, const char *name,
                                                     size_t name_len);

/* The plan of a key. */
static inline const struct mete__bound_plan *mete__bound_plan(const struct mete__bound_policy *bound, const void *key,
                                                              size_t key_len)
{
    if (bound->policy->override_count == 0) {
        return &bound->plans[0];
    }
    return &bound->plans[mete__policy_plan(bound->policy, key, key_len) - bound->policy->plans];
}

/* What a policy of one limit charges for a request of this cost. */
static inline uint64_t mete__bound_cost(const struct mete__bound_policy *bound, const struct mete__bound_plan *plan,
                                        uint64_t cost)
{
    const struct mete__policy_limit *limit = &bound->policy->plans[plan - bound->plans].limits[0];
    return limit->has_cost && cost > 0 ? limit->cost : cost;
}

/*
 * Decides at once.  cost is the request's, already defaulted.  RESERVE: only
 * policies of one limit (METE_ENOTSUP otherwise).  RESET: decisions are as a
 * peek of cost 0 afterwards.  Never fails: see struct mete__outcome.
 */
void mete__engine_decide(const struct mete__bound_policy *bound, enum mete__verb verb, const void *key, size_t key_len,
                         uint64_t cost, uint64_t wait_ns_max, struct mete__outcome *out);

/* Completes an outcome for a policy of one limit from a decision made elsewhere (a batch). */
void mete__outcome_of_one(const struct mete__bound_policy *bound, const struct mete_decision *decision,
                          struct mete__outcome *out);

/*
 * The limiter of a limit that a request brings itself (CL.THROTTLE): capacity
 * units at once, count per period.  All such limiters share their keys.
 * METE_ERANGE, METE_EFULL, METE_ENOMEM with a sentence that names the argument.
 * Any thread; takes a lock when the limit is new, so callers keep what they got.
 */
mete_status mete__engine_own_limit(struct mete__engine *engine, uint64_t capacity, uint64_t count, uint64_t period_ns,
                                   mete_limiter **out, char *why, size_t why_size);

/* Any limiter over the store that own limits live in, to look at or reset their keys; NULL before the first. */
mete_limiter *mete__engine_any_own(struct mete__engine *engine);

/* The stores: 1..3.  For metrics. */
size_t mete__engine_stores(const struct mete__engine *engine, const mete_store *out[3]);

/* The clock decisions are made by, in ns. */
uint64_t mete__engine_now(const struct mete__engine *engine);
void mete__engine_set_clock(struct mete__engine *engine, uint64_t now_ns); /* with has_test_clock */
bool mete__engine_has_test_clock(const struct mete__engine *engine);

#endif
