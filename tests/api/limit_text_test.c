/* SPDX-License-Identifier: Apache-2.0 */
/* Limits as text: mete_limit_parse, mete_limit_parse_why, mete_limit_format. */
#include "api.h"

#define MINUTE (60 * SEC)
#define HOUR (3600 * SEC)
#define DAY (86400 * SEC)

static void malformed(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        " ",
        "100",
        "/s",
        "100/",
        "/",
        "a/s",
        "100/x",
        "100/s x",
        "100 s",
        "-1/s",
        "+1/s",
        "1.5/s",
        "1e3/s",
        "0x10/s",
        "100/-1s",
        "100/1.5s",
        "100/1 parsec",
        "100/s burst",
        "100/s burst x",
        "100/s burst 20x",
        "100/s burst -1",
        "100/s burst 1 2",
        "100/s burst 1 burst 2",
        "100/s 100/s",
        "bucket 100/s",
        "TOKEN_BUCKET",
        "token_bucket",
        "token_bucket token_bucket 100/s",
        "burst 5 100/s",
        "fixed_window 100/s burst 5",
        "sliding_window 100/s burst 5",
        "sliding_log 100/s burst 5",
        "100/s anchored",
        "100/day calendar",
        "sliding_window 100/day calendar",
        "sliding_log 100/s anchored",
        "fixed_window 100/s anchored calendar",
        "fixed_window 100/day calendar calendar",
        "fixed_window 100/s zone UTC",
        "fixed_window 100/s anchored zone UTC",
        "100/s zone UTC",
        "fixed_window 100/day calendar zone",
        "fixed_window 100/day calendar zone Nowhere/Atlantis",
        "fixed_window 100/day calendar zone ../../etc/passwd",
        "fixed_window 100/day calendar zone AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "fixed_window 100/s calendar",
        "fixed_window 100/ms calendar",
        "fixed_window 100/2day calendar",
        "fixed_window 100/month",
        "fixed_window 100/month anchored",
        "100/month",
        "100/1month",
        "100/year",
        "100/y",
        "0/s",
        "100/0s",
        "100/s\n",
        "100/s\x01",
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct mete_limit limit;
        char why[300] = "";
        api_mark(&limit, sizeof(limit));
        mete_status status = mete_limit_parse_why(texts[i], &limit, why, sizeof(why));
        if (status != METE_EINVAL || why[0] == '\0' || !api_is_marked(&limit, sizeof(limit))) {
            fail_msg("'%s': %s, why '%s'", texts[i], mete_status_text(status), why);
        }
        assert_int_equal(mete_limit_parse(texts[i], &limit), METE_EINVAL);
    }
}

