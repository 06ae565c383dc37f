/* SPDX-License-Identifier: Apache-2.0 */
/* How the address of a client is found behind proxies. */
#include "policy/network.h"
#include "policy/schema.h"

#define HEADER_LEN_MAX 64u
#define NETWORK_LEN_MAX 64u

enum { ADDRESS_HEADER, ADDRESS_DEPTH, ADDRESS_PROXIES, ADDRESS_IPV6_PREFIX, ADDRESS_COUNT };

static const struct mete__field address_fields[ADDRESS_COUNT] = {
    [ADDRESS_HEADER] = {.name = "header",
                        .kind = METE__FIELD_TEXT,
                        METE__MEMBER(struct mete__client_address, header),
                        .max = HEADER_LEN_MAX,
                        .shown_type = "name of a header",
                        .shown_default = "X-Forwarded-For",
                        .help = "addresses, the nearest last; a header with one address works too"},
    [ADDRESS_DEPTH] = {.name = "depth",
                       .kind = METE__FIELD_COUNT,
                       METE__MEMBER(struct mete__client_address, depth),
                       .min = 1,
                       .max = 64,
                       .fallback = 1,
                       .help =
                           "which address of the header, counted from its end, when no `trusted_proxies` are given"},
    [ADDRESS_PROXIES] = {.name = "trusted_proxies",
                         .kind = METE__FIELD_OTHER,
                         .shown_type = "list of networks, at most 64",
                         .shown_default = "loopback and Unix sockets may send the header",
                         .help = "whose header is believed; the client is the last address that is not one of them"},
    [ADDRESS_IPV6_PREFIX] = {.name = "ipv6_prefix",
                             .kind = METE__FIELD_COUNT,
                             METE__MEMBER(struct mete__client_address, ipv6_prefix_len),
                             .min = 1,
                             .max = 128,
                             .fallback = 64,
                             .help = "bits of an IPv6 address that make one client: one has many addresses"},
};

const struct mete__section mete__section_client_address = {
    "client_address", address_fields, ADDRESS_COUNT,
    "How the address of a client is found behind proxies. A header from anybody else is not believed."};

static void load_proxy(const struct mete__loader *loader, const struct mete__node *node)
{
    struct mete__client_address *address = &loader->config->client_address;
    struct mete__network network;
    const char *text = NULL;
    char right[METE__NETWORK_TEXT_SIZE];
    if (!mete__read_text(loader, "trusted_proxies", node, NETWORK_LEN_MAX, &text)) {
        return;
    }
    switch (mete__network_parse(node->text, node->len, &network)) {
    case METE__NETWORK_OK:
        address->proxies[address->proxy_count++] = network;
        return;
    case METE__NETWORK_HOST_BITS:
        mete__network_format(&network, right);
        mete__fault_at(loader, node, "trusted_proxies: %s has bits set behind its prefix; the network is %s", text,
                       right);
        return;
    case METE__NETWORK_MALFORMED:
        mete__fault_at(loader, node, "trusted_proxies: %s is not a network such as 10.0.0.0/8 or 2001:db8::/32",
                       mete__quote(node->text, node->len).text);
        return;
    }
}

static void load_proxies(const struct mete__loader *loader, const struct mete__node *node)
{
    if (!mete__read_list(loader, "trusted_proxies", node, METE__PROXIES_MAX)) {
        return;
    }
    for (const struct mete__node *item = node->first; item != NULL; item = item->next) {
        load_proxy(loader, item);
    }
}

void mete__load_client_address(const struct mete__loader *loader, const struct mete__node *node)
{
    struct mete__client_address *address = &loader->config->client_address;
    const struct mete__node *seen[METE__FIELDS_MAX] = {NULL};
    mete__section_defaults(&mete__section_client_address, address);
    if (node != NULL) {
        mete__section_read(loader, &mete__section_client_address, node, address, seen);
    }
    if (seen[ADDRESS_PROXIES] != NULL) {
        load_proxies(loader, seen[ADDRESS_PROXIES]);
    }
    const struct mete__node *header = seen[ADDRESS_HEADER];
    if (header == NULL || address->header == NULL) {
        address->header = "X-Forwarded-For";
    } else if (!mete__is_token(header->text, header->len)) {
        mete__fault_at(loader, header, "header: %s is not the name of a header",
                       mete__quote(header->text, header->len).text);
    }
}
