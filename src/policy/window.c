/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/window.h"

#include "base/arith.h"

#define NS_PER_S 1000000000u
#define HOUR_S 3600u
#define DAY_S 86400u

uint64_t mete__calendar_longest_s(enum mete_alignment unit)
{
    /* Minutes and hours begin anew when clocks are put back. */
    static const uint64_t longest_s[] = {[METE_ALIGN_MINUTE] = 60,
                                         [METE_ALIGN_HOUR] = HOUR_S,
                                         [METE_ALIGN_DAY] = DAY_S + HOUR_S,
                                         [METE_ALIGN_WEEK] = 7 * DAY_S + HOUR_S,
                                         [METE_ALIGN_MONTH] = 31 * DAY_S + HOUR_S,
                                         [METE_ALIGN_YEAR] = 366 * DAY_S + HOUR_S};
    return unit < sizeof longest_s / sizeof longest_s[0] ? longest_s[unit] : 0;
}

uint64_t mete__limit_window_s(const struct mete_limit *limit, uint64_t capacity)
{
    if (limit->period_ns == 0) {
        return mete__calendar_longest_s(limit->alignment);
    }
    if (capacity == limit->count) {
        return mete__div_ceil_u64(limit->period_ns, NS_PER_S);
    }
    unsigned __int128 rate = (unsigned __int128)limit->count * NS_PER_S;
    unsigned __int128 window = ((unsigned __int128)capacity * limit->period_ns + rate - 1) / rate;
    return window > UINT64_MAX ? UINT64_MAX : (uint64_t)window;
}
