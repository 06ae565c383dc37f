/* SPDX-License-Identifier: Apache-2.0 */
/* Time zones: TZif files made by hand, and from local time to UTC. */
#include "limiter/zone.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tzif.h"

static struct mete__zone *zone_of_file(const struct tzif *file)
{
    struct mete__zone *zone = NULL;
    assert_int_equal(tzif_parse(file, &zone), METE_OK);
    assert_true(mete__zone_is_valid(zone));
    return zone;
}

static void assert_refused(const struct tzif *file, mete_status expected)
{
    struct mete__zone *untouched = (struct mete__zone *)(uintptr_t)0x10;
    struct mete__zone *zone = untouched;
    assert_int_equal(tzif_parse(file, &zone), expected);
    assert_ptr_equal(zone, untouched);
}

/* --- blocks --------------------------------------------------------------- */

static void assert_plain(const struct mete__zone *zone)
{
    assert_int_equal(mete__zone_offset_s(zone, INT64_MIN), -1234);
    assert_int_equal(mete__zone_offset_s(zone, -1001), -1234);
    assert_int_equal(mete__zone_offset_s(zone, -1000), 3600);
    assert_int_equal(mete__zone_offset_s(zone, 999), 3600);
    assert_int_equal(mete__zone_offset_s(zone, 1000), 7200);
    assert_int_equal(mete__zone_offset_s(zone, 1999), 7200);
    assert_int_equal(mete__zone_offset_s(zone, 2000), 3600);
    assert_int_equal(mete__zone_offset_s(zone, INT64_MAX), 3600);
}

static void test_version_1(void **state)
{
    (void)state;
    struct tzif file = {.len = 0};
    tzif_put_header(&file, '\0', 0, 3, 3);
    tzif_put_body(&file, 4, tzif_changes, 3, tzif_offsets, 3);
    struct mete__zone *zone = zone_of_file(&file);
    assert_plain(zone);
    mete__zone_destroy(zone);
}

static void test_version_2_to_4(void **state)
{
    (void)state;
    for (int version = '2'; version <= '4'; version++) {
        struct tzif file = tzif_v2(tzif_changes, 3, "\n\n");
        file.bytes[4] = (unsigned char)version;
        struct mete__zone *zone = zone_of_file(&file);
        assert_plain(zone);
        mete__zone_destroy(zone);
    }
}

static void test_every_truncation_is_refused(void **state)
{
    (void)state;
    struct tzif files[2] = {tzif_v2(tzif_changes, 3, "\nCET-1CEST,M3.5.0,M10.5.0/3\n"), {.len = 0}};
    tzif_put_header(&files[1], '\0', 0, 3, 3);
    tzif_put_body(&files[1], 4, tzif_changes, 3, tzif_offsets, 3);
    for (size_t i = 0; i < 2; i++) {
        mete__zone_destroy(zone_of_file(&files[i]));
        while (files[i].len > 0) {
            files[i].len--;
            assert_refused(&files[i], METE_ECORRUPT);
        }
    }
}

static void test_malformed_blocks(void **state)
{
    (void)state;
    const size_t second = 44 + 6 + 4;
    struct tzif file = tzif_v2(tzif_changes, 3, "\n\n");
    file.bytes[0] = 'X';
    assert_refused(&file, METE_ECORRUPT);

    file = tzif_v2(tzif_changes, 3, "\n\n");
    file.bytes[4] = '1';
    assert_refused(&file, METE_ECORRUPT);

    file = tzif_v2(tzif_changes, 3, "\n\n");
    memset(file.bytes + second + 20, 0xff, 24); /* all counts 2^32 - 1 */
    assert_refused(&file, METE_ECORRUPT);

    const struct tzif_change no_such_type[] = {{1, 3}};
    file = tzif_v2(no_such_type, 1, "\n\n");
    assert_refused(&file, METE_ECORRUPT);

    const struct tzif_change twice[] = {{5, 1}, {5, 2}};
    file = tzif_v2(twice, 2, "\n\n");
    assert_refused(&file, METE_ECORRUPT);

    const struct tzif_change backwards[] = {{5, 1}, {4, 2}};
    file = tzif_v2(backwards, 2, "\n\n");
    assert_refused(&file, METE_ECORRUPT);

    struct tzif no_types = {.len = 0};
    tzif_put_header(&no_types, '\0', 0, 0, 0);
    tzif_put(&no_types, 0, 4);
    assert_refused(&no_types, METE_ECORRUPT);
}

