/* SPDX-License-Identifier: Apache-2.0 */
/* A folder in memory for the files of one test, and what all tests here need. */
#ifndef METE_TESTS_STORE_PLACE_H
#define METE_TESTS_STORE_PLACE_H

#include "api/api.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <sys/stat.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif

/* GCC's thread sanitizer guards 16-byte atomics by a lock of the process: there
 * a file cannot be shared by processes, and what hangs on that is not tested. */
#if defined(__SANITIZE_THREAD__)
#define PROCESSES_SHARE 0
#else
#define PROCESSES_SHARE 1
#endif

static inline bool processes_share(void)
{
    if (!PROCESSES_SHARE) {
        print_message("built with the thread sanitizer: no swap of 16 bytes between processes\n");
    }
    return PROCESSES_SHARE;
}

struct place {
    char folder[200];
    char path[240]; /* of the store's file */
};

static inline uint64_t place_scale(void)
{
    const char *text = getenv("METE_TEST_SCALE");
    uint64_t scale = text != NULL ? strtoull(text, NULL, 10) : 1;
    return scale > 0 ? scale : 1;
}

static inline void place_make(struct place *place)
{
    const char *base = getenv("TMPDIR");
    if (base == NULL) {
        base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    }
    snprintf(place->folder, sizeof(place->folder), "%.150s/mete-store-XXXXXX", base);
    assert_non_null(mkdtemp(place->folder));
    snprintf(place->path, sizeof(place->path), "%s/store", place->folder);
}

/* Counts the files whose names begin so; removes them when asked. */
static inline unsigned place_files(const struct place *place, const char *prefix, bool remove_them)
{
    unsigned n = 0;
    DIR *entries = opendir(place->folder);
    assert_non_null(entries);
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        if (entry->d_name[0] == '.' || strncmp(entry->d_name, prefix, strlen(prefix)) != 0) {
            continue;
        }
        n++;
        if (remove_them) {
            assert_int_equal(unlinkat(dirfd(entries), entry->d_name, 0), 0);
        }
    }
    closedir(entries);
    return n;
}

/* The name of the one file that begins so, in full: for the log's. */
static inline void place_find(const struct place *place, const char *prefix, const char *suffix, char *out, size_t size)
{
    bool is_found = false;
    DIR *entries = opendir(place->folder);
    assert_non_null(entries);
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        size_t len = strlen(entry->d_name);
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0 && len > strlen(suffix) &&
            strcmp(entry->d_name + len - strlen(suffix), suffix) == 0) {
            assert_false(is_found);
            is_found = true;
            snprintf(out, size, "%s/%s", place->folder, entry->d_name);
        }
    }
    closedir(entries);
    assert_true(is_found);
}

static inline void place_remove(struct place *place)
{
    place_files(place, "", true);
    assert_int_equal(rmdir(place->folder), 0);
}

/* A generator of the test's own: seeded, so that a run can be repeated. */
static inline uint64_t place_random(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t mixed = (*state ^ (*state >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ (mixed >> 31);
}

#endif
