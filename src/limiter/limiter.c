/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a limiter, and changing its limit while calls run. */
#include "limiter/limiter.h"

#include <stdlib.h>
#include <string.h>

void mete__limiter_history(const mete_limiter *limiter, struct mete__history *out)
{
    uint64_t which;
    do {
        which = mete__load_u64_acquire(&limiter->which);
        const struct mete__history *from = &limiter->histories[which % 2];
        out->current = mete__load_pointer_acquire(&from->current);
        out->count = mete__min_u64(mete__load_u64_acquire(&from->count), METE__CHANGES_MAX);
        for (uint64_t i = 0; i < out->count; i++) {
            out->changes[i].before = mete__load_pointer_acquire(&from->changes[i].before);
            out->changes[i].at_ns = mete__load_u64_acquire(&from->changes[i].at_ns);
        }
    } while (mete__load_u64_acquire(&limiter->which) != which);
}

/* Writes the next history where nobody reads, then flips.  The mutex is held. */
static void publish_history(mete_limiter *limiter, const struct mete__history *next)
{
    uint64_t which = limiter->which + 1;
    struct mete__history *to = &limiter->histories[which % 2];
    mete__store_pointer_release(&to->current, next->current);
    for (uint64_t i = 0; i < next->count; i++) {
        mete__store_pointer_release(&to->changes[i].before, next->changes[i].before);
        mete__store_u64_release(&to->changes[i].at_ns, next->changes[i].at_ns);
    }
    mete__store_u64_release(&to->count, next->count);
    mete__store_u64_release(&limiter->which, which);
    mete__store_pointer_release(&limiter->rule, next->current);
}

/* --- life ------------------------------------------------------------------ */

static mete_status check_create(mete_store *store, const char *name, const struct mete_limit *limit, mete_limiter **out,
                                const struct mete__why *why)
{
    if (store == NULL || out == NULL || limit == NULL) {
        return mete__fail(why, METE_EINVAL, "%s: missing", store == NULL ? "store" : out == NULL ? "out" : "limit");
    }
    if (name == NULL || name[0] == 0 || strnlen(name, METE__NAME_MAX + 1) > METE__NAME_MAX) {
        return mete__fail(why, METE_EINVAL, "name: must have 1 to 255 bytes");
    }
    return METE_OK;
}

/*
 * A scale that was in force before, with another in between, comes back under
 * another id (an era): else a cell from its first time, not used in between,
 * would pass as one of the second.  Eras go round, so that one is used again only
 * long after the history has forgotten it.  A calendar in another zone has other
 * windows under the same scale, so it gets another era too.
 */
static bool is_id_free(const struct mete__history *history, uint64_t scale_id)
{
    for (uint64_t i = 0; i < history->count; i++) {
        if (history->changes[i].before->scale_id == scale_id) {
            return false;
        }
    }
    return history->current->scale_id != scale_id;
}

/* Whether words stay as they are: the same scale, and no other zone. */
static bool keeps_words(const struct mete__rule *before, const struct mete_limit *after)
{
    struct mete__profile profile;
    const char *unused;
    return mete__profile_init(&profile, after, &unused) == METE_OK &&
           mete__scale_is_same(&profile.scale, &before->profile.scale) &&
           strcmp(before->limit.time_zone, after->time_zone) == 0;
}

static mete_status choose_rule(mete_limiter *limiter, const struct mete_limit *limit,
                               const struct mete__history *history, struct mete__rule **rule,
                               const struct mete__why *why)
{
    if (history->current == NULL || keeps_words(history->current, limit)) {
        unsigned era = history->current != NULL ? history->current->era : 0;
        return mete__rule_intern(limiter->store, limit, era, rule, why);
    }
    mete_status status = METE_OK;
    for (unsigned i = 0; i < METE__ERAS; i++) {
        unsigned era = (limiter->eras_used + i) % METE__ERAS;
        status = mete__rule_intern(limiter->store, limit, era, rule, why);
        if (status == METE_OK && is_id_free(history, (*rule)->scale_id)) {
            limiter->eras_used = (era + 1) % METE__ERAS;
            return METE_OK;
        }
        if (status != METE_OK && status != METE_EFULL) { /* full: an id of another era may be known */
            break;
        }
    }
    return status;
}

