/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kill -9 at random instants.  Workers are processes that decide over shared
 * files; a supervisor stops some, kills some and puts new ones in their place.
 * A worker counts an admission in memory shared with the supervisor, after the
 * call has returned: so a kill may lose the count of one admission, never add one.
 * METE_TEST_SCALE=4 makes it 1,200 kills.
 *
 *   hot    few keys under constant demand, exact: counted <= charged <= counted + kills
 *   fresh  a new key every few ms, one unit an hour: claims of all workers meet
 *   brief  a table too small for its keys, which go idle in a millisecond: takeovers
 *   log    sliding logs in their own file
 *   turn   a key per worker whose rate it changes all the time
 */
#include "place.h"

#include <signal.h>
#include <time.h>

#include <sys/mman.h>
#include <sys/wait.h>

#define WORKERS 4u
#define HOT_KEYS 4u
#define HOT_BURST 1000u
#define HOT_GAP_NS (5 * MS)
#define FRESH_KEYS 6000u
#define FRESH_EVERY_NS (20 * MS)
#define BRIEF_KEYS 4096u
#define LOG_KEYS 4u
#define LOG_COUNT 40u

#define HOT_LIMIT "200/s burst 1000"
#define FRESH_LIMIT "1/1h burst 1"
#define BRIEF_LIMIT "1/1ms burst 1"
#define LOG_LIMIT "sliding_log 40/1s"
static const char *const turn_limits[] = {"100/s burst 50", "40/s burst 50", "7/3s burst 50"};
#define TURN_BURST 50u
#define TURN_RATE 100u /* the highest of them, per second */

/* Shared with the workers; each count only ever grows. */
struct tally {
    _Atomic uint64_t hot[HOT_KEYS];
    _Atomic uint64_t fresh[FRESH_KEYS];
    _Atomic uint64_t brief[BRIEF_KEYS];
    _Atomic uint64_t log[LOG_KEYS];
    _Atomic uint64_t turn[WORKERS];
    _Atomic uint64_t progress[WORKERS];
    _Atomic uint64_t failures;
    uint64_t start_ns; /* store time */
};

static struct place place;
static struct tally *tally;
static char small_path[260];

static struct mete_store_options main_options(void)
{
    struct mete_store_options options = METE_STORE_OPTIONS_INIT;
    options.keys_max = 8192;
    options.path = place.path;
    options.on_full = METE_FULL_DENY; /* a key that is forgotten would show as a fault */
    options.log_units_max = 64 * LOG_COUNT;
    return options;
}

static struct mete_store_options small_options(void)
{
    struct mete_store_options options = main_options();
    options.keys_max = 64;
    options.path = small_path;
    return options;
}

/* --- a worker -------------------------------------------------------------- */

struct worker {
    unsigned slot;
    uint64_t seed;
    mete_store *store;
    mete_store *small;
    mete_limiter *hot;
    mete_limiter *fresh;
    mete_limiter *brief;
    mete_limiter *log;
    mete_limiter *turn;
};

static void count(_Atomic uint64_t *which, bool is_allowed)
{
    if (is_allowed) {
        atomic_fetch_add_explicit(which, 1, memory_order_relaxed);
    }
}

static void change(struct worker *worker)
{
    struct mete_limit limit = api_limit(turn_limits[place_random(&worker->seed) % COUNT_OF(turn_limits)]);
    if (mete_limiter_set_limit(worker->turn, &limit) != METE_OK) {
        atomic_fetch_add(&tally->failures, 1);
    }
}

