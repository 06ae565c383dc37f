/* SPDX-License-Identifier: Apache-2.0 */
#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>

void mete__assert_failed(const char *condition, const char *file, int line)
{
    fprintf(stderr, "mete: a programming error: '%s' does not hold at %s:%d\n", condition, file, line);
    abort();
}
