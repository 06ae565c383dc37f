/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts replies in a stream of bytes, and looks no deeper than it takes to know
 * where each one ends.  RESP2 and RESP3 replies, and HTTP/1.1 responses with
 * a Content-Length (RFC 9112, section 6.3).
 *
 * Replies often repeat to the byte.  A reply that was seen whole is remembered;
 * where its bytes come again there is the same reply again, because no reply is a
 * prefix of another.  One comparison is then all it takes.
 */
#ifndef METE_BENCH_LOAD_SCAN_H
#define METE_BENCH_LOAD_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOAD_SCAN_SAME_MAX 512u /* bytes of a reply that is remembered */
#define LOAD_SCAN_LINE_MAX 64u  /* of a line of HTTP, as much as is looked at */

enum load_protocol { LOAD_RESP, LOAD_HTTP };

/* What replies say, as far as it is counted. */
enum load_kind {
    LOAD_KIND_OK,     /* HTTP: 2xx */
    LOAD_KIND_DENIED, /* HTTP: 429; RESP has no common form of a denial, so those are OK */
    LOAD_KIND_ERROR,  /* RESP: an error reply; HTTP: any other status */
    LOAD_KINDS
};

struct load_counts {
    uint64_t replies;
    uint64_t kinds[LOAD_KINDS];
};

/* Begins as zero bytes but for the protocol. */
struct load_scan {
    enum load_protocol protocol;
    enum load_kind kind; /* of the reply under way */
    bool is_within;      /* a reply has begun */
    bool is_malformed;
    uint64_t skip; /* bytes of a bulk string or body still to come */

    /* RESP */
    uint64_t values; /* still to come, the one under way included */
    char type;       /* of the line under way, 0 between lines */
    uint64_t number; /* in it */
    bool is_negative;

    /* HTTP */
    char line[LOAD_SCAN_LINE_MAX];
    size_t line_len;
    unsigned status; /* 0: the status line has not come */
    uint64_t body_len;
    bool has_length;

    char same[LOAD_SCAN_SAME_MAX];
    size_t same_len; /* 0: none */
    enum load_kind same_kind;
};

/*
 * Takes the next bytes of the stream and adds the replies that end in them to
 * counts.  False when they are no replies; the stream is then of no more use.
 */
bool load_scan_feed(struct load_scan *scan, const char *bytes, size_t len, struct load_counts *counts);

/* One step of one protocol, for scan.c: takes bytes up to the end of the reply
 * under way or of the bytes, and returns how many; is_within is cleared when
 * the reply has ended. */
size_t load_scan_resp(struct load_scan *scan, const char *bytes, size_t len);
size_t load_scan_http(struct load_scan *scan, const char *bytes, size_t len);

#endif
