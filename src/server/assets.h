/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dashboard's files, from web/, as they were when the program was built.
 * Immutable; any thread.
 */
#ifndef METE_SERVER_ASSETS_H
#define METE_SERVER_ASSETS_H

#include <stddef.h>

struct mete__asset {
    const char *path; /* "/" for index.html, else "/style.css" */
    const char *type; /* Content-Type */
    const char *bytes;
    size_t len;
    char etag[24]; /* with its quotes (RFC 9110, section 8.8.3); changes with the bytes */
};

/* By the path of a request, without its query; NULL when there is none. */
const struct mete__asset *mete__asset_find(const char *path, size_t len);

/* What pages may do: load from here, and nothing that stands inside the page. */
#define METE__ASSET_POLICY \
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"

/* All of them, made from web/ by cmake/embed.cmake. */
extern const struct mete__asset mete__assets[];
extern const size_t mete__asset_count;

#endif
