/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a file, looked at before they are taken for YAML: size, UTF-8,
 * control characters, tabs.  And reading them, bounded. */
#ifndef METE_POLICY_SOURCE_H
#define METE_POLICY_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

#include <mete/mete.h>

#include "policy/arena.h"
#include "policy/fault.h"

#define METE__FILE_BYTES_MAX ((size_t)1 << 20)

/* False when something is wrong; it is among the faults then. */
bool mete__source_check(const char *text, size_t len, struct mete__faults *faults);

/*
 * Reads a regular file of at most bytes_max bytes into the arena, with a NUL
 * behind it.  METE_EIO (sentence: without the file's name), METE_EINVAL (too
 * large or no regular file), METE_ENOMEM.
 */
mete_status mete__source_read(const char *path, size_t bytes_max, struct mete__arena *arena, char **out, size_t *len,
                              char sentence[METE__SENTENCE_SIZE]);

#endif
