/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a TLS connection may be, by OpenSSL 3.0, after RFC 9325: TLS 1.2 and 1.3,
 * forward secret key exchange with authenticated encryption only, no compression
 * (section 3.3), no renegotiation (3.5), no early data (RFC 8446, section 8: it could
 * be replayed, and a take must not be).
 *
 * Sessions resume by tickets (RFC 5077; RFC 8446, section 4.6.1), so the server keeps
 * nothing for clients that left.  Their keys belong to the context: after a reload a
 * client shows its certificate again.
 */
#include "server/tls_context.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/why.h"

/* For TLS 1.2; those of 1.3 are all of this kind. */
#define METE__TLS_CIPHERS "ECDHE+AESGCM:ECDHE+CHACHA20"

/* At least 112 bits: RSA keys of 2048, curves of 224 (RFC 9325, section 4.4). */
#define METE__TLS_SECURITY_LEVEL 2

/* The chain that a client may send: several certificates of the usual 1 to 2 KiB. */
#define METE__TLS_CLIENT_CHAIN_MAX 32768
#define METE__TLS_DEPTH_MAX 8

/* Of a PEM file: the certificates of all public authorities are a fifth of it. */
#define METE__TLS_FILE_MAX (1 << 20)

struct mete__tls_context {
    SSL_CTX *ssl;
    unsigned holders; /* atomic */
};

/* Readable in a time that the file system decides, and of bounded size: not a pipe, not a device. */
static mete_status check_file(const char *path, const struct mete__why *why)
{
    struct stat stat_of;
    FILE *file = NULL;
    if (stat(path, &stat_of) != 0) {
        return mete__fail(why, METE_EIO, "cannot read '%s': %s", path, strerror(errno));
    }
    if (!S_ISREG(stat_of.st_mode)) {
        return mete__fail(why, METE_EIO, "cannot read '%s': it is not a regular file", path);
    }
    if (stat_of.st_size > METE__TLS_FILE_MAX) {
        return mete__fail(why, METE_EINVAL, "'%s' is larger than 1 MiB: it cannot be a PEM file of certificates", path);
    }
    file = fopen(path, "re");
    if (file == NULL) {
        return mete__fail(why, METE_EIO, "cannot read '%s': %s", path, strerror(errno));
    }
    fclose(file);
    return METE_OK;
}

const char *mete__tls_reason(void)
{
    const char *text = ERR_reason_error_string(ERR_peek_last_error());
    return text != NULL ? text : "unknown reason";
}

/* Instead of OpenSSL's own, which would ask at the terminal. */
static int refuse_password(char *password, int size, int is_writing, void *was_asked)
{
    (void)password;
    (void)size;
    (void)is_writing;
    if (was_asked != NULL) {
        *(bool *)was_asked = true;
    }
    return -1;
}

static mete_status use_certificate(SSL_CTX *ssl, const char *path, const struct mete__why *why)
{
    mete_status status = check_file(path, why);
    if (status == METE_OK && SSL_CTX_use_certificate_chain_file(ssl, path) != 1) {
        status = mete__fail(why, METE_EINVAL, "'%s' holds no usable PEM certificate: %s", path, mete__tls_reason());
    }
    return status;
}

static mete_status read_key(const char *path, EVP_PKEY **key, const struct mete__why *why)
{
    mete_status status = check_file(path, why);
    if (status != METE_OK) {
        return status;
    }
    bool is_encrypted = false;
    BIO *file = BIO_new_file(path, "r");
    *key = file != NULL ? PEM_read_bio_PrivateKey(file, NULL, refuse_password, &is_encrypted) : NULL;
    BIO_free(file);
    if (is_encrypted) {
        EVP_PKEY_free(*key);
        return mete__fail(why, METE_EINVAL, "the key in '%s' is encrypted: a daemon has nobody to ask for a password",
                          path);
    }
    if (*key == NULL) {
        return mete__fail(why, METE_EINVAL, "'%s' holds no usable PEM private key: %s", path, mete__tls_reason());
    }
    return METE_OK;
}

static mete_status use_key(SSL_CTX *ssl, const struct mete__tls_settings *settings, const struct mete__why *why)
{
    EVP_PKEY *key;
    mete_status status = read_key(settings->key, &key, why);
    if (status != METE_OK) {
        return status;
    }
    if (X509_check_private_key(SSL_CTX_get0_certificate(ssl), key) != 1) {
        status = mete__fail(why, METE_EINVAL, "the key in '%s' is not that of the certificate in '%s'", settings->key,
                            settings->certificate);
    } else if (SSL_CTX_use_PrivateKey(ssl, key) != 1) {
        status = mete__fail(why, METE_EINVAL, "the key in '%s' cannot be used: %s", settings->key, mete__tls_reason());
    }
    EVP_PKEY_free(key);
    return status;
}

