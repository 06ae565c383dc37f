/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses: what is one, its one spelling, and which of a list is the client's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "wire/client_address.h"

static struct mete__span span(const char *text)
{
    return mete__span_of(text, strlen(text));
}

static void expect_text(const char *text, unsigned prefix_len, const char *expected)
{
    unsigned char address[16];
    char found[METE__ADDRESS_TEXT_MAX];
    if (!mete__address_parse(span(text), address)) {
        fail_msg("%s: not read", text);
    }
    size_t len = mete__address_format(address, prefix_len, found);
    assert_true(len <= METE__ADDRESS_TEXT_MAX);
    if (len != strlen(expected) || memcmp(found, expected, len) != 0) {
        fail_msg("%s: '%.*s', not '%s'", text, (int)len, found, expected);
    }
}

static void addresses_have_one_spelling(void **state)
{
    (void)state;
    static const char *const whole[][2] = {
        {"203.0.113.7", "203.0.113.7"},
        {"203.0.113.7:4711", "203.0.113.7"},
        {"0.0.0.0", "0.0.0.0"},
        {"255.255.255.255:65535", "255.255.255.255"},
        {"::ffff:203.0.113.7", "203.0.113.7"},
        {"[::FFFF:cb00:7107]:80", "203.0.113.7"},
        {"0:0:0:0:0:ffff:cb00:7107", "203.0.113.7"},
        {"::", "::"},
        {"::1", "::1"},
        {"[::1]", "::1"},
        {"1::", "1::"},
        {"2001:db8::1", "2001:db8::1"},
        {"[2001:db8::1]:443", "2001:db8::1"},
        {"2001:DB8:0:0:0:0:0:1", "2001:db8::1"},
        {"2001:0db8:0000:0000:0001:0000:0000:0001", "2001:db8::1:0:0:1"},
        {"2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"},
        {"2001:db8::1:1:1:1:1", "2001:db8:0:1:1:1:1:1"},
        {"2001:0:0:1:0:0:0:1", "2001:0:0:1::1"},
        {"1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"},
        {"::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"},
        {"64:ff9b::192.0.2.33", "64:ff9b::c000:221"},
        {"1:2:3:4:5:6:7.8.9.10", "1:2:3:4:5:6:708:90a"},
        {"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
    };
    for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
        expect_text(whole[i][0], 128, whole[i][1]);
    }
}

static void ipv6_is_cut_to_a_prefix(void **state)
{
    (void)state;
    expect_text("2001:db8:1:2:3:4:5:6", 64, "2001:db8:1:2::/64");
    expect_text("2001:db8:1:2:ffff:ffff:ffff:ffff", 64, "2001:db8:1:2::/64");
    expect_text("2001:db8:ffff::1", 33, "2001:db8:8000::/33");
    expect_text("2001:db8:ffff::1", 48, "2001:db8:ffff::/48");
    expect_text("2001:db8::7", 127, "2001:db8::6/127");
    expect_text("2001:db8::7", 1, "::/1");
    expect_text("a001:db8::7", 1, "8000::/1");
    expect_text("2001:db8::7", 0, "::/0");
    expect_text("203.0.113.7", 64, "203.0.113.7");
    expect_text("::ffff:203.0.113.7", 0, "203.0.113.7");
}

static void what_is_no_address_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "unknown",
        "_hidden",
        "1.2.3",
        "1.2.3.4.5",
        "1.2.3.256",
        "01.2.3.4",
        "1.2.3.04",
        "1.2.3.",
        "1..3.4",
        ".1.2.3.4",
        "1.2.3.4:",
        "1.2.3.4:x",
        "1.2.3.4:65536",
        "1.2.3.4:123456",
        " 1.2.3.4",
        "1.2.3.4 ",
        "0x1.2.3.4",
        "1.2.3.4/24",
        ":",
        ":::",
        "1:",
        ":1",
        "1:2",
        "1:::2",
        "1::2::3",
        "12345::",
        "g::",
        "[::1",
        "::1]",
        "[::1]80",
        "[::1]:",
        "[::1]:x",
        "[1.2.3.4]",
        "fe80::1%eth0",
        "1:2:3:4:5:6:7",
        "1:2:3:4:5:6:7:8:9",
        "1:2:3:4:5:6:7:8::",
        "::1.2.3",
        "1:2:3:4:5:6:7:1.2.3.4",
        "::1.2.3.4:80",
        "1.2.3.4::",
        "[]",
        "[",
        "1:2:3:4:5:6:7:",
        "::ffff:1.2.3.4.5",
    };
    unsigned char address[16];
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (mete__address_parse(span(bad[i]), address)) {
            fail_msg("'%s' was read", bad[i]);
        }
    }
}

