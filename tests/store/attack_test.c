/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Floods of fresh keys against a full table: what one abusive key, or all keys,
 * gain by them.  The clock is the test's.  The figures printed stand in docs/.
 */
#include "place.h"

#define HOUR (3600 * SEC)
#define ROUND_NS (60 * SEC)
#define FLOOD_PER_KEY 100u /* fresh keys per round, times keys_max */
#define TRY_EVERY 997u     /* fresh keys between two tries of the abuser */
#define VICTIMS 200u

struct attack {
    struct api_world world;
    uint64_t keys_max;
    uint64_t seed;
    uint64_t fresh_cost;
};

static void attack_open(struct attack *attack, const char *limit, enum mete_full_policy policy)
{
    struct mete_store_options options = api_options(&attack->world);
    options.keys_max = attack->keys_max;
    options.on_full = policy;
    api_set(&attack->world, HOUR);
    attack->world.store = api_store(&options);
    attack->world.limiter = api_limiter(attack->world.store, "n", limit);
    attack->seed = attack->keys_max;
    attack->fresh_cost = 1;
}

static bool take_key(struct attack *attack, const void *key, size_t key_len, uint64_t cost)
{
    struct mete_request request = {key, key_len, cost, METE_NOW, 0};
    struct mete_decision decision;
    assert_int_equal(mete_take(attack->world.limiter, &request, &decision), METE_OK);
    return decision.allowed;
}

static bool take_fresh(struct attack *attack)
{
    uint64_t key[2] = {place_random(&attack->seed), place_random(&attack->seed)};
    return take_key(attack, key, sizeof key, attack->fresh_cost);
}

/* Live keys in every cell. */
static void fill(struct attack *attack)
{
    uint64_t cells = api_stats(attack->world.store).cells;
    for (uint64_t i = 0; i < 4 * cells; i++) {
        take_fresh(attack);
    }
    assert_true(api_keys_live(attack->world.store) > cells * 999 / 1000);
}

/* One round, over ROUND_NS: what the abuser was admitted. */
static uint64_t flood(struct attack *attack)
{
    uint64_t fresh = FLOOD_PER_KEY * attack->keys_max;
    uint64_t start_ns = attack->world.now_ns;
    uint64_t admitted = 0;
    for (uint64_t i = 0; i < fresh; i++) {
        if (i % 64 == 0) {
            api_set(&attack->world, start_ns + ROUND_NS / 64 * i / fresh * 64);
        }
        take_fresh(attack);
        if (i % TRY_EVERY == 0) {
            admitted += take_key(attack, "abuser", 6, 1);
        }
    }
    api_set(&attack->world, start_ns + ROUND_NS);
    return admitted + take_key(attack, "abuser", 6, 1);
}

/* Exhausted once, then flooded round for round: at most rate * elapsed. */
static void abuser_gains_nothing(uint64_t keys_max, uint64_t rounds, bool is_abuser_first)
{
    struct attack attack = {.keys_max = keys_max};
    attack_open(&attack, "100/10h burst 100", METE_FULL_EVICT); /* a unit every 6 minutes */
    if (is_abuser_first) {
        assert_true(take_key(&attack, "abuser", 6, 100));
    }
    fill(&attack);
    if (!is_abuser_first) {
        assert_true(take_key(&attack, "abuser", 6, 100));
    }
    uint64_t start_ns = attack.world.now_ns, admitted = 0;
    for (uint64_t round = 0; round < rounds; round++) {
        admitted += flood(&attack);
        assert_in_range(admitted, 0, (attack.world.now_ns - start_ns) / (360 * SEC));
    }
    /* And it gets what it has earned: the flood does not lock it out either. */
    api_set(&attack.world, start_ns + (admitted + 1) * 360 * SEC);
    assert_true(take_key(&attack, "abuser", 6, 1));
    assert_false(take_key(&attack, "abuser", 6, 1));
    struct mete_store_stats stats = api_stats(attack.world.store);
    print_message("keys_max %llu, %llu fresh keys, burst 100: the abuser was admitted %llu in %llu s; %llu evictions\n",
                  (unsigned long long)keys_max, (unsigned long long)(rounds * FLOOD_PER_KEY * keys_max),
                  (unsigned long long)admitted, (unsigned long long)(rounds * ROUND_NS / SEC),
                  (unsigned long long)stats.keys_evicted);
    assert_true(stats.keys_evicted > rounds * keys_max);
    api_close(&attack.world);
}

static void one_abusive_key(void **state)
{
    (void)state;
    uint64_t scale = IS_SANITIZED ? 1 : place_scale();
    abuser_gains_nothing(64, 5 * scale, true);
    abuser_gains_nothing(4096, (IS_SANITIZED ? 1 : 5) * scale, true);
    abuser_gains_nothing(4096, scale, false);
    if (!IS_SANITIZED) {
        abuser_gains_nothing(65536, scale, true);
    }
}

