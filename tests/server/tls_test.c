/* SPDX-License-Identifier: Apache-2.0 */
/* A TLS connection in memory: whole, in pieces, cut off, damaged and closed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/tls_peer.h"

static struct identity server;
static struct identity renewed;
static struct mete__tls_context *context;

static int set_up(void **state)
{
    if (tls_folder_make(state) != 0) {
        return -1;
    }
    identity_make(&server, "server", FOR_SERVERS, NULL, NULL);
    identity_make(&renewed, "renewed", FOR_SERVERS, NULL, NULL);
    context = context_make(&server, NULL);
    return 0;
}

static int tear_down(void **state)
{
    mete__tls_context_release(context);
    identity_free(&server);
    identity_free(&renewed);
    return tls_folder_remove(state);
}

static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

static void pair_of_version(struct pair *pair, int version)
{
    pair_make(pair, context, NULL);
    SSL_set_min_proto_version(pair->client, version);
    SSL_set_max_proto_version(pair->client, version);
}

static void expect_plain(struct pair *pair, const char *wanted, size_t len)
{
    assert_int_equal(pair->plain.len, len);
    assert_memory_equal(pair->plain.bytes, wanted, len);
    pair->plain.len = 0;
}

static void expect_client_reads(struct pair *pair, const char *wanted)
{
    char bytes[64];
    size_t len = 0;
    assert_int_equal(SSL_read_ex(pair->client, bytes, sizeof(bytes), &len), 1);
    assert_int_equal(len, strlen(wanted));
    assert_memory_equal(bytes, wanted, len);
}

static void there_and_back(void **state)
{
    (void)state;
    for (size_t v = 0; v < 2; v++) {
        struct pair pair;
        pair_of_version(&pair, versions[v]);
        assert_false(mete__tls_is_established(pair.tls));
        assert_true(pair_shake_hands(&pair));
        assert_int_equal(SSL_version(pair.client), versions[v]);
        assert_null(mete__tls_peer_name(pair.tls));
        assert_string_equal(mete__tls_error(pair.tls), "");
        pair_client_write(&pair, "PING", 4);
        pair_pump(&pair);
        expect_plain(&pair, "PING", 4);
        assert_true(pair_server_write(&pair, "+PONG\r\n", 7));
        expect_client_reads(&pair, "+PONG\r\n");
        assert_true(pair_server_write(&pair, "", 0));
        /* Forward secret, authenticated, not compressed. */
        const SSL_CIPHER *cipher = SSL_get_current_cipher(pair.client);
        assert_true(SSL_CIPHER_is_aead(cipher));
        assert_true(versions[v] == TLS1_3_VERSION || SSL_CIPHER_get_kx_nid(cipher) == NID_kx_ecdhe);
        assert_null(SSL_get_current_compression(pair.client));
        pair_free(&pair);
    }
}

static void expect_no_handshake(struct pair *pair, const char *reason)
{
    assert_false(pair_shake_hands(pair));
    assert_false(pair->is_open);
    assert_false(mete__tls_is_established(pair->tls));
    if (strstr(mete__tls_error(pair->tls), reason) == NULL) {
        fail_msg("%s; wanted: %s", mete__tls_error(pair->tls), reason);
    }
    /* Nothing revives it. */
    assert_false(mete__tls_receive(pair->tls, "x", 1, &pair->plain, &pair->cipher));
    assert_false(mete__tls_send(pair->tls, "x", 1, &pair->cipher));
    mete__tls_close(pair->tls, &pair->cipher);
    pair_free(pair);
}

static void what_is_not_spoken(void **state)
{
    (void)state;
    struct pair pair;
    pair_make(&pair, context, NULL);
    SSL_set_security_level(pair.client, 0);
    SSL_set_min_proto_version(pair.client, TLS1_VERSION);
    SSL_set_max_proto_version(pair.client, TLS1_1_VERSION);
    expect_no_handshake(&pair, "unsupported protocol");

    /* Ciphers without forward secrecy, or without authenticated encryption. */
    static const char *const refused[] = {"AES128-GCM-SHA256", "ECDHE-ECDSA-AES128-SHA", "ECDHE-ECDSA-AES128-CCM"};
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        pair_of_version(&pair, TLS1_2_VERSION);
        assert_int_equal(SSL_set_cipher_list(pair.client, refused[i]), 1);
        expect_no_handshake(&pair, "no shared cipher");
    }
}

