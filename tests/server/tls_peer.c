/* SPDX-License-Identifier: Apache-2.0 */
#include "server/tls_peer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <dirent.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

char tls_folder[64];

int tls_folder_make(void **state)
{
    (void)state;
    strcpy(tls_folder, "/tmp/mete-tls-XXXXXX");
    return mkdtemp(tls_folder) != NULL ? 0 : -1;
}

int tls_folder_remove(void **state)
{
    (void)state;
    DIR *folder = opendir(tls_folder);
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        char path[512];
        snprintf(path, sizeof(path), "%s/%s", tls_folder, entry->d_name);
        unlink(path);
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return rmdir(tls_folder);
}

static void add_extension(X509 *certificate, int nid, const char *value)
{
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, nid, value);
    assert_non_null(extension);
    assert_int_equal(X509_add_ext(certificate, extension, -1), 1);
    X509_EXTENSION_free(extension);
}

static void set_subject(X509 *certificate, const char *name, const struct oddity *oddity)
{
    X509_NAME *subject = X509_NAME_new();
    int len = oddity->name_len > 0 ? oddity->name_len : (int)strlen(name);
    X509_NAME_add_entry_by_txt(subject, "O", MBSTRING_UTF8, (const unsigned char *)"mete", -1, -1, 0);
    if (len > 0) {
        X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, (const unsigned char *)name, len, -1, 0);
    }
    if (oddity->second_name != NULL) {
        X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, (const unsigned char *)oddity->second_name, -1, -1, 0);
    }
    assert_int_equal(X509_set_subject_name(certificate, subject), 1);
    X509_NAME_free(subject);
}

static X509 *certificate_make(EVP_PKEY *key, const char *name, enum purpose purpose, const struct identity *issuer,
                              const struct oddity *oddity)
{
    static long serial = 1;
    X509 *certificate = X509_new();
    assert_non_null(certificate);
    X509_set_version(certificate, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial++);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -7200);
    X509_gmtime_adj(X509_getm_notAfter(certificate), oddity->is_expired ? -3600 : 86400);
    X509_set_pubkey(certificate, key);
    set_subject(certificate, name, oddity);
    X509_set_issuer_name(certificate, X509_get_subject_name(issuer != NULL ? issuer->certificate : certificate));
    add_extension(certificate, NID_basic_constraints, purpose == AUTHORITY ? "critical,CA:TRUE" : "CA:FALSE");
    if (purpose != AUTHORITY) {
        add_extension(certificate, NID_ext_key_usage, purpose == FOR_SERVERS ? "serverAuth" : "clientAuth");
    }
    assert_true(X509_sign(certificate, issuer != NULL ? issuer->key : key, EVP_sha256()) > 0);
    return certificate;
}

static FILE *pem_open(char *path, size_t path_size, const char *name, const char *ending)
{
    snprintf(path, path_size, "%s/%s.%s", tls_folder, name[0] != '\0' ? name : "nameless", ending);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    return file;
}

void identity_make(struct identity *identity, const char *name, enum purpose purpose, const struct identity *issuer,
                   const struct oddity *oddity)
{
    static const struct oddity none = {0};
    identity->key = EVP_EC_gen("P-256");
    assert_non_null(identity->key);
    identity->certificate = certificate_make(identity->key, name, purpose, issuer, oddity != NULL ? oddity : &none);
    FILE *file = pem_open(identity->certificate_path, sizeof(identity->certificate_path), name, "pem");
    assert_int_equal(PEM_write_X509(file, identity->certificate), 1);
    fclose(file);
    file = pem_open(identity->key_path, sizeof(identity->key_path), name, "key");
    assert_int_equal(PEM_write_PrivateKey(file, identity->key, NULL, NULL, 0, NULL, NULL), 1);
    fclose(file);
}

void identity_free(struct identity *identity)
{
    EVP_PKEY_free(identity->key);
    X509_free(identity->certificate);
}

const char *file_write(const char *name, const void *bytes, size_t len)
{
    static char paths[4][96];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof(paths[0]), "%s/%s", tls_folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, len, file), len);
    fclose(file);
    return path;
}

struct mete__tls_context *context_make(const struct identity *server, const struct identity *client_ca)
{
    const struct mete__tls_settings settings = {server->certificate_path, server->key_path,
                                                client_ca != NULL ? client_ca->certificate_path : NULL};
    struct mete__tls_context *context = NULL;
    char why[512] = "";
    if (mete__tls_context_create(&settings, &context, why, sizeof(why)) != METE_OK) {
        fail_msg("%s", why);
    }
    return context;
}

void pair_make(struct pair *pair, struct mete__tls_context *context, const struct identity *client)
{
    memset(pair, 0, sizeof(*pair));
    pair->context = SSL_CTX_new(TLS_client_method());
    assert_non_null(pair->context);
    if (client != NULL) {
        assert_int_equal(SSL_CTX_use_certificate(pair->context, client->certificate), 1);
        assert_int_equal(SSL_CTX_use_PrivateKey(pair->context, client->key), 1);
    }
    pair->client = SSL_new(pair->context);
    assert_non_null(pair->client);
    SSL_set_bio(pair->client, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_connect_state(pair->client);
    pair->tls = mete__tls_create(context);
    assert_non_null(pair->tls);
    mete__out_init(&pair->plain, 64u << 20);
    mete__out_init(&pair->cipher, 64u << 20);
    pair->chunk = 65536;
    pair->is_open = true;
}

void pair_free(struct pair *pair)
{
    SSL_free(pair->client);
    SSL_CTX_free(pair->context);
    mete__tls_destroy(pair->tls);
    mete__out_clear(&pair->plain);
    mete__out_clear(&pair->cipher);
    ERR_clear_error();
}

size_t pair_client_bytes(struct pair *pair, char *bytes, size_t size)
{
    int len = BIO_read(SSL_get_wbio(pair->client), bytes, (int)size);
    return len > 0 ? (size_t)len : 0;
}

void pair_pump(struct pair *pair)
{
    static char bytes[65536];
    for (bool has_moved = true; has_moved;) {
        has_moved = pair->cipher.len > 0;
        if (pair->cipher.len > 0) {
            BIO_write(SSL_get_rbio(pair->client), pair->cipher.bytes, (int)pair->cipher.len);
            pair->cipher.len = 0;
        }
        if (!SSL_is_init_finished(pair->client)) {
            ERR_clear_error();
            SSL_do_handshake(pair->client);
        }
        size_t len;
        while (pair->is_open && (len = pair_client_bytes(pair, bytes, pair->chunk)) > 0) {
            /* A copy of its own, so that reading beyond it is found. */
            char *copy = malloc(len);
            assert_non_null(copy);
            memcpy(copy, bytes, len);
            pair->is_open = mete__tls_receive(pair->tls, copy, len, &pair->plain, &pair->cipher);
            free(copy);
            has_moved = true;
        }
    }
}

bool pair_shake_hands(struct pair *pair)
{
    pair_pump(pair);
    return pair->is_open && SSL_is_init_finished(pair->client) && mete__tls_is_established(pair->tls);
}

void pair_client_write(struct pair *pair, const void *bytes, size_t len)
{
    size_t written = 0;
    assert_int_equal(SSL_write_ex(pair->client, bytes, len, &written), 1);
    assert_int_equal(written, len);
}

bool pair_server_write(struct pair *pair, const void *bytes, size_t len)
{
    bool is_sent = mete__tls_send(pair->tls, bytes, len, &pair->cipher);
    pair_pump(pair);
    return is_sent;
}
