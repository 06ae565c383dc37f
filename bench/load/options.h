/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of the load client. */
#ifndef METE_BENCH_LOAD_OPTIONS_H
#define METE_BENCH_LOAD_OPTIONS_H

#include "bench/load/load.h"

enum load_options_result { LOAD_OPTIONS_RUN, LOAD_OPTIONS_HELP, LOAD_OPTIONS_WRONG };

/* WRONG: a sentence that names the option. */
enum load_options_result load_options_parse(int argc, char **argv, struct load_options *options, char *why,
                                            size_t why_size);

extern const char load_options_help[];

#endif
