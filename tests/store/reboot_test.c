/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Restarts, reboots and a wall clock that steps.  This program brings its own
 * clock_gettime, which can be moved: CLOCK_MONOTONIC starts anew as after a
 * boot, CLOCK_REALTIME goes anywhere.  That the file is of another boot is
 * written into its boot cell.
 */
#define _GNU_SOURCE /* syscall */
#include "place.h"

#include <time.h>

#include <sys/syscall.h>

#include "table/clock_cells.h"

#define HOUR (3600 * SEC)
#define DAY (24 * HOUR)
#define OTHER_BOOT UINT64_C(0x0123456789000000)
#define LIMIT "100/100h burst 100"

static int64_t wall_shift_ns;
static int64_t monotonic_shift_ns;

int clock_gettime(clockid_t id, struct timespec *out)
{
    long failed = syscall(SYS_clock_gettime, id, out);
    int64_t shift = id == CLOCK_REALTIME ? wall_shift_ns : id == CLOCK_MONOTONIC ? monotonic_shift_ns : 0;
    if (failed == 0 && shift != 0) {
        int64_t ns = out->tv_sec * (int64_t)SEC + out->tv_nsec + shift;
        out->tv_sec = ns / (int64_t)SEC;
        out->tv_nsec = ns % (int64_t)SEC;
    }
    return (int)failed;
}

static uint64_t read_ns(clockid_t id)
{
    struct timespec now;
    assert_int_equal(clock_gettime(id, &now), 0);
    return (uint64_t)now.tv_sec * SEC + (uint64_t)now.tv_nsec;
}

static struct place place;

static mete_store *open_store(void)
{
    struct mete_store_options options = METE_STORE_OPTIONS_INIT;
    options.keys_max = 100;
    options.path = place.path;
    options.clock_source = METE_CLOCK_SYSTEM;
    return api_store(&options);
}

static void header_copy(struct mete__header *header, bool is_write)
{
    int fd = open(place.path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    ssize_t done = is_write ? pwrite(fd, header, sizeof *header, 0) : pread(fd, header, sizeof *header, 0);
    assert_int_equal(done, sizeof *header);
    close(fd);
}

/* The machine was off for off_ns by the wall clock, which may have been set back;
 * it has been up for up_ns.  The file's last anchor is anchor_age_ns old. */
static void reboot(int64_t off_ns, uint64_t up_ns, uint64_t anchor_age_ns)
{
    struct mete__header header;
    header_copy(&header, false);
    assert_true(mete__anchor_cell_is_valid(header.anchor));
    header.boot = mete__boot_cell(OTHER_BOOT, header.boot.hi);
    header.anchor = mete__anchor_cell_of_us((header.anchor.lo >> 12) - anchor_age_ns / 1000,
                                            (header.anchor.hi >> 12) - anchor_age_ns / 1000);
    header_copy(&header, true);
    wall_shift_ns += off_ns;
    monotonic_shift_ns = 0;
    monotonic_shift_ns = (int64_t)up_ns - (int64_t)read_ns(CLOCK_MONOTONIC);
}

static int start(void **state)
{
    (void)state;
    wall_shift_ns = 0;
    monotonic_shift_ns = 0;
    place_make(&place);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    place_remove(&place);
    return 0;
}

/* How far two readings of a test lie apart that takes no longer than this. */
#define SLACK (60 * SEC)

static void assert_within(uint64_t value, uint64_t from, uint64_t to)
{
    if (value < from || value > to) {
        fail_msg("%llu is not in %llu..%llu", (unsigned long long)value, (unsigned long long)from,
                 (unsigned long long)to);
    }
}

struct left {
    uint64_t store_ns;
    uint64_t wall_ns;
    uint64_t full_ns; /* when "used" is full again */
};

/* Uses a key up and leaves; the anchor is as fresh as a clean end makes it. */
static struct left use_up(void)
{
    mete_store *store = open_store();
    mete_limiter *limiter = api_limiter(store, "n", LIMIT);
    mete_limiter *log = api_limiter(store, "log", "sliding_log 5/5h");
    struct mete_request all = api_request("used", 100);
    struct mete_decision decision;
    struct left left;
    left.store_ns = mete_store_now(store);
    left.wall_ns = read_ns(CLOCK_REALTIME);
    all.now_ns = left.store_ns;
    assert_int_equal(mete_take(limiter, &all, &decision), METE_OK);
    assert_true(decision.allowed);
    left.full_ns = left.store_ns + decision.reset_after_ns;
    assert_int_equal(decision.reset_after_ns, 100 * HOUR);
    assert_true(api_take_of(log, "used", 5).allowed);
    mete_limiter_destroy(limiter);
    mete_limiter_destroy(log);
    mete_store_destroy(store);
    return left;
}

/* Opens again; what the key owes hangs on store time and on nothing else. */
static uint64_t come_back(const struct left *left)
{
    mete_store *store = open_store();
    mete_limiter *limiter = api_limiter(store, "n", LIMIT);
    struct mete_request request = api_request("used", 1);
    struct mete_decision decision;
    uint64_t now_ns = mete_store_now(store);
    request.now_ns = now_ns;
    assert_int_equal(mete_peek(limiter, &request, &decision), METE_OK);
    assert_int_equal(decision.reset_after_ns, mete__sub_floor0_u64(left->full_ns, now_ns));
    uint64_t free_ns = left->full_ns - 99 * HOUR;
    assert_int_equal(decision.retry_after_ns, mete__sub_floor0_u64(free_ns, now_ns));
    if (!decision.allowed) { /* and it is right: one nanosecond earlier it is not free */
        request.now_ns = free_ns - 1;
        assert_int_equal(mete_take(limiter, &request, &decision), METE_OK);
        assert_false(decision.allowed);
        request.now_ns = free_ns;
        assert_int_equal(mete_peek(limiter, &request, &decision), METE_OK);
        assert_true(decision.allowed);
    }
    assert_true(api_take_of(limiter, "fresh", 100).allowed);
    assert_false(mete_allow(limiter, "fresh", 5));
    mete_limiter_destroy(limiter);
    mete_store_destroy(store);
    return now_ns;
}

static uint64_t log_remaining(void)
{
    mete_store *store = open_store();
    mete_limiter *log = api_limiter(store, "log", "sliding_log 5/5h");
    uint64_t remaining = api_take_of(log, "used", 0).remaining;
    mete_limiter_destroy(log);
    mete_store_destroy(store);
    return remaining;
}

/* Without a boot, store time is CLOCK_MONOTONIC's: to the nanosecond, whatever the wall clock does. */
static void restart(void **state)
{
    (void)state;
    struct mete__header before, after;
    struct left left = use_up();
    header_copy(&before, false);
    static const int64_t steps[] = {0, (int64_t)DAY, -400 * (int64_t)DAY, 20000 * (int64_t)DAY};
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        wall_shift_ns = steps[i];
        uint64_t from_ns = read_ns(CLOCK_MONOTONIC) + before.boot.hi;
        uint64_t now_ns = come_back(&left);
        assert_within(now_ns, from_ns, read_ns(CLOCK_MONOTONIC) + before.boot.hi);
        header_copy(&after, false);
        assert_true(mete__pair_is_same(before.boot, after.boot));
        assert_true(mete__anchor_cell_is_valid(after.anchor));
        place_files(&place, "store.", true);
        unlink(place.path); /* "fresh" was taken: begin again */
        wall_shift_ns = 0;
        left = use_up();
        header_copy(&before, false);
    }
}

