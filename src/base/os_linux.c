/* SPDX-License-Identifier: Apache-2.0 */
/* base/os.h on Linux (and, but for the advice calls, any POSIX system). */
#define _GNU_SOURCE /* mkostemp, madvise */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/os.h"

mete_status mete__os_random(void *bytes, size_t len)
{
    unsigned char *at = bytes;
    while (len > 0) {
        ssize_t got = getrandom(at, len, 0);
        if (got < 0 && errno != EINTR) {
            return METE_EIO;
        }
        if (got > 0) {
            at += got;
            len -= (size_t)got;
        }
    }
    return METE_OK;
}

static size_t read_small(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = 0;
    if (fd >= 0) {
        len = read(fd, text, size);
        close(fd);
    }
    return len > 0 ? (size_t)len : 0;
}

uint64_t mete__os_boot_id(void)
{
    char text[256];
    size_t len = read_small("/proc/sys/kernel/random/boot_id", text, 64);
    if (len == 0) {
        return 1; /* unknown: one boot for ever; the wall clock is then not asked */
    }
    /* In another time namespace CLOCK_MONOTONIC is another clock. */
    len += read_small("/proc/self/timens_offsets", text + len, sizeof text - len);
    uint64_t id = mete__hash_check(text, len);
    return id != 0 ? id : 1;
}

/* Maps with room to spare, then gives back what is before and after. */
static mete_status map_aligned(size_t bytes, size_t align, int fd, void **out)
{
    size_t room = bytes + align;
    if (room < bytes) {
        return METE_ENOMEM;
    }
    unsigned char *at = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) {
        return METE_ENOMEM;
    }
    unsigned char *start = at + (align - (uintptr_t)at % align) % align;
    int flags = (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED) | MAP_FIXED;
    void *mapped = mmap(start, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (mapped == MAP_FAILED) {
        munmap(at, room);
        return METE_ENOMEM;
    }
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *end = start + (bytes + page - 1) / page * page;
    if (start > at) {
        munmap(at, (size_t)(start - at));
    }
    if (at + room > end) {
        munmap(end, (size_t)(at + room - end));
    }
    *out = start;
    return METE_OK;
}

mete_status mete__os_map_private(size_t bytes, size_t align, void **out)
{
    return map_aligned(bytes, align, -1, out);
}

void mete__os_unmap(void *at, size_t bytes)
{
    munmap(at, bytes);
}

uint64_t mete__os_memory_available(void)
{
    char text[4096];
    size_t len = read_small("/proc/meminfo", text, sizeof text - 1);
    text[len] = 0;
    const char *line = strstr(text, "MemAvailable:");
    return line != NULL ? strtoull(line + strlen("MemAvailable:"), NULL, 10) * 1024 : UINT64_MAX;
}

void mete__os_want_huge_pages(void *at, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    madvise(at, bytes, MADV_HUGEPAGE);
#else
    (void)at;
    (void)bytes;
#endif
}

void mete__os_prefault(void *at, size_t bytes)
{
#ifdef MADV_POPULATE_WRITE
    if (madvise(at, bytes, MADV_POPULATE_WRITE) == 0) {
        return;
    }
#endif
    volatile unsigned char *byte = at; /* private and still all zero: writing zeros changes nothing */
    for (size_t i = 0; i < bytes; i += 4096) {
        byte[i] = 0;
    }
}

/* A file that comes and goes between two calls this often is not one of ours. */
#define OPEN_TRIES 100u

mete_status mete__os_file_open(const char *path, struct mete__os_file *file, bool *is_absent,
                               const struct mete__why *why)
{
    struct stat info;
    *is_absent = false;
    file->fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    for (unsigned i = 0; file->fd < 0 && errno == ENOENT && i < OPEN_TRIES; i++) {
        /* Absent; or a link to nothing; or another process has made it in between: then once more. */
        *is_absent = lstat(path, &info) != 0;
        if (*is_absent || S_ISLNK(info.st_mode)) {
            errno = ENOENT;
            break;
        }
        file->fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    }
    if (file->fd < 0) {
        return *is_absent ? METE_OK : mete__fail(why, METE_EIO, "path: cannot open '%s': %s", path, strerror(errno));
    }
    if (fstat(file->fd, &info) != 0 || !S_ISREG(info.st_mode)) {
        mete__os_file_close(file);
        return mete__fail(why, METE_EIO, "path: '%s' is not a regular file", path);
    }
    file->bytes = (uint64_t)info.st_size;
    return METE_OK;
}

