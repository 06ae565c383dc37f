/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fields of a limit that are wrong by themselves, with all others as a valid
 * limit has them: no other check may have to come to the rescue.
 */
#include "api.h"

#include <mete/algorithm.h>

static void refused(struct mete_limit limit, mete_status status, const char *sentence)
{
    char why[300] = "";
    struct mete_profile profile;
    assert_int_equal(mete_limit_check(&limit, why, sizeof why), status);
    if (strstr(why, sentence) == NULL) {
        fail_msg("'%s' does not say '%s'", why, sentence);
    }
    assert_refused(mete_profile_init(&profile, &limit), status, &profile);
}

static void any_alignment_beyond_the_last(void **state)
{
    (void)state;
    static const int bad[] = {-1, METE_ALIGN_YEAR + 1, METE_ALIGN_YEAR + 2, 100, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        enum mete_alignment alignment = (enum mete_alignment)bad[i];
        refused((struct mete_limit){METE_FIXED_WINDOW, 1, 0, 0, alignment, ""}, METE_EINVAL, "alignment");
        refused((struct mete_limit){METE_FIXED_WINDOW, 1, SEC, 0, alignment, ""}, METE_EINVAL, "alignment");
        refused((struct mete_limit){METE_FIXED_WINDOW, 1, 0, 0, alignment, "UTC"}, METE_EINVAL, "alignment");
    }
}

static void a_zone_without_an_end(void **state)
{
    (void)state;
    for (int alignment = METE_ALIGN_EPOCH; alignment <= METE_ALIGN_YEAR; alignment++) {
        bool is_calendar = alignment >= METE_ALIGN_MINUTE;
        struct mete_limit limit = {METE_FIXED_WINDOW, 1, is_calendar ? 0 : SEC, 0, (enum mete_alignment)alignment, ""};
        memset(limit.time_zone, 'A', sizeof limit.time_zone);
        refused(limit, METE_EINVAL, "time_zone: does not end");
    }
}

/* A window's place, its mark and its count share 64 bits. */
static void counts_up_to(enum mete_alignment alignment, uint64_t largest)
{
    struct mete_limit limit = {METE_FIXED_WINDOW, largest, METE_PERIOD_MAX, 0, alignment, ""};
    char why[300] = "";
    assert_int_equal(mete_limit_check(&limit, why, sizeof why), METE_OK);
    limit.count++;
    refused(limit, METE_ERANGE, "count");
}

static void a_count_beside_its_place(void **state)
{
    (void)state;
    counts_up_to(METE_ALIGN_EPOCH, (UINT64_C(1) << 61) - 1); /* the last index of the longest period is 2 */
    counts_up_to(METE_ALIGN_FIRST, (UINT64_C(1) << 57) - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_alignment_beyond_the_last),
        cmocka_unit_test(a_zone_without_an_end),
        cmocka_unit_test(a_count_beside_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
