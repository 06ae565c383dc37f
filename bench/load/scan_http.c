/* SPDX-License-Identifier: Apache-2.0 */
/* Responses of HTTP/1.1 to GET, RFC 9112, as servers under test send them. */
#include <string.h>
#include <strings.h>

#include "bench/load/scan.h"

#define STATUS_LINE_MIN 12u /* "HTTP/1.1 200" */
#define BODY_MAX (UINT64_C(1) << 40)

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static enum load_kind kind_of(unsigned status)
{
    if (status == 429) {
        return LOAD_KIND_DENIED;
    }
    return status >= 200 && status < 300 ? LOAD_KIND_OK : LOAD_KIND_ERROR;
}

/* RFC 9112, section 4: status-line = HTTP-version SP status-code SP [ reason-phrase ] */
static void status_line(struct load_scan *scan)
{
    const char *line = scan->line;
    if (scan->line_len < STATUS_LINE_MIN || memcmp(line, "HTTP/1.", 7) != 0 || !is_digit(line[9]) ||
        !is_digit(line[10]) || !is_digit(line[11])) {
        scan->is_malformed = true;
        return;
    }
    scan->status = (unsigned)(line[9] - '0') * 100 + (unsigned)(line[10] - '0') * 10 + (unsigned)(line[11] - '0');
    scan->kind = kind_of(scan->status);
    scan->has_length = false;
    scan->body_len = 0;
}

static void field_line(struct load_scan *scan)
{
    static const char name[] = "Content-Length:";
    size_t at = sizeof(name) - 1;
    if (scan->line_len <= at || strncasecmp(scan->line, name, at) != 0) {
        return;
    }
    for (; at < scan->line_len; at++) {
        if (is_digit(scan->line[at]) && scan->body_len < BODY_MAX) {
            scan->body_len = scan->body_len * 10 + (uint64_t)(scan->line[at] - '0');
            scan->has_length = true;
        } else if (scan->line[at] != ' ' && scan->line[at] != '\t') {
            scan->is_malformed = true;
        }
    }
}

/* RFC 9112, section 6.3: 1xx, 204 and 304 have no body; others need a length here. */
static void end_of_fields(struct load_scan *scan)
{
    bool has_body = scan->status >= 200 && scan->status != 204 && scan->status != 304;
    if (has_body && !scan->has_length) {
        scan->is_malformed = true;
        return;
    }
    scan->skip = has_body ? scan->body_len : 0;
    bool is_interim = scan->status < 200;
    scan->status = 0;
    if (scan->skip == 0 && !is_interim) {
        scan->is_within = false;
    }
}

static void end_line(struct load_scan *scan)
{
    if (scan->line_len > 0 && scan->line[scan->line_len - 1] == '\r') {
        scan->line_len--;
    }
    if (scan->status == 0) {
        status_line(scan);
    } else if (scan->line_len == 0) {
        end_of_fields(scan);
    } else {
        field_line(scan);
    }
    scan->line_len = 0;
}

static size_t take_line(struct load_scan *scan, const char *bytes, size_t len)
{
    const char *end = memchr(bytes, '\n', len);
    size_t taken = end != NULL ? (size_t)(end - bytes) : len;
    size_t room = LOAD_SCAN_LINE_MAX - scan->line_len;
    size_t kept = taken < room ? taken : room;
    memcpy(scan->line + scan->line_len, bytes, kept);
    scan->line_len += kept;
    if (end == NULL) {
        return taken;
    }
    end_line(scan);
    return taken + 1;
}

size_t load_scan_http(struct load_scan *scan, const char *bytes, size_t len)
{
    size_t at = 0;
    scan->is_within = true;
    while (at < len && scan->is_within && !scan->is_malformed) {
        if (scan->skip > 0) {
            size_t taken = len - at < scan->skip ? len - at : (size_t)scan->skip;
            scan->skip -= taken;
            at += taken;
            scan->is_within = scan->skip > 0;
        } else {
            at += take_line(scan, bytes + at, len - at);
        }
    }
    return at;
}
