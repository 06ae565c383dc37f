/* SPDX-License-Identifier: Apache-2.0 */
/* Where the daemon listens, and with which certificate. */
#include <string.h>
#include <sys/un.h>

#include "base/text.h"
#include "policy/network.h"
#include "policy/schema.h"

#define ADDRESS_LEN_MAX 300u /* a host of DNS, RFC 1035 section 2.3.4, has at most 255 */
#define HOST_LEN_MAX 255u
#define UNIX_PATH_MAX (sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1)
#define PATH_LEN_MAX 4095u

/* --- tables ----------------------------------------------------------------------- */

struct listen_item {
    const char *resp;
    const char *http;
    const char *unix_mode;
    bool is_tls;
};

enum { LISTEN_RESP, LISTEN_HTTP, LISTEN_TLS, LISTEN_UNIX_MODE, LISTEN_COUNT };

static const struct mete__field listen_fields[LISTEN_COUNT] = {
    [LISTEN_RESP] = {.name = "resp",
                     .kind = METE__FIELD_TEXT,
                     METE__MEMBER(struct listen_item, resp),
                     .max = ADDRESS_LEN_MAX,
                     .shown_type = "address",
                     .shown_default = "one of the two is needed",
                     .help = "the Redis protocol on this address"},
    [LISTEN_HTTP] = {.name = "http",
                     .kind = METE__FIELD_TEXT,
                     METE__MEMBER(struct listen_item, http),
                     .max = ADDRESS_LEN_MAX,
                     .shown_type = "address",
                     .shown_default = "one of the two is needed",
                     .help = "HTTP/1.1 on this address"},
    [LISTEN_TLS] = {.name = "tls",
                    .kind = METE__FIELD_SWITCH,
                    METE__MEMBER(struct listen_item, is_tls),
                    .help = "TLS with the certificate of the section `tls`"},
    [LISTEN_UNIX_MODE] = {.name = "unix_mode",
                          .kind = METE__FIELD_TEXT,
                          METE__MEMBER(struct listen_item, unix_mode),
                          .max = 4,
                          .shown_type = "octal digits, 0600..0777",
                          .shown_default = "0600",
                          .help = "permissions of a Unix socket: who may connect"},
};

const struct mete__section mete__section_listen = {
    "listen[]", listen_fields, LISTEN_COUNT,
    "Where clients connect. An address is `HOST:PORT`, `[IPV6]:PORT`, `unix:/PATH`, or `fd:NAME` for a socket that "
    "was handed over under this name, or with this number from 0 (socket activation)."};

enum { TLS_CERTIFICATE, TLS_KEY, TLS_CLIENT_CA, TLS_COUNT };

#define TLS_FILE(member_name, text)                                                                           \
    {                                                                                                         \
        .name = #member_name, .kind = METE__FIELD_TEXT, METE__MEMBER(struct mete__tls_settings, member_name), \
        .max = PATH_LEN_MAX, .shown_type = "PEM file", .shown_default = "none", .help = (text)                \
    }

static const struct mete__field tls_fields[TLS_COUNT] = {
    [TLS_CERTIFICATE] = TLS_FILE(certificate, "the certificate and those between it and the authority"),
    [TLS_KEY] = TLS_FILE(key, "its private key"),
    [TLS_CLIENT_CA] = TLS_FILE(client_ca, "who signs the certificates that clients must show; none: they show none"),
};

const struct mete__section mete__section_tls = {"tls", tls_fields, TLS_COUNT,
                                                "The certificate of listeners with `tls: true`. `certificate` and "
                                                "`key` are given together."};

/* --- the form of an address --------------------------------------------------------- */

static bool is_port(const char *text)
{
    struct mete__text rest = mete__text_of(text, strlen(text));
    uint64_t port = 0;
    return mete__text_len(&rest) <= 5 && mete__text_u64(&rest, &port) == METE__NUMBER_OK &&
           mete__text_is_empty(&rest) && port <= 65535;
}

static bool is_host_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || mete__is_digit(c) || c == '.' || c == '-' || c == '_';
}

static const char *ipv6_problem(const char *address)
{
    struct mete__network network;
    const char *end = strchr(address, ']');
    if (end == NULL || end[1] != ':') {
        return "an IPv6 address is written [ADDRESS]:PORT";
    }
    if (!mete__network_parse_address(address + 1, (size_t)(end - address - 1), &network) ||
        memchr(address + 1, ':', (size_t)(end - address - 1)) == NULL) {
        return "what stands in [ ] is not an IPv6 address";
    }
    return is_port(end + 2) ? NULL : "the port is not a number 0..65535";
}

static const char *host_problem(const char *address)
{
    const char *colon = strrchr(address, ':');
    if (colon == NULL) {
        return "no port; an address is HOST:PORT, [IPV6]:PORT, unix:/PATH or fd:NAME";
    }
    if (memchr(address, ':', (size_t)(colon - address)) != NULL) {
        return "an IPv6 address is written [ADDRESS]:PORT";
    }
    size_t host_len = (size_t)(colon - address);
    for (size_t i = 0; i < host_len; i++) {
        if (!is_host_byte(address[i])) {
            return "the host has characters that no name or address has";
        }
    }
    if (host_len == 0 || host_len > HOST_LEN_MAX) {
        return "the host is missing or too long; 0.0.0.0 or [::] listens on all addresses";
    }
    return is_port(colon + 1) ? NULL : "the port is not a number 0..65535";
}

static const char *fd_problem(const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < len; i++) {
        if (!is_host_byte(name[i])) {
            return "the name after fd: may have letters, digits, '_', '.', '-'";
        }
    }
    return len >= 1 && len <= METE__NAME_MAX ? NULL : "the name after fd: has 1 to 64 characters";
}