static void not_representable(void **state)
{
    (void)state;
    static const struct {
        const char *text, *field;
    } cases[] = {
        {"18446744073709551616/s", "count"},
        {"100000000000000000000000000000/s", "count"},
        {"1000000001/s", "count"},
        {"2/ns", "count"},
        {"1/4000d", "period"},
        {"1/315576001s", "period"},
        {"1000/18446744073709551616ns", "period"},
        {"1000/18446744074s", "period"},
        {"1000/4611686018427387904ns", "period"},
        {"1000/1000000w", "period"},
        {"1/s burst 18446744073709551615", "burst"},
        {"1/s burst 18446744073709551616", "burst"},
        {"1/s burst 99999999999999999999999", "burst"},
        {"sliding_window 32768/1s", "count"},
        {"sliding_log 1048576/1s", "count"},
        {"fixed_window 1073741824/day calendar", "count"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct mete_limit limit;
        char why[300] = "";
        api_mark(&limit, sizeof(limit));
        mete_status status = mete_limit_parse_why(cases[i].text, &limit, why, sizeof(why));
        if (status != METE_ERANGE || strstr(why, cases[i].field) == NULL || !api_is_marked(&limit, sizeof(limit))) {
            fail_msg("'%s': %s, why '%s'", cases[i].text, mete_status_text(status), why);
        }
    }
}

static void why_names_the_field(void **state)
{
    (void)state;
    static const struct {
        const char *text, *field;
    } cases[] = {
        {"x/s", "count"},
        {"10/s burst 20x", "burst: '20x' is not a whole number"},
        {"10/lightyear", "period"},
        {"10/month", "month"},
        {"funnel 10/s", "funnel"},
        {"fixed_window 1/day calendar zone Nowhere/Atlantis", "Nowhere/Atlantis"},
        {"10/s burst 5 sugar", "sugar"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct mete_limit limit;
        char why[300] = "";
        assert_int_equal(mete_limit_parse_why(cases[i].text, &limit, why, sizeof(why)), METE_EINVAL);
        if (strstr(why, cases[i].field) == NULL) {
            fail_msg("'%s': '%s' does not name '%s'", cases[i].text, why, cases[i].field);
        }
    }
}

static void why_is_bounded(void **state)
{
    (void)state;
    struct mete_limit limit;
    char whole[300], cut[300];
    assert_int_equal(mete_limit_parse_why("10/s burst 20x", &limit, whole, sizeof(whole)), METE_EINVAL);
    assert_int_equal(mete_limit_parse_why("10/s burst 20x", &limit, NULL, 0), METE_EINVAL);
    for (size_t size = 0; size <= strlen(whole) + 1; size++) {
        api_mark(cut, sizeof(cut));
        assert_int_equal(mete_limit_parse_why("10/s burst 20x", &limit, cut, size), METE_EINVAL);
        assert_true(api_is_marked(cut + size, sizeof(cut) - size));
        assert_true(size == 0 || strlen(cut) == size - 1);
    }
}

/* The text and what it must mean. */
static const struct {
    const char *text;
    struct mete_limit limit;
} meanings[] = {
    {"100/s", {METE_TOKEN_BUCKET, 100, SEC, 0, METE_ALIGN_EPOCH, ""}},
    {"100/1m burst 20", {METE_TOKEN_BUCKET, 100, MINUTE, 20, METE_ALIGN_EPOCH, ""}},
    {"10/15m", {METE_TOKEN_BUCKET, 10, 15 * MINUTE, 0, METE_ALIGN_EPOCH, ""}},
    {"5/1d", {METE_TOKEN_BUCKET, 5, DAY, 0, METE_ALIGN_EPOCH, ""}},
    {"token_bucket 100/s", {METE_TOKEN_BUCKET, 100, SEC, 0, METE_ALIGN_EPOCH, ""}},
    {"gcra 100/s burst 7", {METE_TOKEN_BUCKET, 100, SEC, 7, METE_ALIGN_EPOCH, ""}},
    {"sliding_window 100/1m", {METE_SLIDING_WINDOW, 100, MINUTE, 0, METE_ALIGN_EPOCH, ""}},
    {"sliding_log 5/1m", {METE_SLIDING_LOG, 5, MINUTE, 0, METE_ALIGN_EPOCH, ""}},
    {"leaky_bucket 10/s burst 5", {METE_LEAKY_BUCKET, 10, SEC, 5, METE_ALIGN_EPOCH, ""}},
    {"fixed_window 100/1h", {METE_FIXED_WINDOW, 100, HOUR, 0, METE_ALIGN_EPOCH, ""}},
    {"fixed_window 100/1h anchored", {METE_FIXED_WINDOW, 100, HOUR, 0, METE_ALIGN_FIRST, ""}},
    {"fixed_window 9/minute calendar", {METE_FIXED_WINDOW, 9, 0, 0, METE_ALIGN_MINUTE, ""}},
    {"fixed_window 9/hour calendar", {METE_FIXED_WINDOW, 9, 0, 0, METE_ALIGN_HOUR, ""}},
    {"fixed_window 9/day calendar", {METE_FIXED_WINDOW, 9, 0, 0, METE_ALIGN_DAY, ""}},
    {"fixed_window 9/week calendar", {METE_FIXED_WINDOW, 9, 0, 0, METE_ALIGN_WEEK, ""}},
    {"fixed_window 9/month calendar", {METE_FIXED_WINDOW, 9, 0, 0, METE_ALIGN_MONTH, ""}},
    {"fixed_window 9/year calendar", {METE_FIXED_WINDOW, 9, 0, 0, METE_ALIGN_YEAR, ""}},
    {"fixed_window 1000/month calendar zone Europe/Berlin",
     {METE_FIXED_WINDOW, 1000, 0, 0, METE_ALIGN_MONTH, "Europe/Berlin"}},
    {"1/ns", {METE_TOKEN_BUCKET, 1, 1, 0, METE_ALIGN_EPOCH, ""}},
    {"3/7ns", {METE_TOKEN_BUCKET, 3, 7, 0, METE_ALIGN_EPOCH, ""}},
    {"3/us", {METE_TOKEN_BUCKET, 3, 1000, 0, METE_ALIGN_EPOCH, ""}},
    {"3/250ms", {METE_TOKEN_BUCKET, 3, 250 * MS, 0, METE_ALIGN_EPOCH, ""}},
    {"3/w", {METE_TOKEN_BUCKET, 3, 7 * DAY, 0, METE_ALIGN_EPOCH, ""}},
    {"3/second", {METE_TOKEN_BUCKET, 3, SEC, 0, METE_ALIGN_EPOCH, ""}},
    {"3/2seconds", {METE_TOKEN_BUCKET, 3, 2 * SEC, 0, METE_ALIGN_EPOCH, ""}},
    {"3/minute", {METE_TOKEN_BUCKET, 3, MINUTE, 0, METE_ALIGN_EPOCH, ""}},
    {"3/2minutes", {METE_TOKEN_BUCKET, 3, 2 * MINUTE, 0, METE_ALIGN_EPOCH, ""}},
    {"3/hour", {METE_TOKEN_BUCKET, 3, HOUR, 0, METE_ALIGN_EPOCH, ""}},
    {"3/2hours", {METE_TOKEN_BUCKET, 3, 2 * HOUR, 0, METE_ALIGN_EPOCH, ""}},
    {"3/day", {METE_TOKEN_BUCKET, 3, DAY, 0, METE_ALIGN_EPOCH, ""}},
    {"3/2days", {METE_TOKEN_BUCKET, 3, 2 * DAY, 0, METE_ALIGN_EPOCH, ""}},
    {"3/week", {METE_TOKEN_BUCKET, 3, 7 * DAY, 0, METE_ALIGN_EPOCH, ""}},
    {"3/2weeks", {METE_TOKEN_BUCKET, 3, 14 * DAY, 0, METE_ALIGN_EPOCH, ""}},
    {"1000000000/s", {METE_TOKEN_BUCKET, SEC, SEC, 0, METE_ALIGN_EPOCH, ""}},
    {"1/315576000s", {METE_TOKEN_BUCKET, 1, TEN_YEARS_NS, 0, METE_ALIGN_EPOCH, ""}},
    {"fixed_window 15/4611686018427387903ns", {METE_FIXED_WINDOW, 15, METE_PERIOD_MAX, 0, METE_ALIGN_EPOCH, ""}},
    {"sliding_log 1048575/s", {METE_SLIDING_LOG, 1048575, SEC, 0, METE_ALIGN_EPOCH, ""}},
};

static void assert_same_limit(const char *text, const struct mete_limit *got, const struct mete_limit *want)
{
    if (got->algorithm != want->algorithm || got->count != want->count || got->period_ns != want->period_ns ||
        got->burst != want->burst || got->alignment != want->alignment ||
        strcmp(got->time_zone, want->time_zone) != 0) {
        fail_msg("'%s' means something else", text);
    }
}

static void parse_means_what_it_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(meanings); i++) {
        struct mete_limit limit;
        char why[300] = "";
        if (mete_limit_parse_why(meanings[i].text, &limit, why, sizeof(why)) != METE_OK) {
            fail_msg("'%s': %s", meanings[i].text, why);
        }
        assert_same_limit(meanings[i].text, &limit, &meanings[i].limit);
        assert_int_equal(mete_limit_parse(meanings[i].text, &limit), METE_OK);
    }
}