/* Tells clients whose certificates count.  A revocation list in the file is obeyed.  False without a certificate. */
static bool announce_client_ca(SSL_CTX *ssl)
{
    X509_STORE *store = SSL_CTX_get_cert_store(ssl);
    STACK_OF(X509_OBJECT) *objects = X509_STORE_get0_objects(store);
    int count = 0;
    for (int i = 0; i < sk_X509_OBJECT_num(objects); i++) {
        const X509_OBJECT *object = sk_X509_OBJECT_value(objects, i);
        if (X509_OBJECT_get_type(object) == X509_LU_X509) {
            count += SSL_CTX_add_client_CA(ssl, X509_OBJECT_get0_X509(object));
        } else if (X509_OBJECT_get_type(object) == X509_LU_CRL) {
            X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK);
        }
    }
    return count > 0;
}

/* Clients must show a certificate that one of these signed, for the use of clients. */
static mete_status use_client_ca(SSL_CTX *ssl, const char *path, const struct mete__why *why)
{
    mete_status status = check_file(path, why);
    if (status != METE_OK) {
        return status;
    }
    if (SSL_CTX_load_verify_file(ssl, path) != 1 || !announce_client_ca(ssl)) {
        return mete__fail(why, METE_EINVAL, "'%s' holds no usable PEM certificate: %s", path, mete__tls_reason());
    }
    SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    SSL_CTX_set_verify_depth(ssl, METE__TLS_DEPTH_MAX);
    SSL_CTX_set_max_cert_list(ssl, METE__TLS_CLIENT_CHAIN_MAX);
    return METE_OK;
}

/* A client that offers protocols and not this one would misunderstand us (RFC 7301, section 3.2). */
static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_len, const unsigned char *offered,
                           unsigned offered_len, void *context)
{
    static const unsigned char ours[] = "\x08http/1.1";
    (void)ssl;
    (void)context;
    unsigned char *chosen;
    if (SSL_select_next_proto(&chosen, out_len, ours, sizeof(ours) - 1, offered, offered_len) !=
        OPENSSL_NPN_NEGOTIATED) {
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    }
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

static bool restrict_protocol(SSL_CTX *ssl)
{
    SSL_CTX_set_default_passwd_cb(ssl, refuse_password);
    SSL_CTX_set_security_level(ssl, METE__TLS_SECURITY_LEVEL);
    SSL_CTX_set_options(ssl, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE |
                                 SSL_OP_PRIORITIZE_CHACHA);
    SSL_CTX_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_alpn_select_cb(ssl, choose_protocol, NULL);
    static const unsigned char session_context[] = "mete"; /* tickets need one when clients are verified */
    return SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION) == 1 &&
           SSL_CTX_set_cipher_list(ssl, METE__TLS_CIPHERS) == 1 && SSL_CTX_set_num_tickets(ssl, 1) == 1 &&
           SSL_CTX_set_max_early_data(ssl, 0) == 1 && SSL_CTX_set_recv_max_early_data(ssl, 0) == 1 &&
           SSL_CTX_set_session_id_context(ssl, session_context, sizeof(session_context) - 1) == 1;
}

static mete_status configure(SSL_CTX *ssl, const struct mete__tls_settings *settings, const struct mete__why *why)
{
    if (!restrict_protocol(ssl)) {
        return mete__fail(why, METE_ENOMEM, "TLS cannot be set up: %s", mete__tls_reason());
    }
    mete_status status = use_certificate(ssl, settings->certificate, why);
    if (status == METE_OK) {
        status = use_key(ssl, settings, why);
    }
    if (status == METE_OK && settings->client_ca != NULL) {
        status = use_client_ca(ssl, settings->client_ca, why);
    }
    return status;
}

mete_status mete__tls_context_create(const struct mete__tls_settings *settings, struct mete__tls_context **out,
                                     char *why, size_t why_size)
{
    const struct mete__why why_to = {why, why_size};
    struct mete__tls_context *context = malloc(sizeof(*context));
    ERR_clear_error();
    SSL_CTX *ssl = context != NULL ? SSL_CTX_new(TLS_server_method()) : NULL;
    if (ssl == NULL) {
        free(context);
        return mete__fail(&why_to, METE_ENOMEM, "TLS cannot be set up: no memory");
    }
    mete_status status = configure(ssl, settings, &why_to);
    ERR_clear_error();
    if (status != METE_OK) {
        SSL_CTX_free(ssl);
        free(context);
        return status;
    }
    context->ssl = ssl;
    context->holders = 1;
    *out = context;
    return METE_OK;
}

struct mete__tls_context *mete__tls_context_hold(struct mete__tls_context *context)
{
    __atomic_fetch_add(&context->holders, 1, __ATOMIC_RELAXED);
    return context;
}

SSL_CTX *mete__tls_context_ssl(const struct mete__tls_context *context)
{
    return context->ssl;
}

/* The last one sees what all others did before they let go. */
void mete__tls_context_release(struct mete__tls_context *context)
{
    if (context != NULL && __atomic_sub_fetch(&context->holders, 1, __ATOMIC_ACQ_REL) == 0) {
        SSL_CTX_free(context->ssl);
        free(context);
    }
}
