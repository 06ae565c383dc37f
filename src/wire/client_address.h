/* SPDX-License-Identifier: Apache-2.0 */
/*
 * IP addresses as text, and which address of a list that proxies wrote is the
 * client's.  An address is 16 bytes, IPv4 as ::ffff:a.b.c.d (RFC 4291, section
 * 2.5.5.2), so that both spellings of one host are one key.  Pure.
 */
#ifndef METE_WIRE_CLIENT_ADDRESS_H
#define METE_WIRE_CLIENT_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "wire/span.h"

#define METE__ADDRESS_TEXT_MAX 48u /* 39 digits and colons, "/128" */

/*
 * Reads an address, with or without a port: "192.0.2.1", "192.0.2.1:80", "2001:db8::1",
 * "[2001:db8::1]", "[2001:db8::1]:80".  No names, no zones, no leading zeros in IPv4.
 */
bool mete__address_parse(struct mete__span text, unsigned char address[16]);

bool mete__address_is_ipv4(const unsigned char address[16]);

/*
 * The one spelling of an address (RFC 5952): "203.0.113.7", or IPv6 cut to its first
 * ipv6_prefix_len bits as "2001:db8:1:2::/64"; without "/" when that is 128.  Writes at
 * most METE__ADDRESS_TEXT_MAX bytes, no NUL; returns how many.
 */
size_t mete__address_format(const unsigned char address[16], unsigned ipv6_prefix_len, char *to);

/* True when the first prefix_len bits (0..128, as of 16 bytes) are the same. */
bool mete__address_is_in(const unsigned char address[16], const unsigned char network[16], unsigned prefix_len);

struct mete__forwarded {
    const struct mete__span *values; /* of all fields of the name, in order: one list */
    size_t value_count;
    unsigned depth; /* from the right, 1 being the last; used without is_trusted */
    bool (*is_trusted)(const void *context, const unsigned char address[16]); /* NULL: no proxies are named */
    const void *context;
};

/*
 * The client's address from X-Forwarded-For, a header with one address, or Forwarded
 * (RFC 7239: its for= parameters).  With is_trusted the last address that is not
 * trusted; else the one at depth; with too few of them the leftmost.
 *
 * Everything left of the chosen one was written by strangers and is not looked at.
 * An entry that cannot be read ends the search: then the address of the
 * trusted proxy that wrote it counts.  False when there is none: the peer counts.
 */
bool mete__forwarded_pick(const struct mete__forwarded *list, unsigned char address[16]);

#endif