static void decide(struct worker *worker)
{
    uint64_t draw = place_random(&worker->seed);
    uint64_t at = (draw >> 8) % 1000;
    uint64_t fresh = (mete_store_now(worker->store) - tally->start_ns) / FRESH_EVERY_NS;
    uint32_t key = (uint32_t)(draw >> 32);
    switch (draw % 8) {
    case 0:
    case 1:
        key %= HOT_KEYS;
        count(&tally->hot[key], mete_allow(worker->hot, &key, sizeof key));
        break;
    case 2:
        key = (uint32_t)fresh;
        if (key < FRESH_KEYS) {
            count(&tally->fresh[key], mete_allow(worker->fresh, &key, sizeof key));
        }
        break;
    case 3:
    case 4:
        key %= BRIEF_KEYS;
        count(&tally->brief[key], mete_allow(worker->brief, &key, sizeof key));
        break;
    case 5:
    case 6:
        key %= LOG_KEYS;
        count(&tally->log[key], mete_allow(worker->log, &key, sizeof key));
        break;
    default:
        if (at < 20) {
            change(worker);
        }
        count(&tally->turn[worker->slot], mete_allow(worker->turn, &worker->slot, sizeof worker->slot));
    }
}

static mete_limiter *limiter_of(mete_store *store, const char *name, const char *text)
{
    struct mete_limit limit;
    mete_limiter *limiter = NULL;
    if (mete_limit_parse(text, &limit) != METE_OK || mete_limiter_create(store, name, &limit, &limiter) != METE_OK) {
        atomic_fetch_add(&tally->failures, 1);
        _exit(1);
    }
    return limiter;
}

static bool worker_open(struct worker *worker)
{
    char name[16];
    struct mete_store_options options = main_options();
    struct mete_store_options small = small_options();
    if (mete_store_create(&options, &worker->store) != METE_OK ||
        mete_store_create(&small, &worker->small) != METE_OK) {
        return false;
    }
    snprintf(name, sizeof name, "turn-%u", worker->slot);
    worker->hot = limiter_of(worker->store, "hot", HOT_LIMIT);
    worker->fresh = limiter_of(worker->store, "fresh", FRESH_LIMIT);
    worker->log = limiter_of(worker->store, "log", LOG_LIMIT);
    worker->turn = limiter_of(worker->store, name, turn_limits[0]);
    worker->brief = limiter_of(worker->small, "brief", BRIEF_LIMIT);
    return true;
}

static pid_t worker_start(unsigned slot, uint64_t seed)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid > 0) {
        return pid;
    }
    struct worker worker = {.slot = slot, .seed = seed};
    if (!worker_open(&worker)) { /* the file always opens */
        atomic_fetch_add(&tally->failures, 1);
        _exit(1);
    }
    for (;;) {
        decide(&worker);
        atomic_fetch_add_explicit(&tally->progress[slot], 1, memory_order_relaxed);
    }
}

/* --- the supervisor -------------------------------------------------------- */

/* While one is stopped, wherever that is, each of the others gets on. */
static void stop_one(const pid_t *pids, unsigned slot)
{
    uint64_t before[WORKERS];
    assert_int_equal(kill(pids[slot], SIGSTOP), 0);
    for (unsigned i = 0; i < WORKERS; i++) {
        before[i] = atomic_load(&tally->progress[i]);
    }
    for (unsigned i = 0; i < WORKERS; i++) {
        unsigned tries = 0;
        while (i != slot && atomic_load(&tally->progress[i]) < before[i] + 500) {
            assert_true(++tries < 20000); /* 20 s: of a machine with much else to do */
            usleep(1000);
        }
    }
    assert_int_equal(kill(pids[slot], SIGCONT), 0);
}

static void kill_one(pid_t pid)
{
    int status = 0;
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL); /* nobody had ended on their own */
}

