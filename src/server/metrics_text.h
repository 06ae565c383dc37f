/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's figures for others: for Prometheus, and for the dashboard.  Any thread.
 * mete__live_stop (live.h) must be called after the last of these and before the
 * engine is destroyed.
 */
#ifndef METE_SERVER_METRICS_TEXT_H
#define METE_SERVER_METRICS_TEXT_H

#include "server/server.h"
#include "wire/out.h"

#define METE__METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* Everything, in the text format.
 * https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format */
void mete__metrics_text(struct mete__server *server, struct mete__out *out);

/* Totals as one JSON object; docs/metrics.md says its form. */
void mete__stats_json(struct mete__server *server, struct mete__out *out);

/* The table that the text is made from, row by row, for docs/metrics.md; false behind the last. */
struct mete__metric_row {
    const char *name;
    const char *type;   /* counter, gauge or histogram */
    const char *labels; /* "policy, outcome"; "" when there are none */
    const char *help;
};
bool mete__metrics_row(size_t index, struct mete__metric_row *out);

#endif
