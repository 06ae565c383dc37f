/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A header is trusted only when every byte of it is as this version writes it:
 * magic, version, byte order, the sizes recomputed from what was asked for, the
 * checksum over the fixed part, and zeros where zeros belong.
 */
#include "table/map.h"

#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "table/clock_cells.h"

#define OPEN_TRIES 16
#define COUNTERS_AT METE__PAGE
#define SCALES_AT (2 * METE__PAGE)
#define SCALES_BYTES (METE__SCALES * sizeof(struct mete__pair))

static uint64_t round_up(uint64_t value, uint64_t to)
{
    return (value + (to - 1)) / to * to;
}

uint64_t mete__ring_bytes(uint64_t ring_units)
{
    return round_up(sizeof(struct mete__pair) + ring_units * sizeof(uint64_t), 64);
}

/* 8 of 8 cells used, two choices, load 0.75: fewer than 1 in 10,000 displaced. */
static uint64_t buckets_for(uint64_t keys_max)
{
    if (keys_max <= METE__CELLS_PER_BUCKET) {
        return 1;
    }
    uint64_t cells = mete__div_ceil_u64(keys_max * 4, 3);
    return mete__max_u64(2, mete__div_ceil_u64(cells, METE__CELLS_PER_BUCKET));
}

/* The sizes and places that follow from what was asked for. */
static void lay_out(struct mete__header_fixed *fixed)
{
    memcpy(fixed->magic, METE__MAGIC, sizeof fixed->magic);
    fixed->layout_version = METE__LAYOUT_VERSION;
    fixed->byte_order = METE__BYTE_ORDER;
    fixed->buckets = buckets_for(fixed->keys_max);
    fixed->marks_at = SCALES_AT + SCALES_BYTES;
    uint64_t marks = fixed->buckets / METE__BUCKETS_PER_MARK + 1;
    fixed->buckets_at = round_up(fixed->marks_at + marks * sizeof(uint64_t), METE__HUGE_PAGE);
    fixed->rings_at = fixed->buckets_at + fixed->buckets * sizeof(struct mete__bucket);
    fixed->bytes = fixed->rings_at;
    if (fixed->content == METE__CONTENT_LOG) {
        fixed->rings_at = round_up(fixed->rings_at, METE__PAGE);
        fixed->bytes = fixed->rings_at + fixed->buckets * METE__CELLS_PER_BUCKET * mete__ring_bytes(fixed->ring_units);
    }
}

static uint64_t check_of(const struct mete__header *header)
{
    return mete__hash_check(header, offsetof(struct mete__header, check));
}

static bool is_zero(const unsigned char *bytes, size_t len)
{
    unsigned char any = 0;
    for (size_t i = 0; i < len; i++) {
        any |= bytes[i];
    }
    return any == 0;
}

mete_status mete__header_check(const struct mete__header *header, uint64_t bytes, const struct mete__why *why)
{
    const struct mete__header_fixed *fixed = &header->fixed;
    if (memcmp(fixed->magic, METE__MAGIC, sizeof fixed->magic) != 0) {
        return mete__fail(why, METE_ECORRUPT, "path: the file is not a mete store");
    }
    if (fixed->byte_order != METE__BYTE_ORDER || fixed->layout_version != METE__LAYOUT_VERSION) {
        return mete__fail(why, METE_ECORRUPT, "path: the file was written by another version or kind of machine");
    }
    struct mete__header_fixed expected = *fixed;
    bool in_range =
        fixed->keys_max >= 1 && fixed->keys_max <= METE__KEYS_MAX_MAX && fixed->ring_units <= METE_LOG_COUNT_MAX &&
        (fixed->clock_kind == METE__CLOCK_OWN || fixed->clock_kind == METE__CLOCK_CALLERS) &&
        (fixed->content == METE__CONTENT_CELLS ? fixed->ring_units == 0 && fixed->name_hash == 0
                                               : fixed->content == METE__CONTENT_LOG && fixed->ring_units >= 1);
    if (in_range) {
        lay_out(&expected);
    }
    if (!in_range || check_of(header) != header->check || memcmp(fixed, &expected, sizeof expected) != 0 ||
        !is_zero(header->zeros, sizeof header->zeros) || !is_zero(header->more_zeros, sizeof header->more_zeros)) {
        return mete__fail(why, METE_ECORRUPT, "path: the file's header is damaged");
    }
    if (!mete__boot_cell_is_valid(header->boot) || !mete__anchor_cell_is_valid(header->anchor)) {
        return mete__fail(why, METE_ECORRUPT, "path: the file's clock cells are damaged");
    }
    if (bytes != fixed->bytes) {
        return mete__fail(why, METE_ECORRUPT, "path: the file is truncated or was added to");
    }
    return METE_OK;
}

static mete_status header_make(const struct mete__map_spec *spec, struct mete__header *header)
{
    memset(header, 0, sizeof *header);
    header->fixed.content = spec->content;
    header->fixed.clock_kind = spec->clock_kind;
    header->fixed.keys_max = spec->keys_max;
    header->fixed.ring_units = spec->ring_units;
    header->fixed.name_hash = spec->name_hash;
    mete_status status = mete__os_random(header->fixed.secret, sizeof header->fixed.secret);
    lay_out(&header->fixed);
    header->check = check_of(header);
    header->boot = spec->boot;
    header->anchor = spec->anchor;
    return status;
}

