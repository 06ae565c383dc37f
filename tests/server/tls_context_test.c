/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates and keys that cannot be used: each is refused with its file's name and the reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/tls_peer.h"

static struct identity server;
static struct identity other;
static struct identity authority;

static int set_up(void **state)
{
    if (tls_folder_make(state) != 0) {
        return -1;
    }
    identity_make(&authority, "authority", AUTHORITY, NULL, NULL);
    identity_make(&server, "server", FOR_SERVERS, NULL, NULL);
    identity_make(&other, "other", FOR_SERVERS, NULL, NULL);
    return 0;
}

static int tear_down(void **state)
{
    identity_free(&authority);
    identity_free(&server);
    identity_free(&other);
    return tls_folder_remove(state);
}

static char why[512];

static mete_status create(const char *certificate, const char *key, const char *client_ca)
{
    const struct mete__tls_settings settings = {certificate, key, client_ca};
    struct mete__tls_context *context = NULL;
    strcpy(why, "nothing was said");
    mete_status status = mete__tls_context_create(&settings, &context, why, sizeof(why));
    assert_true((status == METE_OK) == (context != NULL));
    assert_int_equal(ERR_peek_error(), 0);
    mete__tls_context_release(context);
    return status;
}

static void expect(mete_status status, mete_status wanted, const char *file, const char *reason)
{
    if (status != wanted || strstr(why, file) == NULL || strstr(why, reason) == NULL) {
        fail_msg("status %d, wanted %d: %s\nwanted: '%s' and '%s'", status, wanted, why, file, reason);
    }
}

/* Each of the three files in turn is this one. */
static void expect_everywhere(const char *path, mete_status wanted, const char *reason)
{
    expect(create(path, server.key_path, NULL), wanted, path, reason);
    expect(create(server.certificate_path, path, NULL), wanted, path, reason);
    expect(create(server.certificate_path, server.key_path, path), wanted, path, reason);
}

static void files_that_are_there_and_good(void **state)
{
    (void)state;
    assert_int_equal(create(server.certificate_path, server.key_path, NULL), METE_OK);
    assert_int_equal(create(server.certificate_path, server.key_path, authority.certificate_path), METE_OK);
}

static void files_that_cannot_be_read(void **state)
{
    (void)state;
    char path[96];
    snprintf(path, sizeof(path), "%s/absent", tls_folder);
    expect_everywhere(path, METE_EIO, strerror(ENOENT));
    expect_everywhere(tls_folder, METE_EIO, "not a regular file");
    expect_everywhere("/dev/zero", METE_EIO, "not a regular file");
    snprintf(path, sizeof(path), "%s/loop", tls_folder);
    assert_int_equal(symlink(path, path), 0);
    expect_everywhere(path, METE_EIO, strerror(ELOOP));
    snprintf(path, sizeof(path), "%s/pipe", tls_folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    alarm(20);
    expect_everywhere(path, METE_EIO, "not a regular file");
    alarm(0);
}

/* Root may read everything, so the one who asks is somebody else. */
static void a_file_of_somebody_else(void **state)
{
    (void)state;
    assert_int_equal(chmod(other.certificate_path, 0644), 0);
    assert_int_equal(chmod(other.key_path, 0), 0);
    uid_t before = geteuid();
    if (before == 0) {
        assert_int_equal(chmod(tls_folder, 0755), 0);
        assert_int_equal(seteuid(65534), 0);
    }
    mete_status status = create(other.certificate_path, other.key_path, NULL);
    assert_int_equal(seteuid(before), 0);
    expect(status, METE_EIO, other.key_path, strerror(EACCES));
    assert_int_equal(chmod(other.key_path, 0600), 0);
}

static void files_that_are_something_else(void **state)
{
    (void)state;
    expect_everywhere(file_write("empty", "", 0), METE_EINVAL, "holds no usable PEM");
    expect_everywhere(file_write("text", "hello, world\n", 13), METE_EINVAL, "holds no usable PEM");
    expect(create(server.key_path, server.key_path, NULL), METE_EINVAL, server.key_path,
           "holds no usable PEM certificate");
    expect(create(server.certificate_path, server.certificate_path, NULL), METE_EINVAL, server.certificate_path,
           "holds no usable PEM private key");
    expect(create(server.certificate_path, server.key_path, server.key_path), METE_EINVAL, server.key_path,
           "holds no usable PEM certificate");
    static char large[(1 << 20) + 1];
    expect_everywhere(file_write("large", large, sizeof(large)), METE_EINVAL, "larger than 1 MiB");
    expect_everywhere(file_write("just", large, sizeof(large) - 1), METE_EINVAL, "holds no usable PEM");
}

static size_t read_whole(const char *path, char *bytes, size_t size)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t len = fread(bytes, 1, size, file);
    fclose(file);
    return len;
}