/* All that are exhausted stay so: no flood resets many keys at once. */
static void no_mass_reset(void **state)
{
    (void)state;
    struct attack attack = {.keys_max = 4096};
    attack_open(&attack, "100/10h burst 100", METE_FULL_EVICT);
    fill(&attack);
    for (uint32_t victim = 0; victim < VICTIMS; victim++) {
        assert_true(take_key(&attack, &victim, sizeof victim, 100));
    }
    flood(&attack);
    for (uint32_t victim = 0; victim < VICTIMS; victim++) {
        assert_false(take_key(&attack, &victim, sizeof victim, 1));
    }
    /* Nor by ten times as many at one instant. */
    for (uint64_t i = 0; i < (IS_SANITIZED ? 1 : 10) * FLOOD_PER_KEY * attack.keys_max; i++) {
        take_fresh(&attack);
    }
    for (uint32_t victim = 0; victim < VICTIMS; victim++) {
        assert_false(take_key(&attack, &victim, sizeof victim, 1));
    }
    api_close(&attack.world);
}

/*
 * The residual: a key that owes no more than fresh keys do may be forgotten like
 * them, and when it comes back it begins anew.  Nothing is promised but chance:
 * of n cells a fresh key replaces a given one about once in n times.
 */
static void residual(void **state)
{
    (void)state;
    static const struct {
        const char *limit;
        uint64_t burst, fresh_cost;
    } cases[] = {{"1/10h burst 1", 1, 1}, {"2/10h burst 2", 2, 1}, {"100/10h burst 100", 100, 100}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct attack attack = {.keys_max = 4096};
        attack_open(&attack, cases[i].limit, METE_FULL_EVICT);
        attack.fresh_cost = cases[i].fresh_cost;
        fill(&attack);
        take_key(&attack, "abuser", 6, cases[i].burst);
        uint64_t rounds = IS_SANITIZED ? 1 : 3;
        uint64_t admitted = 0, fresh = rounds * FLOOD_PER_KEY * attack.keys_max;
        for (uint64_t round = 0; round < rounds; round++) {
            admitted += flood(&attack);
        }
        print_message("residual, %s, fresh keys of cost %llu: admitted %llu times in %llu tries, %llu fresh keys\n",
                      cases[i].limit, (unsigned long long)cases[i].fresh_cost, (unsigned long long)admitted,
                      (unsigned long long)(fresh / TRY_EVERY), (unsigned long long)fresh);
        if (cases[i].fresh_cost < cases[i].burst) {
            assert_int_equal(admitted, 0);
        } else if (cases[i].burst == 1) {
            assert_true(admitted <= fresh / attack.keys_max * 2); /* twice what chance gives */
        } /* else who has so many keys, each with its whole burst, needs no old one */
        api_close(&attack.world);
    }
}

/* METE_FULL_DENY: nobody is forgotten, newcomers wait. */
static void flood_denied(void **state)
{
    (void)state;
    struct attack attack = {.keys_max = 4096};
    attack_open(&attack, "1/10h burst 1", METE_FULL_DENY);
    assert_true(take_key(&attack, "abuser", 6, 1));
    fill(&attack);
    uint64_t inserted = api_stats(attack.world.store).keys_inserted;
    uint64_t live = api_keys_live(attack.world.store);
    assert_int_equal(flood(&attack), 0);
    struct mete_store_stats stats = api_stats(attack.world.store);
    assert_int_equal(stats.keys_evicted, 0);
    assert_int_equal(stats.full_untracked, 0);
    assert_true(stats.keys_inserted <= stats.cells && stats.keys_inserted - inserted < 10);
    assert_true(stats.full_denied > FLOOD_PER_KEY * attack.keys_max * 99 / 100);
    assert_true(api_keys_live(attack.world.store) >= live);
    /* When the first places are free newcomers come in again. */
    api_set(&attack.world, 12 * HOUR);
    assert_true(take_fresh(&attack));
    api_close(&attack.world);
}

/* METE_FULL_ALLOW: newcomers pass uncounted, who has a cell is limited as ever. */
static void flood_allowed(void **state)
{
    (void)state;
    struct attack attack = {.keys_max = 4096};
    attack_open(&attack, "1/10h burst 1", METE_FULL_ALLOW);
    assert_true(take_key(&attack, "abuser", 6, 1));
    fill(&attack);
    assert_int_equal(flood(&attack), 0);
    struct mete_store_stats stats = api_stats(attack.world.store);
    assert_int_equal(stats.keys_evicted, 0);
    assert_int_equal(stats.full_denied, 0);
    assert_true(stats.full_untracked > FLOOD_PER_KEY * attack.keys_max * 99 / 100);
    for (unsigned i = 0; i < 1000; i++) {
        assert_true(take_fresh(&attack) || i < 10);
    }
    api_close(&attack.world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_abusive_key), cmocka_unit_test(no_mass_reset), cmocka_unit_test(residual),
        cmocka_unit_test(flood_denied),    cmocka_unit_test(flood_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
