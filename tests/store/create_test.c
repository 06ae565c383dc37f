/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that all want the same store when there is none yet: one of them
 * makes the file, and every one ends with that file and no other.
 */
#include "place.h"

#include <sched.h>

#include <sys/mman.h>
#include <sys/wait.h>

#define OPENERS 6u
#define ROUNDS 12u
#define BURST 50u

static struct {
    _Atomic unsigned arrived;
    _Atomic uint64_t admitted;
} * shared;

static int set_up(void **state)
{
    (void)state;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return shared != MAP_FAILED ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    return munmap(shared, sizeof *shared);
}

static void wait_for(unsigned arrivals)
{
    atomic_fetch_add(&shared->arrived, 1);
    while (atomic_load(&shared->arrived) < arrivals) {
        sched_yield();
    }
}

/* Opens, waits until all have opened, and asks for more than there is. */
static void open_and_ask(const char *path)
{
    struct mete_store_options options = METE_STORE_OPTIONS_INIT;
    options.path = path;
    options.keys_max = 100;
    wait_for(OPENERS);
    mete_store *store = api_store(&options);
    mete_limiter *limiter = api_limiter(store, "n", "50/1w burst 50");
    wait_for(2 * OPENERS);
    for (unsigned i = 0; i < BURST; i++) {
        atomic_fetch_add(&shared->admitted, mete_allow(limiter, "k", 1));
    }
    mete_limiter_destroy(limiter);
    mete_store_destroy(store);
}

static void all_have_one_file(void **state)
{
    (void)state;
    struct place place;
    if (!processes_share()) {
        return;
    }
    place_make(&place);
    for (unsigned round = 0; round < ROUNDS * place_scale(); round++) {
        pid_t children[OPENERS];
        atomic_store(&shared->arrived, 0);
        atomic_store(&shared->admitted, 0);
        for (unsigned i = 0; i < OPENERS; i++) {
            children[i] = fork();
            assert_true(children[i] >= 0);
            if (children[i] == 0) {
                open_and_ask(place.path);
                _exit(0);
            }
        }
        for (unsigned i = 0; i < OPENERS; i++) {
            int status = -1;
            assert_int_equal(waitpid(children[i], &status, 0), children[i]);
            assert_int_equal(status, 0);
        }
        assert_int_equal(atomic_load(&shared->admitted), BURST);
        assert_int_equal(place_files(&place, "", true), 1); /* nothing is left beside the store */
    }
    assert_int_equal(rmdir(place.folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_have_one_file, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
