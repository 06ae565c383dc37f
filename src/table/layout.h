/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The map of a store's memory: one flat mapping without pointers, private or a
 * file.  Sizes first:
 *
 *   cell     16 bytes   [ tag 48 | scale id 16 ] [ word 64 ]
 *   bucket  128 bytes   8 cells: two adjacent cache lines
 *   mark      8 bytes   per 32 buckets
 *   scale    16 bytes   65,536 of them, touched as they are used
 *
 *   0        header     4096 bytes: checked part, zeros, boot and anchor cells
 *   4096     counters   16 stripes of 128 bytes
 *   8192     scales     1 MiB
 *   ...      marks
 *   2 MiB *n buckets    aligned for huge pages; or, in a log, rings
 *
 * A cell is empty (both halves 0), pending (scale id 0: being claimed; the word
 * is the claimer's nonce) or confirmed.  A tag is never 0.
 */
#ifndef METE_TABLE_LAYOUT_H
#define METE_TABLE_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"

#define METE__CELLS_PER_BUCKET 8u
#define METE__BUCKETS_PER_MARK 32u
#define METE__SCALES 65536u
#define METE__SCALE_MASK UINT64_C(0xffff)
#define METE__KEYS_MAX_MAX (UINT64_C(1) << 36)
#define METE__STRIPES 16u
#define METE__PAGE 4096u
#define METE__HUGE_PAGE (UINT64_C(2) << 20)

struct mete__bucket {
    _Alignas(128) struct mete__pair cells[METE__CELLS_PER_BUCKET];
};

#define METE__MAGIC "METE\r\n\x1a\n"
#define METE__LAYOUT_VERSION 1u
#define METE__BYTE_ORDER 0x01020304u

enum mete__content { METE__CONTENT_CELLS = 1, METE__CONTENT_LOG = 2 };
enum mete__clock_kind { METE__CLOCK_OWN = 1, METE__CLOCK_CALLERS = 2 };

/* What is fixed when the mapping is made, and covered by `check`. */
struct mete__header_fixed {
    char magic[8];
    uint32_t layout_version;
    uint32_t byte_order;
    uint64_t content;
    uint64_t keys_max;
    uint64_t clock_kind;
    uint64_t ring_units; /* logs: units per key; else 0 */
    uint64_t name_hash;  /* logs: whose; else 0 */
    uint64_t buckets;
    uint64_t marks_at;
    uint64_t buckets_at;
    uint64_t rings_at;
    uint64_t bytes;
    unsigned char secret[32];
};

struct mete__header {
    struct mete__header_fixed fixed;
    unsigned char zeros[2048 - sizeof(struct mete__header_fixed) - 8];
    uint64_t check; /* of all bytes before it */
    /* Changed while in use: see clock_cells.h.  Each carries its own check. */
    struct mete__pair boot;
    struct mete__pair anchor;
    unsigned char more_zeros[2016];
};

_Static_assert(sizeof(struct mete__header) == METE__PAGE, "the header is one page");
_Static_assert(offsetof(struct mete__header, boot) == 2048, "mutable cells start in the middle");

/* Rare events, counted where they happen; the sum over the stripes counts. */
enum mete__count {
    METE__COUNT_INSERTED,
    METE__COUNT_EVICTED,
    METE__COUNT_FULL_DENIED,
    METE__COUNT_FULL_UNTRACKED,
    METE__COUNT_SWAP_RETRIES,
    METE__COUNT_CLAIMS_REMOVED,
    METE__COUNT_RESCALED,
    METE__COUNT_SCALES,
    METE__COUNTS
};

struct mete__stripe {
    _Alignas(128) uint64_t counts[16];
};

_Static_assert(METE__COUNTS <= 16, "counters fit a stripe");

#endif
