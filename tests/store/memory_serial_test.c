/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory: at most 22 bytes per keys_max key, header and all else included, as
 * the kernel counts it for the whole process before and after.  Each case runs
 * in a child of its own.  A sanitizer's own memory would be counted too, so
 * there only the mapping's size is judged.
 */
#include "place.h"

#include <sys/wait.h>

#define BYTES_PER_KEY_MAX 22u
#define SCALES_BYTES (1u << 20) /* of a file all of it is read when it is opened */

/* smaps_rollup is exact; statm may be some hundred pages behind. */
static uint64_t resident_bytes(void)
{
    char text[2048] = "";
    int fd = open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_true(read(fd, text, sizeof text - 1) > 0);
    close(fd);
    const char *line = strstr(text, "\nRss:");
    assert_non_null(line);
    return strtoull(line + 5, NULL, 10) * 1024;
}

struct kind {
    const char *name;
    unsigned flags;
    bool is_file;
};

static void fill(mete_limiter *limiter, uint64_t keys)
{
    struct mete_request requests[32];
    struct mete_decision decisions[32];
    uint64_t names[32];
    for (uint64_t i = 0; i < keys; i += 32) {
        size_t n = keys - i < 32 ? (size_t)(keys - i) : 32;
        for (size_t j = 0; j < n; j++) {
            names[j] = i + j;
            requests[j] = (struct mete_request){&names[j], sizeof names[j], 1, METE_NOW, 0};
        }
        assert_int_equal(mete_take_batch(limiter, requests, n, decisions), METE_OK);
    }
}

/* In the child.  What a first small store needs once per process is not counted. */
static int measure(uint64_t keys, const struct kind *kind)
{
    struct place place;
    struct mete_store_options options = METE_STORE_OPTIONS_INIT;
    struct mete_store_options small = METE_STORE_OPTIONS_INIT;
    small.keys_max = 8;
    mete_store *first = api_store(&small);
    mete_limiter *limiter = api_limiter(first, "n", "10/10h");
    fill(limiter, 8);
    mete_limiter_destroy(limiter);
    mete_store_destroy(first);
    place_make(&place);
    options.keys_max = keys;
    options.flags = kind->flags;
    options.path = kind->is_file ? place.path : NULL;

    uint64_t before = resident_bytes();
    mete_store *store = api_store(&options);
    limiter = api_limiter(store, "n", "10/10h");
    uint64_t created = resident_bytes() - before;
    fill(limiter, keys);
    uint64_t used = resident_bytes() - before;

    struct mete_store_stats stats = api_stats(store);
    uint64_t live = api_keys_live(store);
    assert_true(live + stats.keys_evicted == keys && stats.keys_evicted * 10000 < keys);
    print_message("%8llu keys, %-26s %5.2f bytes per key resident (%5.2f before the first key), %5.2f mapped\n",
                  (unsigned long long)keys, kind->name, (double)used / (double)keys, (double)created / (double)keys,
                  (double)stats.memory_bytes / (double)keys);
    uint64_t bound = BYTES_PER_KEY_MAX * keys + (kind->is_file ? SCALES_BYTES : 0);
    bool is_small = IS_SANITIZED || used <= bound;
    bool is_prefaulted = !kind->is_file && (kind->flags & METE_STORE_NO_PREFAULT) == 0;
    bool is_as_asked = IS_SANITIZED || (created > used / 2) == is_prefaulted;
    mete_limiter_destroy(limiter);
    mete_store_destroy(store);
    place_remove(&place);
    /* The mapping has a gap up to a whole 2 MiB before the cells, which costs nothing. */
    return is_small && is_as_asked && stats.memory_bytes <= BYTES_PER_KEY_MAX * keys + (4 << 20) ? 0 : 1;
}

static void check(uint64_t keys, const struct kind *kind)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        int failed = measure(keys, kind);
        fflush(stdout);
        _exit(failed);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static const struct kind kinds[] = {
    {"default", 0, false},
    {"no huge pages", METE_STORE_NO_HUGE_PAGES, false},
    {"no prefault", METE_STORE_NO_PREFAULT, false},
    {"no prefault, no huge pages", METE_STORE_NO_PREFAULT | METE_STORE_NO_HUGE_PAGES, false},
    {"a file", 0, true},
};

/* The mapping's size is known as well from fewer keys, which take a sanitizer long. */
static void one_million(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        check(IS_SANITIZED ? 200000 : 1000000, &kinds[i]);
    }
}

/* All of the kinds from scale 2 on: each takes seconds. */
static void ten_million(void **state)
{
    (void)state;
    if (IS_SANITIZED) {
        print_message("built with a sanitizer: 10 million keys are not measured here\n");
        return;
    }
    for (size_t i = 0; i < (place_scale() > 1 ? COUNT_OF(kinds) : 1); i++) {
        check(10000000, &kinds[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_million),
        cmocka_unit_test(ten_million),
    };
    if (IS_SANITIZED) {
        print_message("built with a sanitizer: only the mapping's size is judged\n");
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