/* After a boot, time goes on by what the wall clock has gone on. */
static void reboot_forward(void **state)
{
    (void)state;
    static const uint64_t offs[] = {0, SEC, HOUR, 30 * HOUR, 99 * HOUR, 101 * HOUR, 3000 * DAY};
    for (size_t i = 0; i < COUNT_OF(offs); i++) {
        wall_shift_ns = monotonic_shift_ns = 0;
        struct left left = use_up();
        reboot((int64_t)offs[i], 5 * SEC + i * DAY, 0);
        uint64_t now_ns = come_back(&left);
        /* At most as much as has passed by the wall clock, and at least that less the rounding. */
        uint64_t passed_ns = read_ns(CLOCK_REALTIME) - left.wall_ns;
        assert_within(now_ns, left.store_ns + offs[i], left.store_ns + passed_ns);
        assert_within(passed_ns, offs[i], offs[i] + SLACK);
        assert_int_equal(log_remaining(), offs[i] < 5 * HOUR ? 0 : 5);
        place_files(&place, "", true);
    }
}

/* The wall clock went back over the boot: time stands where it was. */
static void reboot_backward(void **state)
{
    (void)state;
    static const int64_t offs[] = {-2 * 60 * (int64_t)SEC, -(int64_t)DAY, -10000 * (int64_t)DAY};
    for (size_t i = 0; i < COUNT_OF(offs); i++) {
        wall_shift_ns = monotonic_shift_ns = 0;
        struct left left = use_up();
        reboot(offs[i], 5 * SEC, 0);
        uint64_t now_ns = come_back(&left);
        assert_within(now_ns, left.store_ns, left.store_ns + SLACK);
        assert_int_equal(log_remaining(), 0);
        place_files(&place, "", true);
    }
}

/* Killed before the boot, so that the anchor is older than the last decision: with
 * the wall clock back as well, time is earlier than it was.  Only stricter. */
