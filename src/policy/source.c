/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- looking at the bytes ----------------------------------------------------- */

struct scan {
    const unsigned char *at;
    const unsigned char *end;
    struct mete__place place;
    bool is_indent;      /* only blanks so far in this line */
    unsigned tab_column; /* the first tab among them; 0: none */
};

/*
 * Takes one character, by the table of well-formed sequences of Unicode 3.9
 * (the same as RFC 3629, section 4).  False when the bytes are not UTF-8.
 */
static bool take_character(struct scan *scan, uint32_t *out)
{
    static const struct {
        unsigned char first_min, first_max, second_min, second_max, len;
    } forms[] = {
        {0x00, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    unsigned first = *scan->at;
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        if (first < forms[i].first_min || first > forms[i].first_max) {
            continue;
        }
        size_t len = forms[i].len;
        if ((size_t)(scan->end - scan->at) < len ||
            (len > 1 && (scan->at[1] < forms[i].second_min || scan->at[1] > forms[i].second_max))) {
            return false;
        }
        uint32_t value = len == 1 ? first : first & (0x7fu >> len);
        for (size_t k = 1; k < len; k++) {
            if ((scan->at[k] & 0xc0) != 0x80) {
                return false;
            }
            value = value << 6 | (scan->at[k] & 0x3fu);
        }
        scan->at += len;
        *out = value;
        return true;
    }
    return false;
}

/* What YAML 1.2, section 5.1, does not let in. */
static bool is_printable(uint32_t c)
{
    return c == '\t' || c == '\n' || c == '\r' || (c >= 0x20 && c < 0x7f) || c == 0x85 ||
           (c >= 0xa0 && c != 0xfeff && c != 0xfffe && c != 0xffff);
}

static void advance(struct scan *scan, uint32_t c)
{
    bool is_break = c == '\n' || (c == '\r' && (scan->at == scan->end || *scan->at != '\n'));
    if (is_break) {
        scan->place.line++;
        scan->place.column = 1;
        scan->is_indent = true;
        scan->tab_column = 0;
        return;
    }
    scan->place.column++;
}

/* A tab before the first word of a line looks like an indentation, but is none. */
static bool is_tab_indent(struct scan *scan, uint32_t c)
{
    if (!scan->is_indent || c == ' ' || c == '\r' || c == '\n') {
        return false;
    }
    if (c == '\t') {
        scan->tab_column = scan->tab_column == 0 ? scan->place.column : scan->tab_column;
        return false;
    }
    scan->is_indent = false;
    return scan->tab_column != 0 && c != '#';
}

bool mete__source_check(const char *text, size_t len, struct mete__faults *faults)
{
    if (len > METE__FILE_BYTES_MAX) {
        mete__faults_add(faults, (struct mete__place){0, 0}, "the file is larger than %zu bytes", METE__FILE_BYTES_MAX);
        return false;
    }
    const unsigned char *start = (const unsigned char *)text;
    struct scan scan = {start, start + len, {1, 1}, true, 0};
    while (scan.at < scan.end) {
        uint32_t c = 0;
        unsigned first = *scan.at;
        if (!take_character(&scan, &c)) {
            mete__faults_add(faults, scan.place, "not UTF-8: the byte 0x%02x does not belong here", first);
            return false;
        }
        if (!is_printable(c)) {
            mete__faults_add(faults, scan.place, "the character U+%04X may not stand in a configuration", (unsigned)c);
            return false;
        }
        if (is_tab_indent(&scan, c)) {
            struct mete__place place = {scan.place.line, scan.tab_column};
            mete__faults_add(faults, place, "a tab cannot indent; use spaces");
            return false;
        }
        advance(&scan, c);
    }
    return true;
}

/* --- reading ------------------------------------------------------------------ */

static mete_status refuse(char sentence[METE__SENTENCE_SIZE], const char *what)
{
    int error = errno;
    snprintf(sentence, METE__SENTENCE_SIZE, "cannot be %s: %s", what, strerror(error));
    return METE_EIO;
}

/* As many bytes as there are, up to size. */
static bool read_all(int fd, char *bytes, size_t size, size_t *len)
{
    *len = 0;
    while (*len < size) {
        ssize_t got = read(fd, bytes + *len, size - *len);
        if (got < 0 && errno != EINTR) {
            return false;
        }
        if (got == 0) {
            break;
        }
        *len += got > 0 ? (size_t)got : 0;
    }
    return true;
}

static mete_status read_open(int fd, size_t bytes_max, struct mete__arena *arena, char **out, size_t *len,
                             char sentence[METE__SENTENCE_SIZE])
{
    struct stat facts;
    if (fstat(fd, &facts) != 0) {
        return refuse(sentence, "read");
    }
    if (!S_ISREG(facts.st_mode)) {
        snprintf(sentence, METE__SENTENCE_SIZE, "is not a regular file");
        return METE_EINVAL;
    }
    if (facts.st_size < 0 || (uint64_t)facts.st_size > bytes_max) {
        snprintf(sentence, METE__SENTENCE_SIZE, "the file is larger than %zu bytes", bytes_max);
        return METE_EINVAL;
    }
    /* What is appended meanwhile is left for the next reading. */
    size_t size = (size_t)facts.st_size;
    char *bytes = mete__arena_take(arena, size + 1);
    if (bytes == NULL) {
        snprintf(sentence, METE__SENTENCE_SIZE, "no memory to read it");
        return METE_ENOMEM;
    }
    if (!read_all(fd, bytes, size, len)) {
        return refuse(sentence, "read");
    }
    *out = bytes;
    return METE_OK;
}

mete_status mete__source_read(const char *path, size_t bytes_max, struct mete__arena *arena, char **out, size_t *len,
                              char sentence[METE__SENTENCE_SIZE])
{
    /* Not to wait for the writer of a pipe that was named by mistake. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        return refuse(sentence, "opened");
    }
    mete_status status = read_open(fd, bytes_max, arena, out, len, sentence);
    close(fd);
    return status;
}