/* As a file is while somebody is still writing it. */
static void files_cut_off_anywhere(void **state)
{
    (void)state;
    char bytes[4096];
    size_t len = read_whole(server.certificate_path, bytes, sizeof(bytes));
    for (size_t i = 0; i + 10 < len; i += 13) {
        const char *path = file_write("torn", bytes, i);
        expect(create(path, server.key_path, NULL), METE_EINVAL, path, "holds no usable PEM certificate");
    }
    len = read_whole(server.key_path, bytes, sizeof(bytes));
    for (size_t i = 0; i + 10 < len; i += 13) {
        const char *path = file_write("torn", bytes, i);
        expect(create(server.certificate_path, path, NULL), METE_EINVAL, path, "holds no usable PEM private key");
    }
}

static void the_key_of_another_certificate(void **state)
{
    (void)state;
    expect(create(server.certificate_path, other.key_path, NULL), METE_EINVAL, other.key_path,
           "is not that of the certificate in");
    assert_non_null(strstr(why, server.certificate_path));

    EVP_PKEY *rsa = EVP_RSA_gen(2048);
    char path[96];
    snprintf(path, sizeof(path), "%s/rsa.key", tls_folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    PEM_write_PrivateKey(file, rsa, NULL, NULL, 0, NULL, NULL);
    fclose(file);
    EVP_PKEY_free(rsa);
    expect(create(server.certificate_path, path, NULL), METE_EINVAL, path, "is not that of the certificate in");
}

/* Standard input is closed for it, so a prompt would fail too; but it would not say this. */
static void encrypted_keys_are_refused_without_asking(void **state)
{
    (void)state;
    char path[96];
    static unsigned char password[] = "secret";
    alarm(20);
    for (int is_traditional = 0; is_traditional <= 1; is_traditional++) {
        snprintf(path, sizeof(path), "%s/encrypted.key", tls_folder);
        BIO *file = BIO_new_file(path, "w");
        int (*write_key)(BIO *, const EVP_PKEY *, const EVP_CIPHER *, const unsigned char *, int, pem_password_cb *,
                         void *) = is_traditional ? PEM_write_bio_PrivateKey_traditional : PEM_write_bio_PrivateKey;
        assert_int_equal(write_key(file, server.key, EVP_aes_256_cbc(), password, 6, NULL, NULL), 1);
        BIO_free(file);
        expect(create(server.certificate_path, path, NULL), METE_EINVAL, path, "is encrypted");
    }
    alarm(0);
}

/* 1,024 bits of RSA are 80 bits of strength; RFC 9325 wants 112. */
static void weak_keys_are_refused(void **state)
{
    (void)state;
    EVP_PKEY *weak = EVP_RSA_gen(1024);
    X509 *certificate = X509_dup(other.certificate);
    X509_set_pubkey(certificate, weak);
    assert_true(X509_sign(certificate, weak, EVP_sha256()) > 0);
    char path[96];
    snprintf(path, sizeof(path), "%s/weak.pem", tls_folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    PEM_write_X509(file, certificate);
    PEM_write_PrivateKey(file, weak, NULL, NULL, 0, NULL, NULL);
    fclose(file);
    expect(create(path, path, NULL), METE_EINVAL, path, "too small");
    X509_free(certificate);
    EVP_PKEY_free(weak);
}

static void a_small_buffer_for_the_sentence(void **state)
{
    (void)state;
    const struct mete__tls_settings settings = {"/absent", "/absent", NULL};
    struct mete__tls_context *context = NULL;
    char small[12];
    memset(small, 'x', sizeof(small));
    assert_int_equal(mete__tls_context_create(&settings, &context, small, sizeof(small)), METE_EIO);
    assert_int_equal(strlen(small), sizeof(small) - 1);
    assert_int_equal(mete__tls_context_create(&settings, &context, NULL, 0), METE_EIO);
    assert_null(context);
}

static void *hold_and_release(void *context)
{
    for (int i = 0; i < 20000; i++) {
        mete__tls_context_release(mete__tls_context_hold(context));
    }
    mete__tls_context_release(context);
    return NULL;
}

static void contexts_are_counted_by_threads(void **state)
{
    (void)state;
    struct mete__tls_context *context = context_make(&server, NULL);
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, hold_and_release, mete__tls_context_hold(context)), 0);
    }
    mete__tls_context_release(context);
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
    mete__tls_context_release(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_that_are_there_and_good),
        cmocka_unit_test(files_that_cannot_be_read),
        cmocka_unit_test(a_file_of_somebody_else),
        cmocka_unit_test(files_that_are_something_else),
        cmocka_unit_test(files_cut_off_anywhere),
        cmocka_unit_test(the_key_of_another_certificate),
        cmocka_unit_test(encrypted_keys_are_refused_without_asking),
        cmocka_unit_test(weak_keys_are_refused),
        cmocka_unit_test(a_small_buffer_for_the_sentence),
        cmocka_unit_test(contexts_are_counted_by_threads),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
