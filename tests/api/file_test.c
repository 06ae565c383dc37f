/* SPDX-License-Identifier: Apache-2.0 */
/* Stores in a file: creating, refusing, sharing, keeping.  Damage: damage_test.c. */
#include "api.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char directory[64];
static char path[96];

static int make_directory(void **state)
{
    (void)state;
    strcpy(directory, "/tmp/mete-file-XXXXXX");
    if (mkdtemp(directory) == NULL) {
        return -1;
    }
    snprintf(path, sizeof(path), "%s/store", directory);
    return 0;
}

/* Names in a folder; they are removed when asked. */
static unsigned files_in(const char *folder, bool remove_them)
{
    unsigned n = 0;
    DIR *entries = opendir(folder);
    for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            n++;
            if (remove_them) {
                unlinkat(dirfd(entries), entry->d_name, 0);
            }
        }
    }
    if (entries != NULL) {
        closedir(entries);
    }
    return n;
}

static int remove_directory(void **state)
{
    (void)state;
    files_in(directory, true);
    return rmdir(directory);
}

static struct mete_store_options file_options(struct api_world *world)
{
    struct mete_store_options options = api_options(world);
    options.keys_max = 100;
    options.path = path;
    return options;
}

static void refused(const struct mete_store_options *options, mete_status status, const char *word)
{
    mete_store *store;
    char why[300] = "";
    assert_refused(mete_store_create_why(options, &store, why, sizeof(why)), status, &store);
    if (strstr(why, word) == NULL) {
        fail_msg("'%s' does not name '%s'", why, word);
    }
    assert_refused(mete_store_create(options, &store), status, &store);
}

static void bad_paths(void **state)
{
    (void)state;
    struct api_world world;
    struct mete_store_options options = file_options(&world);
    char missing[160], fifo[160];
    api_set(&world, 0);
    options.path = "";
    refused(&options, METE_EINVAL, "path");
    snprintf(missing, sizeof(missing), "%s/missing/store", directory);
    options.path = missing;
    refused(&options, METE_EIO, missing);
    options.path = directory;
    refused(&options, METE_EIO, directory);
    options.path = "/dev/null";
    refused(&options, METE_EIO, "/dev/null");
    snprintf(fifo, sizeof(fifo), "%s/fifo", directory);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    options.path = fifo; /* must not wait for a writer either */
    refused(&options, METE_EIO, fifo);
    assert_int_equal(files_in(directory, false), 1);
}

/* Creates in a child that may write files of one page only. */
static int create_limited(const struct mete_store_options *options)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct rlimit one_page = {4096, 4096};
        mete_store *store = NULL;
        char why[300] = "";
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &one_page);
        mete_status status = mete_store_create_why(options, &store, why, sizeof(why));
        bool named = strstr(why, options->path) != NULL;
        _exit(status == METE_EIO && store == NULL && named ? 0 : 1);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    return status;
}

/* No room for the file: METE_EIO, and nothing is left behind. */
static void file_size_limit(void **state)
{
    (void)state;
    struct api_world world;
    struct mete_store_options options = file_options(&world);
    api_set(&world, 0);
    options.keys_max = 1000000;
    assert_int_equal(create_limited(&options), 0);
    assert_int_equal(files_in(directory, false), 0);
}

/* The same on a disk that is full.  The blocks must be reserved at creation:
 * a hole would be found out by a signal much later. */
static void disk_full(void **state)
{
    (void)state;
    struct api_world world;
    struct mete_store_options options = file_options(&world);
    api_set(&world, 0);
    if (mount("none", directory, "tmpfs", 0, "size=1m") != 0) {
        print_message("disk_full: cannot mount a tmpfs here (%s); file_size_limit stands in\n", strerror(errno));
        return;
    }
    options.keys_max = 1000000;
    mete_store *store;
    api_mark(&store, sizeof(store));
    char why[300] = "";
    mete_status status = mete_store_create_why(&options, &store, why, sizeof(why));
    bool untouched = api_is_marked(&store, sizeof(store));
    unsigned left = files_in(directory, false);
    umount(directory);
    assert_int_equal(status, METE_EIO);
    assert_true(untouched);
    assert_int_equal(left, 0);
    assert_non_null(strstr(why, path));
}

