/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "clock_probe.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define MS UINT64_C(1000000)

static void assert_probe(const char *what, const struct probe *probe)
{
    print_message("%s: %llu readings, at most %llu ns early, %llu ns late\n", what, (unsigned long long)probe->readings,
                  (unsigned long long)probe->early_ns, (unsigned long long)probe->late_ns);
    assert_true(probe->readings > 0);
    assert_int_equal(probe->backward, 0);
    assert_true(probe->early_ns <= BOUND_NS);
    assert_true(probe->late_ns <= BOUND_NS);
}

static bool file_has(const char *path, const char *word)
{
    char line[8192];
    FILE *file = fopen(path, "r");
    bool found = false;
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
        found = strstr(line, word) != NULL;
    }
    if (file != NULL) {
        fclose(file);
    }
    return found;
}

/* The rule, asked of the kernel in another way. */
static void trusts_the_tsc_only_where_the_kernel_does(void **state)
{
    (void)state;
    bool expected = METE__CLOCK_HAS_TSC &&
                    file_has("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n") &&
                    file_has("/proc/cpuinfo", " constant_tsc ") && file_has("/proc/cpuinfo", " nonstop_tsc ");
    assert_int_equal(mete__tsc_is_trusted(), expected);
    assert_int_equal(mete__tsc_is_trusted(), expected);
    print_message("here the TSC is %s\n", expected ? "trusted" : "not trusted: all readings are clock_gettime");
}

/* Runs first: the readings before anything is calibrated, and the change over. */
static void is_right_from_the_first_reading(void **state)
{
    (void)state;
    struct probe probe = {0};
    probe_for(&probe, 100 * MS);
    assert_probe("from the first reading", &probe);
}

static void stays_within_its_bound(void **state)
{
    (void)state;
    struct probe probe = {0};
    probe_for(&probe, 1500 * MS);
    assert_probe("one thread", &probe);
}

static void stays_within_its_bound_between_rare_readings(void **state)
{
    (void)state;
    struct probe probe = {0};
    for (unsigned i = 0; i < 300; i++) {
        sleep_ns(i * UINT64_C(7000)); /* 0 to 2.1 ms: around the age of an anchor */
        probe_once(&probe);
        probe_once(&probe);
    }
    assert_probe("rare readings", &probe);
}

static void stays_within_its_bound_when_the_thread_moves(void **state)
{
    (void)state;
    struct probe probe = {0};
    cpu_set_t before;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    if (CPU_COUNT(&before) < 2) {
        print_message("only one processor here: nowhere to move to\n");
    }
    probe_hopping(&probe, 1500 * MS);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    assert_probe("moving thread", &probe);
}

static void *probe_thread(void *context)
{
    probe_hopping(context, 1000 * MS);
    return NULL;
}

static void every_thread_stays_within_the_bound(void **state)
{
    (void)state;
    pthread_t threads[4];
    struct probe probes[4] = {{0}};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, probe_thread, &probes[i]), 0);
    }
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_probe("one of four", &probes[i]);
    }
}

struct relay {
    uint64_t latest_ns; /* the newest reading of either thread */
    uint64_t worst_ns;  /* how far a later reading lay before an earlier one of the other */
    uint64_t end_ns;
};

/* The processor may read its counter while an earlier load still waits for its
 * cache line; here the load must be first. */
static uint64_t load_before_reading(const uint64_t *address)
{
    uint64_t value = __atomic_load_n(address, __ATOMIC_ACQUIRE);
#if METE__CLOCK_HAS_TSC
    __builtin_ia32_lfence();
#endif
    return value;
}

/* Publishes its readings, and compares each with what was published before it. */
static void *relay_thread(void *context)
{
    struct relay *relay = context;
    uint64_t worst_ns = 0;
    while (system_ns(CLOCK_MONOTONIC) < relay->end_ns) {
        uint64_t seen_ns = load_before_reading(&relay->latest_ns);
        uint64_t mine_ns = mete__tsc_monotonic_ns();
        if (mine_ns < seen_ns) {
            worst_ns = seen_ns - mine_ns > worst_ns ? seen_ns - mine_ns : worst_ns;
        }
        __atomic_store_n(&relay->latest_ns, mine_ns, __ATOMIC_RELEASE);
    }
    uint64_t known_ns = __atomic_load_n(&relay->worst_ns, __ATOMIC_RELAXED);
    while (known_ns < worst_ns && !__atomic_compare_exchange_n(&relay->worst_ns, &known_ns, worst_ns, false,
                                                               __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    return NULL;
}

static void two_threads_disagree_by_no_more_than_their_errors(void **state)
{
    (void)state;
    pthread_t threads[2];
    struct relay relay = {.end_ns = system_ns(CLOCK_MONOTONIC) + 1000 * MS};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, relay_thread, &relay), 0);
    }
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    print_message("between threads: at most %llu ns apart\n", (unsigned long long)relay.worst_ns);
    assert_true(relay.worst_ns <= 2 * BOUND_NS);
}

