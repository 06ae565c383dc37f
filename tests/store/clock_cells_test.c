/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock cells of a store file: what a boot loses by rounding is strict and
 * below two microseconds, and never is anything earned; a store that was closed
 * left an anchor of that moment.
 */
#include "place.h"

#include <time.h>

#include "table/clock_cells.h"

#define US UINT64_C(1000)

static uint64_t next(uint64_t *random)
{
    *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *random >> 33;
}

/* Store time after a boot, when store and wall clock stood so and the wall clock shows now_wall_ns. */
static void check_boot(uint64_t store_ns, uint64_t wall_ns, uint64_t now_wall_ns)
{
    struct mete__pair cell = mete__anchor_cell(store_ns, wall_ns);
    uint64_t gone_ns = now_wall_ns > wall_ns ? now_wall_ns - wall_ns : 0;
    uint64_t told_ns = mete__anchor_store_ns(cell, now_wall_ns);
    assert_true(mete__anchor_cell_is_valid(cell));
    assert_true(told_ns <= store_ns + gone_ns);
    assert_true(told_ns + 2 * US > store_ns + gone_ns);
}

static void a_boot_earns_nothing(void **state)
{
    (void)state;
    uint64_t random = 1;
    for (unsigned i = 0; i < 20000; i++) {
        uint64_t store_ns = METE_TIME_MAX / 2 + next(&random);
        uint64_t wall_ns = METE_TIME_MAX / 3 + next(&random);
        check_boot(store_ns, wall_ns, wall_ns + next(&random));
        check_boot(store_ns, wall_ns, wall_ns - next(&random));
        check_boot(store_ns, wall_ns, wall_ns + next(&random) % 3000);
    }
    for (uint64_t ns = 0; ns <= 2 * US; ns++) {
        check_boot(ns, SEC, SEC + ns);
        check_boot(SEC, ns, SEC);
        check_boot(SEC + 1, SEC + ns, SEC);
    }
}

/* A wall clock that was set to another century for one boot must not use up the store's time. */
static void a_boot_is_never_longer_than_ten_years(void **state)
{
    (void)state;
    struct mete__pair cell = mete__anchor_cell(SEC, SEC);
    assert_int_equal(mete__anchor_store_ns(cell, SEC + TEN_YEARS_NS - 1), SEC + TEN_YEARS_NS - 1);
    assert_int_equal(mete__anchor_store_ns(cell, SEC + TEN_YEARS_NS + 1), SEC + TEN_YEARS_NS);
    assert_int_equal(mete__anchor_store_ns(cell, METE_TIME_MAX), SEC + TEN_YEARS_NS);
    assert_int_equal(mete__anchor_store_ns(cell, UINT64_MAX), SEC + TEN_YEARS_NS);
}

static void each_bit_is_checked(void **state)
{
    (void)state;
    struct mete__pair anchor = mete__anchor_cell(123 * SEC + 456, 789 * SEC + 12);
    struct mete__pair boot = mete__boot_cell(UINT64_C(0xfedcba9876543210), 5 * SEC);
    assert_true(mete__boot_cell_is_valid(boot));
    for (unsigned bit = 0; bit < 128; bit++) {
        struct mete__pair flip = {bit < 64 ? UINT64_C(1) << bit : 0, bit < 64 ? 0 : UINT64_C(1) << (bit - 64)};
        assert_false(mete__anchor_cell_is_valid((struct mete__pair){anchor.lo ^ flip.lo, anchor.hi ^ flip.hi}));
        assert_false(mete__boot_cell_is_valid((struct mete__pair){boot.lo ^ flip.lo, boot.hi ^ flip.hi}));
    }
}

static void a_boot_is_told_by_its_upper_bits(void **state)
{
    (void)state;
    const uint64_t id = UINT64_C(0xfedcba9876543210);
    struct mete__pair boot = mete__boot_cell(id, 5 * SEC);
    assert_true(mete__boot_cell_is_of(boot, id));
    for (unsigned bit = 0; bit < 64; bit++) {
        assert_int_equal(mete__boot_cell_is_of(boot, id ^ UINT64_C(1) << bit), bit < 24);
    }
}

static struct mete__pair read_anchor(const char *path)
{
    struct mete__header header;
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &header, sizeof header, 0), sizeof header);
    close(fd);
    return header.anchor;
}

/* Else a boot would lose what has gone by since the last renewal, up to a second. */
static void closing_leaves_an_anchor(void **state)
{
    (void)state;
    struct place place;
    struct mete_store_options options = METE_STORE_OPTIONS_INIT;
    const struct timespec pause = {0, 20000000};
    place_make(&place);
    options.path = place.path;
    options.keys_max = 10;
    mete_store *store = api_store(&options);
    (void)mete_store_now(store); /* the first one renews the anchor, the next would in a second */
    nanosleep(&pause, NULL);
    uint64_t before_ns = mete_store_now(store);
    mete_store_destroy(store);
    struct mete__pair anchor = read_anchor(place.path);
    assert_true(mete__anchor_cell_is_valid(anchor));
    assert_true((anchor.lo >> 12) * US + US > before_ns);
    assert_int_equal(place_files(&place, "", true), 1);
    assert_int_equal(rmdir(place.folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_boot_earns_nothing),     cmocka_unit_test(a_boot_is_never_longer_than_ten_years),
        cmocka_unit_test(each_bit_is_checked),      cmocka_unit_test(a_boot_is_told_by_its_upper_bits),
        cmocka_unit_test(closing_leaves_an_anchor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