static void file_is_private_and_whole(void **state)
{
    (void)state;
    struct api_world world;
    struct stat file;
    struct mete_store_options options = file_options(&world);
    api_set(&world, 0);
    mode_t before = umask(0);
    mete_store *store = api_store(&options);
    umask(before);
    assert_int_equal(stat(path, &file), 0);
    assert_int_equal(file.st_mode & 07777, 0600);
    assert_int_equal(file.st_size, api_stats(store).memory_bytes);
    assert_true((uint64_t)file.st_blocks * 512 >= (uint64_t)file.st_size);
    assert_int_equal(files_in(directory, false), 1);
    mete_store_destroy(store);
    assert_int_equal(stat(path, &file), 0);
}

static void two_opens_share_keys(void **state)
{
    (void)state;
    struct api_world world;
    struct mete_store_options options = file_options(&world);
    mete_store *stores[2];
    mete_limiter *limiters[2];
    api_set(&world, 0);
    for (int i = 0; i < 2; i++) {
        stores[i] = api_store(&options);
        limiters[i] = api_limiter(stores[i], "n", "10/1h");
    }
    for (unsigned call = 0; call < 10; call++) {
        assert_int_equal(api_take_of(limiters[call % 2], "k", 1).remaining, 9 - call);
    }
    assert_false(mete_allow(limiters[0], "k", 1));
    assert_false(mete_allow(limiters[1], "k", 1));
    assert_int_equal(mete_reset(limiters[0], "k", 1), METE_OK);
    assert_true(mete_allow(limiters[1], "k", 1));
    assert_int_equal(api_keys_live(stores[0]), 1);
    assert_int_equal(api_keys_live(stores[1]), 1);
    assert_int_equal(api_stats(stores[0]).keys_inserted, api_stats(stores[1]).keys_inserted);
    for (int i = 0; i < 2; i++) {
        mete_limiter_destroy(limiters[i]);
        mete_store_destroy(stores[i]);
    }
}

static const char *const limits[] = {
    "token_bucket 10/1h",
    "leaky_bucket 10/1h",
    "fixed_window 10/1h",
    "fixed_window 10/1h anchored",
    "sliding_window 10/1h",
    "sliding_log 10/1h",
    "fixed_window 10/day calendar zone Europe/Berlin",
};

/* A file keeps its content, of every algorithm, and its counts. */
static void reopen_keeps_state(void **state)
{
    (void)state;
    struct api_world world;
    struct mete_store_options options = file_options(&world);
    struct mete_decision before[COUNT_OF(limits)];
    api_set(&world, 1000000 * SEC);
    for (int round = 0; round < 3; round++) {
        mete_store *store = api_store(&options);
        for (size_t i = 0; i < COUNT_OF(limits); i++) {
            mete_limiter *limiter = api_limiter(store, limits[i], limits[i]);
            if (round > 0) {
                struct mete_decision now = api_take_of(limiter, "k", 0);
                assert_int_equal(now.remaining, before[i].remaining);
                assert_int_equal(now.reset_after_ns, before[i].reset_after_ns);
            }
            before[i] = api_take_of(limiter, "k", 3);
            assert_true(before[i].allowed);
            assert_int_equal(before[i].remaining, 7 - 3 * round);
            mete_limiter_destroy(limiter);
        }
        assert_int_equal(api_stats(store).keys_inserted, 7); /* the log's own count is added */
        mete_store_destroy(store);
    }
}

/* The default clock goes on over a reopening, and its file is not for callers' clocks. */
static void clock_kinds_differ(void **state)
{
    (void)state;
    struct api_world world;
    struct mete_store_options with_clock = file_options(&world), own = with_clock;
    api_set(&world, 0);
    own.clock = NULL;
    mete_store *store = api_store(&own);
    mete_limiter *limiter = api_limiter(store, "n", "10/1h");
    struct mete_decision before = api_take_of(limiter, "k", 10);
    uint64_t then_ns = mete_store_now(store);
    mete_limiter_destroy(limiter);
    mete_store_destroy(store);
    refused(&with_clock, METE_EINVAL, "clock");
    store = api_store(&own);
    limiter = api_limiter(store, "n", "10/1h");
    assert_true(mete_store_now(store) >= then_ns);
    struct mete_decision after = api_take_of(limiter, "k", 1);
    assert_false(after.allowed);
    assert_true(after.reset_after_ns <= before.reset_after_ns);
    assert_true(after.reset_after_ns > before.reset_after_ns - 60 * SEC);
    mete_limiter_destroy(limiter);
    mete_store_destroy(store);
    unlink(path);
    mete_store_destroy(api_store(&with_clock));
    refused(&own, METE_EINVAL, "clock");
}

