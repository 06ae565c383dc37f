/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mete_allow decides by the kernel's last tick where the exact time does not
 * matter.  It must never show: with clock readings around each call, a unit is
 * given no sooner than it is due and denied no later.
 */
#include <mete/mete.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

/* Our clock and the kernel's may differ by this (base/clock.h). */
#define CLOCK_ERROR_NS 1000u

static mete_store *store_of(enum mete_clock_source source)
{
    struct mete_store_options options = METE_STORE_OPTIONS_INIT;
    mete_store *store;
    options.keys_max = 1000;
    options.clock_source = source;
    assert_int_equal(mete_store_create(&options, &store), METE_OK);
    return store;
}

static mete_limiter *limiter_of(mete_store *store, const char *text)
{
    struct mete_limit limit;
    mete_limiter *limiter;
    assert_int_equal(mete_limit_parse(text, &limit), METE_OK);
    assert_int_equal(mete_limiter_create(store, text, &limit, &limiter), METE_OK);
    return limiter;
}

static uint64_t due_ns(mete_limiter *limiter, uint64_t now_ns)
{
    struct mete_request request = {"k", 1, 1, now_ns, 0};
    struct mete_decision decision;
    assert_int_equal(mete_peek(limiter, &request, &decision), METE_OK);
    return decision.allowed ? 0 : now_ns + decision.retry_after_ns;
}

/* Greedy: the n-th unit beyond the burst must come when it is due, to the clock's error. */
static void check_greedy(enum mete_clock_source source, const char *text, unsigned burst, unsigned units)
{
    mete_store *store = store_of(source);
    mete_limiter *limiter = limiter_of(store, text);
    for (unsigned i = 0; i < burst; i++) {
        assert_true(mete_allow(limiter, "k", 1));
    }
    for (unsigned i = 0; i < units; i++) {
        uint64_t due = due_ns(limiter, mete_store_now(store));
        for (;;) {
            uint64_t before_ns = mete_store_now(store);
            bool allowed = mete_allow(limiter, "k", 1);
            uint64_t after_ns = mete_store_now(store);
            if (allowed) {
                assert_true(after_ns + CLOCK_ERROR_NS >= due);
                break;
            }
            assert_true(before_ns < due + CLOCK_ERROR_NS);
        }
    }
    mete_limiter_destroy(limiter);
    mete_store_destroy(store);
}

/* Debts below, around and far above the tick's worst lateness of 100 ms. */
static void units_come_when_due(void **state)
{
    (void)state;
    static const struct {
        const char *limit;
        unsigned burst, units;
    } cases[] = {{"1000/s burst 5", 5, 300}, {"10/s burst 1", 1, 3},    {"10/s burst 30", 30, 3},
                 {"9/s burst 2", 2, 4},      {"70/s burst 20", 20, 40}, {"700/s burst 1000", 1000, 300}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_greedy(METE_CLOCK_AUTO, cases[i].limit, cases[i].burst, cases[i].units);
    }
    check_greedy(METE_CLOCK_SYSTEM, "700/s burst 1000", 1000, 100);
}

/* What the shortcut charges is what mete_take sees. */
static void charges_are_whole(void **state)
{
    (void)state;
    mete_store *store = store_of(METE_CLOCK_AUTO);
    mete_limiter *limiter = limiter_of(store, "1/h burst 1000");
    for (uint64_t spent = 1; spent <= 1000; spent++) {
        struct mete_request request = {"k", 1, 0, METE_NOW, 0};
        struct mete_decision decision;
        assert_true(mete_allow(limiter, "k", 1));
        assert_int_equal(mete_take(limiter, &request, &decision), METE_OK);
        assert_int_equal(decision.remaining, 1000 - spent);
    }
    assert_false(mete_allow(limiter, "k", 1));
    mete_limiter_destroy(limiter);
    mete_store_destroy(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_come_when_due),
        cmocka_unit_test(charges_are_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
