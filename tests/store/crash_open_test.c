/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kill -9 at random instants of processes that create and open files: what is
 * to be seen at a path is whole, always.
 */
#include "place.h"

#include <signal.h>

#include <sys/wait.h>

static struct place place;

static struct mete_store_options store_options(void)
{
    struct mete_store_options options = METE_STORE_OPTIONS_INIT;
    options.keys_max = 100000;
    options.path = place.path;
    options.log_units_max = 2560;
    return options;
}

static void kill_one(pid_t pid)
{
    int status = 0;
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL); /* it had not ended on its own */
}

/* Creates both files over and over; never returns. */
static void open_for_ever(void)
{
    struct mete_limit limit = {.algorithm = METE_SLIDING_LOG, .count = 40, .period_ns = SEC};
    struct mete_store_options options = store_options();
    for (;;) {
        mete_store *store = NULL;
        mete_limiter *limiter = NULL;
        if (mete_store_create(&options, &store) != METE_OK ||
            mete_limiter_create(store, "log", &limit, &limiter) != METE_OK) {
            _exit(1);
        }
        mete_limiter_destroy(limiter);
        mete_store_destroy(store);
        place_files(&place, "", true);
    }
}

/* What is at the path is whole: it opens and decides. */
static bool check_visible(void)
{
    bool is_there = access(place.path, F_OK) == 0;
    struct mete_store_options options = store_options();
    mete_store *store = api_store(&options);
    mete_limiter *limiter = api_limiter(store, "log", "sliding_log 40/1s");
    assert_true(mete_allow(limiter, "k", 1));
    mete_limiter_destroy(limiter);
    mete_store_destroy(store);
    return is_there;
}

/* A kill between creating and linking leaves a temporary file, PATH.XXXXXX or
 * LOG.XXXXXX: at most one each time.  Nobody takes it for a store. */
static void killed_while_opening(void **state)
{
    (void)state;
    uint64_t seed = (uint64_t)getpid();
    uint64_t kills = 150 * place_scale();
    unsigned there = 0, left = 0;
    place_make(&place);
    for (uint64_t i = 0; i < kills; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            open_for_ever();
        }
        usleep((useconds_t)(place_random(&seed) % 6000));
        kill_one(pid);
        there += check_visible();
        unsigned files = place_files(&place, "", true);
        assert_in_range(files, 2, 3); /* the store, its log, and what was being made */
        left += files - 2;
    }
    print_message("%llu kills: %u with a file at the path, %u with a temporary file left\n", (unsigned long long)kills,
                  there, left);
    place_remove(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_while_opening),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
