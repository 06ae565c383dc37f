/* SPDX-License-Identifier: Apache-2.0 */
/* The rules in the footers of TZif files, read and written out. */
#include "limiter/zone_rule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

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

static struct mete__zone *zone_of_rule(const char *rule)
{
    char footer[128];
    snprintf(footer, sizeof footer, "\n%s\n", rule);
    struct tzif file = tzif_v2(NULL, 0, footer);
    return zone_of_file(&file);
}

static void assert_step(const char *rule, int64_t at_s, int32_t before_s, int32_t after_s)
{
    struct mete__zone *zone = zone_of_rule(rule);
    assert_int_equal(mete__zone_offset_s(zone, at_s - 1), before_s);
    assert_int_equal(mete__zone_offset_s(zone, at_s), after_s);
    mete__zone_destroy(zone);
}

static void test_rule_forms(void **state)
{
    (void)state;
    /* Berlin: the last Sunday of March 2026 is the 29th, of October the 25th. */
    assert_step("CET-1CEST,M3.5.0,M10.5.0/3", 1774746000, 3600, 7200);
    assert_step("CET-1CEST,M3.5.0,M10.5.0/3", 1792890000, 7200, 3600);
    /* 25 March 2096, a leap year, and 28 March 2100, which is none. */
    assert_step("CET-1CEST,M3.5.0,M10.5.0/3", INT64_C(3983475600), 3600, 7200);
    assert_step("CET-1CEST,M3.5.0,M10.5.0/3", INT64_C(4109878800), 3600, 7200);
    /* Sydney: summer spans the new year. */
    assert_step("AEST-10AEDT,M10.1.0,M4.1.0/3", 1775318400, 39600, 36000);
    assert_step("AEST-10AEDT,M10.1.0,M4.1.0/3", 1791043200, 36000, 39600);
    /* Dublin: the summer of the rule is the winter, one hour less. */
    assert_step("IST-1GMT0,M10.5.0,M3.5.0/1", 1774746000, 0, 3600);
    /* Lord Howe: half an hour. */
    assert_step("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", 1775314800, 39600, 37800);
    /* Nuuk: a time before midnight. */
    assert_step("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", 1774746000, -7200, -3600);
    /* Gaza: 50 hours after the midnight of the fourth Thursday, 26 March 2026. */
    assert_step("EET-2EEST,M3.4.4/50,M10.4.4/50", 1774656000, 7200, 10800);
}

static void test_rule_days(void **state)
{
    (void)state;
    /* J59 is 28 February, J60 is 1 March in all years; day 59 is 29 February in 2028. */
    assert_step("AAA0BBB,J59/0,J300/0", 1835308800, 0, 3600);
    assert_step("AAA0BBB,J60/0,J300/0", 1835481600, 0, 3600);
    assert_step("AAA0BBB,59/0,J300/0", 1835395200, 0, 3600);
    assert_step("AAA0BBB,59/0,J300/0", 1803859200, 0, 3600); /* 1 March 2027 */
    /* Hours, minutes and seconds; the default is 2:00. */
    assert_step("AAA0BBB,J1/1:02:03,J300/0", 1767229323, 0, 3600);
    assert_step("AAA0BBB,J1,J300/0", 1767232800, 0, 3600);
    assert_step("AAA1:02:03BBB-4:05:06,J1/+0,J300", 1767225600 + 3723, -3723, 14706);
}

static void test_summer_all_year(void **state)
{
    (void)state;
    const char *rules[] = {"XXX3EDT4,0/0,J365/23", "EST5EDT,0/0,J365/25", "EST5EDT,0/0,J365/30"};
    const int32_t offsets[] = {-4 * 3600, -4 * 3600, -4 * 3600};
    for (size_t i = 0; i < 3; i++) {
        struct mete__zone *zone = zone_of_rule(rules[i]);
        assert_int_equal(zone->steps_count, 1);
        assert_int_equal(mete__zone_offset_s(zone, 0), offsets[i]);
        mete__zone_destroy(zone);
    }
}

static void test_rule_follows_the_last_change(void **state)
{
    (void)state;
    /* The last change is after the rule's spring of 2026: the rule's autumn is next. */
    const int64_t spring_s = 1774746000;
    const int64_t autumn_s = 1792890000;
    const struct tzif_change changes[] = {{-1, 1}, {spring_s + 1, 0}};
    struct tzif file = tzif_v2(changes, 2, "\nCET-1CEST,M3.5.0,M10.5.0/3\n");
    struct mete__zone *zone = zone_of_file(&file);
    assert_int_equal(mete__zone_offset_s(zone, spring_s), 3600);
    assert_int_equal(mete__zone_offset_s(zone, spring_s + 1), -1234);
    assert_int_equal(mete__zone_offset_s(zone, autumn_s - 1), -1234);
    assert_int_equal(mete__zone_offset_s(zone, autumn_s), 3600);
    mete__zone_destroy(zone);
}

static void test_malformed_rules(void **state)
{
    (void)state;
    const char *rules[] = {
        "CE-1",
        "CET",
        "CET-25",
        "CET-1:60",
        "CET-1:00:60",
        "CET--1",
        "CET-1 ",
        "<CET-1",
        "<C>-1",
        "C3T-1",
        "CET-1CEST",
        "CET-1CEST,",
        "CET-1CEST,M3.5.0",
        "CET-1CEST,M3.5.0,",
        "CET-1CEST,M3.5.0,M10.5.0/",
        "CET-1CEST,M0.5.0,M10.5.0",
        "CET-1CEST,M13.5.0,M10.5.0",
        "CET-1CEST,M3.0.0,M10.5.0",
        "CET-1CEST,M3.6.0,M10.5.0",
        "CET-1CEST,M3.5.7,M10.5.0",
        "CET-1CEST,J0,J300",
        "CET-1CEST,J366,J300",
        "CET-1CEST,366,300",
        "CET-1CEST,J1/168,J300",
        "CET-1CEST,J1/-168,J300",
        "CET-1CEST,M3.5.0,M10.5.0x",
        "CET-1CEST,M3.5,M10.5.0",
        "CET-1CEST,M3.5.0;M10.5.0",
        "CET-99999999999999999999",
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        char footer[128];
        snprintf(footer, sizeof footer, "\n%s\n", rules[i]);
        struct tzif file = tzif_v2(tzif_changes, 3, footer);
        assert_refused(&file, METE_ECORRUPT);
    }
    struct tzif file = tzif_v2(tzif_changes, 3, "XCET-1\n");
    assert_refused(&file, METE_ECORRUPT);
}

/* The farthest offset that the grammar can say. */
static void test_rule_bounds(void **state)
{
    (void)state;
    struct mete__zone *zone = zone_of_rule("AAA-24:59:59BBB,J1/167,J365/-167");
    assert_int_equal(mete__zone_offset_s(zone, 1782864000), 93599);
    mete__zone_destroy(zone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rule_forms),      cmocka_unit_test(test_rule_days),
        cmocka_unit_test(test_summer_all_year), cmocka_unit_test(test_rule_follows_the_last_change),
        cmocka_unit_test(test_malformed_rules), cmocka_unit_test(test_rule_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
