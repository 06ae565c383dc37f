/* SPDX-License-Identifier: Apache-2.0 */
/* Whole-number arithmetic whose rounding is in its name.  No floating point. */
#ifndef METE_BASE_ARITH_H
#define METE_BASE_ARITH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/inline.h"

typedef unsigned __int128 mete__u128;

static inline uint64_t mete__min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t mete__max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* a - b, not below 0. */
static inline uint64_t mete__sub_floor0_u64(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static inline uint64_t mete__mulhi_u64(uint64_t a, uint64_t b)
{
    return (uint64_t)(((mete__u128)a * b) >> 64);
}

static inline uint64_t mete__div_ceil_u64(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

/* a * b / c; the quotient must fit 64 bits. */
static inline uint64_t mete__muldiv_floor_u64(uint64_t a, uint64_t b, uint64_t c)
{
    return (uint64_t)((mete__u128)a * b / c);
}

static inline uint64_t mete__muldiv_ceil_u64(uint64_t a, uint64_t b, uint64_t c)
{
    return (uint64_t)(((mete__u128)a * b + (c - 1)) / c);
}

/* Bits needed to write x; 0 for 0. */
static inline unsigned mete__bits_u64(uint64_t x)
{
    return x == 0 ? 0 : 64 - (unsigned)__builtin_clzll(x);
}

static inline uint64_t mete__gcd_u64(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/*
 * Division by a number known beforehand, as one multiplication: with
 * r = floor((2^64 - 1) / d), floor(x * r / 2^64) is the quotient or one less,
 * since x / d - x * r / 2^64 <= x / 2^64 < 1.
 */
static inline uint64_t mete__recip_u64(uint64_t divisor)
{
    return UINT64_MAX / divisor;
}

static inline uint64_t mete__div_floor_recip_u64(uint64_t x, uint64_t divisor, uint64_t recip)
{
    uint64_t quotient = mete__mulhi_u64(x, recip);
    return quotient + (x - quotient * divisor >= divisor);
}

#endif
