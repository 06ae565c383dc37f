/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults of sharing one limit between several owners: counted twice, or cut into
 * shares too small for a single request.  Here a file is shared, not a copy.
 */
#include "case.h"

#include <unistd.h>

#include <sys/wait.h>

static void temporary_path(char *path)
{
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    unlink(path);
}

/* Each reload of a counter after a synchronisation added a call a second time.
 * Source: https://github.com/Kong/kong/pull/11859 */
static void case_115_sync_double_count(void **state)
{
    (void)state;
    char path[] = "/tmp/mete-case-115-XXXXXX";
    struct case_world world;
    struct mete_limiter *limiters[2];
    mete_store *stores[2];
    temporary_path(path);
    case_set(&world, 0);
    for (int i = 0; i < 2; i++) {
        stores[i] = case_store(&world, 100, path);
        limiters[i] = case_limiter(stores[i], "case", "fixed_window 100/60s");
    }
    /* Nothing is cached, so nothing is synchronised: two owners in turn. */
    struct mete_request request = case_request("k", 1);
    struct mete_decision decision;
    for (uint64_t i = 0; i < 20; i++) {
        case_set(&world, i * 1500 * MS);
        assert_int_equal(mete_take(limiters[i % 2], &request, &decision), METE_OK);
        assert_int_equal(decision.remaining, 99 - i);
    }
    request.cost = 0;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(mete_peek(limiters[i], &request, &decision), METE_OK);
        assert_int_equal(decision.remaining, 80);
        mete_limiter_destroy(limiters[i]);
        mete_store_destroy(stores[i]);
    }
    unlink(path);
}

/* A batch counts each call once as well. */
static void case_115_batch_counts_once(void **state)
{
    (void)state;
    struct case_world world;
    struct mete_request requests[20];
    struct mete_decision decisions[20];
    case_open(&world, "fixed_window 100/60s");
    for (unsigned i = 0; i < 20; i++) {
        requests[i] = case_request("k", 1);
    }
    assert_int_equal(mete_take_batch(world.limiter, requests, 20, decisions), METE_OK);
    assert_int_equal(decisions[19].remaining, 80);
    assert_int_equal(case_remaining(&world, 0, "k"), 80);
    case_close(&world);
}

/* Takes one unit in a process of its own; true when it passed. */
static bool other_process_passes(struct case_world *world, const char *path, const char *limit)
{
    int status = 0;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        mete_store *store = case_store(world, 100, path);
        mete_limiter *limiter = case_limiter(store, "case", limit);
        _exit(mete_allow(limiter, "k", 1) ? 1 : 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status) == 1;
}

/* A small limit divided over two instances scaled the cost to 2 of 1: nobody
 * could ever pass.
 * Source: https://github.com/envoyproxy/envoy/pull/46702 */
static void case_116_share_scaled_cost_above_burst(void **state)
{
    (void)state;
    char path[] = "/tmp/mete-case-116-XXXXXX";
    struct case_world world;
    temporary_path(path);
    case_set(&world, 0);
    /* Limits are not divided: the instances share the one bucket. */
    assert_true(other_process_passes(&world, path, "1/10s burst 1"));
    assert_false(other_process_passes(&world, path, "1/10s burst 1"));
    case_set(&world, 10 * SEC);
    assert_true(other_process_passes(&world, path, "1/10s burst 1"));
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(case_115_sync_double_count),
        cmocka_unit_test(case_115_batch_counts_once),
        cmocka_unit_test(case_116_share_scaled_cost_above_burst),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
