/* SPDX-License-Identifier: Apache-2.0 */
/* What the first bytes of a log tell: its format, and the names of its fields. */
#ifndef METE_CLI_LOG_SNIFF_H
#define METE_CLI_LOG_SNIFF_H

#include "cli/log_reader.h"

/* So many lines are looked at: a log may begin with what was cut off. */
#define METE__SNIFF_LINES 100

/* The first line that is not empty; false when there is none. */
bool mete__sniff_first_line(struct mete__text sample, struct mete__text *line);

/* Finds the format; false when the sample does not tell. */
bool mete__sniff(struct mete__text sample, enum mete__format *format);

/* The first of names that a member of the first objects has, as it is written there. */
bool mete__sniff_json_name(struct mete__text sample, const char *const *names, char found[METE__FIELD_NAME_SIZE]);

/* The place of a name in a header, compared exactly. */
bool mete__sniff_column(struct mete__text header, char separator, const char *name, size_t *column);

/* The first of names that the header has, as it is written there, and its place. */
bool mete__sniff_column_of(struct mete__text header, char separator, const char *const *names,
                           char found[METE__FIELD_NAME_SIZE], size_t *column);

/* Writes bytes from outside so that a terminal can show them: printable ASCII
 * as it is, '\' as "\\", all else as "\xHH".  What does not fit is replaced by
 * "..." at the end.  Returns the length; size is at least 8. */
size_t mete__escape(struct mete__text bytes, char *text, size_t size);

#endif
