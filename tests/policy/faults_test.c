/* SPDX-License-Identifier: Apache-2.0 */
/* Every fault of a configuration: its sentence, its line and its column. */
#include <stdlib.h>

#include "tests/policy/policy.h"

struct fault {
    const char *text;
    const char *sentences;
};

static void refuse_all(const struct fault *faults, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        refuse(faults[i].text, faults[i].sentences);
    }
}

#define REFUSE_ALL(faults) refuse_all((faults), sizeof(faults) / sizeof((faults)[0]))

static void test_text(void **state)
{
    (void)state;
    static const struct fault faults[] = {
        {"", "f:1:1: the file is empty; it should at least name a policy"},
        {"# nothing\n", "f:1:1: the file is empty; it should at least name a policy"},
        {"---\n", "f:2:1: the file: a single value, where a mapping of keys to values belongs"},
        {"[]", "f:1:1: the file: a list, where a mapping of keys to values belongs"},
        {"threads: 1\n\tlog: {}\n", "f:2:1: a tab cannot indent; use spaces"},
        {"log:\n  \tkeys: true\n", "f:2:3: a tab cannot indent; use spaces"},
        {"threads: \x80\n", "f:1:10: not UTF-8: the byte 0x80 does not belong here"},
        {"\xc3\xa9: \xed\xa0\x80\n", "f:1:4: not UTF-8: the byte 0xed does not belong here"},
        {"threads: \xc0\xaf\n", "f:1:10: not UTF-8: the byte 0xc0 does not belong here"},
        {"threads: \xf4\x90\x80\x80\n", "f:1:10: not UTF-8: the byte 0xf4 does not belong here"},
        {"threads: \xe2\x82", "f:1:10: not UTF-8: the byte 0xe2 does not belong here"},
        {"\nthreads: \x1b[31m\n", "f:2:10: the character U+001B may not stand in a configuration"},
        {"threads: \x7f\n", "f:1:10: the character U+007F may not stand in a configuration"},
        {"threads: \xef\xbb\xbf\n", "f:1:10: the character U+FEFF may not stand in a configuration"},
        {"threads: 1\n---\nthreads: 2\n", "f:2:1: a second document; a configuration is one"},
        {"threads: 1\n...\n---\nthreads: 2\n", "f:3:1: a second document; a configuration is one"},
        {"log: &x {}\n", "f:1:6: anchors (&), aliases (*) and tags (!) are not taken; write the value itself"},
        {"log: *x\n", "f:1:6: anchors (&), aliases (*) and tags (!) are not taken; write the value itself"},
        {"log: !!map {}\n", "f:1:6: anchors (&), aliases (*) and tags (!) are not taken; write the value itself"},
        {"threads: \"\\0\"\n", "f:1:10: a text may not contain the character U+0000"},
        {"log: [\n", "f:2:1: not YAML: while parsing a flow node, did not find expected node content (from line 2)"},
        {"log: {keys: true\nthreads: 1\n",
         "f:2:8: not YAML: while parsing a flow mapping, did not find expected ',' or '}' (from line 1)"},
        {"log: \"x\n", "f:2:1: not YAML: while scanning a quoted scalar, found unexpected end of stream (from line 1)"},
        {"threads: 1\n log: 2\n", "f:2:5: not YAML: mapping values are not allowed in this context"},
        {"[[[[[[[[[[[[[[[[[", "f:1:17: nested deeper than 16 levels"},
    };
    REFUSE_ALL(faults);
}

static void test_nul(void **state)
{
    (void)state;
    static const char text[] = "threads: 1\nlog: \0\n";
    struct mete__config *config = NULL;
    assert_int_equal(mete__config_parse("f", text, sizeof(text) - 1, &config, why, sizeof(why)), METE_EINVAL);
    assert_string_equal(why, "f:2:6: the character U+0000 may not stand in a configuration");
}

