/* SPDX-License-Identifier: Apache-2.0 */
#include "limiter/rule.h"

#include <stdlib.h>
#include <string.h>

#include "algorithm/convert.h"
#include "limiter/calendar.h"
#include "limiter/store.h"
#include "table/scales.h"

#define NS_PER_S UINT64_C(1000000000)

/*
 * A scale as the table keeps it: two bits of the kind above 62 of the count and of
 * the period each.  A count below 2^56 leaves six bits for the era; a larger one
 * ("wide", its kind counted on from METE__KINDS) has none.
 */
#define ERA_SHIFT 56
#define LOW_62 ((UINT64_C(1) << 62) - 1)

enum { WIDE_BUCKET = METE__KINDS, WIDE_EPOCH, WIDE_FIRST };

static bool is_wide(const struct mete__scale *scale)
{
    return scale->count >> ERA_SHIFT != 0;
}

static struct mete__pair scale_pack(const struct mete__scale *scale, unsigned era)
{
    unsigned kind = is_wide(scale) ? scale->kind - METE__KIND_GCRA + WIDE_BUCKET : scale->kind;
    uint64_t count = is_wide(scale) ? scale->count : scale->count | (uint64_t)era << ERA_SHIFT;
    return (struct mete__pair){count | (uint64_t)(kind & 3) << 62, scale->period | (uint64_t)(kind >> 2) << 62};
}

static struct mete__scale scale_unpack(struct mete__pair pair)
{
    unsigned kind = (unsigned)(pair.lo >> 62 | (pair.hi >> 62) << 2);
    bool wide = kind >= METE__KINDS;
    return (struct mete__scale){.count = pair.lo & (wide ? LOW_62 : (UINT64_C(1) << ERA_SHIFT) - 1),
                                .period = pair.hi & LOW_62,
                                .kind = wide ? kind - WIDE_BUCKET + METE__KIND_GCRA : kind};
}

mete_status mete_limit_check(const struct mete_limit *limit, char *why, size_t why_size)
{
    struct mete__why reason = {why, why_size};
    struct mete__profile profile;
    struct mete__zone *zone = NULL;
    const char *sentence;
    if (limit == NULL) {
        return mete__fail(&reason, METE_EINVAL, "limit: missing");
    }
    mete_status status = mete__profile_init(&profile, limit, &sentence);
    if (status != METE_OK) {
        return mete__fail(&reason, status, "%s", sentence);
    }
    if (mete__kind_is_calendar(profile.scale.kind)) {
        status = mete__zone_open(limit->time_zone, &zone);
        mete__zone_destroy(zone);
        if (status != METE_OK) {
            return mete__fail(&reason, status == METE_ENOMEM ? METE_ENOMEM : METE_EINVAL,
                              "time_zone: %s%s is not known on this machine",
                              mete__zone_is_name(limit->time_zone) ? limit->time_zone : "the name",
                              mete__zone_is_name(limit->time_zone) ? "" : " given");
        }
    }
    return METE_OK;
}

/* Limits are compared as bytes: holes, and what lies behind the zone's name, are zeroed. */
static void normalize(const struct mete_limit *limit, struct mete_limit *clean)
{
    memset(clean, 0, sizeof *clean);
    clean->algorithm = limit->algorithm;
    clean->count = limit->count;
    clean->period_ns = limit->period_ns;
    clean->burst = limit->burst;
    clean->alignment = limit->alignment;
    strcpy(clean->time_zone, limit->time_zone);
}

static struct mete__rule **find(struct mete__rules *rules, const struct mete_limit *limit, unsigned era)
{
    struct mete__rule **at = &rules->chains[mete__hash_check(limit, sizeof *limit) % METE__RULE_CHAINS];
    while (*at != NULL && ((*at)->era != era || memcmp(&(*at)->limit, limit, sizeof *limit) != 0)) {
        at = &(*at)->next;
    }
    return at;
}

static mete_status give_scale(struct mete_store *store, struct mete__rule *rule, const struct mete__why *why)
{
    rule->scale_id = mete__scales_intern(&store->table, scale_pack(&rule->profile.scale, rule->era));
    if (rule->scale_id == 0) {
        return mete__fail(why, METE_EFULL, "limit: the store knows 65,535 distinct rates already");
    }
    const struct mete__profile **known = &store->rules.by_scale[rule->scale_id];
    if (*known == NULL) {
        mete__store_pointer_release(known, &rule->profile); /* pairs with mete__rules_profile */
    }
    return METE_OK;
}

