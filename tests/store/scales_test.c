/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scale in a store file says what the words of its cells mean.  Whatever stands
 * there: words of a scale that no limit can have count for nothing, and no scale
 * and no word ends the process.
 */
#include "place.h"

#include "limiter/decide.h"

#define SCALE_ID 777u

static const uint64_t numbers[] = {
    0, 1, 2, 3, 1000, (UINT64_C(1) << 30) - 1, UINT64_C(1) << 30, 86400 * SEC, METE_PERIOD_MAX};
static const uint64_t words[] = {0, 1, UINT64_C(1) << 32, UINT64_C(0x123456789abcdef0), UINT64_MAX - 1, UINT64_MAX};

/* As rule.c packs it: kinds from 12 on are buckets and windows of a count from 2^56 on,
 * the other kinds' counts have an era above them. */
static struct mete__pair packed(uint64_t kind, uint64_t count, uint64_t period)
{
    return (struct mete__pair){count | (kind & 3) << 62, period | (kind >> 2) << 62};
}

/* What the pair says, whichever bits of it were meant as what. */
static bool can_be(struct mete__pair pair)
{
    uint64_t kind = pair.lo >> 62 | (pair.hi >> 62) << 2;
    bool is_wide = kind >= METE__KINDS;
    struct mete__scale scale = {.period = pair.hi & ((UINT64_C(1) << 62) - 1),
                                .count = pair.lo & ((UINT64_C(1) << (is_wide ? 62 : 56)) - 1),
                                .kind = (unsigned)(is_wide ? kind - METE__KINDS + METE__KIND_GCRA : kind)};
    return mete__scale_is_valid(&scale);
}

/* One cell under the scale, then what looks at cells: counting, and a new key that needs the place. */
static void live_with(struct api_world *world, struct mete__pair scale, bool is_valid, uint64_t word)
{
    struct mete__pair *cell = &world->store->table.buckets[0].cells[0];
    world->store->table.scales[SCALE_ID] = scale;
    *cell = (struct mete__pair){(UINT64_C(0x1234) << 16) | SCALE_ID, word};
    uint64_t live = api_keys_live(world->store);
    assert_true(live <= (is_valid ? 1 : 0));
    assert_true(api_take_of(world->limiter, "new", 1).allowed);
    *cell = (struct mete__pair){0, 0};
}

static void any_scale_is_survived(void **state)
{
    (void)state;
    struct api_world world;
    struct mete_store_options options = api_options(&world);
    options.keys_max = 1;
    options.on_full = METE_FULL_EVICT;
    api_set(&world, 1000 * SEC);
    world.store = api_store(&options);
    world.limiter = api_limiter(world.store, "n", "1/1h burst 1");
    for (uint64_t kind = 0; kind < 16; kind++) {
        for (size_t i = 0; i < COUNT_OF(numbers) * COUNT_OF(numbers); i++) {
            uint64_t count = numbers[i / COUNT_OF(numbers)];
            uint64_t period = numbers[i % COUNT_OF(numbers)];
            for (size_t j = 0; j < COUNT_OF(words); j++) {
                struct mete__pair scale = packed(kind, count, period);
                live_with(&world, scale, can_be(scale), words[j]);
            }
        }
    }
    api_close(&world);
}

/* A scale of nothing, or of no kind, is none: whoever divides by it asks this first. */
static void which_scales_there_are(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < METE__KINDS; kind++) {
        bool is_calendar = kind >= METE__KIND_FIXED_CALENDAR && kind < METE__KIND_SLIDING;
        assert_false(can_be(packed(kind, 0, 0)));
        assert_false(can_be(packed(kind, 0, 1)));
        assert_int_equal(can_be(packed(kind, 1, 0)), is_calendar);
        assert_int_equal(can_be(packed(kind, 1, SEC)), !is_calendar && kind != METE__KIND_NONE);
    }
    assert_false(can_be(packed(METE__KIND_GCRA, 2, 4))); /* not in lowest terms */
    assert_true(can_be(packed(METE__KIND_GCRA, 2, 5)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_scale_is_survived),
        cmocka_unit_test(which_scales_there_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