static void test_keys(void **state)
{
    (void)state;
    static const struct fault faults[] = {
        {"thread: 1\n", "f:1:1: unknown key 'thread' in the file; did you mean 'threads'?"},
        {"colour: red\n", "f:1:1: unknown key 'colour' in the file; it may have: listen, threads, store, tls, users, "
                          "client_address, bounds, log, policies"},
        {"Threads: 1\n", "f:1:1: unknown key 'Threads' in the file; did you mean 'threads'?"},
        {"\"thr\\ead\": 1\n", "f:1:1: unknown key 'thr\\x1bad' in the file; did you mean 'threads'?"},
        {"threads: 1\nlog: {}\nthreads: 1\n", "f:3:1: the key 'threads' was already given in line 1"},
        {"[a]: 1\n", "f:1:1: a list, where the name of a key belongs"},
        {"store:\n", "f:1:7: store: a single value, where a mapping of keys to values belongs"},
        {"store: [1]\n", "f:1:8: store: a list, where a mapping of keys to values belongs"},
        {"store: {path: }\n", "f:1:15: path: has no value; give one or leave the key out"},
        {"store: {path: ~}\n", "f:1:15: path: has no value; give one or leave the key out"},
        {"store: {path: [a]}\n", "f:1:15: path: a list, where a single value belongs"},
        {"store: {on_full: deny, on_full: deny}\n", "f:1:24: the key 'on_full' was already given in line 1"},
    };
    REFUSE_ALL(faults);
}

static void test_values(void **state)
{
    (void)state;
    static const struct fault faults[] = {
        {"threads: -1\n", "f:1:10: threads: '-1' is not a whole number; write digits only"},
        {"threads: 1.0\n", "f:1:10: threads: '1.0' is not a whole number; write digits only"},
        {"threads: 0x10\n", "f:1:10: threads: '0x10' is not a whole number; write digits only"},
        {"threads: \"4\"\n", "f:1:10: threads: '4' is not a whole number; write digits only, without quotes"},
        {"threads: {}\n", "f:1:10: threads: a mapping, where a single value belongs"},
        {"threads: 99999999999999999999\n", "f:1:10: threads: '99999999999999999999' is outside 0..256"},
        {"log: {keys: yes}\n", "f:1:13: keys: 'yes' is not false or true, without quotes"},
        {"log: {keys: True}\n", "f:1:13: keys: 'True' is not false or true, without quotes"},
        {"log: {keys: 'true'}\n", "f:1:13: keys: 'true' is not false or true, without quotes"},
        {"log: {level: loud}\n", "f:1:14: level: 'loud' is not debug, info, warn or error"},
        {"bounds: {idle_timeout: 10}\n", "f:1:24: idle_timeout: '10' is not a time such as 500ms, 10s, 5m or 1h"},
        {"bounds: {idle_timeout: 10 s}\n", "f:1:24: idle_timeout: '10 s' is not a time such as 500ms, 10s, 5m or 1h"},
        {"bounds: {idle_timeout: 213503982334602d}\n",
         "f:1:24: idle_timeout: '213503982334602d' is outside 0..86400000 ms"},
        {"bounds: {request_bytes_max: 64KB}\n",
         "f:1:29: request_bytes_max: '64KB' is not a number of bytes such as 65536, 64KiB or 1MiB"},
        {"bounds: {request_bytes_max: 17179869184GiB}\n",
         "f:1:29: request_bytes_max: '17179869184GiB' is outside 1024..67108864"},
    };
    REFUSE_ALL(faults);
}

