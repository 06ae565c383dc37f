/* SPDX-License-Identifier: Apache-2.0 */
/* mete_load: the client that `make bench-serve` measures servers with. */
#include <stdio.h>
#include <stdlib.h>

#include "bench/load/options.h"

#define EXIT_USAGE 2
#define WHY_SIZE 512u

static const struct {
    const char *name;
    uint64_t part, whole;
} quantiles[] = {
    {"p50", 50, 100}, {"p90", 90, 100}, {"p99", 99, 100}, {"p99.9", 999, 1000}, {"max", 1, 1},
};

#define QUANTILE_COUNT (sizeof(quantiles) / sizeof(quantiles[0]))

static double quantile_us(const struct load_result *result, size_t i)
{
    return (double)load_histogram_quantile(&result->latency_ns, quantiles[i].part, quantiles[i].whole) / 1e3;
}

static double per_second(const struct load_result *result)
{
    return (double)result->counts.replies * 1e9 / (double)result->elapsed_ns;
}

static double cpu_per_request(const struct load_result *result)
{
    return result->counts.replies > 0 ? (double)result->cpu_ns / (double)result->counts.replies : 0;
}

static void print_text(const struct load_result *result)
{
    printf("%.0f requests/s: %llu in %.2f s\n", per_second(result), (unsigned long long)result->counts.replies,
           (double)result->elapsed_ns / 1e9);
    printf("of all replies %llu ok, %llu denied, %llu errors; %llu lost\n",
           (unsigned long long)result->counts.kinds[LOAD_KIND_OK],
           (unsigned long long)result->counts.kinds[LOAD_KIND_DENIED],
           (unsigned long long)result->counts.kinds[LOAD_KIND_ERROR], (unsigned long long)result->lost);
    printf("latency in us:");
    for (size_t i = 0; i < QUANTILE_COUNT; i++) {
        printf(" %s %.1f", quantiles[i].name, quantile_us(result, i));
    }
    printf("\nthis client: %.0f %% of a processor, %.0f ns a request\n",
           (double)result->cpu_ns * 100 / (double)result->elapsed_ns, cpu_per_request(result));
}

static void print_json(const struct load_result *result)
{
    printf("{\"requests_per_s\": %.1f, \"replies\": %llu, \"elapsed_s\": %.6f, ", per_second(result),
           (unsigned long long)result->counts.replies, (double)result->elapsed_ns / 1e9);
    printf("\"ok\": %llu, \"denied\": %llu, \"errors\": %llu, \"lost\": %llu, ",
           (unsigned long long)result->counts.kinds[LOAD_KIND_OK],
           (unsigned long long)result->counts.kinds[LOAD_KIND_DENIED],
           (unsigned long long)result->counts.kinds[LOAD_KIND_ERROR], (unsigned long long)result->lost);
    printf("\"latency_us\": {");
    for (size_t i = 0; i < QUANTILE_COUNT; i++) {
        printf("%s\"%s\": %.3f", i > 0 ? ", " : "", quantiles[i].name, quantile_us(result, i));
    }
    printf("}, \"client_cpu\": %.4f, \"client_ns_per_request\": %.1f}\n",
           (double)result->cpu_ns / (double)result->elapsed_ns, cpu_per_request(result));
}

static int fail(const char *why, int status)
{
    fprintf(stderr, "mete_load: %s\n", why);
    return status;
}

/* Errors among the replies fail the run: a rate of errors is no measurement. */
int main(int argc, char **argv)
{
    static struct load_result result;
    struct load_options options;
    char why[WHY_SIZE];
    switch (load_options_parse(argc, argv, &options, why, sizeof(why))) {
    case LOAD_OPTIONS_HELP:
        fputs(load_options_help, stdout);
        return EXIT_SUCCESS;
    case LOAD_OPTIONS_WRONG:
        return fail(why, EXIT_USAGE);
    case LOAD_OPTIONS_RUN:
        break;
    }
    if (!load_run(&options, &result, why, sizeof(why))) {
        return fail(why, EXIT_FAILURE);
    }
    (options.is_json ? print_json : print_text)(&result);
    if (result.counts.kinds[LOAD_KIND_ERROR] > 0) {
        return fail("the server answered with errors", EXIT_FAILURE);
    }
    return EXIT_SUCCESS;
}