static void reboot_with_an_old_anchor(void **state)
{
    (void)state;
    struct left left = use_up();
    reboot(-(int64_t)DAY, 5 * SEC, 3 * HOUR);
    uint64_t now_ns = come_back(&left);
    assert_within(now_ns, left.store_ns - 3 * HOUR - MS, left.store_ns - 3 * HOUR + SLACK);
    assert_int_equal(log_remaining(), 0);
    place_files(&place, "", true);
    wall_shift_ns = monotonic_shift_ns = 0;
    left = use_up();
    reboot((int64_t)HOUR, 5 * SEC, 3 * HOUR); /* the wall clock is sound: nothing is lost */
    now_ns = come_back(&left);
    assert_within(now_ns, left.store_ns + HOUR - MS, left.store_ns + HOUR + SLACK);
}

/* Many boots in a row, forth and back: no credit but for time that passed forth. */
static void many_reboots(void **state)
{
    (void)state;
    uint64_t seed = 21;
    struct left left = use_up();
    uint64_t forth_ns = 0, last_ns = left.store_ns;
    for (unsigned i = 0; i < 60; i++) {
        bool is_back = place_random(&seed) % 2 == 0;
        uint64_t off_ns = place_random(&seed) % HOUR;
        forth_ns += is_back ? 0 : off_ns;
        reboot(is_back ? -(int64_t)off_ns : (int64_t)off_ns, place_random(&seed) % DAY, 0);
        mete_store *store = open_store();
        uint64_t now_ns = mete_store_now(store);
        assert_true(now_ns + 2000 >= last_ns); /* the anchor is cut to whole us */
        assert_within(now_ns + 2000 * i, left.store_ns + forth_ns - SLACK, left.store_ns + forth_ns + SLACK);
        last_ns = now_ns;
        mete_store_destroy(store);
    }
}

/* All who open after the boot agree on one time, and so does one that opened first. */
static void openers_agree(void **state)
{
    (void)state;
    mete_store *stores[4];
    use_up();
    reboot((int64_t)HOUR, 5 * SEC, 0);
    for (size_t i = 0; i < COUNT_OF(stores); i++) {
        stores[i] = open_store();
        wall_shift_ns += (int64_t)DAY; /* the time server has come */
    }
    for (size_t i = 0; i < COUNT_OF(stores); i++) {
        uint64_t before_ns = mete_store_now(stores[0]);
        uint64_t between_ns = mete_store_now(stores[i]);
        assert_within(between_ns, before_ns, mete_store_now(stores[3]));
    }
    for (size_t i = 0; i < COUNT_OF(stores); i++) {
        mete_store_destroy(stores[i]);
    }
}

/* While a store runs the wall clock is not asked for the time. */
static void wall_steps_while_running(void **state)
{
    (void)state;
    static const int64_t steps[] = {(int64_t)DAY, -(int64_t)DAY, 9000 * (int64_t)DAY, 0};
    mete_store *store = open_store();
    mete_limiter *limiter = api_limiter(store, "n", "1/1h");
    assert_true(mete_allow(limiter, "k", 1));
    uint64_t offset_ns = mete_store_now(store) - read_ns(CLOCK_MONOTONIC);
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        wall_shift_ns = steps[i];
        monotonic_shift_ns += 2 * (int64_t)SEC; /* so that the anchor falls due */
        uint64_t from_ns = read_ns(CLOCK_MONOTONIC);
        uint64_t now_ns = mete_store_now(store);
        assert_within(now_ns - offset_ns, from_ns - MS, read_ns(CLOCK_MONOTONIC) + SLACK);
        assert_false(mete_allow(limiter, "k", 1));
    }
    mete_limiter_destroy(limiter);
    mete_store_destroy(store);
}

/* A boot cell with a sound check and an absurd offset: a time that no store
 * accepts is never told, and calls work. */
static void absurd_offset(void **state)
{
    (void)state;
    struct mete__header header;
    struct left left = use_up();
    (void)left;
    header_copy(&header, false);
    header.boot = mete__boot_cell(header.boot.lo, METE_TIME_MAX + DAY);
    header_copy(&header, true);
    mete_store *store = open_store();
    assert_int_equal(mete_store_now(store), METE_TIME_MAX);
    mete_limiter *limiter = api_limiter(store, "n", LIMIT);
    assert_true(api_take_of(limiter, "fresh", 100).allowed);
    assert_false(api_take_of(limiter, "fresh", 1).allowed);
    mete_limiter_destroy(limiter);
    mete_store_destroy(store);
}

#define reboot_unit(test) cmocka_unit_test_setup_teardown(test, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        reboot_unit(restart),
        reboot_unit(reboot_forward),
        reboot_unit(reboot_backward),
        reboot_unit(reboot_with_an_old_anchor),
        reboot_unit(many_reboots),
        reboot_unit(openers_agree),
        reboot_unit(wall_steps_while_running),
        reboot_unit(absurd_offset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