static void format_reads_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(meanings); i++) {
        char text[200];
        struct mete_limit again;
        size_t len = mete_limit_format(&meanings[i].limit, text, sizeof(text));
        assert_true(len > 0 && len < sizeof(text));
        assert_int_equal(strlen(text), len);
        assert_int_equal(mete_limit_parse(text, &again), METE_OK);
        assert_same_limit(text, &again, &meanings[i].limit);
    }
}

/* Like snprintf: the whole length is returned, and only text_size bytes are written. */
static void format_truncates(void **state)
{
    (void)state;
    struct mete_limit limit = api_limit("fixed_window 1000/month calendar zone Europe/Berlin");
    char whole[200], cut[200];
    size_t len = mete_limit_format(&limit, whole, sizeof(whole));
    assert_int_equal(mete_limit_format(&limit, NULL, 0), len);
    for (size_t size = 0; size <= len + 1; size++) {
        api_mark(cut, sizeof(cut));
        assert_int_equal(mete_limit_format(&limit, cut, size), len);
        assert_true(api_is_marked(cut + size, sizeof(cut) - size));
        if (size > 0) {
            assert_int_equal(cut[size - 1], '\0');
            assert_memory_equal(cut, whole, size - 1);
        }
    }
}

/* Whatever was refused is refused without reading beyond the NUL: each text in a
 * buffer of its exact size, for the address sanitizer. */
static void parse_stays_inside(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(meanings); i++) {
        for (size_t len = 0; len <= strlen(meanings[i].text); len++) {
            struct mete_limit limit;
            char *exact = malloc(len + 1);
            assert_non_null(exact);
            memcpy(exact, meanings[i].text, len);
            exact[len] = '\0';
            mete_status status = mete_limit_parse(exact, &limit);
            assert_true(status == METE_OK || status == METE_EINVAL || status == METE_ERANGE);
            free(exact);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(malformed),
        cmocka_unit_test(not_representable),
        cmocka_unit_test(why_names_the_field),
        cmocka_unit_test(why_is_bounded),
        cmocka_unit_test(parse_means_what_it_says),
        cmocka_unit_test(format_reads_back),
        cmocka_unit_test(format_truncates),
        cmocka_unit_test(parse_stays_inside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