static void view(struct mete__table *table, unsigned char *at)
{
    table->header = (void *)at;
    const struct mete__header_fixed *fixed = &table->header->fixed;
    table->stripes = (void *)(at + COUNTERS_AT);
    table->scales = (void *)(at + SCALES_AT);
    table->marks = (void *)(at + fixed->marks_at);
    table->buckets = (void *)(at + fixed->buckets_at);
    table->buckets_n = fixed->buckets;
    table->width = fixed->keys_max < METE__CELLS_PER_BUCKET ? (unsigned)fixed->keys_max : METE__CELLS_PER_BUCKET;
    table->rings = fixed->content == METE__CONTENT_LOG ? at + fixed->rings_at : NULL;
    table->bytes = fixed->bytes;
}

static mete_status open_private(const struct mete__map_spec *spec, struct mete__table *out, const struct mete__why *why)
{
    struct mete__header header;
    void *at;
    if (header_make(spec, &header) != METE_OK) {
        return mete__fail(why, METE_EIO, "no randomness from the system");
    }
    if ((spec->flags & METE_STORE_NO_PREFAULT) == 0 && header.fixed.bytes > mete__os_memory_available()) {
        return mete__fail(why, METE_ENOMEM, "keys_max: takes %llu bytes, more than the memory available",
                          (unsigned long long)header.fixed.bytes);
    }
    if (mete__os_map_private((size_t)header.fixed.bytes, METE__HUGE_PAGE, &at) != METE_OK) {
        return mete__fail(why, METE_ENOMEM, "keys_max: no memory for %llu bytes",
                          (unsigned long long)header.fixed.bytes);
    }
    memcpy(at, &header, sizeof header);
    view(out, at);
    size_t hot_bytes = (size_t)(header.fixed.buckets * sizeof(struct mete__bucket));
    if ((spec->flags & METE_STORE_NO_HUGE_PAGES) == 0) {
        mete__os_want_huge_pages(out->buckets, hot_bytes);
    }
    if ((spec->flags & METE_STORE_NO_PREFAULT) == 0) {
        mete__os_prefault(out->buckets, hot_bytes);
    }
    return METE_OK;
}

/* The file fits the options it is opened with. */
static mete_status compare(const struct mete__map_spec *spec, const struct mete__header_fixed *fixed,
                           const struct mete__why *why)
{
    if (fixed->content != spec->content || fixed->name_hash != spec->name_hash) {
        return mete__fail(why, METE_ECORRUPT, "path: '%s' is a store of another kind", spec->path);
    }
    if (fixed->keys_max != spec->keys_max) {
        /* A log's keys follow from log_units_max. */
        bool is_log = fixed->content == METE__CONTENT_LOG;
        return mete__fail(why, METE_EINVAL, "%s: '%s' was made for %llu keys, not %llu; use %s, or another file",
                          is_log ? "log_units_max" : "keys_max", spec->path, (unsigned long long)fixed->keys_max,
                          (unsigned long long)spec->keys_max, is_log ? "the number it was made with" : "that number");
    }
    if (fixed->ring_units != spec->ring_units) {
        return mete__fail(why, METE_EINVAL, "count: '%s' was made for %llu units per key", spec->path,
                          (unsigned long long)fixed->ring_units);
    }
    if (fixed->clock_kind != spec->clock_kind) {
        return mete__fail(why, METE_EINVAL, "clock: '%s' was made with %s clock", spec->path,
                          fixed->clock_kind == METE__CLOCK_OWN ? "mete's own" : "a caller's");
    }
    return METE_OK;
}

static mete_status open_existing(const struct mete__map_spec *spec, struct mete__os_file *file, struct mete__table *out,
                                 const struct mete__why *why)
{
    struct mete__header header;
    void *at;
    if (!mete__os_file_read_head(file, &header, sizeof header)) {
        return mete__fail(why, METE_ECORRUPT, "path: '%s' is shorter than a store's header", spec->path);
    }
    mete_status status = mete__header_check(&header, file->bytes, why);
    if (status == METE_OK) {
        status = compare(spec, &header.fixed, why);
    }
    if (status == METE_OK) {
        status = mete__os_map_file(file, METE__HUGE_PAGE, &at, why);
    }
    if (status == METE_OK) {
        view(out, at);
    }
    return status;
}

static mete_status open_file(const struct mete__map_spec *spec, struct mete__table *out, const struct mete__why *why)
{
    if (!METE__PAIR_IS_SHARED) {
        return mete__fail(why, METE_ENOTSUP, "path: this machine has no 16-byte compare-and-swap to share a file with");
    }
    for (int tries = 0; tries < OPEN_TRIES; tries++) { /* more than two only if someone keeps removing the file */
        struct mete__os_file file;
        struct mete__header header;
        bool is_absent;
        mete_status status = mete__os_file_open(spec->path, &file, &is_absent, why);
        if (status != METE_OK) {
            return status;
        }
        if (!is_absent) {
            status = open_existing(spec, &file, out, why);
            mete__os_file_close(&file);
            return status;
        }
        if (header_make(spec, &header) != METE_OK) {
            return mete__fail(why, METE_EIO, "no randomness from the system");
        }
        status = mete__os_file_publish(spec->path, header.fixed.bytes, &header, sizeof header, why);
        if (status != METE_OK) {
            return status;
        }
    }
    return mete__fail(why, METE_EIO, "path: '%s' is removed whenever it is made", spec->path);
}

mete_status mete__map_open(const struct mete__map_spec *spec, struct mete__table *out, const struct mete__why *why)
{
    return spec->path == NULL ? open_private(spec, out, why) : open_file(spec, out, why);
}

void mete__map_close(struct mete__table *table)
{
    if (table->header != NULL) {
        mete__os_unmap(table->header, (size_t)table->bytes);
        table->header = NULL;
    }
}
