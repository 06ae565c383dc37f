/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scale table: which (kind, count, period) a cell's word is written in, by
 * a number of 16 bits.  Numbers are handed out for good; 65,535 at most.  Here a
 * scale is an opaque pair: the table knows no algorithm.
 */
#ifndef METE_TABLE_SCALES_H
#define METE_TABLE_SCALES_H

#include "table/table.h"

/* The id of this scale, new or old; 0 when the table is full.  Never all zero. */
uint64_t mete__scales_intern(const struct mete__table *table, struct mete__pair scale);

/* What stands under an id; all zero when nothing does. */
struct mete__pair mete__scales_get(const struct mete__table *table, uint64_t id);

#endif
