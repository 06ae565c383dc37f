/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's end of a TLS handshake with a client that sends anything: in two pieces,
 * without and with a client certificate asked for.  Nobody who does not know what the
 * server answered gets in, nothing is received, and what is sent stays bounded.
 */
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "server/tls.h"

/* A server's flight: a certificate of half a KiB, and names of the authorities. */
#define SENT_MAX 4096u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_files(const char *certificate_path, const char *key_path)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = X509_new();
    METE_ASSERT(key != NULL && certificate != NULL);
    X509_set_version(certificate, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 86400);
    X509_set_pubkey(certificate, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC, (const unsigned char *)"fuzz",
                               -1, -1, 0);
    X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
    METE_ASSERT(X509_sign(certificate, key, EVP_sha256()) > 0);
    FILE *file = fopen(certificate_path, "w");
    METE_ASSERT(file != NULL && PEM_write_X509(file, certificate) == 1);
    fclose(file);
    file = fopen(key_path, "w");
    METE_ASSERT(file != NULL && PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL) == 1);
    fclose(file);
    X509_free(certificate);
    EVP_PKEY_free(key);
}

/* Without and with a client certificate asked for. */
static struct mete__tls_context *contexts[2];

static void make_contexts(void)
{
    char folder[] = "/tmp/mete-fuzz-XXXXXX";
    char certificate_path[64];
    char key_path[64];
    METE_ASSERT(mkdtemp(folder) != NULL);
    snprintf(certificate_path, sizeof(certificate_path), "%s/pem", folder);
    snprintf(key_path, sizeof(key_path), "%s/key", folder);
    write_files(certificate_path, key_path);
    struct mete__tls_settings settings = {certificate_path, key_path, NULL};
    METE_ASSERT(mete__tls_context_create(&settings, &contexts[0], NULL, 0) == METE_OK);
    settings.client_ca = certificate_path;
    METE_ASSERT(mete__tls_context_create(&settings, &contexts[1], NULL, 0) == METE_OK);
    unlink(certificate_path);
    unlink(key_path);
    rmdir(folder);
}

static void check(struct mete__tls_context *context, const char *bytes, size_t first_len, size_t second_len)
{
    struct mete__tls *tls = mete__tls_create(context);
    struct mete__out plain;
    struct mete__out cipher;
    METE_ASSERT(tls != NULL);
    mete__out_init(&plain, 1 << 20);
    mete__out_init(&cipher, 1 << 20);
    bool is_open = mete__tls_receive(tls, bytes, first_len, &plain, &cipher);
    if (mete__tls_receive(tls, bytes + first_len, second_len, &plain, &cipher)) {
        METE_ASSERT(is_open);
    } else {
        METE_ASSERT(mete__tls_error(tls)[0] != '\0');
    }
    METE_ASSERT(!mete__tls_is_established(tls));
    METE_ASSERT(plain.len == 0 && mete__tls_peer_name(tls) == NULL);
    METE_ASSERT(cipher.len <= SENT_MAX);
    mete__out_clear(&plain);
    mete__out_clear(&cipher);
    mete__tls_destroy(tls);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    if (contexts[0] == NULL) {
        make_contexts();
    }
    /* The first byte says where the second piece begins, and its lowest bit which context. */
    char *bytes = malloc(size);
    METE_ASSERT(bytes != NULL);
    memcpy(bytes, data + 1, size - 1);
    size_t first_len = data[0] * (size - 1) / 255;
    check(contexts[data[0] & 1], bytes, first_len, size - 1 - first_len);
    free(bytes);
    return 0;
}
