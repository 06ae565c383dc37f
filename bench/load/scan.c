/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/load/scan.h"

#include <string.h>

static void count(struct load_counts *counts, enum load_kind kind)
{
    counts->replies++;
    counts->kinds[kind]++;
}

/* How many bytes at the front are the remembered reply again and again. */
static size_t take_same(const struct load_scan *scan, const char *bytes, size_t len, struct load_counts *counts)
{
    size_t at = 0;
    while (len - at >= scan->same_len && memcmp(bytes + at, scan->same, scan->same_len) == 0) {
        count(counts, scan->same_kind);
        at += scan->same_len;
    }
    return at;
}

static void remember(struct load_scan *scan, const char *bytes, size_t len)
{
    if (len <= LOAD_SCAN_SAME_MAX) {
        memcpy(scan->same, bytes, len);
        scan->same_len = len;
        scan->same_kind = scan->kind;
    }
}

bool load_scan_feed(struct load_scan *scan, const char *bytes, size_t len, struct load_counts *counts)
{
    size_t at = 0;
    while (at < len && !scan->is_malformed) {
        bool is_from_start = !scan->is_within;
        if (is_from_start && scan->same_len > 0) {
            at += take_same(scan, bytes + at, len - at, counts);
            if (at == len) {
                break;
            }
        }
        size_t taken = scan->protocol == LOAD_RESP ? load_scan_resp(scan, bytes + at, len - at)
                                                   : load_scan_http(scan, bytes + at, len - at);
        if (!scan->is_within && !scan->is_malformed) {
            count(counts, scan->kind);
            if (is_from_start) {
                remember(scan, bytes + at, taken);
            }
        }
        at += taken;
    }
    return !scan->is_malformed;
}
