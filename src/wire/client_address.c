/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/client_address.h"

#include <stdint.h>
#include <string.h>

#define PORT_MAX 65535u

static const unsigned char ipv4_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* 1 to 5 digits, at most 65535. */
static bool is_port(struct mete__span text)
{
    unsigned value = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (!is_digit(text.at[i]) || i == 5) {
            return false;
        }
        value = value * 10 + (unsigned)(text.at[i] - '0');
    }
    return text.len > 0 && value <= PORT_MAX;
}

/* RFC 3986, section 3.2.2: dec-octet, without leading zeros.  All of text. */
static bool parse_ipv4(struct mete__span text, unsigned char to[4])
{
    size_t at = 0;
    for (int part = 0; part < 4; part++) {
        size_t start = at;
        unsigned value = 0;
        while (at < text.len && at - start < 3 && is_digit(text.at[at])) {
            value = value * 10 + (unsigned)(text.at[at++] - '0');
        }
        if (at == start || value > 255 || (text.at[start] == '0' && at - start > 1)) {
            return false;
        }
        to[part] = (unsigned char)value;
        if (part < 3 && (at == text.len || text.at[at++] != '.')) {
            return false;
        }
    }
    return at == text.len;
}

static int hex_digit(char c)
{
    if (is_digit(c)) {
        return c - '0';
    }
    c = mete__lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A group of IPv6 under way: bytes so far, and where "::" stood. */
struct groups {
    unsigned char bytes[16];
    size_t len;
    size_t gap; /* SIZE_MAX: none */
};

/* 1 to 4 hexadecimal digits from *at. */
static bool take_group(struct mete__span text, size_t *at, struct groups *groups)
{
    unsigned value = 0;
    size_t start = *at;
    while (*at < text.len && *at - start < 4 && hex_digit(text.at[*at]) >= 0) {
        value = value * 16 + (unsigned)hex_digit(text.at[(*at)++]);
    }
    if (*at == start || groups->len > 14) {
        return false;
    }
    groups->bytes[groups->len++] = (unsigned char)(value >> 8);
    groups->bytes[groups->len++] = (unsigned char)value;
    return true;
}

/* The last 32 bits may be written as IPv4 (RFC 4291, section 2.2). */
static bool take_tail(struct mete__span text, size_t *at, struct groups *groups)
{
    struct mete__span rest = mete__span_of(text.at + *at, text.len - *at);
    if (groups->len > 12 || !parse_ipv4(rest, groups->bytes + groups->len)) {
        return false;
    }
    groups->len += 4;
    *at = text.len;
    return true;
}

static bool take_gap(struct mete__span text, size_t *at, struct groups *groups)
{
    if (text.len - *at < 2 || text.at[*at] != ':' || text.at[*at + 1] != ':') {
        return false;
    }
    if (groups->gap == SIZE_MAX) {
        groups->gap = groups->len;
        *at += 2;
        return true;
    }
    return false;
}

static bool parse_ipv6(struct mete__span text, unsigned char address[16])
{
    struct groups groups = {.gap = SIZE_MAX};
    size_t at = 0;
    (void)take_gap(text, &at, &groups);
    while (at < text.len) {
        if (!take_tail(text, &at, &groups) && !take_group(text, &at, &groups)) {
            return false;
        }
        if (at < text.len && !take_gap(text, &at, &groups)) {
            /* A colon between groups: another one must follow. */
            if (text.at[at] != ':' || ++at == text.len) {
                return false;
            }
        }
    }
    /* RFC 5952, section 4.2.2 forbids writing "::" for one group, but it may be read. */
    if (groups.gap == SIZE_MAX ? groups.len != 16 : groups.len > 14) {
        return false;
    }
    size_t head = groups.gap == SIZE_MAX ? 16 : groups.gap;
    memset(address, 0, 16);
    memcpy(address, groups.bytes, head);
    memcpy(address + 16 - (groups.len - head), groups.bytes + head, groups.len - head);
    return true;
}

/* "[ADDRESS]" or "[ADDRESS]:PORT". */
static bool parse_bracketed(struct mete__span text, unsigned char address[16])
{
    const char *end = memchr(text.at, ']', text.len);
    if (end == NULL) {
        return false;
    }
    size_t inner = (size_t)(end - text.at) - 1;
    struct mete__span rest = mete__span_of(end + 1, text.len - inner - 2);
    bool is_rest_fine = rest.len == 0 || (rest.at[0] == ':' && is_port(mete__span_of(rest.at + 1, rest.len - 1)));
    return is_rest_fine && parse_ipv6(mete__span_of(text.at + 1, inner), address);
}

bool mete__address_parse(struct mete__span text, unsigned char address[16])
{
    if (text.len == 0) {
        return false;
    }
    if (text.at[0] == '[') {
        return parse_bracketed(text, address);
    }
    const char *colon = memchr(text.at, ':', text.len);
    size_t host_len = colon != NULL ? (size_t)(colon - text.at) : text.len;
    unsigned char ipv4[4];
    if (parse_ipv4(mete__span_of(text.at, host_len), ipv4)) {
        if (colon != NULL && !is_port(mete__span_of(colon + 1, text.len - host_len - 1))) {
            return false;
        }
        memcpy(address, ipv4_prefix, 12);
        memcpy(address + 12, ipv4, 4);
        return true;
    }
    return colon != NULL && parse_ipv6(text, address);
}

bool mete__address_is_ipv4(const unsigned char address[16])
{
    return memcmp(address, ipv4_prefix, 12) == 0;
}

bool mete__address_is_in(const unsigned char address[16], const unsigned char network[16], unsigned prefix_len)
{
    size_t whole = prefix_len / 8;
    unsigned rest = prefix_len % 8;
    if (memcmp(address, network, whole) != 0) {
        return false;
    }
    return rest == 0 || ((address[whole] ^ network[whole]) & (0xff00u >> rest) & 0xffu) == 0;
}

static size_t write_decimal(unsigned value, char *to)
{
    size_t len = 0;
    if (value >= 100) {
        to[len++] = (char)('0' + value / 100);
    }
    if (value >= 10) {
        to[len++] = (char)('0' + value / 10 % 10);
    }
    to[len++] = (char)('0' + value % 10);
    return len;
}

/* RFC 5952, section 4.1 and 4.3: no leading zeros, lower case. */
static size_t write_group(unsigned value, char *to)
{
    size_t len = 0;
    for (int shift = 12; shift >= 0; shift -= 4) {
        unsigned digit = value >> shift & 15;
        if (len > 0 || digit > 0 || shift == 0) {
            to[len++] = "0123456789abcdef"[digit];
        }
    }
    return len;
}

/* RFC 5952, section 4.2.3: the longest run of two or more zero groups, of equal ones the first. */
static void find_zeros(const unsigned groups[8], unsigned *start, unsigned *count)
{
    *start = 8;
    *count = 1;
    for (unsigned i = 0; i < 8;) {
        unsigned end = i;
        while (end < 8 && groups[end] == 0) {
            end++;
        }
        if (end - i > *count) {
            *start = i;
            *count = end - i;
        }
        i = end + 1;
    }
}

static size_t write_ipv6(const unsigned groups[8], char *to)
{
    unsigned start, count;
    size_t len = 0;
    find_zeros(groups, &start, &count);
    for (unsigned i = 0; i < 8; i++) {
        if (i == start) {
            to[len++] = ':';
            to[len++] = ':';
            i += count - 1;
            continue;
        }
        if (i > 0 && to[len - 1] != ':') {
            to[len++] = ':';
        }
        len += write_group(groups[i], to + len);
    }
    return len;
}

size_t mete__address_format(const unsigned char address[16], unsigned ipv6_prefix_len, char *to)
{
    size_t len = 0;
    if (mete__address_is_ipv4(address)) {
        for (int i = 12; i < 16; i++) {
            len += write_decimal(address[i], to + len);
            to[len] = '.';
            len += i < 15;
        }
        return len;
    }
    unsigned groups[8];
    for (unsigned i = 0; i < 8; i++) {
        unsigned bits = ipv6_prefix_len > 16 * i ? ipv6_prefix_len - 16 * i : 0;
        unsigned mask = bits >= 16 ? 0xffffu : 0xffff0000u >> bits & 0xffffu;
        groups[i] = ((unsigned)address[2 * i] << 8 | address[2 * i + 1]) & mask;
    }
    len = write_ipv6(groups, to);
    if (ipv6_prefix_len < 128) {
        to[len++] = '/';
        len += write_decimal(ipv6_prefix_len, to + len);
    }
    return len;
}

/* Takes the last entry off a list; false when it is empty. */
static bool take_last(struct mete__span *list, struct mete__span *entry)
{
    size_t start = list->len;
    while (start > 0 && list->at[start - 1] != ',') {
        start--;
    }
    *entry = mete__span_trim(mete__span_of(list->at + start, list->len - start));
    bool had_any = list->len > 0;
    list->len = start > 0 ? start - 1 : 0;
    return had_any;
}

/* RFC 7239, section 4: the value of for= in "for=192.0.2.43;proto=http;by=...", without its quotes.
 * Anything without '=' is the entry itself. */
static struct mete__span forwarded_for(struct mete__span entry)
{
    if (entry.len == 0 || memchr(entry.at, '=', entry.len) == NULL) {
        return entry;
    }
    while (entry.len > 0) {
        const char *mark = memchr(entry.at, ';', entry.len);
        size_t len = mark != NULL ? (size_t)(mark - entry.at) : entry.len;
        struct mete__span pair = mete__span_trim(mete__span_of(entry.at, len));
        if (pair.len > 4 && mete__span_is_nocase(mete__span_of(pair.at, 4), "for=")) {
            struct mete__span value = mete__span_of(pair.at + 4, pair.len - 4);
            bool is_quoted = value.len >= 2 && value.at[0] == '"' && value.at[value.len - 1] == '"';
            return is_quoted ? mete__span_of(value.at + 1, value.len - 2) : value;
        }
        size_t taken = mark != NULL ? len + 1 : len;
        entry = mete__span_of(entry.at + taken, entry.len - taken);
    }
    return entry;
}

bool mete__forwarded_pick(const struct mete__forwarded *list, unsigned char address[16])
{
    unsigned depth = 0;
    bool has_any = false;
    for (size_t i = list->value_count; i > 0; i--) {
        struct mete__span rest = list->values[i - 1];
        struct mete__span entry;
        while (take_last(&rest, &entry)) {
            if (entry.len == 0) {
                continue; /* RFC 9110, section 5.6.1.2: empty elements are ignored */
            }
            unsigned char found[16];
            if (!mete__address_parse(forwarded_for(entry), found)) {
                return has_any && list->is_trusted != NULL;
            }
            memcpy(address, found, 16);
            has_any = true;
            depth++;
            if (list->is_trusted != NULL ? !list->is_trusted(list->context, found) : depth == list->depth) {
                return true;
            }
        }
    }
    return has_any;
}