/* RFC 7301. */
static void protocols_that_a_client_offers(void **state)
{
    (void)state;
    static const unsigned char both[] = "\x02h2\x08http/1.1";
    static const unsigned char neither[] = "\x02h2\x08http/1.0";
    const unsigned char *chosen;
    unsigned chosen_len;
    struct pair pair;
    pair_make(&pair, context, NULL);
    SSL_set_alpn_protos(pair.client, both, sizeof(both) - 1);
    assert_true(pair_shake_hands(&pair));
    SSL_get0_alpn_selected(pair.client, &chosen, &chosen_len);
    assert_int_equal(chosen_len, 8);
    assert_memory_equal(chosen, "http/1.1", 8);
    pair_free(&pair);

    pair_make(&pair, context, NULL);
    assert_true(pair_shake_hands(&pair));
    SSL_get0_alpn_selected(pair.client, &chosen, &chosen_len);
    assert_int_equal(chosen_len, 0);
    pair_free(&pair);

    pair_make(&pair, context, NULL);
    SSL_set_alpn_protos(pair.client, neither, sizeof(neither) - 1);
    expect_no_handshake(&pair, "no application protocol");
}

static void one_byte_at_a_time(void **state)
{
    (void)state;
    for (size_t v = 0; v < 2; v++) {
        struct pair pair;
        pair_of_version(&pair, versions[v]);
        pair.chunk = 1;
        assert_true(pair_shake_hands(&pair));
        pair_client_write(&pair, "one by one", 10);
        pair_pump(&pair);
        expect_plain(&pair, "one by one", 10);
        pair_free(&pair);
    }
}

static bool receive(struct pair *pair, const char *bytes, size_t len)
{
    char *copy = malloc(len + 1);
    assert_non_null(copy);
    memcpy(copy, bytes, len);
    pair->is_open = mete__tls_receive(pair->tls, copy, len, &pair->plain, &pair->cipher);
    free(copy);
    return pair->is_open;
}

/* The flights of a handshake with its first request, each in two pieces at every byte. */
static void split_at_every_byte(void **state)
{
    (void)state;
    static char bytes[8192];
    for (size_t v = 0; v < 2; v++) {
        size_t longest = 1;
        for (size_t split = 0; split < longest; split++) {
            struct pair pair;
            pair_of_version(&pair, versions[v]);
            for (int flight = 0; flight < 3; flight++) {
                if (flight > 0) {
                    BIO_write(SSL_get_rbio(pair.client), pair.cipher.bytes, (int)pair.cipher.len);
                    pair.cipher.len = 0;
                }
                SSL_do_handshake(pair.client);
                if (SSL_is_init_finished(pair.client)) {
                    pair_client_write(&pair, "request", 7);
                    flight = 3;
                }
                size_t len = pair_client_bytes(&pair, bytes, sizeof(bytes));
                size_t first = split < len ? split : len;
                longest = len > longest ? len : longest;
                assert_true(receive(&pair, bytes, first));
                assert_true(receive(&pair, bytes + first, len - first));
            }
            assert_true(mete__tls_is_established(pair.tls));
            expect_plain(&pair, "request", 7);
            pair_free(&pair);
        }
        assert_in_range(longest, 100, 2000);
    }
}

#define BIG (4u << 20)

static void big_writes(void **state)
{
    (void)state;
    static char bytes[BIG];
    static char back[BIG];
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (char)(i * 2654435761u >> 13);
    }
    for (size_t v = 0; v < 2; v++) {
        struct pair pair;
        pair_of_version(&pair, versions[v]);
        assert_true(pair_shake_hands(&pair));
        pair.chunk = 4099;
        pair_client_write(&pair, bytes, sizeof(bytes));
        pair_pump(&pair);
        expect_plain(&pair, bytes, sizeof(bytes));
        assert_true(pair_server_write(&pair, bytes, sizeof(bytes)));
        size_t len = 0;
        size_t part;
        while (len < sizeof(back) && SSL_read_ex(pair.client, back + len, sizeof(back) - len, &part) == 1) {
            len += part;
        }
        assert_int_equal(len, sizeof(bytes));
        assert_memory_equal(back, bytes, sizeof(bytes));
        pair_free(&pair);
    }
}

