/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For the few functions that a hot decision goes through: a call and its saved
 * registers would cost a tenth of it.  Measured with `mete bench --only hot`.
 */
#ifndef METE_BASE_INLINE_H
#define METE_BASE_INLINE_H

#define METE_INLINE static inline __attribute__((always_inline))

/* For data of the library that only the library reads: no detour over the GOT. */
#define METE_HIDDEN __attribute__((visibility("hidden")))

#endif
