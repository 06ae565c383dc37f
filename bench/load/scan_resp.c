/* SPDX-License-Identifier: Apache-2.0 */
/* https://redis.io/docs/latest/develop/reference/protocol-spec/ */
#include <string.h>

#include "bench/load/scan.h"

#define NUMBER_MAX (UINT64_C(1) << 40) /* of a length or count; far above any reply, and safe to double */

static bool is_sized(char type)
{
    return memchr("$=!*~%|", type, 7) != NULL;
}

static bool is_known(char type)
{
    return is_sized(type) || memchr("+-:_#,(", type, 7) != NULL;
}

/* A line has ended: what its type says of what is to come. */
static void end_line(struct load_scan *scan)
{
    char type = scan->type;
    scan->type = 0;
    if (!is_sized(type) || scan->is_negative) { /* a negative length is a null */
        scan->values--;
        return;
    }
    switch (type) {
    case '*':
    case '~':
        scan->values += scan->number - 1;
        break;
    case '%':
        scan->values += 2 * scan->number - 1;
        break;
    case '|': /* attributes come before the value they belong to */
        scan->values += 2 * scan->number;
        break;
    default:
        scan->skip = scan->number + 2; /* the line break behind it */
        break;
    }
}

static void begin_line(struct load_scan *scan, char type)
{
    if (!is_known(type)) {
        scan->is_malformed = true;
        return;
    }
    if (!scan->is_within) {
        scan->is_within = true;
        scan->values = 1;
        scan->kind = type == '-' || type == '!' ? LOAD_KIND_ERROR : LOAD_KIND_OK;
    }
    scan->type = type;
    scan->number = 0;
    scan->is_negative = false;
}

static void line_byte(struct load_scan *scan, char byte)
{
    if (byte >= '0' && byte <= '9' && scan->number < NUMBER_MAX) {
        scan->number = scan->number * 10 + (uint64_t)(byte - '0');
    } else if (byte == '-') {
        scan->is_negative = true;
    } else if (byte != '\r') {
        scan->is_malformed = true;
    }
}

/* Takes bytes of the line under way. */
static size_t take_line(struct load_scan *scan, const char *bytes, size_t len)
{
    size_t at = 0;
    bool has_number = is_sized(scan->type);
    while (at < len && bytes[at] != '\n') {
        if (has_number) {
            line_byte(scan, bytes[at]);
        }
        at++;
    }
    if (at == len) {
        return at;
    }
    end_line(scan);
    return at + 1;
}

static size_t take_skipped(struct load_scan *scan, size_t len)
{
    size_t taken = len < scan->skip ? len : (size_t)scan->skip;
    scan->skip -= taken;
    if (scan->skip == 0) {
        scan->values--;
    }
    return taken;
}

size_t load_scan_resp(struct load_scan *scan, const char *bytes, size_t len)
{
    size_t at = 0;
    while (at < len && !scan->is_malformed) {
        if (scan->skip > 0) {
            at += take_skipped(scan, len - at);
        } else if (scan->type == 0) {
            begin_line(scan, bytes[at++]);
            continue;
        } else {
            at += take_line(scan, bytes + at, len - at);
        }
        if (scan->values == 0 && scan->type == 0) {
            scan->is_within = false;
            break;
        }
    }
    return at;
}