/* Never more than what came in and one record: what the caller does not read from the network does
 * not grow here. */
static void plain_grows_by_what_came_in(void **state)
{
    (void)state;
    static char bytes[200000];
    struct pair pair;
    pair_make(&pair, context, NULL);
    assert_true(pair_shake_hands(&pair));
    pair_client_write(&pair, bytes, 150000);
    for (size_t len = 1; len > 0;) {
        len = pair_client_bytes(&pair, bytes, 1000);
        assert_true(receive(&pair, bytes, len));
        assert_true(pair.plain.len <= len + 16384);
        pair.plain.len = 0;
    }
    pair_free(&pair);
}

static void no_room_for_what_is_received(void **state)
{
    (void)state;
    struct pair pair;
    static char bytes[5000];
    pair_make(&pair, context, NULL);
    assert_true(pair_shake_hands(&pair));
    pair.plain.size_max = 4999;
    pair_client_write(&pair, bytes, sizeof(bytes));
    pair_pump(&pair);
    assert_false(pair.is_open);
    assert_string_equal(mete__tls_error(pair.tls), "no room for bytes received");
    assert_true(pair.plain.size <= 4999);
    pair_free(&pair);
}

static void no_room_for_what_is_sent(void **state)
{
    (void)state;
    struct pair pair;
    static char bytes[5000];
    pair_make(&pair, context, NULL);
    pair.cipher.size_max = 100; /* less than a handshake */
    SSL_do_handshake(pair.client);
    size_t len = pair_client_bytes(&pair, bytes, sizeof(bytes));
    assert_false(receive(&pair, bytes, len));
    assert_string_equal(mete__tls_error(pair.tls), "no room for bytes to send");
    pair_free(&pair);

    pair_make(&pair, context, NULL);
    assert_true(pair_shake_hands(&pair));
    mete__out_clear(&pair.cipher);
    mete__out_init(&pair.cipher, 4999);
    assert_false(pair_server_write(&pair, bytes, sizeof(bytes)));
    assert_string_equal(mete__tls_error(pair.tls), "no room for bytes to send");
    assert_false(pair_server_write(&pair, bytes, 1));
    pair_free(&pair);
}

static void nothing_is_sent_before_the_handshake(void **state)
{
    (void)state;
    struct pair pair;
    pair_make(&pair, context, NULL);
    mete__tls_close(pair.tls, &pair.cipher);
    assert_int_equal(pair.cipher.len, 0);
    assert_false(mete__tls_send(pair.tls, "x", 1, &pair.cipher));
    assert_int_equal(pair.cipher.len, 0);
    assert_non_null(strstr(mete__tls_error(pair.tls), "before the handshake"));
    pair_free(&pair);
}

/* A connection that ends anywhere leaves nothing behind (the leak checker looks). */
static void cut_off_at_every_byte(void **state)
{
    (void)state;
    static char bytes[8192];
    for (size_t v = 0; v < 2; v++) {
        for (size_t end = 0, len = 1; end < len; end += 3) {
            struct pair pair;
            pair_of_version(&pair, versions[v]);
            SSL_do_handshake(pair.client);
            len = pair_client_bytes(&pair, bytes, sizeof(bytes));
            assert_true(receive(&pair, bytes, end));
            assert_false(mete__tls_is_established(pair.tls));
            assert_int_equal(pair.plain.len, 0);
            pair_free(&pair);
        }
    }
}

static void garbage(void **state)
{
    (void)state;
    struct pair pair;
    static const char http[] = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    pair_make(&pair, context, NULL);
    assert_false(receive(&pair, http, sizeof(http) - 1));
    assert_string_equal(mete__tls_error(pair.tls), "http request");
    pair_free(&pair);

    static const char resp[] = "*1\r\n$4\r\nPING\r\n";
    pair_make(&pair, context, NULL);
    assert_false(receive(&pair, resp, sizeof(resp) - 1));
    assert_string_equal(mete__tls_error(pair.tls), "wrong version number");
    pair_free(&pair);

    uint64_t random = 88172645463325252;
    for (int i = 0; i < 2000; i++) {
        char bytes[512];
        for (size_t at = 0; at < sizeof(bytes); at++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            bytes[at] = (char)random;
        }
        /* Half of them begin as a handshake record. */
        memcpy(bytes, "\x16\x03\x01\x01\xF0\x01\x00\x01\xEC\x03\x03", i % 2 == 0 ? 11 : 0);
        pair_make(&pair, context, NULL);
        receive(&pair, bytes, sizeof(bytes));
        assert_false(mete__tls_is_established(pair.tls));
        assert_int_equal(pair.plain.len, 0);
        assert_true(pair.cipher.len < 64); /* an alert at most */
        pair_free(&pair);
    }
}