/* The child's clock goes on from the parent's last reading, within the bound. */
static int forked_child(uint64_t parent_ns)
{
    struct probe probe = {.last_ns = parent_ns};
    probe_for(&probe, 20 * MS);
    return probe.backward == 0 && probe.early_ns <= BOUND_NS && probe.late_ns <= BOUND_NS ? 0 : 1;
}

static void a_forked_child_reads_the_same_time(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) {
        uint64_t parent_ns = mete__tsc_monotonic_ns();
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            _exit(forked_child(parent_ns));
        }
        int status = -1;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
}

static void the_caller_may_choose_the_system_clock(void **state)
{
    (void)state;
    struct probe probe = {0};
    for (int i = 0; i < 100000; i++) {
        uint64_t before_ns = system_ns(CLOCK_MONOTONIC);
        uint64_t reading_ns = mete__clock_read(METE_CLOCK_SYSTEM);
        probe_add(&probe, before_ns, reading_ns, system_ns(CLOCK_MONOTONIC));
    }
    assert_int_equal(probe.backward, 0);
    assert_int_equal(probe.early_ns, 0);
    assert_int_equal(probe.late_ns, 0);
}

static void auto_reads_the_monotonic_clock(void **state)
{
    (void)state;
    struct probe probe = {0};
    for (int i = 0; i < 100000; i++) {
        uint64_t before_ns = system_ns(CLOCK_MONOTONIC);
        uint64_t reading_ns = mete__clock_read(METE_CLOCK_AUTO);
        probe_add(&probe, before_ns, reading_ns, system_ns(CLOCK_MONOTONIC));
    }
    assert_probe("auto", &probe);
}

static void the_wall_clock_is_the_systems(void **state)
{
    (void)state;
    uint64_t before_ns = system_ns(CLOCK_REALTIME);
    uint64_t reading_ns = mete__wall_ns();
    uint64_t after_ns = system_ns(CLOCK_REALTIME);
    assert_in_range(reading_ns, before_ns, after_ns);
}

#if METE__CLOCK_HAS_TSC

static uint64_t mult_now(void)
{
    return __atomic_load_n(&mete__clock_calibration.mult, __ATOMIC_RELAXED);
}

static void mult_set(uint64_t mult)
{
    __atomic_store_n(&mete__clock_calibration.mult, mult, __ATOMIC_RELAXED);
}

/* Reads until mult is known: at most some tens of milliseconds of reading. */
static void calibrate(void)
{
    struct probe probe = {0};
    for (int i = 0; i < 100 && mult_now() <= METE__CLOCK_REVOKED; i++) {
        probe_for(&probe, 20 * MS);
    }
    assert_true(mult_now() > METE__CLOCK_REVOKED);
}

static bool skip_without_tsc(void)
{
    if (!mete__tsc_is_trusted()) {
        print_message("the TSC is not trusted here: there is nothing to calibrate\n");
        return true;
    }
    return false;
}

static void the_counter_is_really_used(void **state)
{
    (void)state;
    if (skip_without_tsc()) {
        return;
    }
    calibrate();
    struct probe probe = {0};
    uint64_t anchors = 0;
    uint64_t anchor_tsc = mete__clock_anchor.tsc;
    for (int i = 0; i < 10000; i++) {
        probe_once(&probe);
        anchors += mete__clock_anchor.tsc != anchor_tsc;
        anchor_tsc = mete__clock_anchor.tsc;
    }
    assert_true(anchors < 5000); /* else the readings would have been clock_gettime */
}

/* Reads with a rate that is wrong by 1% until that is over; returns what came instead. */
static uint64_t read_with_wrong_rate(uint64_t right)
{
    uint64_t wrong = right + right / 100;
    mult_set(wrong);
    mete__clock_anchor.ticks_max = 0; /* take it up now */
    uint64_t start_ns = mete__tsc_monotonic_ns();
    while (mult_now() == wrong && system_ns(CLOCK_MONOTONIC) < start_ns + 1000 * MS) {
        mete__tsc_monotonic_ns();
    }
    print_message("a rate wrong by 1%% was over after %llu us\n",
                  (unsigned long long)(system_ns(CLOCK_MONOTONIC) - start_ns) / 1000);
    return mult_now();
}

