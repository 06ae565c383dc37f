/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every bit of both kinds of header, every kind of length, things that are no
 * files, and a disk that is full half-way.  tests/api/damage_test.c has noise
 * behind the header and foreign content.
 */
#include "place.h"

#include <errno.h>
#include <signal.h>

#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#define HEADER_BYTES 4096u
#define LOG_TEXT "sliding_log 5/1h"

struct damaged {
    struct place place;
    char log_path[520];
    const char *path;     /* of the file that is damaged */
    mete_store *store;    /* when that is the log's: the sound store beside it, open */
    unsigned char *bytes; /* the file, mapped: what is written here is in it */
    unsigned char *before;
    size_t size;
};

static struct mete_store_options options_of(const char *path)
{
    struct mete_store_options options = METE_STORE_OPTIONS_INIT;
    options.keys_max = 10;
    options.path = path;
    options.log_units_max = 100;
    return options;
}

/* Opens what is damaged: the store, or the log. */
static mete_status open_it(const struct damaged *damaged, char *why, size_t why_size)
{
    struct mete_store_options options = options_of(damaged->place.path);
    struct mete_limit limit = {.algorithm = METE_SLIDING_LOG, .count = 5, .period_ns = 3600 * SEC};
    mete_store *store = NULL;
    mete_limiter *limiter = NULL;
    mete_status status;
    if (damaged->store != NULL) {
        status = mete_limiter_create_why(damaged->store, "log", &limit, &limiter, why, why_size);
        assert_int_equal(limiter != NULL, status == METE_OK);
    } else {
        status = mete_store_create_why(&options, &store, why, why_size);
        assert_int_equal(store != NULL, status == METE_OK);
    }
    mete_limiter_destroy(limiter);
    mete_store_destroy(store);
    return status;
}

static void damaged_make(struct damaged *damaged, bool is_log)
{
    place_make(&damaged->place);
    struct mete_store_options options = options_of(damaged->place.path);
    mete_store *store = api_store(&options);
    mete_limiter *limiter = api_limiter(store, "log", LOG_TEXT);
    api_take_of(limiter, "k", 5);
    mete_limiter_destroy(limiter);
    mete_store_destroy(store);
    place_find(&damaged->place, "store.", ".log", damaged->log_path, sizeof damaged->log_path);
    damaged->path = is_log ? damaged->log_path : damaged->place.path;
    damaged->store = is_log ? api_store(&options) : NULL;

    struct stat info;
    int fd = open(damaged->path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &info), 0);
    damaged->size = (size_t)info.st_size;
    damaged->bytes = mmap(NULL, damaged->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(damaged->bytes, MAP_FAILED);
    close(fd);
    damaged->before = malloc(damaged->size);
    assert_non_null(damaged->before);
    memcpy(damaged->before, damaged->bytes, damaged->size);
}

static void damaged_remove(struct damaged *damaged)
{
    munmap(damaged->bytes, damaged->size);
    free(damaged->before);
    mete_store_destroy(damaged->store);
    place_remove(&damaged->place);
}

/* All 32,768 bits: refused, and not a byte of the header written; nor of the
 * rest of the file, which is looked at now and then. */
static void flip_all(bool is_log)
{
    struct damaged damaged;
    damaged_make(&damaged, is_log);
    for (size_t bit = 0; bit < HEADER_BYTES * 8; bit++) {
        unsigned char mask = (unsigned char)(1u << bit % 8);
        char why[400] = "";
        damaged.bytes[bit / 8] ^= mask;
        damaged.before[bit / 8] ^= mask;
        mete_status status = open_it(&damaged, why, sizeof why);
        if (status != METE_ECORRUPT || why[0] == 0) {
            fail_msg("bit %zu: %s ('%s')", bit, mete_status_text(status), why);
        }
        size_t compared = bit % 1024 == 0 ? damaged.size : HEADER_BYTES;
        assert_memory_equal(damaged.bytes, damaged.before, compared);
        damaged.bytes[bit / 8] ^= mask;
        damaged.before[bit / 8] ^= mask;
    }
    assert_int_equal(open_it(&damaged, NULL, 0), METE_OK);
    damaged_remove(&damaged);
}