/* NULL when the address has the form of one. */
static const char *address_problem(const char *address)
{
    if (strncmp(address, "unix:", 5) == 0) {
        if (address[5] != '/' || address[6] == '\0') {
            return "a Unix socket has an absolute path: unix:/PATH";
        }
        return strlen(address + 5) <= UNIX_PATH_MAX ? NULL : "the path of a Unix socket has at most 107 bytes";
    }
    if (strncmp(address, "fd:", 3) == 0) {
        return fd_problem(address + 3);
    }
    return address[0] == '[' ? ipv6_problem(address) : host_problem(address);
}

/* --- reading ------------------------------------------------------------------------ */

static void read_mode(const struct mete__loader *loader, const struct mete__node *node, const char *mode,
                      struct mete__listener *listener)
{
    unsigned value = 0;
    bool is_octal = strlen(mode) == 3 || (strlen(mode) == 4 && mode[0] == '0');
    for (const char *at = mode; *at != '\0'; at++) {
        is_octal = is_octal && *at >= '0' && *at <= '7';
        value = value << 3 | (unsigned)(*at - '0');
    }
    if (!is_octal || value < 0600) {
        mete__fault_at(loader, node, "unix_mode: %s is not octal permissions 0600..0777",
                       mete__quote(mode, strlen(mode)).text);
        return;
    }
    if (strncmp(listener->address, "unix:", 5) != 0) {
        mete__fault_at(loader, node, "unix_mode: only a Unix socket (unix:/PATH) has permissions");
        return;
    }
    listener->unix_mode = value;
}

static void check_new(const struct mete__loader *loader, const struct mete__node *node,
                      const struct mete__listener *listener)
{
    /* Port 0 is another port each time. */
    size_t len = strlen(listener->address);
    if (len > 2 && strcmp(listener->address + len - 2, ":0") == 0) {
        return;
    }
    for (size_t i = 0; i < loader->config->listener_count; i++) {
        if (strcmp(loader->config->listeners[i].address, listener->address) == 0) {
            mete__fault_at(loader, node, "listen: %s is already listened on", mete__quote(listener->address, len).text);
            return;
        }
    }
}

static void check_address(const struct mete__loader *loader, const struct mete__node *node,
                          const struct mete__listener *listener)
{
    const char *problem = address_problem(listener->address);
    if (problem != NULL) {
        mete__fault_at(loader, node, "listen: %s: %s", mete__quote(node->text, node->len).text, problem);
        return;
    }
    check_new(loader, node, listener);
}

static void load_listener(const struct mete__loader *loader, const struct mete__node *node)
{
    struct mete__config *config = loader->config;
    const struct mete__node *seen[METE__FIELDS_MAX];
    struct listen_item item = {0};
    mete__section_read(loader, &mete__section_listen, node, &item, seen);
    if (node->kind != METE__NODE_MAP) {
        return;
    }
    bool is_resp = seen[LISTEN_RESP] != NULL;
    const struct mete__node *where = is_resp ? seen[LISTEN_RESP] : seen[LISTEN_HTTP];
    if (where == NULL || (is_resp && seen[LISTEN_HTTP] != NULL)) {
        mete__fault_at(loader, node, "listen: each listener is either resp: ADDRESS or http: ADDRESS");
        return;
    }
    struct mete__listener listener = {.unix_mode = 0600, .is_tls = item.is_tls};
    listener.protocol = is_resp ? METE__PROTOCOL_RESP : METE__PROTOCOL_HTTP;
    listener.address = is_resp ? item.resp : item.http;
    if (listener.address == NULL) {
        return;
    }
    check_address(loader, where, &listener);
    if (seen[LISTEN_UNIX_MODE] != NULL && item.unix_mode != NULL) {
        read_mode(loader, seen[LISTEN_UNIX_MODE], item.unix_mode, &listener);
    }
    if (seen[LISTEN_TLS] != NULL && listener.is_tls && config->tls.certificate == NULL) {
        mete__fault_at(loader, seen[LISTEN_TLS],
                       "tls: there is no certificate; give certificate and key in section tls");
    }
    config->listeners[config->listener_count++] = listener;
}

void mete__load_listeners(const struct mete__loader *loader, const struct mete__node *node)
{
    struct mete__config *config = loader->config;
    if (node == NULL) {
        config->listeners[0] =
            (struct mete__listener){.protocol = METE__PROTOCOL_RESP, .address = "127.0.0.1:6379", .unix_mode = 0600};
        config->listeners[1] =
            (struct mete__listener){.protocol = METE__PROTOCOL_HTTP, .address = "127.0.0.1:8080", .unix_mode = 0600};
        config->listener_count = 2;
        return;
    }
    if (!mete__read_list(loader, "listen", node, METE__LISTENERS_MAX)) {
        return;
    }
    for (const struct mete__node *item = node->first; item != NULL; item = item->next) {
        load_listener(loader, item);
    }
}

void mete__load_tls(const struct mete__loader *loader, const struct mete__node *node)
{
    const struct mete__node *seen[METE__FIELDS_MAX];
    struct mete__tls_settings *tls = &loader->config->tls;
    if (node == NULL) {
        return;
    }
    mete__section_read(loader, &mete__section_tls, node, tls, seen);
    if (node->kind == METE__NODE_MAP && (seen[TLS_CERTIFICATE] == NULL || seen[TLS_KEY] == NULL)) {
        mete__fault_at(loader, node, "tls: certificate and key are needed, both");
    }
}
