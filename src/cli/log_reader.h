/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One reader for all log formats: it finds the format and the fields from the
 * first bytes of a file, then turns lines into records.
 */
#ifndef METE_CLI_LOG_READER_H
#define METE_CLI_LOG_READER_H

#include "base/why.h"
#include "cli/log_clf.h"
#include "cli/log_csv.h"
#include "cli/log_json.h"

enum mete__format {
    METE__FORMAT_AUTO, /* not known yet; after opening: the file is empty */
    METE__FORMAT_COMMON,
    METE__FORMAT_COMBINED,
    METE__FORMAT_JSON,
    METE__FORMAT_CSV,
    METE__FORMAT_TSV,
    METE__FORMATS
};

/* As --key: all requests share one key. */
#define METE__KEY_SHARED "-"

/* The longest field name that is found by itself. */
#define METE__FIELD_NAME_SIZE 64

/* What the command line asks for; NULL or AUTO: find it. */
struct mete__log_wish {
    enum mete__format format;
    const char *key;
    const char *time;
    const char *cost;
};

struct mete__reader {
    enum mete__format format;
    bool header;                          /* the first line that is not empty is a header */
    bool shared_key;                      /* one key for all, */
    bool key_missing;                     /* and nobody asked for it: no field has the name of a key */
    char key_name[METE__FIELD_NAME_SIZE]; /* the fields in use; "" for none */
    char time_name[METE__FIELD_NAME_SIZE];
    union {
        struct mete__clf clf;
        struct mete__json json;
        struct mete__csv csv;
    } as;
};

enum mete__reader_result {
    METE__READER_OK,
    METE__READER_BAD_INPUT, /* the file does not tell enough */
    METE__READER_BAD_WISH   /* an option names a field that is not there */
};

/*
 * sample: the first bytes of the file.  scratch: memory as large as the longest
 * line; it and the wish's texts must outlive the reader.  On failure why has a
 * sentence.
 */
enum mete__reader_result mete__reader_open(struct mete__reader *reader, const struct mete__log_wish *wish,
                                           struct mete__text sample, char *scratch, size_t scratch_size,
                                           const struct mete__why *why);
void mete__reader_close(struct mete__reader *reader);

/* Reads one line; not for the header, and not before the format is known. */
enum mete__reason mete__reader_read(struct mete__reader *reader, struct mete__text line, struct mete__record *out);

/* The option of the wish that names a field which no line read so far had, so
 * that all were skipped; NULL when there is none.  Only JSON lines have one:
 * for the other formats mete__reader_open has looked. */
const char *mete__reader_absent_option(const struct mete__reader *reader, const struct mete__log_wish *wish,
                                       const char **name);

const char *mete__format_name(enum mete__format format);
bool mete__format_find(const char *name, enum mete__format *out);

/* Takes the next line of a text, without its line end; false when there is none. */
bool mete__text_take_line(struct mete__text *text, struct mete__text *line);

/* True for a line of nothing but its line end. */
static inline bool mete__line_is_empty(struct mete__text line)
{
    return mete__text_is_empty(&line);
}

#endif