/* At the bound, and one beyond, for each number of the file. */
static void test_ranges(void **state)
{
    (void)state;
    static const struct {
        const char *before, *after;
        const char *below, *least, *most, *above;
    } ranges[] = {
        {"threads: ", "", NULL, "0", "256", "257"},
        {"store: {keys_max: ", "}", "0", "1", "68719476736", "68719476737"},
        {"store: {log_units_max: ", "}", "0", "1", "68719476736", "68719476737"},
        {"bounds: {connections_max: ", "}", "0", "1", "1000000", "1000001"},
        {"bounds: {request_bytes_max: ", "}", "1023", "1KiB", "64MiB", "67108865"},
        {"bounds: {output_bytes_max: ", "}", "4095", "4KiB", "1GiB", "1073741825"},
        {"bounds: {idle_timeout: ", "}", NULL, "0", "1d", "86400001ms"},
        {"bounds: {request_timeout: ", "}", "9ms", "10ms", "1h", "3600001ms"},
        {"bounds: {drain_timeout: ", "}", NULL, "0", "60m", "3600001ms"},
        {"client_address: {depth: ", "}", "0", "1", "64", "65"},
        {"client_address: {ipv6_prefix: ", "}", "0", "1", "128", "129"},
        {"policies: {a: {limits: {b: 1/s}, deny_status: ", "}}", "399", "400", "599", "600"},
        {"policies: {a: {limits: {b: 5/s}, cost: ", "}}", "0", "1", "5", "9223372036854775808"},
        {"policies: {a: {limits: {b: {limit: 5/s, cost: ", "}}}}", "0", "1", "5", "9223372036854775808"},
    };
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        const char *values[] = {ranges[i].least, ranges[i].most, ranges[i].below, ranges[i].above};
        for (size_t k = 0; k < 4; k++) {
            char text[256];
            struct mete__config *config = NULL;
            if (values[k] == NULL) {
                continue;
            }
            snprintf(text, sizeof(text), "%s%s%s\n", ranges[i].before, values[k], ranges[i].after);
            mete_status status = mete__config_parse("f", text, strlen(text), &config, why, sizeof(why));
            if ((status == METE_OK) != (k < 2) || (k >= 2 && strstr(why, "is outside") == NULL)) {
                fail_msg("%s%s", text, why);
            }
            mete__config_destroy(config);
        }
    }
}

static void test_limits(void **state)
{
    (void)state;
    static const struct fault faults[] = {
        {"policies:\n", "f:1:10: policies: is empty; a mapping belongs here"},
        {"policies: {}\n", "f:1:11: policies: is empty; fill it or leave the key out"},
        {"policies: [a]\n", "f:1:11: policies: a list, where a mapping belongs"},
        {"policies: {a: {}}\n", "f:1:15: policies.NAME: the key 'limits' is missing"},
        {"policies: {a: 5/s}\n", "f:1:15: policies.NAME: a single value, where a mapping of keys to values belongs"},
        {"policies: {a: {limits: {}}}\n", "f:1:24: limits: is empty; fill it or leave the key out"},
        {"policies: {a: {limits: 5/s}}\n", "f:1:24: limits: a single value, where a mapping belongs"},
        {"policies: {a: {limits: {b: }}}\n", "f:1:28: limit 'b': count: missing; write COUNT/PERIOD, such as 100/1m"},
        {"policies: {a: {limits: {b: [5/s]}}}\n", "f:1:28: limit 'b': a list, where the text of a limit belongs"},
        {"policies: {a: {limits: {b: {cost: 1}}}}\n", "f:1:28: policies.NAME.limits.NAME: the key 'limit' is missing"},
        {"policies: {a b: {limits: {b: 5/s}}}\n",
         "f:1:12: policies: 'a b' is not a name; names are 1 to 64 of letters, digits, '_', '.', '-'"},
        {"policies: {\"\": {limits: {b: 5/s}}}\n",
         "f:1:12: policies: '' is not a name; names are 1 to 64 of letters, digits, '_', '.', '-'"},
        {"policies:\n  a: {limits: {b: 5/s}}\n  c: {limits: {b: 5/s}}\n  a: {limits: {b: 5/s}}\n",
         "f:4:3: policies: 'a' was already given in line 2"},
        {"policies:\n  a:\n    limits:\n      b: 5/s\n      b: 6/s\n",
         "f:5:7: limits: 'b' was already given in line 4"},
        {"policies: {a: {limits: {b: 5/s}, cost: 6}}\n",
         "f:1:28: limit 'b': a request costs 6, but at most 5 pass at one instant; none would ever pass"},
        {"policies: {a: {limits: {b: {limit: 9/s burst 2, cost: 3}}}}\n",
         "f:1:28: limit 'b': a request costs 3, but at most 2 pass at one instant; none would ever pass"},
        {"policies: {a: {limits: {a: 1/s, b: 1/s, c: 1/s, d: 1/s, e: 1/s, f: 1/s, g: 1/s, h: 1/s, i: 1/s}}}\n",
         "f:1:24: limits: 9 given, at most 8 taken"},
    };
    REFUSE_ALL(faults);
}

