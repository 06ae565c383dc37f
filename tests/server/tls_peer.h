/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of TLS: certificates made on the spot, and a client that shares its memory with the server. */
#ifndef METE_TEST_TLS_PEER_H
#define METE_TEST_TLS_PEER_H

#include <stdbool.h>
#include <stddef.h>

#include <openssl/ssl.h>

#include "server/tls.h"

/* A certificate with its key, and the PEM files they are in. */
struct identity {
    EVP_PKEY *key;
    X509 *certificate;
    char certificate_path[96];
    char key_path[96];
};

enum purpose { AUTHORITY, FOR_SERVERS, FOR_CLIENTS };

/* What is unusual about a certificate. */
struct oddity {
    bool is_expired;
    const char *second_name; /* another common name */
    int name_len;            /* of the common name, when it holds a NUL; 0: up to the NUL */
};

extern char tls_folder[64]; /* where the files are */
int tls_folder_make(void **state);
int tls_folder_remove(void **state);

/* name: of the files and the common name ("" for none).  issuer NULL: signed by itself. */
void identity_make(struct identity *identity, const char *name, enum purpose purpose, const struct identity *issuer,
                   const struct oddity *oddity);
void identity_free(struct identity *identity);

/* Writes a file in tls_folder; returns its path in a buffer that four calls share. */
const char *file_write(const char *name, const void *bytes, size_t len);

struct mete__tls_context *context_make(const struct identity *server, const struct identity *client_ca);

/* A client and the server's end of its connection. */
struct pair {
    SSL_CTX *context;
    SSL *client; /* over memory BIOs */
    struct mete__tls *tls;
    struct mete__out plain;  /* what the server received */
    struct mete__out cipher; /* not yet taken by the client */
    size_t chunk;            /* bytes given to the server at a time */
    bool is_open;            /* as the server last said */
};

/* client NULL: shows no certificate.  The client trusts everybody. */
void pair_make(struct pair *pair, struct mete__tls_context *context, const struct identity *client);
void pair_free(struct pair *pair);

/* Moves bytes both ways until there are none, while the server's end is open. */
void pair_pump(struct pair *pair);

/* Both ends say it is done. */
bool pair_shake_hands(struct pair *pair);

/* Moves the client's bytes to `bytes`; returns how many. */
size_t pair_client_bytes(struct pair *pair, char *bytes, size_t size);

void pair_client_write(struct pair *pair, const void *bytes, size_t len);
bool pair_server_write(struct pair *pair, const void *bytes, size_t len);

#endif
