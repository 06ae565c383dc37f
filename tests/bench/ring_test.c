/* SPDX-License-Identifier: Apache-2.0 */
/* Requests written from a template. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bench/load/ring.h"

static struct load_ring make(enum load_protocol protocol, const char *template, size_t keys, size_t slice_max)
{
    struct load_ring ring;
    char why[128];
    assert_true(load_ring_init(&ring, protocol, template, keys, slice_max, 3, why, sizeof(why)));
    return ring;
}

static void requests_are_written_to_the_letter(void **state)
{
    (void)state;
    static const struct {
        enum load_protocol protocol;
        size_t keys;
        const char *template, *want;
    } cases[] = {
        {LOAD_RESP, 1, "PING", "*1\r\n$4\r\nPING\r\n"},
        {LOAD_RESP, 1, "  INCR  key:%k ", "*2\r\n$4\r\nINCR\r\n$5\r\nkey:0\r\n"},
        {LOAD_RESP, 1, "MGET %k%k a%kb %", "*4\r\n$4\r\nMGET\r\n$2\r\n00\r\n$3\r\na0b\r\n$1\r\n%\r\n"},
        {LOAD_HTTP, 1, "/take?key=%k", "GET /take?key=0 HTTP/1.1\r\nHost: localhost\r\n\r\n"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct load_ring ring = make(cases[i].protocol, cases[i].template, cases[i].keys, 2);
        assert_int_equal(ring.request_len, strlen(cases[i].want));
        assert_memory_equal(load_ring_take(&ring, 2), cases[i].want, ring.request_len);
        assert_memory_equal(load_ring_take(&ring, 1), cases[i].want, ring.request_len);
        load_ring_clear(&ring);
    }
}

/* In slices that do not divide the number of keys: each key once a round, and in no plain order. */
static void every_key_once_a_round(void **state)
{
    (void)state;
    enum { KEYS = 1001, SLICE = 7, ROUNDS = 3 };
    struct load_ring ring = make(LOAD_RESP, "GET %k", KEYS, SLICE);
    unsigned seen[KEYS] = {0}, in_order = 0, last = 0;
    for (unsigned i = 0; i < KEYS * ROUNDS / SLICE; i++) {
        const char *at = load_ring_take(&ring, SLICE);
        for (unsigned j = 0; j < SLICE; j++) {
            unsigned key = (unsigned)strtoul(at + j * ring.request_len + ring.request_len - 6, NULL, 10);
            assert_true(key < KEYS);
            seen[key]++;
            in_order += key == last + 1;
            last = key;
        }
    }
    for (unsigned key = 0; key < KEYS; key++) {
        assert_int_equal(seen[key], ROUNDS);
    }
    assert_true(in_order < KEYS / 10);
    load_ring_clear(&ring);
}

static void what_is_too_large_is_refused(void **state)
{
    (void)state;
    char template[LOAD_TEMPLATE_MAX + 1], why[128];
    struct load_ring ring;
    for (size_t i = 0; i + 1 < sizeof(template); i += 2) {
        memcpy(template + i, "%k", 2);
    }
    template[LOAD_TEMPLATE_MAX] = '\0';
    assert_false(load_ring_init(&ring, LOAD_HTTP, template, 1000, 1, 1, why, sizeof(why)));
    template[LOAD_TEMPLATE_MAX - 2] = '\0'; /* short enough itself, but not with keys of three digits */
    assert_false(load_ring_init(&ring, LOAD_HTTP, template, 1000, 1, 1, why, sizeof(why)));
    assert_false(load_ring_init(&ring, LOAD_HTTP, "/%k", (size_t)LOAD_KEYS_MAX * 10, 1, 1, why, sizeof(why)));
    assert_non_null(strstr(why, "too many"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_written_to_the_letter),
        cmocka_unit_test(every_key_once_a_round),
        cmocka_unit_test(what_is_too_large_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
