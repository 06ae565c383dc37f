/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/load/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/load/ring.h"

#define SECONDS_MAX 86400.0
#define RATE_MAX 1e9
#define SECOND_NS 1e9

const char load_options_help[] =
    "Usage: mete_load --connect ADDRESS (--resp TEMPLATE | --http TARGET) [OPTION]...\n\n"
    "Measures a server from one thread.  ADDRESS is HOST:PORT or the path of a Unix socket.\n"
    "In TEMPLATE and TARGET, %k is the number of a key: 'INCR key:%k', '/v1/take?key=%k'.\n\n"
    "  --connections N  connections (50)\n"
    "  --pipeline P     requests sent together on a connection (1)\n"
    "  --keys N         different keys, each used once in a round, in random order (1000000)\n"
    "  --seconds S      how long is measured (5)\n"
    "  --warmup S       not counted, before that (0.5)\n"
    "  --requests N     instead of --seconds and --warmup: ends after N requests\n"
    "  --rate R         open loop: R requests a second are due, whatever the server does;\n"
    "                   a latency counts from the time a request was due\n"
    "  --fixed          with --rate: evenly spaced; otherwise a Poisson process\n"
    "  --seed N         of keys and times (1)\n"
    "  --json           prints one JSON object\n";

enum option_code {
    OPTION_CONNECT = 1,
    OPTION_RESP,
    OPTION_HTTP,
    OPTION_CONNECTIONS,
    OPTION_PIPELINE,
    OPTION_KEYS,
    OPTION_SECONDS,
    OPTION_WARMUP,
    OPTION_REQUESTS,
    OPTION_RATE,
    OPTION_FIXED,
    OPTION_SEED,
    OPTION_JSON,
    OPTION_HELP
};

static const struct option long_options[] = {
    {"connect", required_argument, NULL, OPTION_CONNECT},
    {"resp", required_argument, NULL, OPTION_RESP},
    {"http", required_argument, NULL, OPTION_HTTP},
    {"connections", required_argument, NULL, OPTION_CONNECTIONS},
    {"pipeline", required_argument, NULL, OPTION_PIPELINE},
    {"keys", required_argument, NULL, OPTION_KEYS},
    {"seconds", required_argument, NULL, OPTION_SECONDS},
    {"warmup", required_argument, NULL, OPTION_WARMUP},
    {"requests", required_argument, NULL, OPTION_REQUESTS},
    {"rate", required_argument, NULL, OPTION_RATE},
    {"fixed", no_argument, NULL, OPTION_FIXED},
    {"seed", required_argument, NULL, OPTION_SEED},
    {"json", no_argument, NULL, OPTION_JSON},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

/* An option that is being read, for messages. */
struct reading {
    const char *name;
    const char *text;
    char *why;
    size_t why_size;
};

static bool read_u64(const struct reading *reading, uint64_t least, uint64_t most, uint64_t *out)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(reading->text, &end, 10);
    if (end == reading->text || *end != '\0' || reading->text[0] == '-' || errno != 0 || value < least ||
        value > most) {
        snprintf(reading->why, reading->why_size, "--%s: '%s' is no whole number from %llu to %llu", reading->name,
                 reading->text, (unsigned long long)least, (unsigned long long)most);
        return false;
    }
    *out = value;
    return true;
}

static bool read_unsigned(const struct reading *reading, unsigned most, unsigned *out)
{
    uint64_t value;
    if (!read_u64(reading, 1, most, &value)) {
        return false;
    }
    *out = (unsigned)value;
    return true;
}

static bool read_double(const struct reading *reading, double most, double *out)
{
    char *end;
    double value = strtod(reading->text, &end);
    if (end == reading->text || *end != '\0' || !(value >= 0 && value <= most)) {
        snprintf(reading->why, reading->why_size, "--%s: '%s' is no number from 0 to %g", reading->name, reading->text,
                 most);
        return false;
    }
    *out = value;
    return true;
}

static bool read_ns(const struct reading *reading, uint64_t *out)
{
    double seconds;
    if (!read_double(reading, SECONDS_MAX, &seconds)) {
        return false;
    }
    *out = (uint64_t)(seconds * SECOND_NS);
    return true;
}

static bool set_template(struct load_options *options, enum load_protocol protocol, const char *template)
{
    options->protocol = protocol;
    options->template = template;
    return true;
}

static bool set(struct load_options *options, int option, const struct reading *reading)
{
    switch (option) {
    case OPTION_CONNECT:
        options->address = reading->text;
        return true;
    case OPTION_RESP:
        return set_template(options, LOAD_RESP, reading->text);
    case OPTION_HTTP:
        return set_template(options, LOAD_HTTP, reading->text);
    case OPTION_CONNECTIONS:
        return read_unsigned(reading, LOAD_CONNECTIONS_MAX, &options->connections);
    case OPTION_PIPELINE:
        return read_unsigned(reading, LOAD_PIPELINE_MAX, &options->pipeline);
    case OPTION_KEYS:
        return read_u64(reading, 1, LOAD_KEYS_MAX, &options->keys);
    case OPTION_SECONDS:
        return read_ns(reading, &options->duration_ns);
    case OPTION_WARMUP:
        return read_ns(reading, &options->warmup_ns);
    case OPTION_REQUESTS:
        return read_u64(reading, 1, UINT64_MAX, &options->requests);
    case OPTION_RATE:
        return read_double(reading, RATE_MAX, &options->rate);
    case OPTION_FIXED:
        options->is_fixed = true;
        return true;
    case OPTION_SEED:
        return read_u64(reading, 0, UINT64_MAX, &options->seed);
    default:
        options->is_json = true;
        return true;
    }
}

static enum load_options_result check(const struct load_options *options, int argc, char **argv, char *why,
                                      size_t why_size)
{
    if (optind < argc) {
        snprintf(why, why_size, "'%s' belongs to no option", argv[optind]);
    } else if (options->address == NULL) {
        snprintf(why, why_size, "--connect is missing");
    } else if (options->template == NULL) {
        snprintf(why, why_size, "--resp or --http is missing");
    } else if (options->duration_ns == 0) {
        snprintf(why, why_size, "--seconds: 0 is no time to measure in");
    } else if (options->requests > 0 && options->rate > 0) {
        snprintf(why, why_size, "--requests and --rate exclude each other");
    } else {
        return LOAD_OPTIONS_RUN;
    }
    return LOAD_OPTIONS_WRONG;
}

enum load_options_result load_options_parse(int argc, char **argv, struct load_options *options, char *why,
                                            size_t why_size)
{
    int option, index = 0;
    *options = (struct load_options){
        .connections = 50,
        .pipeline = 1,
        .keys = 1000000,
        .warmup_ns = 500000000,
        .duration_ns = UINT64_C(5000000000),
        .seed = 1,
    };
    opterr = 0;
    optind = 1;
    while ((option = getopt_long(argc, argv, "", long_options, &index)) != -1) {
        if (option == '?') {
            snprintf(why, why_size, "%s: no such option, or it has no value", argv[optind - 1]);
            return LOAD_OPTIONS_WRONG;
        }
        if (option == OPTION_HELP) {
            return LOAD_OPTIONS_HELP;
        }
        struct reading reading = {long_options[index].name, optarg, why, why_size};
        if (!set(options, option, &reading)) {
            return LOAD_OPTIONS_WRONG;
        }
    }
    return check(options, argc, argv, why, why_size);
}
