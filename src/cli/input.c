/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and unpacking; input.h says what. */
#include "cli/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* For zlib: the largest window, and a gzip header is expected. */
#define GZIP_WINDOW_BITS (15 + 16)

static bool look_for_gzip(struct mete__input *input);
static size_t read_plain(struct mete__input *input, char *bytes, size_t size);
static size_t read_gzip(struct mete__input *input, char *bytes, size_t size);

size_t mete__input_read(struct mete__input *input, char *bytes, size_t size)
{
    if (input->error[0] != '\0') {
        return 0;
    }
    return input->gzip ? read_gzip(input, bytes, size) : read_plain(input, bytes, size);
}

bool mete__input_check(const char *name, uint64_t *size, char error[METE__INPUT_ERROR_SIZE])
{
    struct stat stat_of;
    if (stat(name, &stat_of) != 0 || access(name, R_OK) != 0) {
        snprintf(error, METE__INPUT_ERROR_SIZE, "%s", strerror(errno));
        return false;
    }
    if (S_ISDIR(stat_of.st_mode)) {
        snprintf(error, METE__INPUT_ERROR_SIZE, "it is a directory, not a file");
        return false;
    }
    *size = S_ISREG(stat_of.st_mode) && stat_of.st_size > 0 ? (uint64_t)stat_of.st_size : 0;
    return true;
}

bool mete__input_open(struct mete__input *input, const char *name)
{
    *input = (struct mete__input){.name = name, .fd = STDIN_FILENO};
    if (strcmp(name, "-") != 0) {
        if (!mete__input_check(name, &input->size, input->error)) {
            return false;
        }
        input->fd = open(name, O_RDONLY | O_CLOEXEC);
    }
    if (input->fd < 0) {
        snprintf(input->error, sizeof(input->error), "%s", strerror(errno));
        return false;
    }
    input->block = malloc(METE__INPUT_BLOCK);
    if (input->block == NULL) {
        snprintf(input->error, sizeof(input->error), "no memory");
    }
    if (input->block == NULL || !look_for_gzip(input)) {
        mete__input_close(input);
        return false;
    }
    return true;
}

void mete__input_close(struct mete__input *input)
{
    if (input->gzip) {
        inflateEnd(&input->stream);
        input->gzip = false;
    }
    free(input->block);
    input->block = NULL;
    if (input->fd > STDIN_FILENO) {
        close(input->fd);
    }
    input->fd = -1;
}

/* One read of the system; 0 at the end and on an error. */
static size_t read_system(struct mete__input *input, void *bytes, size_t size)
{
    ssize_t got;
    do {
        got = read(input->fd, bytes, size);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        snprintf(input->error, sizeof(input->error), "cannot be read: %s", strerror(errno));
    }
    input->end = got <= 0;
    input->bytes_in += got > 0 ? (uint64_t)got : 0;
    return got > 0 ? (size_t)got : 0;
}

/* Reads the first two bytes, and what comes with them, into the block. */
static bool look_for_gzip(struct mete__input *input)
{
    while (input->block_len < 2 && !input->end) {
        input->block_len += read_system(input, input->block + input->block_len, METE__INPUT_BLOCK - input->block_len);
    }
    if (input->error[0] != '\0') {
        return false;
    }
    if (input->block_len < 2 || input->block[0] != 0x1f || input->block[1] != 0x8b) {
        return true;
    }
    if (inflateInit2(&input->stream, GZIP_WINDOW_BITS) != Z_OK) {
        snprintf(input->error, sizeof(input->error), "no memory");
        return false;
    }
    input->gzip = true;
    return true;
}

static size_t read_plain(struct mete__input *input, char *bytes, size_t size)
{
    size_t ahead = input->block_len - input->block_at;
    if (ahead == 0) {
        return input->end ? 0 : read_system(input, bytes, size);
    }
    size_t n = ahead < size ? ahead : size;
    memcpy(bytes, input->block + input->block_at, n);
    input->block_at += n;
    return n;
}

/* --- gzip --------------------------------------------------------------- */

/* Makes sure that packed bytes are ahead; false at the end. */
static bool fill_block(struct mete__input *input)
{
    if (input->block_at < input->block_len) {
        return true;
    }
    if (input->end) {
        return false;
    }
    input->block_at = 0;
    input->block_len = read_system(input, input->block, METE__INPUT_BLOCK);
    return input->block_len > 0;
}

/* Goes to the next member; zero bytes between and after members are padding.
 * False when there is none. */
static bool next_member(struct mete__input *input)
{
    while (fill_block(input)) {
        if (input->block[input->block_at] != 0) {
            input->in_member = true;
            return inflateReset(&input->stream) == Z_OK;
        }
        input->block_at++;
    }
    return false;
}

/* Unpacks from the block into bytes; returns how many bytes came out. */
static size_t unpack(struct mete__input *input, char *bytes, size_t size)
{
    z_stream *stream = &input->stream;
    stream->next_in = input->block + input->block_at;
    stream->avail_in = (uInt)(input->block_len - input->block_at);
    stream->next_out = (unsigned char *)bytes;
    stream->avail_out = (uInt)size;
    int result = inflate(stream, Z_NO_FLUSH);
    input->block_at = input->block_len - stream->avail_in;
    if (result == Z_STREAM_END) {
        input->in_member = false;
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
        snprintf(input->error, sizeof(input->error), "the gzip data is damaged: %s",
                 stream->msg != NULL ? stream->msg : "zlib gives no reason");
    }
    return size - stream->avail_out;
}

static size_t read_gzip(struct mete__input *input, char *bytes, size_t size)
{
    size_t out = 0;
    size_t bound = size < UINT32_MAX ? size : UINT32_MAX;
    while (out == 0 && input->error[0] == '\0') {
        if (!input->in_member && !next_member(input)) {
            return 0;
        }
        if (fill_block(input)) {
            out = unpack(input, bytes, bound);
        } else if (input->error[0] == '\0') {
            snprintf(input->error, sizeof(input->error), "the gzip data is cut short");
        }
    }
    return out;
}
