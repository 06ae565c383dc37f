/* SPDX-License-Identifier: Apache-2.0 */
/* From the name of a time zone to the bytes of its file. */
#define _GNU_SOURCE 1 /* secure_getenv */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "limiter/zone.h"

#define ZONE_FOLDER "/usr/share/zoneinfo"

static bool is_name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || mete__is_digit(c) || c == '_' || c == '+' || c == '-' ||
           c == '.';
}

static bool is_name_part(const struct mete__text *part)
{
    for (const char *at = part->at; at < part->end; at++) {
        if (!is_name_byte(*at)) {
            return false;
        }
    }
    return !mete__text_is_empty(part) && part->at[0] != '.';
}

/* No part is empty or starts with a dot, so that the path stays inside the folder. */
bool mete__zone_is_name(const char *name)
{
    size_t len = strnlen(name, METE_TIME_ZONE_SIZE);
    if (len == METE_TIME_ZONE_SIZE) {
        return false;
    }
    struct mete__text text = mete__text_of(name, len);
    do {
        struct mete__text part = mete__text_until(&text, '/');
        if (!is_name_part(&part)) {
            return false;
        }
    } while (mete__text_eat(&text, '/'));
    return true;
}

static mete_status open_status(int error)
{
    switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
    case ENAMETOOLONG:
        return METE_EINVAL;
    case ENOMEM:
        return METE_ENOMEM;
    default:
        return METE_EIO;
    }
}

/* Opens a regular file of the folder; never waits, whatever lies there. */
static mete_status open_file(const char *name, int *out)
{
    const char *folder = secure_getenv("TZDIR");
    int folder_fd =
        open(folder != NULL && folder[0] != '\0' ? folder : ZONE_FOLDER, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder_fd < 0) {
        return open_status(errno);
    }
    int fd = openat(folder_fd, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    mete_status status = fd < 0 ? open_status(errno) : METE_OK;
    close(folder_fd);
    struct stat info;
    if (fd >= 0 && (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))) {
        close(fd);
        return METE_EINVAL;
    }
    *out = fd;
    return status;
}

/* Reads up to size bytes; -1 when the system refuses. */
static ssize_t read_all(int fd, char *bytes, size_t size)
{
    size_t len = 0;
    while (len < size) {
        ssize_t got = read(fd, bytes + len, size - len);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return -1;
        }
        if (got == 0) {
            break;
        }
        len += (size_t)got;
    }
    return (ssize_t)len;
}

mete_status mete__zone_open(const char *name, struct mete__zone **out)
{
    if (name[0] == '\0' || strcmp(name, "UTC") == 0) {
        return mete__zone_create_utc(out);
    }
    if (!mete__zone_is_name(name)) {
        return METE_EINVAL;
    }
    int fd = -1;
    mete_status status = open_file(name, &fd);
    if (status != METE_OK) {
        return status;
    }
    char *bytes = malloc(METE__ZONE_FILE_SIZE_MAX + 1);
    if (bytes == NULL) {
        status = METE_ENOMEM;
        goto out;
    }
    ssize_t len = read_all(fd, bytes, METE__ZONE_FILE_SIZE_MAX + 1);
    status = len < 0 ? METE_EIO : mete__zone_parse(bytes, (size_t)len, out);
out:
    free(bytes);
    close(fd);
    return status;
}
