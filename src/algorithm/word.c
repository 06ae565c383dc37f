/* SPDX-License-Identifier: Apache-2.0 */
/* mete/algorithm.h: the algorithms for callers that keep their own word. */
#include <mete/algorithm.h>

#include "algorithm/convert.h"
#include "algorithm/profile.h"
#include "algorithm/step.h"

_Static_assert(sizeof(struct mete__profile) <= sizeof(struct mete_profile), "struct mete_profile has room");

static const struct mete__profile *inside(const struct mete_profile *profile)
{
    return (const struct mete__profile *)(const void *)profile;
}

mete_status mete_profile_init(struct mete_profile *profile, const struct mete_limit *limit)
{
    const char *why;
    struct mete__profile made;
    if (profile == NULL || limit == NULL) {
        return METE_EINVAL;
    }
    mete_status status = mete__profile_init(&made, limit, &why);
    if (status != METE_OK) {
        return status;
    }
    if (made.scale.kind == METE__KIND_LOG || mete__kind_is_calendar(made.scale.kind)) {
        return METE_ENOTSUP;
    }
    *profile = (struct mete_profile){{0}};
    __builtin_memcpy(profile, &made, sizeof made);
    return METE_OK;
}

static mete_status check(const void *profile, const void *word, const void *out, uint64_t now_ns)
{
    if (profile == NULL || word == NULL || out == NULL) {
        return METE_EINVAL;
    }
    return now_ns > METE_TIME_MAX ? METE_ERANGE : METE_OK;
}

static void answer(const struct mete__profile *profile, const struct mete__verdict *verdict, uint64_t word,
                   const struct mete__moment *moment, struct mete_decision *out)
{
    out->allowed = verdict->allowed;
    out->wait_ns = verdict->wait_ns;
    out->retry_after_ns = verdict->retry_after_ns;
    mete__step_describe(profile, word, moment, out);
}

mete_status mete_word_take(const struct mete_profile *profile, uint64_t *word, uint64_t cost, uint64_t now_ns,
                           struct mete_decision *out)
{
    mete_status status = check(profile, word, out, now_ns);
    if (status == METE_OK) {
        struct mete__moment moment = {.now_ns = now_ns};
        struct mete__verdict verdict = mete__step_take(inside(profile), *word, cost, &moment);
        *word = verdict.next;
        answer(inside(profile), &verdict, *word, &moment, out);
    }
    return status;
}

mete_status mete_word_peek(const struct mete_profile *profile, uint64_t word, uint64_t cost, uint64_t now_ns,
                           struct mete_decision *out)
{
    mete_status status = check(profile, &word, out, now_ns);
    if (status == METE_OK) {
        struct mete__moment moment = {.now_ns = now_ns};
        struct mete__verdict verdict = mete__step_take(inside(profile), word, cost, &moment);
        answer(inside(profile), &verdict, word, &moment, out);
    }
    return status;
}

mete_status mete_word_reserve(const struct mete_profile *profile, uint64_t *word, uint64_t cost, uint64_t now_ns,
                              uint64_t wait_ns_max, struct mete_decision *out)
{
    mete_status status = check(profile, word, out, now_ns);
    if (status == METE_OK) {
        struct mete__moment moment = {.now_ns = now_ns};
        struct mete__verdict verdict = mete__step_reserve(inside(profile), *word, cost, &moment, wait_ns_max);
        *word = verdict.next;
        answer(inside(profile), &verdict, *word, &moment, out);
    }
    return status;
}

mete_status mete_word_refund(const struct mete_profile *profile, uint64_t *word, uint64_t cost, uint64_t now_ns,
                             struct mete_decision *out)
{
    mete_status status = check(profile, word, out, now_ns);
    if (status == METE_OK) {
        struct mete__moment moment = {.now_ns = now_ns};
        *word = mete__step_refund(inside(profile), *word, cost, &moment);
        struct mete__verdict verdict = {.next = *word, .allowed = true};
        answer(inside(profile), &verdict, *word, &moment, out);
    }
    return status;
}

mete_status mete_word_convert(const struct mete_profile *from, const struct mete_profile *to, uint64_t *word,
                              uint64_t now_ns)
{
    mete_status status = check(from, word, to, now_ns);
    if (status == METE_OK) {
        struct mete__moment moment = {.now_ns = now_ns};
        *word = mete__convert(inside(from), inside(to), *word, &moment, &moment);
    }
    return status;
}

bool mete_word_is_idle(const struct mete_profile *profile, uint64_t word, uint64_t now_ns)
{
    struct mete__moment moment = {.now_ns = now_ns};
    return profile != NULL && now_ns <= METE_TIME_MAX && mete__step_is_idle(inside(profile), word, &moment);
}
