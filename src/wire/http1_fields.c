/* SPDX-License-Identifier: Apache-2.0 */
/* Field lines, and the five fields that say where a request ends and what becomes of its connection. */
#include "wire/http1.h"

#include <string.h>

/* 1: tchar of RFC 9110, section 5.6.2.  2: may stand in uri-host [ ":" port ], section 7.2.  By the byte's value. */
#define IS_TOKEN 1u
#define IS_HOST 2u
static const unsigned char byte_kinds[256] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* 0x00 .. */
    0, 3, 0, 1, 3, 3, 3, 3, 2, 2, 3, 3, 2, 3, 3, 0, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 2, 2, 0, 2, 0, 0, /* 0x20 .. */
    0, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 2, 0, 2, 1, 3, /* 0x40 .. */
    1, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 0, 1, 0, 3, 0, /* 0x60 .. */
};

bool mete__http_is_token(struct mete__span text)
{
    for (size_t i = 0; i < text.len; i++) {
        if ((byte_kinds[(unsigned char)text.at[i]] & IS_TOKEN) == 0) {
            return false;
        }
    }
    return text.len > 0;
}

static bool is_value_byte(unsigned char c)
{
    return (c >= 0x20 && c != 0x7f) || c == '\t';
}

/* Eight bytes at once; true when one of them is below 0x20, or is 0x7f. */
static bool has_control(const char *at)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t bytes;
    memcpy(&bytes, at, 8);
    uint64_t deletes = bytes ^ (ones * 0x7f);
    uint64_t hits = ((bytes - ones * 0x20) & ~bytes) | ((deletes - ones) & ~deletes);
    return (hits & (ones * 0x80)) != 0;
}

bool mete__http_is_value(struct mete__span text)
{
    size_t i = 0;
    while (i < text.len) {
        if (text.len - i >= 8 && !has_control(text.at + i)) {
            i += 8;
        } else if (is_value_byte((unsigned char)text.at[i])) {
            i++;
        } else {
            return false;
        }
    }
    return true;
}

/*
 * RFC 9112, section 5: field-name ":" OWS field-value OWS.  Section 5.1: whitespace
 * between name and colon is refused with 400; section 5.2: so is a folded line,
 * which begins with whitespace.
 */
unsigned mete__http_field_read(struct mete__span line, struct mete__http_field *field, const char **why)
{
    size_t name_len = 0;
    while (name_len < line.len && (byte_kinds[(unsigned char)line.at[name_len]] & IS_TOKEN) != 0) {
        name_len++;
    }
    if (name_len == 0 || name_len == line.len || line.at[name_len] != ':') {
        *why = "a header field is not NAME: VALUE";
        return 400;
    }
    field->name = mete__span_of(line.at, name_len);
    field->value = mete__span_trim(mete__span_of(line.at + name_len + 1, line.len - name_len - 1));
    if (!mete__http_is_value(field->value)) {
        *why = "a header field has a control character";
        return 400;
    }
    return 0;
}

/* RFC 9110, section 7.2: uri-host [ ":" port ].  Only its bytes are looked at: it decides nothing here. */
static unsigned add_host(struct mete__http_framing *framing, struct mete__span value, const char **why)
{
    framing->hosts++;
    for (size_t i = 0; i < value.len; i++) {
        if ((byte_kinds[(unsigned char)value.at[i]] & IS_HOST) == 0) {
            *why = "Host is malformed";
            return 400;
        }
    }
    return 0;
}

/*
 * RFC 9110, section 8.6: 1*DIGIT.  A list of equal numbers, or the field twice, may
 * be taken for one; not here.
 */
static unsigned add_length(struct mete__http_framing *framing, struct mete__span value, const char **why)
{
    if (framing->has_length || value.len == 0) {
        *why = value.len == 0 ? "Content-Length is empty" : "there is more than one Content-Length";
        return 400;
    }
    framing->has_length = true;
    for (size_t i = 0; i < value.len; i++) {
        if (value.at[i] < '0' || value.at[i] > '9') {
            *why = "Content-Length is not a number";
            return 400;
        }
        if (framing->length > UINT32_MAX) {
            continue; /* above any bound already; it needs no more digits */
        }
        framing->length = framing->length * 10 + (uint64_t)(value.at[i] - '0');
    }
    return 0;
}

/*
 * RFC 9112, section 6.1: a coding that is not understood is answered with 501.
 * Section 6.3: when chunked is not the last one, "the server MUST respond with the 400
 * (Bad Request) status code and then close the connection".
 */
static unsigned add_coding(struct mete__http_framing *framing, struct mete__span value, unsigned minor,
                           const char **why)
{
    if (minor == 0) {
        *why = "Transfer-Encoding in HTTP/1.0"; /* section 6.1: its framing is faulty */
        return 400;
    }
    if (framing->is_chunked) {
        *why = "there is more than one Transfer-Encoding";
        return 400;
    }
    if (mete__span_is_nocase(value, "chunked")) {
        framing->is_chunked = true;
        return 0;
    }
    size_t start = value.len;
    while (start > 0 && value.at[start - 1] != ',') {
        start--;
    }
    struct mete__span last = mete__span_trim(mete__span_of(value.at + start, value.len - start));
    bool is_final = mete__span_is_nocase(last, "chunked");
    *why = is_final ? "only the transfer coding chunked is understood" : "chunked is not the final transfer coding";
    return is_final ? 501 : 400;
}

/* RFC 9110, section 7.6.1: a list of options; others concern nobody here. */
static unsigned add_connection(struct mete__http_framing *framing, struct mete__span value)
{
    while (value.len > 0) {
        const char *comma = memchr(value.at, ',', value.len);
        size_t len = comma != NULL ? (size_t)(comma - value.at) : value.len;
        struct mete__span option = mete__span_trim(mete__span_of(value.at, len));
        framing->wants_close = framing->wants_close || mete__span_is_nocase(option, "close");
        framing->wants_keep_alive = framing->wants_keep_alive || mete__span_is_nocase(option, "keep-alive");
        size_t taken = comma != NULL ? len + 1 : len;
        value = mete__span_of(value.at + taken, value.len - taken);
    }
    return 0;
}

/* RFC 9110, section 10.1.1: any other expectation may be answered with 417; one in HTTP/1.0 is ignored. */
static unsigned add_expect(struct mete__http_framing *framing, struct mete__span value, unsigned minor,
                           const char **why)
{
    if (minor == 0) {
        return 0;
    }
    if (!mete__span_is_nocase(value, "100-continue")) {
        *why = "Expect is not 100-continue";
        return 417;
    }
    framing->expects_continue = true;
    return 0;
}

unsigned mete__http_framing_add(struct mete__http_framing *framing, const struct mete__http_field *field,
                                unsigned minor, const char **why)
{
    struct mete__span name = field->name;
    switch (name.len) {
    case sizeof("host") - 1:
        return mete__span_is_nocase(name, "host") ? add_host(framing, field->value, why) : 0;
    case sizeof("expect") - 1:
        return mete__span_is_nocase(name, "expect") ? add_expect(framing, field->value, minor, why) : 0;
    case sizeof("connection") - 1:
        return mete__span_is_nocase(name, "connection") ? add_connection(framing, field->value) : 0;
    case sizeof("content-length") - 1:
        return mete__span_is_nocase(name, "content-length") ? add_length(framing, field->value, why) : 0;
    case sizeof("transfer-encoding") - 1:
        return mete__span_is_nocase(name, "transfer-encoding") ? add_coding(framing, field->value, minor, why) : 0;
    default:
        return 0;
    }
}