static void a_wrong_rate_is_noticed_and_measured_anew(void **state)
{
    (void)state;
    if (skip_without_tsc()) {
        return;
    }
    calibrate();
    uint64_t right = mult_now();
    uint64_t after = right;
    /* Now and then a span of the usual measuring ends first, and sets it right. */
    for (int i = 0; i < 10 && after != METE__CLOCK_REVOKED; i++) {
        after = read_with_wrong_rate(right);
    }
    assert_int_equal(after, METE__CLOCK_REVOKED);
    calibrate();
    uint64_t again = mult_now();
    assert_in_range(again, right - right / 5000, right + right / 5000); /* 40 ppm each, and what the kernel steers */
    struct probe probe = {0};
    probe_for(&probe, 50 * MS);
    assert_probe("after the wrong rate", &probe);
}

static void a_reading_that_would_go_back_is_held_and_counted(void **state)
{
    (void)state;
    if (skip_without_tsc()) {
        return;
    }
    calibrate();
    uint64_t steps = mete__clock_steps();
    uint64_t ahead_ns = mete__tsc_monotonic_ns() + 20 * MS;
    mete__clock_anchor.last = ahead_ns;
    uint64_t held = 0;
    for (uint64_t ns = ahead_ns; system_ns(CLOCK_MONOTONIC) < ahead_ns; held++) {
        ns = mete__tsc_monotonic_ns();
        assert_true(ns >= ahead_ns);
    }
    assert_true(held > 0);
    assert_in_range(mete__clock_steps() - steps, held - 1, held + 1000);
    struct probe probe = {.last_ns = ahead_ns};
    probe_for(&probe, 10 * MS);
    assert_probe("after it was held", &probe);
}

static void a_counter_that_jumps_makes_a_new_anchor(void **state)
{
    (void)state;
    if (skip_without_tsc()) {
        return;
    }
    calibrate();
    for (int i = 0; i < 2; i++) {
        struct probe probe = {0};
        probe_once(&probe);
        uint64_t jump = UINT64_C(1) << 40; /* some minutes */
        mete__clock_anchor.tsc += i == 0 ? jump : 0 - jump;
        probe_for(&probe, 30 * MS);
        assert_probe(i == 0 ? "counter went back" : "counter went far ahead", &probe);
        calibrate();
    }
}

static void *read_once(void *context)
{
    probe_once(context);
    return NULL;
}

static void threads_with_one_reading_each_calibrate_together(void **state)
{
    (void)state;
    if (skip_without_tsc()) {
        return;
    }
    mult_set(METE__CLOCK_UNKNOWN);
    for (int i = 0; i < 1000 && mult_now() == METE__CLOCK_UNKNOWN; i++) {
        struct probe probe = {0};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, read_once, &probe), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_true(probe.early_ns <= BOUND_NS && probe.late_ns <= BOUND_NS);
    }
    assert_true(mult_now() > METE__CLOCK_REVOKED);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_right_from_the_first_reading),
        cmocka_unit_test(trusts_the_tsc_only_where_the_kernel_does),
        cmocka_unit_test(stays_within_its_bound),
        cmocka_unit_test(stays_within_its_bound_between_rare_readings),
        cmocka_unit_test(stays_within_its_bound_when_the_thread_moves),
        cmocka_unit_test(every_thread_stays_within_the_bound),
        cmocka_unit_test(two_threads_disagree_by_no_more_than_their_errors),
        cmocka_unit_test(a_forked_child_reads_the_same_time),
        cmocka_unit_test(the_caller_may_choose_the_system_clock),
        cmocka_unit_test(auto_reads_the_monotonic_clock),
        cmocka_unit_test(the_wall_clock_is_the_systems),
#if METE__CLOCK_HAS_TSC
        cmocka_unit_test(the_counter_is_really_used),
        cmocka_unit_test(a_wrong_rate_is_noticed_and_measured_anew),
        cmocka_unit_test(a_reading_that_would_go_back_is_held_and_counted),
        cmocka_unit_test(a_counter_that_jumps_makes_a_new_anchor),
        cmocka_unit_test(threads_with_one_reading_each_calibrate_together),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
