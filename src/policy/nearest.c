/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/nearest.h"

#include <string.h>

#define WORD_MAX 64u /* of longer ones nothing is near */
#define AWAY_MAX 2u

static size_t min(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* How many letters must be changed, added, left out, or swapped with the next one: the restricted
 * distance of Damerau (1964) by rows, of which it needs the last three. */
static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t rows[3][WORD_MAX + 1];
    for (size_t i = 0; i <= a_len; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3], *above_that = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t k = 1; k <= b_len; k++) {
            if (i == 0) {
                row[k] = k;
                continue;
            }
            row[k] = min(above[k - 1] + (a[i - 1] != b[k - 1]), min(above[k], row[k - 1]) + 1);
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1]) {
                row[k] = min(row[k], above_that[k - 2] + 1);
            }
        }
    }
    return rows[a_len % 3][b_len];
}

struct mete__nearest mete__nearest_to(const char *word, size_t word_len)
{
    return (struct mete__nearest){word, word_len, NULL, AWAY_MAX + 1};
}

/* Half of a short name is no likeness. */
void mete__nearest_try(struct mete__nearest *nearest, const char *name)
{
    size_t len = strlen(name);
    if (len > WORD_MAX || nearest->word_len > WORD_MAX) {
        return;
    }
    size_t away = distance(nearest->word, nearest->word_len, name, len);
    if (away < nearest->away && away * 2 <= len) {
        nearest->away = away;
        nearest->found = name;
    }
}
