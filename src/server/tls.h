/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS 1.2 and 1.3 over a connection, by OpenSSL, without I/O of its own: cipher
 * bytes and plain bytes in and out of memory.
 */
#ifndef METE_SERVER_TLS_H
#define METE_SERVER_TLS_H

#include <mete/mete.h>

#include "policy/config.h"
#include "wire/out.h"

struct mete__tls_context; /* certificate, key, client CA; counted, shared by loops */
struct mete__tls;         /* one connection */

/* METE_EINVAL or METE_EIO with a sentence that names the file. */
mete_status mete__tls_context_create(const struct mete__tls_settings *settings, struct mete__tls_context **out,
                                     char *why, size_t why_size);
struct mete__tls_context *mete__tls_context_hold(struct mete__tls_context *context);
void mete__tls_context_release(struct mete__tls_context *context); /* NULL is fine */

struct mete__tls *mete__tls_create(struct mete__tls_context *context); /* NULL: no memory */
void mete__tls_destroy(struct mete__tls *tls);

/*
 * Takes cipher bytes from the peer; plain bytes are appended to plain and
 * cipher bytes to send (handshake, alerts) to cipher.  False when the connection is
 * broken or was closed by the peer: send cipher, then close.  What a peer sent before
 * it closed is in plain and may still be answered.  plain grows by at most len and
 * one record of 16 KiB.
 */
bool mete__tls_receive(struct mete__tls *tls, const char *bytes, size_t len, struct mete__out *plain,
                       struct mete__out *cipher);

/* Encrypts plain bytes onto cipher; false when the connection is broken. */
bool mete__tls_send(struct mete__tls *tls, const char *bytes, size_t len, struct mete__out *cipher);

/* The close_notify alert. */
void mete__tls_close(struct mete__tls *tls, struct mete__out *cipher);

bool mete__tls_is_established(const struct mete__tls *tls);

/* A handshake or a record has begun and not ended. */
bool mete__tls_is_amid(const struct mete__tls *tls);

/* The verified client certificate's subject common name; NULL when there is none.  Valid while tls is. */
const char *mete__tls_peer_name(const struct mete__tls *tls);

/* The sentence of the last failure, for the log. */
const char *mete__tls_error(const struct mete__tls *tls);

#endif
