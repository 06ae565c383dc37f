/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One TLS connection.  OpenSSL reads from and writes to a BIO that points at the
 * caller's buffers while a call lasts.  What is left of a record waits inside OpenSSL,
 * so an idle connection has no buffer of ours, and by SSL_MODE_RELEASE_BUFFERS none of
 * OpenSSL's.
 *
 * A call of receive adds at most its bytes and one record to plain: there is no
 * compression, and of what came earlier less than a record waits.
 */
#include "server/tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/x509.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "server/tls_context.h"

/* The most that one record holds (RFC 8446, section 5.1). */
#define METE__TLS_RECORD_MAX 16384

struct mete__tls {
    SSL *ssl;
    const char *in; /* cipher bytes of the call that lasts */
    size_t in_len;
    struct mete__out *cipher; /* of the call that lasts, else NULL */
    char *peer_name;
    const char *error; /* a constant of ours or of OpenSSL */
    bool is_broken;
};

static int bio_read(BIO *bio, char *to, int size)
{
    struct mete__tls *tls = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (tls->in_len == 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    size_t len = (size_t)size < tls->in_len ? (size_t)size : tls->in_len;
    memcpy(to, tls->in, len);
    tls->in += len;
    tls->in_len -= len;
    return (int)len;
}

static int bio_write(BIO *bio, const char *bytes, int len)
{
    struct mete__tls *tls = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (tls->cipher == NULL) {
        return -1;
    }
    mete__out_bytes(tls->cipher, bytes, (size_t)len);
    return tls->cipher->is_failed ? -1 : len;
}

static long bio_control(BIO *bio, int command, long number, void *pointer)
{
    (void)bio;
    (void)number;
    (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

static BIO_METHOD *bio_method; /* made once, and kept: the types of BIOs are numbered up to 127 */

static void bio_method_make(void)
{
    BIO_METHOD *method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "mete");
    if (method != NULL) {
        BIO_meth_set_read(method, bio_read);
        BIO_meth_set_write(method, bio_write);
        BIO_meth_set_ctrl(method, bio_control);
    }
    bio_method = method;
}

struct mete__tls *mete__tls_create(struct mete__tls_context *context)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, bio_method_make);
    struct mete__tls *tls = calloc(1, sizeof(*tls));
    BIO *bio = bio_method != NULL ? BIO_new(bio_method) : NULL;
    SSL *ssl =
        SSL_new(mete__tls_context_ssl(context)); /* counts on the SSL_CTX, which outlives our context for its sake */
    if (tls == NULL || bio == NULL || ssl == NULL) {
        SSL_free(ssl);
        BIO_free(bio);
        free(tls);
        ERR_clear_error();
        return NULL;
    }
    BIO_set_data(bio, tls);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
    SSL_set_accept_state(ssl);
    tls->ssl = ssl;
    tls->error = "";
    return tls;
}

void mete__tls_destroy(struct mete__tls *tls)
{
    if (tls != NULL) {
        SSL_free(tls->ssl);
        OPENSSL_free(tls->peer_name);
        free(tls);
    }
}

static bool break_with(struct mete__tls *tls, const char *error)
{
    tls->is_broken = true;
    tls->error = error;
    return false;
}

/* The sentence of a call that failed for good. */
static bool break_by_openssl(struct mete__tls *tls)
{
    long verified = SSL_get_verify_result(tls->ssl);
    if (tls->cipher != NULL && tls->cipher->is_failed) {
        return break_with(tls, "no room for bytes to send");
    }
    return break_with(tls, verified != X509_V_OK ? X509_verify_cert_error_string(verified) : mete__tls_reason());
}

/* The one common name of the certificate, as UTF-8 without NUL; NULL when there is no such thing. */
static char *common_name(const X509 *certificate)
{
    const X509_NAME *subject = X509_get_subject_name(certificate);
    int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    if (at < 0 || X509_NAME_get_index_by_NID(subject, NID_commonName, at) >= 0) {
        return NULL;
    }
    unsigned char *text = NULL;
    int len = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
    if (len <= 0 || strlen((char *)text) != (size_t)len) {
        OPENSSL_free(text);
        return NULL;
    }
    return (char *)text;
}

static void learn_peer(struct mete__tls *tls)
{
    X509 *certificate = SSL_get0_peer_certificate(tls->ssl);
    if (certificate != NULL && SSL_get_verify_result(tls->ssl) == X509_V_OK) {
        tls->peer_name = common_name(certificate);
    }
}

/* Reads until the caller's bytes are used up; each turn takes some of them or is the last. */
static bool read_all(struct mete__tls *tls, struct mete__out *plain)
{
    char bytes[METE__TLS_RECORD_MAX];
    for (;;) {
        size_t len = 0;
        ERR_clear_error();
        int result = SSL_read_ex(tls->ssl, bytes, sizeof(bytes), &len);
        if (result == 1) {
            mete__out_bytes(plain, bytes, len);
            if (plain->is_failed) {
                return break_with(tls, "no room for bytes received");
            }
            continue;
        }
        switch (SSL_get_error(tls->ssl, result)) {
        case SSL_ERROR_WANT_READ:
            return true;
        case SSL_ERROR_ZERO_RETURN:
            tls->error = "closed by the peer";
            return false;
        default:
            return break_by_openssl(tls);
        }
    }
}

bool mete__tls_receive(struct mete__tls *tls, const char *bytes, size_t len, struct mete__out *plain,
                       struct mete__out *cipher)
{
    if (tls->is_broken) {
        return false;
    }
    bool was_established = mete__tls_is_established(tls);
    tls->in = bytes;
    tls->in_len = len;
    tls->cipher = cipher;
    bool is_open = read_all(tls, plain);
    tls->in = NULL;
    tls->in_len = 0;
    tls->cipher = NULL;
    if (!was_established && mete__tls_is_established(tls)) {
        learn_peer(tls);
    }
    ERR_clear_error();
    return is_open;
}

bool mete__tls_send(struct mete__tls *tls, const char *bytes, size_t len, struct mete__out *cipher)
{
    if (tls->is_broken) {
        return false;
    }
    if (!mete__tls_is_established(tls)) {
        return break_with(tls, "nothing can be sent before the handshake");
    }
    if (len == 0) {
        return true;
    }
    size_t written = 0;
    ERR_clear_error();
    tls->cipher = cipher;
    bool is_sent = SSL_write_ex(tls->ssl, bytes, len, &written) == 1 || break_by_openssl(tls);
    tls->cipher = NULL;
    ERR_clear_error();
    return is_sent;
}

void mete__tls_close(struct mete__tls *tls, struct mete__out *cipher)
{
    if (!mete__tls_is_established(tls)) {
        return;
    }
    ERR_clear_error();
    tls->cipher = cipher;
    SSL_shutdown(tls->ssl);
    tls->cipher = NULL;
    break_with(tls, "closed");
    ERR_clear_error();
}

bool mete__tls_is_established(const struct mete__tls *tls)
{
    return !tls->is_broken && SSL_is_init_finished(tls->ssl) == 1;
}

bool mete__tls_is_amid(const struct mete__tls *tls)
{
    bool is_begun = SSL_is_init_finished(tls->ssl) != 1 && SSL_in_before(tls->ssl) != 1;
    return !tls->is_broken && (is_begun || SSL_has_pending(tls->ssl) == 1);
}

const char *mete__tls_peer_name(const struct mete__tls *tls)
{
    return tls->peer_name;
}

const char *mete__tls_error(const struct mete__tls *tls)
{
    return tls->error;
}
