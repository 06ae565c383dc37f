/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Store files that are damaged, truncated or foreign: refused with METE_ECORRUPT
 * and left exactly as they were.
 */
#include "api.h"

#include <fcntl.h>
#include <unistd.h>

#include <sys/stat.h>

#define HEADER_BYTES 4096u

static char path[64];
static unsigned char *original;
static size_t original_size;
static struct api_world world;

static struct mete_store_options options_here(void)
{
    struct mete_store_options options = api_options(&world);
    options.keys_max = 10;
    options.path = path;
    return options;
}

static unsigned char *read_file(size_t *size)
{
    struct stat file;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &file), 0);
    *size = (size_t)file.st_size;
    unsigned char *bytes = malloc(*size + 1);
    assert_non_null(bytes);
    assert_int_equal(read(fd, bytes, *size), file.st_size);
    close(fd);
    return bytes;
}

static void write_at(size_t offset, const void *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, bytes, size, (off_t)offset), (ssize_t)size);
    close(fd);
}

/* A store with a key that has used up its limit, and one of a limit whose ticks are
 * no whole nanoseconds. */
static int make_store(void **state)
{
    (void)state;
    strcpy(path, "/tmp/mete-damage-XXXXXX");
    int fd = mkstemp(path);
    close(fd);
    unlink(path);
    api_set(&world, 0);
    struct mete_store_options options = options_here();
    mete_store *store = api_store(&options);
    mete_limiter *limiter = api_limiter(store, "n", "5/1h");
    api_take_of(limiter, "k", 5);
    mete_limiter_destroy(limiter);
    limiter = api_limiter(store, "m", "7/3s");
    api_take_of(limiter, "k", 5);
    mete_limiter_destroy(limiter);
    mete_store_destroy(store);
    original = read_file(&original_size);
    return 0;
}

static int remove_store(void **state)
{
    (void)state;
    free(original);
    return unlink(path);
}

static void assert_refused_unchanged(const unsigned char *bytes, size_t size)
{
    struct mete_store_options options = options_here();
    mete_store *store;
    char why[300] = "";
    assert_refused(mete_store_create_why(&options, &store, why, sizeof(why)), METE_ECORRUPT, &store);
    assert_true(strlen(why) > 0);
    size_t after_size = 0;
    unsigned char *after = read_file(&after_size);
    assert_int_equal(after_size, size);
    assert_memory_equal(after, bytes, size);
    free(after);
}

static void assert_opens_used_up(void)
{
    struct mete_store_options options = options_here();
    mete_store *store = api_store(&options);
    mete_limiter *limiter = api_limiter(store, "n", "5/1h");
    assert_false(mete_allow(limiter, "k", 1));
    mete_limiter_destroy(limiter);
    mete_store_destroy(store);
}

/* Any single bit of the header, the two clock cells included: refused.  Whole
 * files are compared now and then, headers always. */
static void header_bits(void **state)
{
    (void)state;
    struct mete_store_options options = options_here();
    for (size_t at = 0; at < HEADER_BYTES; at++) {
        unsigned bits = at < 256 || (at >= 2040 && at < 2080) ? 8 : 1;
        for (unsigned bit = 0; bit < bits; bit++) {
            unsigned char flipped = (unsigned char)(original[at] ^ (1u << (bits == 8 ? bit : at % 8)));
            unsigned char header[HEADER_BYTES];
            mete_store *store;
            write_at(at, &flipped, 1);
            api_mark(&store, sizeof(store));
            mete_status status = mete_store_create(&options, &store);
            if (status != METE_ECORRUPT || !api_is_marked(&store, sizeof(store))) {
                fail_msg("byte %zu: %s", at, mete_status_text(status));
            }
            int fd = open(path, O_RDONLY | O_CLOEXEC);
            assert_int_equal(read(fd, header, sizeof(header)), sizeof(header));
            close(fd);
            assert_int_equal(header[at], flipped);
            header[at] = original[at];
            assert_memory_equal(header, original, sizeof(header));
        }
        if (at % 512 == 0) {
            size_t size = 0;
            unsigned char *bytes = read_file(&size);
            assert_refused_unchanged(bytes, size);
            free(bytes);
        }
        write_at(at, &original[at], 1);
    }
    assert_opens_used_up();
}

static void truncated(void **state)
{
    (void)state;
    const size_t sizes[] = {
        0, 1, 8, 2047, 4095, 4096, 8192, original_size / 2, original_size - 4096, original_size - 1};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        write_at(0, original, original_size);
        assert_int_equal(truncate(path, (off_t)sizes[i]), 0);
        assert_refused_unchanged(original, sizes[i]);
    }
    write_at(0, original, original_size);
    assert_opens_used_up();
}

static void added_to(void **state)
{
    (void)state;
    unsigned char *longer = malloc(original_size + 4096);
    assert_non_null(longer);
    memcpy(longer, original, original_size);
    memset(longer + original_size, 7, 4096);
    static const size_t extra[] = {1, 16, 4096};
    for (size_t i = 0; i < COUNT_OF(extra); i++) {
        write_at(0, longer, original_size + extra[i]);
        assert_refused_unchanged(longer, original_size + extra[i]);
        assert_int_equal(truncate(path, (off_t)original_size), 0);
    }
    free(longer);
    assert_opens_used_up();
}