mete_status mete__rule_intern(struct mete_store *store, const struct mete_limit *limit, unsigned era,
                              struct mete__rule **out, const struct mete__why *why)
{
    char sentence[256];
    const char *unused;
    mete_status status = mete_limit_check(limit, sentence, sizeof sentence);
    if (status != METE_OK) {
        return mete__fail(why, status, "%s", sentence);
    }
    struct mete_limit clean;
    normalize(limit, &clean);
    struct mete__rule **at = find(&store->rules, &clean, era);
    if (*at != NULL) {
        *out = *at;
        return METE_OK;
    }
    if (store->rules.count == METE__RULES_MAX) {
        return mete__fail(why, METE_EFULL, "limit: this process has used 65,535 distinct limits in this store");
    }
    struct mete__rule *rule = aligned_alloc(64, (sizeof *rule + 63) / 64 * 64);
    if (rule == NULL) {
        return mete__fail(why, METE_ENOMEM, "no memory");
    }
    memset(rule, 0, sizeof *rule);
    memcpy(&rule->limit, &clean, sizeof clean);
    rule->era = era;
    status = mete__profile_init(&rule->profile, &clean, &unused);
    if (status == METE_OK && mete__kind_is_calendar(rule->profile.scale.kind)) {
        status = mete__zone_open(clean.time_zone, &rule->zone);
    }
    if (status == METE_OK) {
        status = give_scale(store, rule, why);
    }
    if (status != METE_OK) {
        mete__zone_destroy(rule->zone);
        free(rule);
        return status;
    }
    *at = rule;
    store->rules.count++;
    *out = rule;
    return METE_OK;
}

mete_status mete__rules_learn(struct mete_store *store)
{
    unsigned found = 0;
    for (uint64_t pass = 0; pass < 2; pass++) {
        unsigned filled = 0;
        for (uint64_t id = 1; id < METE__SCALES; id++) {
            struct mete__scale scale = scale_unpack(mete__scales_get(&store->table, id));
            if (!mete__scale_is_valid(&scale)) {
                continue;
            }
            if (pass == 1 && filled < found) {
                mete__profile_of_scale(&store->rules.extra[filled], &scale);
                store->rules.by_scale[id] = &store->rules.extra[filled];
            }
            filled++;
        }
        if (pass == 0 && filled == 0) {
            return METE_OK;
        }
        if (pass == 0) {
            found = filled;
            store->rules.extra = calloc(found, sizeof *store->rules.extra);
            if (store->rules.extra == NULL) {
                return METE_ENOMEM;
            }
        }
    }
    return METE_OK;
}

void mete__rules_clear(struct mete__rules *rules)
{
    for (unsigned i = 0; i < METE__RULE_CHAINS; i++) {
        while (rules->chains[i] != NULL) {
            struct mete__rule *rule = rules->chains[i];
            rules->chains[i] = rule->next;
            mete__zone_destroy(rule->zone);
            free(rule);
        }
    }
    free(rules->extra);
}

const struct mete__profile *mete__rules_profile(struct mete_store *store, uint64_t scale_id,
                                                struct mete__profile *scratch)
{
    const struct mete__profile *known = mete__load_pointer_acquire(&store->rules.by_scale[scale_id]);
    if (known != NULL) {
        return known;
    }
    struct mete__scale scale = scale_unpack(mete__scales_get(&store->table, scale_id));
    if (!mete__scale_is_valid(&scale)) {
        return NULL;
    }
    mete__profile_of_scale(scratch, &scale);
    return scratch;
}

uint64_t mete__rule_convert(struct mete__rule *from, struct mete__rule *to, uint64_t word, uint64_t settled_ns)
{
    /* The kind too: a forgotten rule has only a profile of its own, its limit stands in for it. */
    bool is_same_calendar = from->profile.scale.kind == to->profile.scale.kind &&
                            from->limit.alignment == to->limit.alignment &&
                            strcmp(from->limit.time_zone, to->limit.time_zone) == 0;
    struct mete__moment from_at = mete__rule_moment(from, word, settled_ns);
    struct mete__moment to_at = mete__rule_moment(to, is_same_calendar ? word : 0, settled_ns);
    return mete__convert(&from->profile, &to->profile, word, &from_at, &to_at);
}

static struct mete__span span_of(struct mete__rule *rule, uint64_t at_ns)
{
    struct mete__pair cached = mete__pair_load_acquire(&rule->span_cache);
    if (cached.lo <= at_ns && at_ns < cached.hi) {
        return (struct mete__span){cached.lo, cached.hi};
    }
    struct mete__calendar_span span;
    if (!mete__calendar_window(rule->zone, rule->limit.alignment, (int64_t)(at_ns / NS_PER_S), &span)) {
        return (struct mete__span){at_ns, at_ns}; /* a time beyond the calendar: no word is in such a window */
    }
    struct mete__pair fresh = {span.start_s < 0 ? 0 : (uint64_t)span.start_s * NS_PER_S,
                               (uint64_t)span.end_s * NS_PER_S};
    mete__pair_cas_full(&rule->span_cache, &cached, fresh); /* losing to another is as good */
    return (struct mete__span){fresh.lo, fresh.hi};
}

struct mete__moment mete__rule_moment_calendar(struct mete__rule *rule, uint64_t word, uint64_t now_ns)
{
    struct mete__moment moment = {.now_ns = now_ns};
    uint64_t word_end_ns = (word >> (rule->profile.frames.count_bits + 1)) * NS_PER_S;
    moment.span = span_of(rule, word_end_ns > now_ns ? word_end_ns - 1 : now_ns);
    return moment;
}
