/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the table of metrics as docs/metrics.md shows it. */
#include <stdio.h>

#include "server/metrics_text.h"

int main(void)
{
    struct mete__metric_row row;
    printf("| metric | type | labels | meaning |\n| --- | --- | --- | --- |\n");
    for (size_t i = 0; mete__metrics_row(i, &row); i++) {
        printf("| `%s` | %s | %s | %s |\n", row.name, row.type, row.labels, row.help);
    }
    return 0;
}