static void each_bit_of_a_store(void **state)
{
    (void)state;
    flip_all(false);
}

static void each_bit_of_a_log(void **state)
{
    (void)state;
    flip_all(true);
}

/* A file of this length: the old one cut off, or with zeros behind it. */
static void check_length(struct damaged *damaged, size_t size)
{
    struct stat info;
    char why[400] = "";
    assert_int_equal(truncate(damaged->path, (off_t)size), 0);
    mete_status status = open_it(damaged, why, sizeof why);
    if (status != METE_ECORRUPT || why[0] == 0) {
        fail_msg("length %zu of %zu: %s ('%s')", size, damaged->size, mete_status_text(status), why);
    }
    assert_int_equal(stat(damaged->path, &info), 0);
    assert_int_equal(info.st_size, size);
    size_t common = size < damaged->size ? size : damaged->size;
    if (size % 64 == 0) { /* the mapping beyond the file's end must not be touched */
        assert_memory_equal(damaged->bytes, damaged->before, common);
    }
    assert_int_equal(truncate(damaged->path, (off_t)damaged->size), 0);
    if (size < damaged->size) { /* what was cut off is zero now: put it back */
        memcpy(damaged->bytes + size, damaged->before + size, damaged->size - size);
    }
}

static void all_lengths(bool is_log)
{
    struct damaged damaged;
    uint64_t seed = 11;
    damaged_make(&damaged, is_log);
    for (size_t size = 0; size <= 80; size++) {
        check_length(&damaged, size);
    }
    for (size_t size = 128; size < damaged.size; size *= 2) {
        check_length(&damaged, size - 1);
        check_length(&damaged, size);
        check_length(&damaged, size + 1);
    }
    for (unsigned i = 0; i < 300; i++) {
        check_length(&damaged, place_random(&seed) % damaged.size);
    }
    for (size_t size = 1; size < 2 * damaged.size; size *= 3) {
        check_length(&damaged, damaged.size - (size < damaged.size ? size : damaged.size));
        check_length(&damaged, damaged.size + size);
    }
    assert_int_equal(open_it(&damaged, NULL, 0), METE_OK);
    damaged_remove(&damaged);
}

static void each_length_of_a_store(void **state)
{
    (void)state;
    all_lengths(false);
}

static void each_length_of_a_log(void **state)
{
    (void)state;
    all_lengths(true);
}

/* A store where a log should be, a log where a store should be, and the log of another name. */
static void files_in_each_others_place(void **state)
{
    (void)state;
    struct damaged damaged;
    char kept[520];
    damaged_make(&damaged, true);
    snprintf(kept, sizeof kept, "%s/kept", damaged.place.folder);
    assert_int_equal(rename(damaged.log_path, kept), 0);
    assert_int_equal(link(damaged.place.path, damaged.log_path), 0);
    assert_int_equal(open_it(&damaged, NULL, 0), METE_ECORRUPT);
    mete_store_destroy(damaged.store);
    damaged.store = NULL;
    assert_int_equal(unlink(damaged.place.path), 0);
    assert_int_equal(link(kept, damaged.place.path), 0);
    assert_int_equal(open_it(&damaged, NULL, 0), METE_ECORRUPT);
    assert_memory_equal(damaged.bytes, damaged.before, damaged.size);
    damaged_remove(&damaged);
}

/* --- what is no file ------------------------------------------------------- */

