/* SPDX-License-Identifier: Apache-2.0 */
/* What an idle connection costs, counted at OpenSSL's allocator, and that nothing stays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <openssl/crypto.h>

#include "server/tls_peer.h"

#define CONNECTIONS 100

/* Measured with OpenSSL 3.0: 13.0 to 13.7 KiB, 7.4 of them its SSL object, and 5 more for a client's
 * certificate.  A buffer of OpenSSL that was kept would add 17 KiB. */
#define IDLE_BYTES_MAX 16384
#define IDLE_BYTES_NAMED_MAX 24576

static size_t bytes_in_use;

/* Each block begins with its size; 16 bytes keep what follows aligned. */
static void *count_malloc(size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    size_t *block = size > 0 ? malloc(size + 16) : NULL;
    if (block == NULL) {
        return NULL;
    }
    block[0] = size;
    bytes_in_use += size + 16;
    return (char *)block + 16;
}

static void count_free(void *at, const char *file, int line)
{
    (void)file;
    (void)line;
    if (at != NULL) {
        size_t *block = (size_t *)((char *)at - 16);
        bytes_in_use -= block[0] + 16;
        free(block);
    }
}

static void *count_realloc(void *at, size_t size, const char *file, int line)
{
    if (at == NULL) {
        return count_malloc(size, file, line);
    }
    if (size == 0) {
        count_free(at, file, line);
        return NULL;
    }
    size_t before = ((size_t *)((char *)at - 16))[0];
    void *moved = count_malloc(size, file, line);
    if (moved != NULL) {
        memcpy(moved, at, before < size ? before : size);
        count_free(at, file, line);
    }
    return moved;
}

static struct identity authority;
static struct identity server;
static struct identity client;

/* One that has shaken hands and answered a request; the client's end is not counted. */
static struct mete__tls *idle_connection(struct mete__tls_context *context, const struct identity *who, int version)
{
    struct pair pair;
    pair_make(&pair, context, who);
    SSL_set_min_proto_version(pair.client, version);
    SSL_set_max_proto_version(pair.client, version);
    assert_true(pair_shake_hands(&pair));
    static const char request[10000];
    pair_client_write(&pair, request, sizeof(request));
    pair_pump(&pair);
    assert_int_equal(pair.plain.len, sizeof(request));
    assert_true(pair_server_write(&pair, request, sizeof(request)));
    struct mete__tls *tls = pair.tls;
    pair.tls = NULL;
    pair_free(&pair);
    return tls;
}

static size_t idle_bytes(struct mete__tls_context *context, const struct identity *who, int version)
{
    static struct mete__tls *all[CONNECTIONS];
    mete__tls_destroy(idle_connection(context, who, version)); /* what is made once */
    size_t before = bytes_in_use;
    for (size_t i = 0; i < CONNECTIONS; i++) {
        all[i] = idle_connection(context, who, version);
    }
    size_t each = (bytes_in_use - before) / CONNECTIONS;
    for (size_t i = 0; i < CONNECTIONS; i++) {
        mete__tls_destroy(all[i]);
    }
    assert_int_equal(bytes_in_use, before);
    return each;
}

static void an_idle_connection_is_small(void **state)
{
    (void)state;
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    for (size_t v = 0; v < 2; v++) {
        struct mete__tls_context *open = context_make(&server, NULL);
        struct mete__tls_context *mutual = context_make(&server, &authority);
        size_t plain = idle_bytes(open, NULL, versions[v]);
        size_t named = idle_bytes(mutual, &client, versions[v]);
        print_message("TLS 1.%zu: %zu bytes, with a client certificate %zu\n", v + 2, plain, named);
        assert_in_range(plain, 1000, IDLE_BYTES_MAX);
        assert_in_range(named, 1000, IDLE_BYTES_NAMED_MAX);
        mete__tls_context_release(open);
        mete__tls_context_release(mutual);
    }
}

/* A reload makes a context; the old one goes with its last connection. */
static void contexts_leave_nothing(void **state)
{
    (void)state;
    mete__tls_context_release(context_make(&server, &authority));
    size_t before = bytes_in_use;
    for (int i = 0; i < 50; i++) {
        struct mete__tls_context *context = context_make(&server, &authority);
        struct mete__tls *tls = idle_connection(context, &client, TLS1_3_VERSION);
        mete__tls_context_release(context);
        mete__tls_destroy(tls);
        const struct mete__tls_settings wrong = {server.certificate_path, client.key_path, NULL};
        assert_int_equal(mete__tls_context_create(&wrong, &context, NULL, 0), METE_EINVAL);
    }
    assert_int_equal(bytes_in_use, before);
}

static int set_up(void **state)
{
    if (tls_folder_make(state) != 0) {
        return -1;
    }
    identity_make(&authority, "authority", AUTHORITY, NULL, NULL);
    identity_make(&server, "server", FOR_SERVERS, &authority, NULL);
    identity_make(&client, "client", FOR_CLIENTS, &authority, NULL);
    return 0;
}

static int tear_down(void **state)
{
    identity_free(&authority);
    identity_free(&server);
    identity_free(&client);
    return tls_folder_remove(state);
}

int main(void)
{
    if (CRYPTO_set_mem_functions(count_malloc, count_realloc, count_free) != 1) {
        return 1; /* OpenSSL took memory before */
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_idle_connection_is_small),
        cmocka_unit_test(contexts_leave_nothing),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