/* Zero is never "unlimited", and what a limit cannot be is told in the library's own words. */
static void test_limit_texts(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "0/s",
        "5/0s",
        "5/s burst 0",
        "-5/s",
        "5",
        "5/month",
        "5/s burst -1",
        "sliding_log 0/s",
        "window 5/s",
        "5/s calendar",
        "5/day zone Europe/Berlin",
        "fixed_window 5/day calendar zone Nowhere/Here",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char text[256];
        char expected[METE__CONFIG_WHY_SIZE];
        char sentence[200];
        struct mete_limit limit;
        if (mete_limit_parse_why(bad[i], &limit, sentence, sizeof(sentence)) == METE_OK) {
            assert_int_not_equal(mete_limit_check(&limit, sentence, sizeof(sentence)), METE_OK);
        }
        snprintf(text, sizeof(text), "policies:\n  a:\n    limits:\n      b: %s\n", bad[i]);
        snprintf(expected, sizeof(expected), "f:4:10: limit 'b': %s", sentence);
        refuse(text, expected);
    }
}

static void test_plans(void **state)
{
    (void)state;
    static const struct fault faults[] = {
        {"policies: {a: {limits: {b: 5/s}, plans: {p: {c: 6/s}}}}\n", "f:1:46: plan 'p': the policy has no limit 'c'"},
        {"policies: {a: {limits: {b: 5/s}, plans: {p: {}}}}\n",
         "f:1:45: plans: is empty; fill it or leave the key out"},
        {"policies: {a: {limits: {b: 5/s}, plans: {default: {b: 6/s}}}}\n",
         "f:1:42: plans: 'default' stands for the policy's own limits; use another name"},
        {"policies: {a: {limits: {b: 5/s}, plans: {p: {b: 6/s}, p: {b: 6/s}}}}\n",
         "f:1:55: plans: 'p' was already given in line 1"},
        {"policies: {a: {limits: {b: 5/s}, cost: 3, plans: {p: {b: 2/s}}}}\n",
         "f:1:58: limit 'b': a request costs 3, but at most 2 pass at one instant; none would ever pass"},
        {"policies: {a: {limits: {b: 5/s}, overrides: [{key: x, plan: q}]}}\n",
         "f:1:61: plan: the policy 'a' has no plan 'q'"},
        {"policies: {a: {limits: {b: 5/s}, overrides: [{key: x, prefix: y, plan: default}]}}\n",
         "f:1:46: overrides: each is either for a key or for a prefix"},
        {"policies: {a: {limits: {b: 5/s}, overrides: [{plan: default}]}}\n",
         "f:1:46: overrides: each is either for a key or for a prefix"},
        {"policies: {a: {limits: {b: 5/s}, overrides: [{key: x}]}}\n",
         "f:1:46: policies.NAME.overrides[]: the key 'plan' is missing"},
        {"policies: {a: {limits: {b: 5/s}, overrides: [{prefix: '', plan: default}]}}\n",
         "f:1:55: prefix: is empty; every key begins so: change the limits of the policy itself"},
        {"policies: {a: {limits: {b: 5/s}, overrides: [{key: , plan: default}]}}\n", "f:1:52: key: is empty"},
        {"policies: {a: {limits: {b: 5/s}, overrides: [{key: [x], plan: default}]}}\n",
         "f:1:52: key: a list, where a single value belongs"},
        {"policies:\n  a:\n    limits: {b: 5/s}\n    overrides:\n    - {key: x, plan: default}\n"
         "    - {prefix: x, plan: default}\n    - {key: x, plan: default}\n",
         "f:7:13: key: 'x' was already given in line 5"},
        {"policies:\n  a:\n    limits: {b: 5/s}\n    overrides:\n    - [key]\n    - {key: x, plan: default}\n"
         "    - {key: x, plan: default}\n",
         "f:5:7: policies.NAME.overrides[]: a list, where a mapping of keys to values belongs\n"
         "f:7:13: key: 'x' was already given in line 6"},
        {"policies: {a: {limits: {b: 5/s}, overrides: []}}\n",
         "f:1:45: overrides: is empty; fill it or leave the key out"},
    };
    REFUSE_ALL(faults);
}