/* No byte of a record can change unnoticed. */
static void every_damaged_byte_is_noticed(void **state)
{
    (void)state;
    for (size_t v = 0; v < 2; v++) {
        for (size_t at = 0, len = 1; at < len; at++) {
            char bytes[256];
            struct pair pair;
            pair_of_version(&pair, versions[v]);
            assert_true(pair_shake_hands(&pair));
            pair_client_write(&pair, "take 1", 6);
            len = pair_client_bytes(&pair, bytes, sizeof(bytes));
            bytes[at] ^= 1;
            receive(&pair, bytes, len);
            assert_int_equal(pair.plain.len, 0);
            /* A length that grew makes the record wait for more; anything else is an error. */
            assert_true(!pair.is_open || at == 3 || at == 4);
            pair_free(&pair);
        }
    }
}

static void the_server_closes(void **state)
{
    (void)state;
    for (size_t v = 0; v < 2; v++) {
        struct pair pair;
        pair_of_version(&pair, versions[v]);
        assert_true(pair_shake_hands(&pair));
        assert_true(pair_server_write(&pair, "bye", 3));
        mete__tls_close(pair.tls, &pair.cipher);
        assert_true(pair.cipher.len > 0);
        size_t len = pair.cipher.len;
        mete__tls_close(pair.tls, &pair.cipher);
        assert_int_equal(pair.cipher.len, len);
        assert_false(mete__tls_is_established(pair.tls));
        assert_false(mete__tls_send(pair.tls, "x", 1, &pair.cipher));
        pair.is_open = false;
        pair_pump(&pair);
        expect_client_reads(&pair, "bye");
        char byte;
        assert_int_equal(SSL_get_error(pair.client, SSL_read(pair.client, &byte, 1)), SSL_ERROR_ZERO_RETURN);
        pair_free(&pair);
    }
}

/* It may still read: RFC 8446, section 6.1. */
static void the_client_closes_after_its_request(void **state)
{
    (void)state;
    struct pair pair;
    pair_make(&pair, context, NULL);
    assert_true(pair_shake_hands(&pair));
    pair_client_write(&pair, "last", 4);
    SSL_shutdown(pair.client);
    pair_pump(&pair);
    assert_false(pair.is_open);
    assert_string_equal(mete__tls_error(pair.tls), "closed by the peer");
    expect_plain(&pair, "last", 4);
    assert_true(mete__tls_send(pair.tls, "reply", 5, &pair.cipher));
    mete__tls_close(pair.tls, &pair.cipher);
    pair_pump(&pair);
    expect_client_reads(&pair, "reply");
    pair_free(&pair);
}

/* RFC 9325, section 3.5. */
static void no_renegotiation(void **state)
{
    (void)state;
    struct pair pair;
    pair_of_version(&pair, TLS1_2_VERSION);
    SSL_set_options(pair.client, SSL_OP_ALLOW_CLIENT_RENEGOTIATION);
    assert_true(pair_shake_hands(&pair));
    assert_int_equal(SSL_renegotiate(pair.client), 1);
    SSL_do_handshake(pair.client);
    pair_pump(&pair);
    assert_true(SSL_renegotiate_pending(pair.client) || !SSL_is_init_finished(pair.client));
    pair_free(&pair);
}

static void keys_are_updated(void **state)
{
    (void)state;
    struct pair pair;
    pair_of_version(&pair, TLS1_3_VERSION);
    assert_true(pair_shake_hands(&pair));
    for (int i = 0; i < 100; i++) {
        assert_int_equal(SSL_key_update(pair.client, SSL_KEY_UPDATE_REQUESTED), 1);
        pair_client_write(&pair, "again", 5);
        pair_pump(&pair);
        expect_plain(&pair, "again", 5);
        assert_true(pair_server_write(&pair, "yes", 3));
        expect_client_reads(&pair, "yes");
    }
    pair_free(&pair);
}