static uint64_t run_workers(uint64_t kills)
{
    pid_t pids[WORKERS];
    uint64_t seed = (uint64_t)getpid() << 32 | (uint64_t)time(NULL);
    print_message("seed %llu\n", (unsigned long long)seed);
    for (unsigned i = 0; i < WORKERS; i++) {
        pids[i] = worker_start(i, place_random(&seed));
    }
    for (uint64_t i = 0; i < kills; i++) {
        unsigned slot = (unsigned)(place_random(&seed) % WORKERS);
        usleep((useconds_t)(place_random(&seed) % 25000));
        if (i % 8 == 0) {
            stop_one(pids, slot);
        }
        if (i % 3 == 0) {
            kill(pids[slot], SIGSTOP); /* killed while stopped */
        }
        kill_one(pids[slot]);
        pids[slot] = worker_start(slot, place_random(&seed));
    }
    for (unsigned i = 0; i < WORKERS; i++) {
        kill_one(pids[i]);
    }
    return kills + WORKERS;
}

/* --- afterwards ------------------------------------------------------------ */

static struct mete_decision look(mete_limiter *limiter, uint32_t key, uint64_t now_ns)
{
    struct mete_request request = {&key, sizeof key, 1, now_ns, 0};
    struct mete_decision decision;
    assert_int_equal(mete_peek(limiter, &request, &decision), METE_OK);
    return decision;
}

/* Full again at the time that is told, not before, and then good for all of it. */
static void assert_recovers(mete_limiter *limiter, uint32_t key, uint64_t now_ns)
{
    /* A key that a worker left under another limit is carried over by this. */
    struct mete_request request = {&key, sizeof key, 1, now_ns, 0};
    struct mete_decision now;
    assert_int_equal(mete_take(limiter, &request, &now), METE_OK);
    now = look(limiter, key, now_ns);
    if (now.reset_after_ns > 0) {
        assert_true(look(limiter, key, now_ns + now.reset_after_ns - 1).reset_after_ns > 0);
    }
    struct mete_decision then = look(limiter, key, now_ns + now.reset_after_ns);
    assert_int_equal(then.remaining, now.limit);
    assert_int_equal(then.reset_after_ns, 0);
    if (!now.allowed) {
        assert_false(look(limiter, key, now_ns + now.retry_after_ns - 1).allowed);
        assert_true(look(limiter, key, now_ns + now.retry_after_ns).allowed);
    }
    struct mete_request all = {&key, sizeof key, now.limit, now_ns + now.reset_after_ns, 0};
    assert_int_equal(mete_take(limiter, &all, &then), METE_OK);
    assert_true(then.allowed);
}

/* What a hot key was charged can be read from when it will be full. */
static void check_hot(struct worker *worker, uint64_t now_ns, uint64_t kills)
{
    uint64_t lost = 0;
    for (uint32_t key = 0; key < HOT_KEYS; key++) {
        uint64_t full_ns = now_ns + look(worker->hot, key, now_ns).reset_after_ns;
        uint64_t charged = (full_ns - tally->start_ns) / HOT_GAP_NS - HOT_BURST;
        uint64_t counted = tally->hot[key];
        assert_int_equal((full_ns - tally->start_ns) % HOT_GAP_NS, 0);
        assert_true(counted <= charged);
        assert_true(charged <= (now_ns - tally->start_ns) / HOT_GAP_NS);
        assert_true(charged > HOT_BURST / 100);
        lost += charged - counted;
        assert_recovers(worker->hot, key, now_ns);
    }
    assert_true(lost <= kills);
    print_message("hot: %llu admissions were charged and then lost their caller\n", (unsigned long long)lost);
}

static void check_fresh(struct worker *worker, uint64_t now_ns)
{
    uint64_t used = 0;
    for (uint32_t key = 0; key < FRESH_KEYS; key++) {
        used += tally->fresh[key];
        assert_true(tally->fresh[key] <= 1);
        if (tally->fresh[key] == 1) {
            assert_false(look(worker->fresh, key, now_ns).allowed);
        }
        assert_recovers(worker->fresh, key, now_ns);
    }
    assert_true(used > 10);
}