void mete__os_file_close(struct mete__os_file *file)
{
    if (file->fd >= 0) {
        close(file->fd);
        file->fd = -1;
    }
}

/* The folder of path, as a string in `folder`; the length of what precedes the name. */
static size_t folder_of(const char *path, char *folder)
{
    const char *slash = strrchr(path, '/');
    size_t len = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
    memcpy(folder, path, len);
    strcpy(folder + len, len == 0 ? "." : "");
    return slash == NULL ? 0 : (size_t)(slash - path) + 1;
}

void mete__os_files_beginning(const char *path, void (*found)(void *context, const char *rest), void *context)
{
    char *folder = malloc(strlen(path) + 2);
    if (folder == NULL) {
        return;
    }
    const char *name = path + folder_of(path, folder);
    DIR *entries = opendir(folder);
    for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        if (strncmp(entry->d_name, name, strlen(name)) == 0) {
            found(context, entry->d_name + strlen(name));
        }
    }
    if (entries != NULL) {
        closedir(entries);
    }
    free(folder);
}

static bool write_head(int fd, const unsigned char *head, size_t len)
{
    for (size_t done = 0; done < len;) {
        ssize_t put = pwrite(fd, head + done, len - done, (off_t)done);
        if (put < 0 && errno != EINTR) {
            return false;
        }
        done += put > 0 ? (size_t)put : 0;
    }
    return true;
}

/*
 * A file that has no name yet, so that nothing remains of it when we are killed;
 * where the file system cannot do that, one under a temporary name.  name is
 * room for strlen(path) + 8 bytes, and empty when there is no name.
 */
static int open_unnamed(const char *path, char *name)
{
    folder_of(path, name);
#ifdef O_TMPFILE
    int fd = open(name, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0) {
        name[0] = 0;
        return fd;
    }
#endif
    strcpy(name, path);
    strcat(name, ".XXXXXX");
    return mkostemp(name, O_CLOEXEC);
}

/* False unless the file now stands at path, ours or another's. */
static bool give_name(int fd, const char *name, const char *path)
{
    char source[64];
    if (name[0] != 0) {
        return link(name, path) == 0 || errno == EEXIST;
    }
    snprintf(source, sizeof source, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, source, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0 || errno == EEXIST;
}

mete_status mete__os_file_publish(const char *path, uint64_t bytes, const void *head, size_t head_len,
                                  const struct mete__why *why)
{
    mete_status status = METE_OK;
    char *name = malloc(strlen(path) + sizeof ".XXXXXX" + 1);
    if (name == NULL) {
        return mete__fail(why, METE_ENOMEM, "no memory");
    }
    int fd = open_unnamed(path, name);
    if (fd < 0) {
        status = mete__fail(why, METE_EIO, "path: cannot create '%s': %s", path, strerror(errno));
        free(name);
        return status;
    }
    int failure = posix_fallocate(fd, 0, (off_t)bytes);
    if (failure != 0) {
        status = mete__fail(why, METE_EIO, "path: cannot reserve %llu bytes for '%s': %s", (unsigned long long)bytes,
                            path, strerror(failure));
    } else if (!write_head(fd, head, head_len) || fsync(fd) != 0) {
        status = mete__fail(why, METE_EIO, "path: cannot write '%s': %s", path, strerror(errno));
    } else if (!give_name(fd, name, path)) {
        status = mete__fail(why, METE_EIO, "path: cannot create '%s': %s", path, strerror(errno));
    }
    if (name[0] != 0) {
        unlink(name);
    }
    close(fd);
    free(name);
    return status;
}

bool mete__os_file_read_head(const struct mete__os_file *file, void *head, size_t len)
{
    unsigned char *at = head;
    for (size_t done = 0; done < len;) {
        ssize_t got = pread(file->fd, at + done, len - done, (off_t)done);
        if (got == 0 || (got < 0 && errno != EINTR)) {
            return false;
        }
        done += got > 0 ? (size_t)got : 0;
    }
    return true;
}

mete_status mete__os_map_file(const struct mete__os_file *file, size_t align, void **out, const struct mete__why *why)
{
    if (file->bytes > SIZE_MAX / 2 || map_aligned((size_t)file->bytes, align, file->fd, out) != METE_OK) {
        return mete__fail(why, METE_EIO, "path: cannot map the file: %s", strerror(errno));
    }
    return METE_OK;
}

void mete__os_on_fork(void (*in_child)(void))
{
    pthread_atfork(NULL, NULL, in_child);
}
