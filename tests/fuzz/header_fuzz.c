/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as the header of a store file.  An input is a header, cut off or filled
 * with zeros, and the file's length in the 8 bytes after it (none: the length
 * that the header names).  Each is tried as it is, and once more with its checks
 * made right, since no mutation would hit those.
 *
 * What is accepted is what the writer writes: every byte is accounted for by
 * sums done here anew, from the map in table/layout.h.
 */
#include <stdint.h>
#include <string.h>

#include "base/assert.h"
#include "table/clock_cells.h"
#include "table/map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MIB (UINT64_C(1) << 20)

static void check_sizes(const struct mete__header_fixed *fixed)
{
    METE_ASSERT(fixed->keys_max >= 1 && fixed->keys_max <= UINT64_C(1) << 36);
    /* 8 cells to a bucket, a load of 3/4; tiny tables have one bucket. */
    uint64_t buckets = (fixed->keys_max * 4 + 23) / 24;
    METE_ASSERT(fixed->buckets == (fixed->keys_max <= 8 ? 1 : buckets < 2 ? 2 : buckets));
    METE_ASSERT(fixed->marks_at == 8192 + MIB);
    uint64_t marks_end = fixed->marks_at + (fixed->buckets / 32 + 1) * 8;
    METE_ASSERT(fixed->buckets_at % (2 * MIB) == 0);
    METE_ASSERT(fixed->buckets_at >= marks_end && fixed->buckets_at - marks_end < 2 * MIB);
    uint64_t buckets_end = fixed->buckets_at + fixed->buckets * 128;
    if (fixed->content == METE__CONTENT_CELLS) {
        METE_ASSERT(fixed->ring_units == 0 && fixed->name_hash == 0);
        METE_ASSERT(fixed->rings_at == buckets_end && fixed->bytes == buckets_end);
        return;
    }
    METE_ASSERT(fixed->content == METE__CONTENT_LOG);
    METE_ASSERT(fixed->ring_units >= 1 && fixed->ring_units <= METE_LOG_COUNT_MAX);
    METE_ASSERT(fixed->rings_at >= buckets_end && fixed->rings_at - buckets_end < 4096 && fixed->rings_at % 4096 == 0);
    uint64_t ring_bytes = (16 + 8 * fixed->ring_units + 63) / 64 * 64;
    METE_ASSERT(ring_bytes == mete__ring_bytes(fixed->ring_units));
    METE_ASSERT(fixed->bytes == fixed->rings_at + fixed->buckets * 8 * ring_bytes);
}

static void check_accepted(const struct mete__header *header, uint64_t bytes)
{
    const struct mete__header_fixed *fixed = &header->fixed;
    METE_ASSERT(memcmp(fixed->magic, "METE\r\n\x1a\n", 8) == 0);
    METE_ASSERT(fixed->layout_version == METE__LAYOUT_VERSION && fixed->byte_order == 0x01020304);
    METE_ASSERT(fixed->clock_kind == METE__CLOCK_OWN || fixed->clock_kind == METE__CLOCK_CALLERS);
    METE_ASSERT(fixed->bytes == bytes);
    check_sizes(fixed);
    for (size_t i = 0; i < sizeof header->zeros; i++) {
        METE_ASSERT(header->zeros[i] == 0);
    }
    for (size_t i = 0; i < sizeof header->more_zeros; i++) {
        METE_ASSERT(header->more_zeros[i] == 0);
    }
    METE_ASSERT(header->check == mete__hash_check(header, offsetof(struct mete__header, check)));
    METE_ASSERT(mete__boot_cell_is_valid(header->boot));
    METE_ASSERT(mete__anchor_cell_is_valid(header->anchor));
}

/* True when it was accepted; then nothing of it may be changed. */
static bool try_header(const struct mete__header *header, uint64_t bytes)
{
    char text[200] = "";
    struct mete__why why = {text, sizeof text};
    struct mete__header before = *header;
    mete_status status = mete__header_check(header, bytes, &why);
    METE_ASSERT(memcmp(&before, header, sizeof before) == 0);
    METE_ASSERT(status == METE_OK || status == METE_ECORRUPT);
    METE_ASSERT((status == METE_OK) == (text[0] == 0));
    if (status != METE_OK) {
        return false;
    }
    check_accepted(header, bytes);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mete__header header;
    uint64_t bytes;
    size_t head = size < sizeof header ? size : sizeof header;
    memset(&header, 0, sizeof header);
    memcpy(&header, data, head);
    bytes = header.fixed.bytes;
    if (size >= sizeof header + sizeof bytes) {
        memcpy(&bytes, data + sizeof header, sizeof bytes);
    }
    if (try_header(&header, bytes)) {
        METE_ASSERT(bytes == UINT64_MAX || !try_header(&header, bytes + 1));
        METE_ASSERT(!try_header(&header, bytes - 1));
    }
    header.check = mete__hash_check(&header, offsetof(struct mete__header, check));
    header.boot = mete__boot_cell(header.boot.lo, header.boot.hi);
    header.anchor = mete__anchor_cell_of_us(header.anchor.lo >> 12, header.anchor.hi >> 12);
    try_header(&header, bytes);
    try_header(&header, header.fixed.bytes);
    return 0;
}