static void test_offsets_are_bounded(void **state)
{
    (void)state;
    const int32_t bounds[] = {93599, -93599, 93600, -93600, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        struct tzif file = {.len = 0};
        tzif_put_header(&file, '\0', 0, 0, 1);
        tzif_put_body(&file, 4, NULL, 0, &bounds[i], 1);
        if (i >= 2) {
            assert_refused(&file, METE_ECORRUPT);
            continue;
        }
        struct mete__zone *zone = zone_of_file(&file);
        assert_int_equal(mete__zone_offset_s(zone, 0), bounds[i]);
        mete__zone_destroy(zone);
    }
}

static void test_leap_seconds_are_refused(void **state)
{
    (void)state;
    struct tzif file = {.len = 0};
    tzif_put_header(&file, '\0', 1, 0, 3);
    tzif_put_body(&file, 4, NULL, 0, tzif_offsets, 3);
    tzif_put(&file, 78796800, 4);
    tzif_put(&file, 1, 4);
    assert_refused(&file, METE_ENOTSUP);
}

static void test_size_is_bounded(void **state)
{
    (void)state;
    struct mete__zone *zone = NULL;
    struct tzif file = tzif_v2(tzif_changes, 3, "\n\n");
    unsigned char *large = calloc(1, METE__ZONE_FILE_SIZE_MAX + 1);
    assert_non_null(large);
    memcpy(large, file.bytes, file.len);
    assert_int_equal(mete__zone_parse(large, METE__ZONE_FILE_SIZE_MAX + 1, &zone), METE_ECORRUPT);
    assert_int_equal(mete__zone_parse(large, METE__ZONE_FILE_SIZE_MAX, &zone), METE_OK);
    mete__zone_destroy(zone);
    free(large);
    assert_int_equal(mete__zone_parse(NULL, 0, &zone), METE_ECORRUPT);
}

/* Steps outside the covered time leave only their offset. */
static void test_cover(void **state)
{
    (void)state;
    const struct tzif_change changes[] = {
        {-INT64_C(576460752303423488), 1}, {METE__ZONE_FROM_S, 2}, {METE__ZONE_TO_S - 1, 1}, {METE__ZONE_TO_S, 2}};
    struct tzif file = tzif_v2(changes, 4, "\n\n");
    struct mete__zone *zone = zone_of_file(&file);
    assert_int_equal(zone->steps_count, 2);
    assert_int_equal(mete__zone_offset_s(zone, INT64_MIN), 7200);
    assert_int_equal(mete__zone_offset_s(zone, METE__ZONE_TO_S - 2), 7200);
    assert_int_equal(mete__zone_offset_s(zone, INT64_MAX), 3600);
    mete__zone_destroy(zone);
}

/* --- from local time to UTC ----------------------------------------------- */

static void test_gaps_and_folds(void **state)
{
    (void)state;
    /* Forward from 4600 to 8200 at 1000, back from 9200 to 5600 at 2000. */
    struct tzif file = tzif_v2(tzif_changes, 3, "\n\n");
    struct mete__zone *zone = zone_of_file(&file);
    assert_int_equal(mete__zone_first_s(zone, 4599), 999);
    assert_int_equal(mete__zone_first_s(zone, 4600), 1000);
    assert_int_equal(mete__zone_first_s(zone, 8200), 1000);
    assert_int_equal(mete__zone_first_s(zone, 8201), 1001);
    assert_int_equal(mete__zone_first_s(zone, 9199), 1999);
    assert_int_equal(mete__zone_first_s(zone, 9200), 5600);

    assert_int_equal(mete__zone_most_s(zone, 999), 4599);
    assert_int_equal(mete__zone_most_s(zone, 1000), 8200);
    assert_int_equal(mete__zone_most_s(zone, 1999), 9199);
    assert_int_equal(mete__zone_most_s(zone, 2000), 9199);
    assert_int_equal(mete__zone_most_s(zone, 5000), 9199);
    assert_int_equal(mete__zone_most_s(zone, 5599), 9199);
    assert_int_equal(mete__zone_most_s(zone, 5600), 9200);
    mete__zone_destroy(zone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_version_1),
        cmocka_unit_test(test_version_2_to_4),
        cmocka_unit_test(test_every_truncation_is_refused),
        cmocka_unit_test(test_malformed_blocks),
        cmocka_unit_test(test_offsets_are_bounded),
        cmocka_unit_test(test_leap_seconds_are_refused),
        cmocka_unit_test(test_size_is_bounded),
        cmocka_unit_test(test_cover),
        cmocka_unit_test(test_gaps_and_folds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