static void keys_max_differs(void **state)
{
    (void)state;
    struct api_world world;
    struct mete_store_options options = file_options(&world);
    api_set(&world, 0);
    mete_store_destroy(api_store(&options));
    static const uint64_t others[] = {1, 99, 101, 1000000};
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        options.keys_max = others[i];
        refused(&options, METE_EINVAL, "keys_max: ");
        refused(&options, METE_EINVAL, "' was made for 100 keys, not ");
        refused(&options, METE_EINVAL, "; use that number, or another file");
    }
    options.keys_max = 100;
    options.on_full = METE_FULL_DENY; /* of the process, not of the file */
    options.flags = METE_STORE_NO_HUGE_PAGES;
    mete_store_destroy(api_store(&options));
}

/* Runs in a child: how many of its takes of one unit passed; 255 when it could not even try. */
static unsigned child_admitted(const struct mete_store_options *options, unsigned tries)
{
    mete_store *store = NULL;
    mete_limiter *limiter = NULL;
    struct mete_limit limit = {.count = 100, .period_ns = 3600 * SEC};
    unsigned admitted = 0;
    if (mete_store_create(options, &store) != METE_OK || mete_limiter_create(store, "n", &limit, &limiter) != METE_OK) {
        return 255;
    }
    for (unsigned i = 0; i < tries; i++) {
        admitted += mete_allow(limiter, "k", 1);
    }
    return admitted;
}

/* Processes that make and use one file at the same moment share one allowance. */
static void processes_share(void **state)
{
    (void)state;
    struct api_world world;
    struct mete_store_options options = file_options(&world);
    api_set(&world, 0);
    for (unsigned round = 0; round < 20; round++) {
        pid_t pids[6];
        unsigned total = 0;
        for (unsigned i = 0; i < COUNT_OF(pids); i++) {
            pids[i] = fork();
            if (pids[i] == 0) {
                _exit((int)child_admitted(&options, 100));
            }
        }
        for (unsigned i = 0; i < COUNT_OF(pids); i++) {
            int status = -1;
            assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 255);
            total += (unsigned)WEXITSTATUS(status);
        }
        assert_int_equal(total, 100);
        assert_int_equal(files_in(directory, true), 1);
    }
}

/* A process killed at any instruction leaves nothing held and nothing half-written. */
static void killed_processes_leave_nothing(void **state)
{
    (void)state;
    struct api_world world;
    struct mete_store_options options = file_options(&world);
    api_set(&world, 0);
    mete_store *store = api_store(&options);
    mete_limiter *limiter = api_limiter(store, "n", "100/1h");
    for (unsigned round = 0; round < 50; round++) {
        assert_int_equal(mete_reset(limiter, "k", 1), METE_OK);
        pid_t pid = fork();
        if (pid == 0) {
            for (;;) {
                child_admitted(&options, 1000);
            }
        }
        usleep(200 + round * 37 % 1500);
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        uint64_t left = api_take_of(limiter, "k", 0).remaining, admitted = 0;
        assert_true(left <= 100);
        while (mete_allow(limiter, "k", 1)) {
            admitted++;
        }
        assert_int_equal(admitted, left);
        assert_true(mete_allow(limiter, "fresh", 5));
        assert_int_equal(mete_reset(limiter, "fresh", 5), METE_OK);
    }
    mete_limiter_destroy(limiter);
    mete_store_destroy(store);
}

#define file_test(test) cmocka_unit_test_setup_teardown(test, make_directory, remove_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        file_test(bad_paths),
        file_test(file_size_limit),
        file_test(disk_full),
        file_test(file_is_private_and_whole),
        file_test(two_opens_share_keys),
        file_test(reopen_keeps_state),
        file_test(clock_kinds_differ),
        file_test(keys_max_differs),
        file_test(processes_share),
        file_test(killed_processes_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
