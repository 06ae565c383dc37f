/* SPDX-License-Identifier: Apache-2.0 */
/* Networks: what is one, what it covers, and which one was meant. */
#include "policy/network.h"

#include "tests/policy/policy.h"

static enum mete__network_result parse(const char *text, char out[METE__NETWORK_TEXT_SIZE])
{
    struct mete__network network;
    memset(&network, 0xaa, sizeof(network));
    enum mete__network_result result = mete__network_parse(text, strlen(text), &network);
    out[0] = '\0';
    if (result != METE__NETWORK_MALFORMED) {
        mete__network_format(&network, out);
    }
    return result;
}

static void test_right(void **state)
{
    (void)state;
    static const char *const right[][2] = {
        {"10.0.0.0/8", "10.0.0.0/8"},
        {"0.0.0.0/0", "0.0.0.0/0"},
        {"192.0.2.1", "192.0.2.1/32"},
        {"192.0.2.1/32", "192.0.2.1/32"},
        {"192.0.2.128/25", "192.0.2.128/25"},
        {"::/0", "::/0"},
        {"::1", "::1/128"},
        {"2001:DB8::/32", "2001:db8::/32"},
        {"2001:db8:0:8000::/49", "2001:db8:0:8000::/49"},
        {"::ffff:10.0.0.0/104", "10.0.0.0/8"},
        {"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128"},
    };
    char text[METE__NETWORK_TEXT_SIZE];
    for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
        assert_int_equal(parse(right[i][0], text), METE__NETWORK_OK);
        assert_string_equal(text, right[i][1]);
    }
}

static void test_malformed(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        "/8",
        "10.0.0.0/",
        "10.0.0.0/33",
        "10.0.0.0/-1",
        "10.0.0.0/8 ",
        " 10.0.0.0/8",
        "10.0.0/8",
        "10.0.0.256",
        "010.0.0.1",
        "::/129",
        "::g",
        ":::/8",
        "10.0.0.0/0008",
        "fe80::1%lo",
        "10.0.0.0/8/8",
        "1::2::3",
        "10.0.0.0/+8",
        "example.com",
        "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128",
    };
    char text[METE__NETWORK_TEXT_SIZE];
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(parse(wrong[i], text), METE__NETWORK_MALFORMED);
    }
}

static void test_host_bits(void **state)
{
    (void)state;
    static const char *const bits[][2] = {
        {"10.0.0.1/8", "10.0.0.0/8"},
        {"192.0.2.129/25", "192.0.2.128/25"},
        {"192.0.2.1/31", "192.0.2.0/31"},
        {"255.255.255.255/0", "0.0.0.0/0"},
        {"2001:db8::1/127", "2001:db8::/127"},
        {"2001:db8:1::/32", "2001:db8::/32"},
        {"8000::/0", "::/0"},
        {"::1/0", "::/0"},
    };
    char text[METE__NETWORK_TEXT_SIZE];
    for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
        assert_int_equal(parse(bits[i][0], text), METE__NETWORK_HOST_BITS);
        assert_string_equal(text, bits[i][1]);
    }
}

/* What the daemon compares with. */
static void test_bytes(void **state)
{
    (void)state;
    struct mete__config *config = load("client_address: {header: X-Real-IP, depth: 2, ipv6_prefix: 56, "
                                       "trusted_proxies: [10.0.0.0/8, \"2001:db8::/32\"]}\n");
    static const unsigned char v4[16] = {[10] = 0xff, [11] = 0xff, [12] = 10};
    static const unsigned char v6[16] = {0x20, 0x01, 0x0d, 0xb8};
    const struct mete__client_address *address = &config->client_address;
    assert_string_equal(address->header, "X-Real-IP");
    assert_int_equal(address->depth, 2);
    assert_int_equal(address->ipv6_prefix_len, 56);
    assert_int_equal(address->proxy_count, 2);
    assert_memory_equal(address->proxies[0].address, v4, 16);
    assert_int_equal(address->proxies[0].prefix_len, 104);
    assert_memory_equal(address->proxies[1].address, v6, 16);
    assert_int_equal(address->proxies[1].prefix_len, 32);
    mete__config_destroy(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_right),
        cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_host_bits),
        cmocka_unit_test(test_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
