/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of configurations share. */
#ifndef METE_TESTS_POLICY_POLICY_H
#define METE_TESTS_POLICY_POLICY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "policy/load.h"

/* Policies that are right, for texts about something else. */
#define POLICIES "policies: {a: {limits: {b: 5/s}}}\n"

static char why[METE__CONFIG_WHY_SIZE];

/* The configuration of a text that is right. */
static inline struct mete__config *load(const char *text)
{
    struct mete__config *config = NULL;
    mete_status status = mete__config_parse("f", text, strlen(text), &config, why, sizeof(why));
    if (status != METE_OK) {
        print_error("%s\n%s\n", text, why);
    }
    assert_int_equal(status, METE_OK);
    assert_string_equal(why, "");
    return config;
}

/* The text is refused with exactly these sentences. */
static inline void refuse(const char *text, const char *sentences)
{
    struct mete__config *config = NULL;
    mete_status status = mete__config_parse("f", text, strlen(text), &config, why, sizeof(why));
    if (status != METE_EINVAL || strcmp(why, sentences) != 0) {
        print_error("%s\n", text);
    }
    assert_string_equal(why, sentences);
    assert_int_equal(status, METE_EINVAL);
    assert_null(config);
}

#endif