static void test_answers(void **state)
{
    (void)state;
    static const struct fault faults[] = {
        {"policies: {a: {limits: {b: 5/s}, headers: draft-11}}\n",
         "f:1:43: headers: 'draft-11' is not draft-06, draft-07, draft-10, draft-12-provisional, x-ratelimit-delta or "
         "x-ratelimit-epoch"},
        {"policies: {a: {limits: {b: 5/s}, headers: []}}\n", "f:1:43: headers: is empty; fill it or leave the key out"},
        {"policies: {a: {limits: {b: 5/s}, key: cookie}}\n",
         "f:1:39: key: 'cookie' is not client_address, header:NAME, query:NAME, method or path"},
        {"policies: {a: {limits: {b: 5/s}, key: 'header:'}}\n", "f:1:39: key: 'header:' does not name a header"},
        {"policies: {a: {limits: {b: 5/s}, key: ['header:X Y']}}\n",
         "f:1:40: key: 'header:X Y' does not name a header"},
        {"policies: {a: {limits: {b: 5/s}, key: {header: X}}}\n", "f:1:39: key: a mapping, where a list belongs"},
        {"policies: {a: {limits: {b: 5/s}, key: [path, path, path, path, path, path, path, path, path]}}\n",
         "f:1:39: key: 9 given, at most 8 taken"},
        {"policies: {a: {limits: {b: 5/s}, on_full: drop}}\n", "f:1:43: on_full: 'drop' is not evict, deny or allow"},
        {"policies: {a: {limits: {b: 5/s}, on_store_failure: evict}}\n",
         "f:1:52: on_store_failure: 'evict' is not deny or allow"},
    };
    REFUSE_ALL(faults);
}

static void test_listeners(void **state)
{
    (void)state;
    static const struct fault faults[] = {
        {"listen: []\n", "f:1:9: listen: is empty; fill it or leave the key out"},
        {"listen: {resp: \"127.0.0.1:1\"}\n", "f:1:9: listen: a mapping, where a list belongs"},
        {"listen: [{tls: false}]\n", "f:1:10: listen: each listener is either resp: ADDRESS or http: ADDRESS"},
        {"listen: [{resp: \"a:1\", http: \"a:2\"}]\n",
         "f:1:10: listen: each listener is either resp: ADDRESS or http: ADDRESS"},
        {"listen:\n- resp: 6379\n",
         "f:2:9: listen: '6379': no port; an address is HOST:PORT, [IPV6]:PORT, unix:/PATH or "
         "fd:NAME"},
        {"listen:\n- resp: :6379\n", "f:2:9: listen: ':6379': the host is missing or too long; 0.0.0.0 or [::] listens "
                                     "on all addresses"},
        {"listen:\n- resp: a:65536\n", "f:2:9: listen: 'a:65536': the port is not a number 0..65535"},
        {"listen:\n- resp: \"a:\"\n", "f:2:9: listen: 'a:': the port is not a number 0..65535"},
        {"listen:\n- resp: a b:1\n", "f:2:9: listen: 'a b:1': the host has characters that no name or address has"},
        {"listen:\n- resp: ::1:80\n", "f:2:9: listen: '::1:80': an IPv6 address is written [ADDRESS]:PORT"},
        {"listen:\n- resp: \"[::1]\"\n", "f:2:9: listen: '[::1]': an IPv6 address is written [ADDRESS]:PORT"},
        {"listen:\n- resp: \"[::x]:1\"\n", "f:2:9: listen: '[::x]:1': what stands in [ ] is not an IPv6 address"},
        {"listen:\n- resp: \"[1.2.3.4]:1\"\n",
         "f:2:9: listen: '[1.2.3.4]:1': what stands in [ ] is not an IPv6 address"},
        {"listen:\n- resp: unix:mete.sock\n",
         "f:2:9: listen: 'unix:mete.sock': a Unix socket has an absolute path: unix:/PATH"},
        {"listen:\n- resp: \"fd:\"\n", "f:2:9: listen: 'fd:': the name after fd: has 1 to 64 characters"},
        {"listen:\n- resp: a:1\n- http: a:1\n", "f:3:9: listen: 'a:1' is already listened on"},
        {"listen:\n- resp: a:1\n  tls: true\n",
         "f:3:8: tls: there is no certificate; give certificate and key in section tls"},
        {"listen:\n- resp: a:1\n  unix_mode: 0600\n",
         "f:3:14: unix_mode: only a Unix socket (unix:/PATH) has permissions"},
        {"listen:\n- resp: unix:/a\n  unix_mode: 0500\n",
         "f:3:14: unix_mode: '0500' is not octal permissions 0600..0777"},
        {"listen:\n- resp: unix:/a\n  unix_mode: 0680\n",
         "f:3:14: unix_mode: '0680' is not octal permissions 0600..0777"},
        {"tls: {key: k}\n", "f:1:6: tls: certificate and key are needed, both"},
        {"tls: {client_ca: k}\n", "f:1:6: tls: certificate and key are needed, both"},
    };
    REFUSE_ALL(faults);
}

