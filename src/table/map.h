/* SPDX-License-Identifier: Apache-2.0 */
/* Making and opening the mapping behind a table: layout.h, brought to life. */
#ifndef METE_TABLE_MAP_H
#define METE_TABLE_MAP_H

#include <mete/mete.h>

#include "base/why.h"
#include "table/table.h"

struct mete__map_spec {
    enum mete__content content;
    enum mete__clock_kind clock_kind;
    uint64_t keys_max;   /* cells: as asked; logs: rings */
    uint64_t ring_units; /* logs */
    uint64_t name_hash;  /* logs */
    const char *path;    /* NULL: private */
    unsigned flags;      /* METE_STORE_NO_... */
    /* The first values of the header's boot and anchor cells, when it is new. */
    struct mete__pair boot;
    struct mete__pair anchor;
};

/* METE_ENOMEM, METE_EIO, METE_ECORRUPT, METE_EINVAL (the file's keys_max or
 * clock differ), METE_ENOTSUP (a path without shared pairs). */
mete_status mete__map_open(const struct mete__map_spec *spec, struct mete__table *out, const struct mete__why *why);
void mete__map_close(struct mete__table *table);

/* Is this header one that we wrote?  Pure: for the reader and its fuzzer.
 * bytes is the file's length. */
mete_status mete__header_check(const struct mete__header *header, uint64_t bytes, const struct mete__why *why);

/* Bytes of one ring: its control, its times, to whole cache lines. */
uint64_t mete__ring_bytes(uint64_t ring_units);

#endif
