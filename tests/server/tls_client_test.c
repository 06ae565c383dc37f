/* SPDX-License-Identifier: Apache-2.0 */
/* Client certificates: who is let in, and by which name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/tls_peer.h"

static struct identity authority;
static struct identity stranger;
static struct identity server;
static struct mete__tls_context *context;

static int set_up(void **state)
{
    if (tls_folder_make(state) != 0) {
        return -1;
    }
    identity_make(&authority, "authority", AUTHORITY, NULL, NULL);
    identity_make(&stranger, "stranger", AUTHORITY, NULL, NULL);
    identity_make(&server, "server", FOR_SERVERS, &authority, NULL);
    context = context_make(&server, &authority);
    return 0;
}

static int tear_down(void **state)
{
    mete__tls_context_release(context);
    identity_free(&authority);
    identity_free(&stranger);
    identity_free(&server);
    return tls_folder_remove(state);
}

static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

/* Connects by both versions; reason NULL: is let in, by this name. */
static void expect_to(struct mete__tls_context *to, const struct identity *client, const char *reason, const char *name)
{
    for (size_t v = 0; v < 2; v++) {
        struct pair pair;
        pair_make(&pair, to, client);
        SSL_set_min_proto_version(pair.client, versions[v]);
        SSL_set_max_proto_version(pair.client, versions[v]);
        bool is_in = pair_shake_hands(&pair);
        if (is_in != (reason == NULL) || (reason != NULL && strstr(mete__tls_error(pair.tls), reason) == NULL)) {
            fail_msg("version %d: %s; wanted: %s", versions[v], mete__tls_error(pair.tls), reason);
        }
        const char *peer = mete__tls_peer_name(pair.tls);
        if (name == NULL) {
            assert_null(peer);
        } else {
            assert_string_equal(peer, name);
        }
        /* Since 1.3 a client may speak before it is let in: nothing of that arrives. */
        if (!is_in && versions[v] == TLS1_3_VERSION) {
            pair_client_write(&pair, "x", 1);
            pair_pump(&pair);
            assert_int_equal(pair.plain.len, 0);
        }
        pair_free(&pair);
    }
}

static void expect(const struct identity *client, const char *reason, const char *name)
{
    expect_to(context, client, reason, name);
}

static void who_is_not_let_in(void **state)
{
    (void)state;
    struct identity client;
    expect(NULL, "peer did not return a certificate", NULL);

    identity_make(&client, "alice", FOR_CLIENTS, &stranger, NULL);
    expect(&client, "unable to get local issuer certificate", NULL);
    identity_free(&client);

    identity_make(&client, "alice", FOR_CLIENTS, NULL, NULL);
    expect(&client, "self-signed certificate", NULL);
    identity_free(&client);

    identity_make(&client, "alice", FOR_CLIENTS, &authority, &(struct oddity){.is_expired = true});
    expect(&client, "certificate has expired", NULL);
    identity_free(&client);

    identity_make(&client, "alice", FOR_SERVERS, &authority, NULL);
    expect(&client, "unsuitable certificate purpose", NULL);
    identity_free(&client);
}

/* Named as the authority, signed by another key. */
static void a_forged_signature(void **state)
{
    (void)state;
    struct identity forger;
    struct identity client;
    identity_make(&forger, "authority", AUTHORITY, NULL, NULL);
    identity_make(&client, "alice", FOR_CLIENTS, &forger, NULL);
    expect(&client, "certificate signature failure", NULL);
    identity_free(&client);
    identity_free(&forger);
}

static void who_is_let_in(void **state)
{
    (void)state;
    struct identity client;
    identity_make(&client, "alice", FOR_CLIENTS, &authority, NULL);
    expect(&client, NULL, "alice");
    identity_free(&client);
    identity_make(&client, "J\xC3\xB6rg", FOR_CLIENTS, &authority, NULL);
    expect(&client, NULL, "J\xC3\xB6rg");
    identity_free(&client);
}

/* A name that could be taken for another is none. */
static void names_that_are_not_plain(void **state)
{
    (void)state;
    struct identity client;
    identity_make(&client, "", FOR_CLIENTS, &authority, NULL);
    expect(&client, NULL, NULL);
    identity_free(&client);
    identity_make(&client, "alice", FOR_CLIENTS, &authority, &(struct oddity){.second_name = "bob"});
    expect(&client, NULL, NULL);
    identity_free(&client);
    identity_make(&client, "alice\0bob", FOR_CLIENTS, &authority, &(struct oddity){.name_len = 9});
    expect(&client, NULL, NULL);
    identity_free(&client);
}

/* Without client_ca nobody is asked, and nobody has a name. */
static void nobody_is_asked(void **state)
{
    (void)state;
    struct identity client;
    struct mete__tls_context *open = context_make(&server, NULL);
    identity_make(&client, "alice", FOR_CLIENTS, &authority, NULL);
    expect_to(open, &client, NULL, NULL);
    expect_to(open, NULL, NULL, NULL);
    identity_free(&client);
    mete__tls_context_release(open);
}

