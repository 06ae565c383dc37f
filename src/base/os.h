/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of the operating system, and nowhere else asked: randomness,
 * the identity of this boot, memory and files. */
#ifndef METE_BASE_OS_H
#define METE_BASE_OS_H

#include <mete/mete.h>

#include "base/why.h"

/* Fills from the system's generator. */
mete_status mete__os_random(void *bytes, size_t len);

/* A number that is the same until the machine boots again; never 0. */
uint64_t mete__os_boot_id(void);

/* Zeroed private memory aligned to `align` (a power of two, at least a page). */
mete_status mete__os_map_private(size_t bytes, size_t align, void **out);
void mete__os_unmap(void *at, size_t bytes);

/* Memory that can be had without swapping, as the system estimates; UINT64_MAX: unknown. */
uint64_t mete__os_memory_available(void);

/* Asks for huge pages; advice only. */
void mete__os_want_huge_pages(void *at, size_t bytes);

/* Makes the pages of at..at+bytes present now. */
void mete__os_prefault(void *at, size_t bytes);

struct mete__os_file {
    int fd;
    uint64_t bytes;
};

/*
 * Opens path, which must be a regular file.  *is_absent is true, and the
 * status METE_OK, when there is none.  METE_EIO otherwise, with the reason.
 */
mete_status mete__os_file_open(const char *path, struct mete__os_file *file, bool *is_absent,
                               const struct mete__why *why);

/*
 * Makes the file at path appear at once and whole: mode 0600, `bytes` long with
 * its blocks reserved, beginning with head.  METE_OK also when another process
 * was first; then its file stands.  METE_EIO: nothing is left behind.
 */
mete_status mete__os_file_publish(const char *path, uint64_t bytes, const void *head, size_t head_len,
                                  const struct mete__why *why);

/* Calls back with the rest of each name that begins with path, in no order. */
void mete__os_files_beginning(const char *path, void (*found)(void *context, const char *rest), void *context);

/* Reads exactly len bytes from the start; false when the file is shorter or unreadable. */
bool mete__os_file_read_head(const struct mete__os_file *file, void *head, size_t len);

/* Maps the file shared; align as above. */
mete_status mete__os_map_file(const struct mete__os_file *file, size_t align, void **out, const struct mete__why *why);
void mete__os_file_close(struct mete__os_file *file);

/* Calls back in every forked child, from then on. */
void mete__os_on_fork(void (*in_child)(void));

#endif