/* Connects with a session; returns the one to come back with. */
static SSL_SESSION *connect_again(struct mete__tls_context *to, int version, SSL_SESSION *session, bool *is_resumed)
{
    struct pair pair;
    pair_make(&pair, to, NULL);
    SSL_set_min_proto_version(pair.client, version);
    SSL_set_max_proto_version(pair.client, version);
    if (session != NULL) {
        SSL_set_session(pair.client, session);
        SSL_SESSION_free(session);
    }
    assert_true(pair_shake_hands(&pair));
    assert_true(pair_server_write(&pair, "ok", 2));
    expect_client_reads(&pair, "ok"); /* and the ticket before it */
    *is_resumed = SSL_session_reused(pair.client) == 1;
    SSL_SESSION *ticket = SSL_get1_session(pair.client);
    assert_true(SSL_SESSION_has_ticket(ticket));
    assert_int_equal(SSL_SESSION_get_max_early_data(ticket), 0);
    SSL_shutdown(pair.client);
    pair_free(&pair);
    return ticket;
}

static void sessions_resume_until_the_certificate_changes(void **state)
{
    (void)state;
    for (size_t v = 0; v < 2; v++) {
        bool is_resumed = true;
        SSL_SESSION *session = connect_again(context, versions[v], NULL, &is_resumed);
        assert_false(is_resumed);
        session = connect_again(context, versions[v], session, &is_resumed);
        assert_true(is_resumed);
        struct mete__tls_context *next = context_make(&renewed, NULL);
        session = connect_again(next, versions[v], session, &is_resumed);
        assert_false(is_resumed);
        SSL_SESSION_free(session);
        mete__tls_context_release(next);
    }
}

static bool has_certificate_of(struct pair *pair, const struct identity *identity)
{
    return X509_cmp(SSL_get0_peer_certificate(pair->client), identity->certificate) == 0;
}

/* A reload: connections keep what they began with, also those in the middle of a handshake. */
static void contexts_change_under_live_connections(void **state)
{
    (void)state;
    struct mete__tls_context *now = context_make(&server, NULL);
    struct pair old;
    struct pair half;
    struct pair young;
    char bytes[4096];
    pair_make(&old, now, NULL);
    pair_make(&half, now, NULL);
    assert_true(pair_shake_hands(&old));
    SSL_do_handshake(half.client);
    assert_true(receive(&half, bytes, pair_client_bytes(&half, bytes, 50)));

    struct mete__tls_context *next = context_make(&renewed, NULL);
    mete__tls_context_release(now);
    pair_make(&young, next, NULL);
    assert_true(pair_shake_hands(&half));
    assert_true(pair_shake_hands(&young));
    assert_true(has_certificate_of(&old, &server));
    assert_true(has_certificate_of(&half, &server));
    assert_true(has_certificate_of(&young, &renewed));
    mete__tls_context_release(next);
    struct pair *const all[] = {&old, &half, &young};
    for (size_t i = 0; i < 3; i++) {
        pair_client_write(all[i], "still here", 10);
        pair_pump(all[i]);
        expect_plain(all[i], "still here", 10);
        assert_true(pair_server_write(all[i], "so am I", 7));
        expect_client_reads(all[i], "so am I");
        pair_free(all[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(what_is_not_spoken),
        cmocka_unit_test(protocols_that_a_client_offers),
        cmocka_unit_test(one_byte_at_a_time),
        cmocka_unit_test(split_at_every_byte),
        cmocka_unit_test(big_writes),
        cmocka_unit_test(plain_grows_by_what_came_in),
        cmocka_unit_test(no_room_for_what_is_received),
        cmocka_unit_test(no_room_for_what_is_sent),
        cmocka_unit_test(nothing_is_sent_before_the_handshake),
        cmocka_unit_test(cut_off_at_every_byte),
        cmocka_unit_test(garbage),
        cmocka_unit_test(every_damaged_byte_is_noticed),
        cmocka_unit_test(the_server_closes),
        cmocka_unit_test(the_client_closes_after_its_request),
        cmocka_unit_test(no_renegotiation),
        cmocka_unit_test(keys_are_updated),
        cmocka_unit_test(sessions_resume_until_the_certificate_changes),
        cmocka_unit_test(contexts_change_under_live_connections),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
