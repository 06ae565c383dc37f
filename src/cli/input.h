/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of a file or of standard input, unpacked when they are gzip (of any
 * number of members).  gzip is known by its first two bytes, not by a name.
 */
#ifndef METE_CLI_INPUT_H
#define METE_CLI_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <zlib.h>

/* Bytes read from the system at once: few system calls, and still in cache when
 * they are parsed. */
#define METE__INPUT_BLOCK ((size_t)256 * 1024)

#define METE__INPUT_ERROR_SIZE 160

struct mete__input {
    const char *name; /* as given; "-" is standard input */
    int fd;
    uint64_t bytes_in; /* read so far, before unpacking */
    uint64_t size;     /* of a regular file; 0 when it is not known */
    bool gzip;
    bool in_member; /* a gzip member has begun and has not ended */
    bool end;       /* the system has no more bytes */
    z_stream stream;
    unsigned char *block; /* bytes read ahead: block[block_at..block_len-1] */
    size_t block_at;
    size_t block_len;
    char error[METE__INPUT_ERROR_SIZE]; /* "" or what went wrong, without the name */
};

/* Looks at a file without reading: it is there, may be read and is no directory.
 * False: error says why.  *size as in struct mete__input. */
bool mete__input_check(const char *name, uint64_t *size, char error[METE__INPUT_ERROR_SIZE]);

/* Opens name.  False: error says why, and nothing is left to close. */
bool mete__input_open(struct mete__input *input, const char *name);
void mete__input_close(struct mete__input *input);

/* Reads up to size bytes.  0 at the end, or when error is not "". */
size_t mete__input_read(struct mete__input *input, char *bytes, size_t size);

#endif