static void test_users(void **state)
{
    (void)state;
    static const struct fault faults[] = {
        {"users: []\n", "f:1:8: users: is empty; fill it or leave the key out"},
        {"users: [{name: u, password: p}]\n", "f:1:9: users[]: the key 'policies' is missing"},
        {"users: [{password: p, policies: all}]\n", "f:1:9: users[]: the key 'name' is missing"},
        {"users: [{name: u, policies: all}]\n",
         "f:1:9: users: nobody could log in as 'u': it has no password and no certificate_name"},
        {"users: [{name: u, policies: all, password: p, password_file: q}]\n",
         "f:1:9: users: 'u' has more than one of password, password_sha256, password_file"},
        {"users: [{name: default, policies: all, password: p}]\n",
         "f:1:9: users: 'default' is who has not logged in: it has no password or certificate"},
        {"users: [{name: u, policies: all, password: ''}]\n",
         "f:1:44: password: has no value; give one or leave the key out"},
        {"users: [{name: u, policies: all, password_sha256: abc}]\n",
         "f:1:51: password_sha256: not 64 hexadecimal digits"},
        {"users: [{name: u, policies: all, password_file: /nowhere/at/all}]\n",
         "f:1:49: password_file: '/nowhere/at/all': cannot be opened: No such file or directory"},
        {"users: [{name: u, policies: all, password_file: /dev/null}]\n",
         "f:1:49: password_file: '/dev/null': is not a regular file"},
        {"users: [{name: u, policies: all, certificate_name: c}]\n",
         "f:1:52: certificate_name: clients show no certificate without client_ca in section tls"},
        {"users: [{name: u, policies: [z], password: p}]\n", "f:1:30: policies: there is no policy 'z'"},
        {"users: [{name: u, policies: some, password: p}]\n",
         "f:1:29: policies: 'some' is not all, none or a list of names"},
        {"users:\n- {name: u, policies: all, password: p}\n- {name: u, policies: all, password: p}\n",
         "f:3:10: name: the user 'u' was already given in line 2"},
        {"users:\n- {name: default, policies: all}\n- {name: default, policies: all}\n",
         "f:3:10: name: the user 'default' was already given in line 2"},
        {"tls: {certificate: a, key: b, client_ca: c}\nusers:\n- {name: u, policies: all, certificate_name: n}\n"
         "- {name: v, policies: all, certificate_name: n}\n",
         "f:4:46: certificate_name: was already given to the user of line 3"},
    };
    REFUSE_ALL(faults);
}