static X509_CRL *revocation_make(const X509 *revoked)
{
    X509_CRL *crl = X509_CRL_new();
    ASN1_TIME *time = X509_gmtime_adj(NULL, -3600);
    X509_CRL_set_version(crl, X509_CRL_VERSION_2);
    X509_CRL_set_issuer_name(crl, X509_get_subject_name(authority.certificate));
    X509_CRL_set1_lastUpdate(crl, time);
    X509_REVOKED *entry = X509_REVOKED_new();
    ASN1_INTEGER *serial = ASN1_INTEGER_dup(X509_get0_serialNumber(revoked));
    X509_REVOKED_set_serialNumber(entry, serial);
    X509_REVOKED_set_revocationDate(entry, time);
    assert_int_equal(X509_CRL_add0_revoked(crl, entry), 1);
    X509_gmtime_adj(time, 86400);
    X509_CRL_set1_nextUpdate(crl, time);
    X509_CRL_sort(crl);
    assert_true(X509_CRL_sign(crl, authority.key, EVP_sha256()) > 0);
    ASN1_INTEGER_free(serial);
    ASN1_TIME_free(time);
    return crl;
}

static void a_revocation_list_is_obeyed(void **state)
{
    (void)state;
    struct identity gone;
    struct identity good;
    identity_make(&gone, "gone", FOR_CLIENTS, &authority, NULL);
    identity_make(&good, "good", FOR_CLIENTS, &authority, NULL);
    X509_CRL *crl = revocation_make(gone.certificate);
    struct identity with_list = authority;
    strcpy(with_list.certificate_path, file_write("with_list.pem", "", 0));
    FILE *file = fopen(with_list.certificate_path, "w");
    assert_non_null(file);
    PEM_write_X509(file, authority.certificate);
    PEM_write_X509_CRL(file, crl);
    fclose(file);
    struct mete__tls_context *strict = context_make(&server, &with_list);
    expect_to(strict, &gone, "certificate revoked", NULL);
    expect_to(strict, &good, NULL, "good");
    mete__tls_context_release(strict);

    /* A list alone lets nobody in: there is no authority. */
    file = fopen(with_list.certificate_path, "w");
    assert_non_null(file);
    PEM_write_X509_CRL(file, crl);
    fclose(file);
    const struct mete__tls_settings settings = {server.certificate_path, server.key_path, with_list.certificate_path};
    char why[256] = "";
    assert_int_equal(mete__tls_context_create(&settings, &strict, why, sizeof(why)), METE_EINVAL);
    assert_non_null(strstr(why, "with_list.pem' holds no usable PEM certificate"));
    X509_CRL_free(crl);
    identity_free(&gone);
    identity_free(&good);
}

static SSL_SESSION *visit(struct mete__tls_context *to, const struct identity *client, int version,
                          SSL_SESSION *session, bool *is_resumed)
{
    struct pair pair;
    pair_make(&pair, to, client);
    SSL_set_min_proto_version(pair.client, version);
    SSL_set_max_proto_version(pair.client, version);
    if (session != NULL) {
        SSL_set_session(pair.client, session);
        SSL_SESSION_free(session);
    }
    session = NULL;
    *is_resumed = false;
    if (pair_shake_hands(&pair)) {
        char byte;
        assert_string_equal(mete__tls_peer_name(pair.tls), "alice");
        assert_true(pair_server_write(&pair, "x", 1));
        assert_int_equal(SSL_read(pair.client, &byte, 1), 1); /* and the ticket before it */
        *is_resumed = SSL_session_reused(pair.client) == 1;
        session = SSL_get1_session(pair.client);
        SSL_shutdown(pair.client);
    }
    pair_free(&pair);
    return session;
}

/* Who resumes has the name it had; when the authority changed, the old session opens nothing. */
static void a_session_keeps_the_name(void **state)
{
    (void)state;
    struct identity client;
    identity_make(&client, "alice", FOR_CLIENTS, &authority, NULL);
    for (size_t v = 0; v < 2; v++) {
        bool is_resumed;
        SSL_SESSION *session = visit(context, &client, versions[v], NULL, &is_resumed);
        assert_non_null(session);
        assert_false(is_resumed);
        session = visit(context, &client, versions[v], session, &is_resumed);
        assert_non_null(session);
        assert_true(is_resumed);
        struct mete__tls_context *next = context_make(&server, &stranger);
        assert_null(visit(next, &client, versions[v], session, &is_resumed));
        mete__tls_context_release(next);
    }
    identity_free(&client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_not_let_in),
        cmocka_unit_test(a_forged_signature),
        cmocka_unit_test(who_is_let_in),
        cmocka_unit_test(names_that_are_not_plain),
        cmocka_unit_test(nobody_is_asked),
        cmocka_unit_test(a_revocation_list_is_obeyed),
        cmocka_unit_test(a_session_keeps_the_name),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