static void networks_hold_their_addresses(void **state)
{
    (void)state;
    unsigned char network[16], inside[16], outside[16];
    assert_true(mete__address_parse(span("10.1.128.0"), network));
    assert_true(mete__address_parse(span("10.1.255.255"), inside));
    assert_true(mete__address_parse(span("10.1.127.255"), outside));
    assert_true(mete__address_is_in(inside, network, 96 + 17));
    assert_false(mete__address_is_in(outside, network, 96 + 17));
    assert_true(mete__address_is_in(outside, network, 96 + 16));
    assert_true(mete__address_is_in(outside, network, 0));
    assert_true(mete__address_is_in(network, network, 128));
    assert_false(mete__address_is_in(inside, network, 128));
}

static bool is_ten(const void *context, const unsigned char address[16])
{
    (void)context;
    return mete__address_is_ipv4(address) && address[12] == 10;
}

static void expect_pick(const char *first, const char *second, unsigned depth, bool has_proxies, const char *expected)
{
    struct mete__span values[2] = {span(first), span(second != NULL ? second : "")};
    struct mete__forwarded list = {values, second != NULL ? 2 : 1, depth, has_proxies ? is_ten : NULL, NULL};
    unsigned char address[16], wanted[16];
    bool is_found = mete__forwarded_pick(&list, address);
    if (is_found != (expected != NULL)) {
        fail_msg("%s: found %d", first, is_found);
    }
    if (expected != NULL) {
        assert_true(mete__address_parse(span(expected), wanted));
        assert_memory_equal(address, wanted, 16);
    }
}

static void the_client_is_picked_by_depth(void **state)
{
    (void)state;
    expect_pick("192.0.2.1, 192.0.2.2, 192.0.2.3", NULL, 1, false, "192.0.2.3");
    expect_pick("192.0.2.1, 192.0.2.2,192.0.2.3 ", NULL, 2, false, "192.0.2.2");
    expect_pick("192.0.2.1", "192.0.2.2, 192.0.2.3", 3, false, "192.0.2.1");
    expect_pick("192.0.2.1, 192.0.2.2", NULL, 9, false, "192.0.2.1");
    expect_pick("192.0.2.1, , 192.0.2.2,", NULL, 2, false, "192.0.2.1");
    expect_pick("", NULL, 1, false, NULL);
    expect_pick(" , ", NULL, 1, false, NULL);
    expect_pick("192.0.2.1, garbage", NULL, 1, false, NULL);
    expect_pick("garbage, 192.0.2.1", NULL, 1, false, "192.0.2.1");
    expect_pick("garbage, 192.0.2.1", NULL, 2, false, NULL);
    expect_pick("[2001:db8::1]:99", NULL, 1, false, "2001:db8::1");
}

static void the_client_is_the_last_that_is_not_trusted(void **state)
{
    (void)state;
    expect_pick("6.6.6.6, 192.0.2.1, 10.0.0.1, 10.0.0.2", NULL, 1, true, "192.0.2.1");
    expect_pick("6.6.6.6, 192.0.2.1", "10.0.0.1", 1, true, "192.0.2.1");
    expect_pick("10.0.0.1, 10.0.0.2", NULL, 1, true, "10.0.0.1");
    expect_pick("garbage, 10.0.0.2", NULL, 1, true, "10.0.0.2");
    expect_pick("192.0.2.1, unknown", NULL, 1, true, NULL);
    /* a stranger cannot pass for a proxy of ours by its spelling */
    expect_pick("6.6.6.6, 010.0.0.1", NULL, 1, true, NULL);
    expect_pick("6.6.6.6, ::ffff:10.0.0.1", NULL, 1, true, "6.6.6.6");
}

static void the_forwarded_field_is_understood(void **state)
{
    (void)state;
    expect_pick("for=192.0.2.43", NULL, 1, false, "192.0.2.43");
    expect_pick("proto=http; For=\"[2001:db8:cafe::17]:4711\" ;by=203.0.113.43", NULL, 1, false, "2001:db8:cafe::17");
    expect_pick("for=6.6.6.6, for=192.0.2.1;proto=https, for=10.0.0.3", NULL, 1, true, "192.0.2.1");
    expect_pick("for=_hidden", NULL, 1, false, NULL);
    expect_pick("by=192.0.2.1", NULL, 1, false, NULL);
    expect_pick("for=", NULL, 1, false, NULL);
    expect_pick("for=\"", NULL, 1, false, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_have_one_spelling),
        cmocka_unit_test(ipv6_is_cut_to_a_prefix),
        cmocka_unit_test(what_is_no_address_is_refused),
        cmocka_unit_test(networks_hold_their_addresses),
        cmocka_unit_test(the_client_is_picked_by_depth),
        cmocka_unit_test(the_client_is_the_last_that_is_not_trusted),
        cmocka_unit_test(the_forwarded_field_is_understood),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