static void test_client_address(void **state)
{
    (void)state;
    static const struct fault faults[] = {
        {"client_address: {header: 'X Y'}\n", "f:1:26: header: 'X Y' is not the name of a header"},
        {"client_address: {trusted_proxies: 10.0.0.0/8}\n",
         "f:1:35: trusted_proxies: a single value, where a list belongs"},
        {"client_address: {trusted_proxies: [10.0.0.1/8]}\n",
         "f:1:36: trusted_proxies: 10.0.0.1/8 has bits set behind its prefix; the network is 10.0.0.0/8"},
        {"client_address: {trusted_proxies: [10.0.0.0/33]}\n",
         "f:1:36: trusted_proxies: '10.0.0.0/33' is not a network such as 10.0.0.0/8 or 2001:db8::/32"},
        {"client_address: {trusted_proxies: [10.0.0/8]}\n",
         "f:1:36: trusted_proxies: '10.0.0/8' is not a network such as 10.0.0.0/8 or 2001:db8::/32"},
    };
    REFUSE_ALL(faults);
}

/* In the order of the file, though sections are read in another. */
static void test_many_at_once(void **state)
{
    (void)state;
    refuse("policies: {a: {limits: {b: 0/s}}}\nlisten: [{resp: x}]\nlog: {keys: 1}\nnone: 1\n",
           "f:1:28: limit 'b': count: must be at least 1; a limit of nothing is not a rate\n"
           "f:2:17: listen: 'x': no port; an address is HOST:PORT, [IPV6]:PORT, unix:/PATH or fd:NAME\n"
           "f:3:13: keys: '1' is not false or true, without quotes\n"
           "f:4:1: unknown key 'none' in the file; it may have: listen, threads, store, tls, users, client_address, "
           "bounds, log, policies");
}

/* Twenty are told; a buffer that is too small for them is filled, never overrun. */
static void test_no_more_than_twenty(void **state)
{
    (void)state;
    char text[1024] = "";
    char small[64];
    struct mete__config *config = NULL;
    for (int i = 0; i < 25; i++) {
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "unknown%d: 1\n", i);
    }
    assert_int_equal(mete__config_parse("f", text, strlen(text), &config, why, sizeof(why)), METE_EINVAL);
    size_t lines = 1;
    for (const char *at = why; *at != '\0'; at++) {
        lines += *at == '\n';
    }
    assert_int_equal(lines, 20);
    memset(small, 'x', sizeof(small));
    assert_int_equal(mete__config_parse("f", text, strlen(text), &config, small, 32), METE_EINVAL);
    assert_int_equal(strlen(small), 31);
    assert_int_equal(small[32], 'x');
    assert_int_equal(mete__config_parse("f", text, strlen(text), &config, NULL, 0), METE_EINVAL);
}

static void test_sizes(void **state)
{
    (void)state;
    struct mete__config *config = NULL;
    size_t most = (size_t)1 << 20;
    char *text = malloc(most + 1);
    assert_non_null(text);
    memset(text, '\n', most + 1);
    memcpy(text, POLICIES, sizeof(POLICIES) - 1);
    assert_int_equal(mete__config_parse("f", text, most, &config, why, sizeof(why)), METE_OK);
    mete__config_destroy(config);
    assert_int_equal(mete__config_parse("f", text, most + 1, &config, why, sizeof(why)), METE_EINVAL);
    assert_string_equal(why, "f: the file is larger than 1048576 bytes");
    /* Mostly punctuation: more nodes than any configuration has. */
    memset(text, ',', most);
    for (size_t i = 1; i < most; i += 2) {
        text[i] = 'x';
    }
    text[0] = '[';
    assert_int_equal(mete__config_parse("f", text, most, &config, why, sizeof(why)), METE_EINVAL);
    assert_non_null(strstr(why, "the file has more than 200000 keys and values"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),         cmocka_unit_test(test_nul),
        cmocka_unit_test(test_keys),         cmocka_unit_test(test_values),
        cmocka_unit_test(test_ranges),       cmocka_unit_test(test_limits),
        cmocka_unit_test(test_limit_texts),  cmocka_unit_test(test_plans),
        cmocka_unit_test(test_answers),      cmocka_unit_test(test_listeners),
        cmocka_unit_test(test_users),        cmocka_unit_test(test_client_address),
        cmocka_unit_test(test_many_at_once), cmocka_unit_test(test_no_more_than_twenty),
        cmocka_unit_test(test_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