static mete_status find_rule(mete_limiter *limiter, const struct mete_limit *limit, const struct mete__history *history,
                             struct mete__rule **rule, const struct mete__why *why)
{
    struct mete__log *log = NULL;
    pthread_mutex_lock(&limiter->store->mutex);
    mete_status status = mete__logs_reopen(limiter, why);
    if (status == METE_OK) {
        status = choose_rule(limiter, limit, history, rule, why);
    }
    if (status == METE_OK && (*rule)->profile.scale.kind == METE__KIND_LOG) {
        status = mete__log_acquire(limiter, (*rule)->profile.capacity, (*rule)->profile.scale.period, &log, why);
    }
    pthread_mutex_unlock(&limiter->store->mutex);
    if (status == METE_OK && log != NULL) {
        mete__store_pointer_release(&limiter->log, log);
    }
    return status;
}

mete_status mete_limiter_create_why(mete_store *store, const char *name, const struct mete_limit *limit,
                                    mete_limiter **out, char *why, size_t why_size)
{
    struct mete__why reason = {why, why_size};
    struct mete__history history = {0};
    mete_status status = check_create(store, name, limit, out, &reason);
    if (status != METE_OK) {
        return status;
    }
    mete_limiter *limiter = aligned_alloc(64, (sizeof *limiter + 63) / 64 * 64);
    if (limiter == NULL) {
        return mete__fail(&reason, METE_ENOMEM, "no memory");
    }
    memset(limiter, 0, sizeof *limiter);
    limiter->table = store->table;
    limiter->store = store;
    pthread_mutex_init(&limiter->mutex, NULL);
    mete__secret_derive(&limiter->secret, store->table.header->fixed.secret, name, strlen(name));
    limiter->name_hash = mete__hash_key(&limiter->secret, name, strlen(name)).lo;
    struct mete__rule *rule;
    status = find_rule(limiter, limit, &history, &rule, &reason);
    if (status != METE_OK) {
        mete_limiter_destroy(limiter);
        return status;
    }
    history.current = rule;
    publish_history(limiter, &history);
    *out = limiter;
    return METE_OK;
}

mete_status mete_limiter_create(mete_store *store, const char *name, const struct mete_limit *limit, mete_limiter **out)
{
    return mete_limiter_create_why(store, name, limit, out, NULL, 0);
}

void mete_limiter_destroy(mete_limiter *limiter)
{
    if (limiter != NULL) {
        pthread_mutex_destroy(&limiter->mutex);
        free(limiter);
    }
}

mete_status mete_limiter_limit(const mete_limiter *limiter, struct mete_limit *out)
{
    if (limiter == NULL || out == NULL) {
        return METE_EINVAL;
    }
    *out = mete__limiter_rule(limiter)->limit;
    return METE_OK;
}

static void remember(struct mete__history *history, struct mete__rule *next, uint64_t at_ns)
{
    if (history->count == METE__CHANGES_MAX) {
        memmove(history->changes, history->changes + 1, (METE__CHANGES_MAX - 1) * sizeof history->changes[0]);
        history->count--;
    }
    history->changes[history->count++] = (struct mete__change){history->current, at_ns};
    history->current = next;
}

mete_status mete_limiter_set_limit(mete_limiter *limiter, const struct mete_limit *limit)
{
    struct mete__why nowhere = {NULL, 0};
    struct mete__rule *next;
    if (limiter == NULL || limit == NULL) {
        return METE_EINVAL;
    }
    struct mete__history history;
    pthread_mutex_lock(&limiter->mutex);
    mete__limiter_history(limiter, &history);
    mete_status status = find_rule(limiter, limit, &history, &next, &nowhere);
    if (status == METE_OK && next != history.current) {
        remember(&history, next, mete__store_now(limiter->store));
        publish_history(limiter, &history);
    }
    pthread_mutex_unlock(&limiter->mutex);
    return status;
}