static void foreign(void **state)
{
    (void)state;
    unsigned char *bytes = malloc(original_size);
    assert_non_null(bytes);
    for (int kind = 0; kind < 4; kind++) {
        uint64_t seed = 3;
        for (size_t i = 0; i < original_size; i++) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
            bytes[i] = kind == 0 ? 0 : kind == 1 ? 0xff : (unsigned char)(seed >> 56);
        }
        if (kind == 3) {
            memcpy(bytes, original, 8); /* the right magic before noise */
        }
        write_at(0, bytes, original_size);
        assert_refused_unchanged(bytes, original_size);
    }
    memcpy(bytes, "SQLite format 3", 16);
    assert_int_equal(truncate(path, 100), 0);
    write_at(0, bytes, 100);
    assert_refused_unchanged(bytes, 100);
    free(bytes);
}

/* Uses a store whose header is sound and whose content may be anything. */
static void use_store(mete_store *store)
{
    static const char *const limits[] = {"5/1h", "7/3s", "fixed_window 5/1h", "sliding_window 5/1h",
                                         "fixed_window 5/day calendar"};
    struct mete_decision decision;
    struct mete_store_stats stats;
    uint64_t live;
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        struct mete_limit limit = api_limit(limits[i]);
        mete_limiter *limiter = NULL;
        mete_status status = mete_limiter_create(store, limits[i], &limit, &limiter);
        assert_true(status == METE_OK || status == METE_EFULL || status == METE_ECORRUPT);
        for (unsigned call = 0; status == METE_OK && call < 20; call++) {
            struct mete_request request = api_request(call % 2 == 0 ? "k" : "other", 1);
            assert_int_equal(mete_take(limiter, &request, &decision), METE_OK);
            assert_true(decision.remaining <= decision.limit);
        }
        mete_limiter_destroy(limiter);
    }
    assert_int_equal(mete_store_stats(store, &stats), METE_OK);
    assert_int_equal(mete_store_keys_live(store, &live), METE_OK);
    assert_true(live <= stats.cells);
}

/* Behind the header lies what processes write while they run: noise there is
 * refused or survived, never believed beyond the limits. */
static void noise_behind_the_header(void **state)
{
    (void)state;
    uint64_t seed = 5;
    unsigned opened = 0;
    for (unsigned round = 0; round < 150; round++) {
        struct mete_store_options options = options_here();
        mete_store *store = NULL;
        write_at(0, original, original_size);
        for (unsigned i = 0; i < (1u << (round % 10)); i++) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
            uint64_t noise = round % 3 == 0 ? UINT64_MAX : seed;
            /* Most of it where the counters, the first scales and the cells are. */
            size_t span = i % 2 == 0 ? 12288 : original_size - HEADER_BYTES;
            write_at((HEADER_BYTES + (size_t)(seed >> 20) % span) & ~(size_t)7, &noise, 8);
        }
        mete_status status = mete_store_create(&options, &store);
        assert_true(status == METE_OK || status == METE_ECORRUPT);
        if (status == METE_OK) {
            opened++;
            use_store(store);
            mete_store_destroy(store);
        }
    }
    print_message("%u of 150 noisy files were opened and used\n", opened);
}

#define CELLS_BYTES (2 * 128) /* 10 keys: two buckets of 8 cells at the end of the file */

/* The two scale ids in use: the low 16 bits of the tags of the two live cells. */
static void scale_ids(uint64_t ids[2])
{
    unsigned found = 0;
    for (size_t at = original_size - CELLS_BYTES; at < original_size; at += 16) {
        uint64_t tag;
        memcpy(&tag, original + at, 8);
        if ((tag & 0xffff) != 0 && found < 2) {
            ids[found++] = tag & 0xffff;
        }
    }
    assert_int_equal(found, 2);
}

/* Cells hold anything at all: every word of every cell. */
static void noise_in_every_cell(void **state)
{
    (void)state;
    uint64_t seed = 9, ids[2];
    scale_ids(ids);
    for (unsigned round = 0; round < 100; round++) {
        struct mete_store_options options = options_here();
        uint64_t noise[CELLS_BYTES / 8];
        write_at(0, original, original_size);
        for (size_t i = 0; i < COUNT_OF(noise); i++) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
            noise[i] = (seed >> 60) == 0 ? 0 : (seed >> 60) == 1 ? UINT64_MAX : seed ^ seed >> 29;
            if (i % 2 == 0) { /* a known scale in most tags */
                noise[i] = (seed >> 61) == 2 ? noise[i] : (noise[i] & ~UINT64_C(0xffff)) | ids[round % 2];
            }
        }
        write_at(original_size - CELLS_BYTES, noise, sizeof(noise));
        mete_store *store = api_store(&options);
        use_store(store);
        mete_store_destroy(store);
    }
}

#define damage_test(test) cmocka_unit_test_setup_teardown(test, make_store, remove_store)

int main(void)
{
    const struct CMUnitTest tests[] = {
        damage_test(header_bits),
        damage_test(truncated),
        damage_test(added_to),
        damage_test(foreign),
        damage_test(noise_behind_the_header),
        damage_test(noise_in_every_cell),
    };
    alarm(100); /* a word that is no word of ours must not loop */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