static void check_brief(struct worker *worker, uint64_t now_ns)
{
    uint64_t elapsed_ns = now_ns - tally->start_ns;
    uint64_t admitted = 0;
    for (uint32_t key = 0; key < BRIEF_KEYS; key++) {
        assert_true(tally->brief[key] <= 1 + elapsed_ns / MS);
        admitted += tally->brief[key];
    }
    for (uint32_t key = 0; key < BRIEF_KEYS; key++) { /* each in its turn, a second apart: any cell will do */
        assert_recovers(worker->brief, key, now_ns + (key + 1) * SEC);
    }
    assert_true(admitted > BRIEF_KEYS);
}

static void check_logs_and_turns(struct worker *worker, uint64_t now_ns)
{
    uint64_t elapsed_ns = now_ns - tally->start_ns;
    for (uint32_t key = 0; key < LOG_KEYS; key++) {
        assert_true(tally->log[key] <= LOG_COUNT * (elapsed_ns / SEC + 1));
        assert_true(tally->log[key] > 0);
        assert_recovers(worker->log, key, now_ns);
    }
    for (uint32_t slot = 0; slot < WORKERS; slot++) {
        char name[16];
        snprintf(name, sizeof name, "turn-%u", slot);
        mete_limiter *turn = limiter_of(worker->store, name, turn_limits[1]);
        assert_true(tally->turn[slot] <= TURN_BURST + elapsed_ns * TURN_RATE / SEC);
        assert_true(tally->turn[slot] > 0);
        assert_recovers(turn, slot, mete_store_now(worker->store)); /* not before `turn` was made */
        mete_limiter_destroy(turn);
    }
}

static void worker_close(struct worker *worker)
{
    mete_limiter_destroy(worker->hot);
    mete_limiter_destroy(worker->fresh);
    mete_limiter_destroy(worker->log);
    mete_limiter_destroy(worker->turn);
    mete_limiter_destroy(worker->brief);
    mete_store_destroy(worker->store);
    mete_store_destroy(worker->small);
}

static void killed_while_deciding(void **state)
{
    (void)state;
    if (!processes_share()) {
        skip();
    }
    struct worker worker = {.slot = 0};
    struct mete_decision decision;
    tally = mmap(NULL, sizeof *tally, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(tally, MAP_FAILED);
    place_make(&place);
    snprintf(small_path, sizeof small_path, "%s/small", place.folder);
    assert_true(worker_open(&worker));
    tally->start_ns = mete_store_now(worker.store);
    for (uint32_t key = 0; key < HOT_KEYS; key++) { /* exhausted from the start: not full again for 5 s */
        struct mete_request all = {&key, sizeof key, HOT_BURST, tally->start_ns, 0};
        assert_int_equal(mete_take(worker.hot, &all, &decision), METE_OK);
        assert_true(decision.allowed);
    }
    worker_close(&worker);

    uint64_t kills = run_workers(300 * place_scale());

    assert_true(worker_open(&worker));
    assert_int_equal(tally->failures, 0);
    uint64_t now_ns = mete_store_now(worker.store);
    struct mete_store_stats stats = api_stats(worker.store);
    assert_int_equal(stats.keys_evicted, 0);
    assert_int_equal(stats.full_denied, 0);
    check_hot(&worker, now_ns, kills);
    check_fresh(&worker, now_ns);
    check_logs_and_turns(&worker, now_ns);
    check_brief(&worker, now_ns);
    print_message("%llu kills; main: %llu claims removed, %llu retries, %llu rescaled; "
                  "small: %llu removed, %llu inserted\n",
                  (unsigned long long)kills, (unsigned long long)stats.claims_removed,
                  (unsigned long long)stats.swap_retries, (unsigned long long)stats.keys_rescaled,
                  (unsigned long long)api_stats(worker.small).claims_removed,
                  (unsigned long long)api_stats(worker.small).keys_inserted);
    worker_close(&worker);
    assert_int_equal(place_files(&place, "", false), 3); /* two stores and the log */
    place_remove(&place);
    munmap(tally, sizeof *tally);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_while_deciding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
