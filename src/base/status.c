/* SPDX-License-Identifier: Apache-2.0 */
/* The statuses and their sentences, in one table. */
#include <mete/mete.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/why.h"

static const struct {
    mete_status status;
    const char *text;
} statuses[] = {
    {METE_OK, "fine"},
    {METE_EINVAL, "an argument is malformed, missing or contradicts another"},
    {METE_ERANGE, "a value is outside what can be represented"},
    {METE_ENOMEM, "no memory"},
    {METE_EFULL, "a bound is reached"},
    {METE_EIO, "the operating system refused a file or a mapping"},
    {METE_ECORRUPT, "the store file is damaged, truncated or foreign"},
    {METE_ETIMEDOUT, "the time allowed for waiting is over"},
    {METE_EUNAVAILABLE, "closed, or cannot be reached now"},
    {METE_ENOTSUP, "this machine, or this kind of limit, cannot do it"},
};

const char *mete_status_text(mete_status status)
{
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        if (statuses[i].status == status) {
            return statuses[i].text;
        }
    }
    return "unknown status";
}

const char *mete_version(void)
{
    return METE_VERSION;
}

mete_status mete__fail(const struct mete__why *why, mete_status status, const char *format, ...)
{
    if (why != NULL && why->text != NULL && why->size > 0) {
        va_list args;
        va_start(args, format);
        vsnprintf(why->text, why->size, format, args);
        va_end(args);
    }
    return status;
}