/* In a child with an alarm: a call that waits, or that never ends, is a failure. */
static void assert_refused_soon(const char *path, mete_status expected)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct mete_store_options options = options_of(path);
        mete_store *store = NULL;
        char why[600] = "";
        alarm(10);
        mete_status status = mete_store_create_why(&options, &store, why, sizeof why);
        bool is_right = status == expected && store == NULL && strstr(why, path) != NULL;
        if (!is_right) {
            print_message("%s: %s '%s'\n", path, mete_status_text(status), why);
        }
        _exit(is_right ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (status != 0) {
        fail_msg("%s: ended by %s %d", path, WIFSIGNALED(status) ? "signal" : "status",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    }
}

static void socket_fifo_and_device(void **state)
{
    (void)state;
    struct place place;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    place_make(&place);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%.90s/socket", place.folder);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_refused_soon(address.sun_path, METE_EIO);
    close(fd);
    assert_int_equal(mkfifo(place.path, 0600), 0);
    assert_refused_soon(place.path, METE_EIO);
    assert_refused_soon("/dev/zero", METE_EIO);
    assert_int_equal(place_files(&place, "", false), 2);
    place_remove(&place);
}

/* A link to a store is that store; a link to nothing or to itself is refused. */
static void symbolic_links(void **state)
{
    (void)state;
    struct place place;
    char link_path[260];
    place_make(&place);
    snprintf(link_path, sizeof link_path, "%s/link", place.folder);
    assert_int_equal(symlink("link", link_path), 0);
    assert_refused_soon(link_path, METE_EIO);
    assert_int_equal(unlink(link_path), 0);

    assert_int_equal(symlink(place.path, link_path), 0);
    struct mete_store_options options = options_of(place.path);
    mete_store_destroy(api_store(&options));
    options.path = link_path;
    mete_store_destroy(api_store(&options));
    assert_int_equal(unlink(place.path), 0);
    assert_refused_soon(link_path, METE_EIO);
    assert_int_equal(place_files(&place, "", false), 1);
    place_remove(&place);
}

/* --- a full disk ----------------------------------------------------------- */

/* In a child: a store that is there already, and no room for the file of a log. */
static int log_without_room(const char *path)
{
    struct mete_store_options options = options_of(path);
    struct mete_limit log = {.algorithm = METE_SLIDING_LOG, .count = 5, .period_ns = SEC};
    struct mete_limit bucket = {.count = 5, .period_ns = SEC};
    mete_store *store = NULL;
    mete_limiter *limiter = NULL;
    char why[600] = "";
    options.log_units_max = 1000000;
    if (mete_store_create_why(&options, &store, why, sizeof why) != METE_OK) {
        return 2;
    }
    mete_status status = mete_limiter_create_why(store, "log", &log, &limiter, why, sizeof why);
    if (status != METE_EIO || limiter != NULL || strstr(why, path) == NULL) {
        print_message("%s '%s'\n", mete_status_text(status), why);
        return 3;
    }
    print_message("%s\n", why);
    /* The store is as good as before, and so is a limiter that cannot become a log. */
    if (mete_limiter_create(store, "log", &bucket, &limiter) != METE_OK ||
        mete_limiter_set_limit(limiter, &log) != METE_EIO || !mete_allow(limiter, "k", 1)) {
        return 4;
    }
    mete_limiter_destroy(limiter);
    mete_store_destroy(store);
    return 0;
}

static void assert_log_without_room(struct place *place, rlim_t bytes_max)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct rlimit room = {bytes_max, bytes_max};
        signal(SIGXFSZ, SIG_IGN);
        _exit(setrlimit(RLIMIT_FSIZE, &room) == 0 ? log_without_room(place->path) : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(place_files(place, "", false), 1);
}

static void no_room_for_a_log(void **state)
{
    (void)state;
    struct place place;
    place_make(&place);
    struct mete_store_options options = options_of(place.path);
    mete_store_destroy(api_store(&options));
    assert_log_without_room(&place, 3 << 20);
    place_remove(&place);

    place_make(&place);
    if (mount("none", place.folder, "tmpfs", 0, "size=3m") != 0) {
        print_message("cannot mount a small tmpfs here (%s): only the limit on a file's size was tested\n",
                      strerror(errno));
    } else {
        mete_store_destroy(api_store(&options));
        assert_log_without_room(&place, RLIM_INFINITY);
        assert_int_equal(umount(place.folder), 0);
    }
    place_remove(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_bit_of_a_store),
        cmocka_unit_test(each_bit_of_a_log),
        cmocka_unit_test(each_length_of_a_store),
        cmocka_unit_test(each_length_of_a_log),
        cmocka_unit_test(files_in_each_others_place),
        cmocka_unit_test(socket_fifo_and_device),
        cmocka_unit_test(symbolic_links),
        cmocka_unit_test(no_room_for_a_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
