/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy names that the daemon has ever seen, each with its place, by which
 * counters are indexed.  A name keeps its place over reloads; a policy that went and
 * comes back goes on counting.  Any thread.
 */
#ifndef METE_SERVER_PLACES_H
#define METE_SERVER_PLACES_H

#include <stdint.h>

#include "policy/config.h"

/* Places are 0..METE__PLACES - 1.  The last is shared by all names that found no other, and is called
 * METE__PLACE_OTHER, which is no name that a policy can have. */
#define METE__PLACES METE__POLICIES_MAX
#define METE__PLACE_OTHER "(other)"

/* The place of a policy's name; given to it when it is new.  Takes a lock: keep what you got. */
uint32_t mete__places_of(const char *name);

/* NULL for a place that was not given to a name.  Valid for ever; waits for nobody. */
const char *mete__place_name(uint32_t place);

#endif
