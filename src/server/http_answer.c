/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http_answer.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "wire/problem.h"

#define DETAIL_SIZE 256u
#define PROBLEM_SIZE 4096u

/* "Date: Sun, 06 Nov 1994 08:49:37 GMT": IMF-fixdate (RFC 9110, section 5.6.7). */
struct date_line {
    time_t second;
    size_t len;
    char text[48];
};

/* Made once a second and thread. */
static const struct date_line *date_line(void)
{
    static _Thread_local struct date_line date;
    static const char days[][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char months[][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    time_t now = time(NULL);
    if (date.second != now || date.len == 0) {
        struct tm tm = {0};
        gmtime_r(&now, &tm);
        int len =
            snprintf(date.text, sizeof date.text, "Date: %s, %02d %s %04d %02d:%02d:%02d GMT\r\n", days[tm.tm_wday],
                     tm.tm_mday, months[tm.tm_mon], (tm.tm_year + 1900) % 10000, tm.tm_hour, tm.tm_min, tm.tm_sec);
        date.second = now;
        date.len = (size_t)len;
    }
    return &date;
}

void mete__answer_begin(struct mete__out *out, uint32_t how, unsigned status)
{
    if (status == 200) {
        mete__out_text(out, "HTTP/1.1 200 OK\r\n");
    } else if (status == 429) {
        mete__out_text(out, "HTTP/1.1 429 Too Many Requests\r\n");
    } else {
        mete__out_text(out, "HTTP/1.1 ");
        mete__out_u64(out, status);
        mete__out_text(out, " ");
        mete__out_text(out, mete__http_reason(status));
        mete__out_text(out, "\r\n");
    }
    const struct date_line *date = date_line();
    mete__out_bytes(out, date->text, date->len);
    if ((how & METE__HOW_CLOSE) != 0) {
        mete__out_text(out, "Connection: close\r\n");
    } else if ((how & METE__HOW_OLD) != 0) {
        mete__out_text(out, "Connection: keep-alive\r\n");
    }
}

/* JSON ends with a newline, for those who see it on a terminal. */
static bool is_json(const char *type)
{
    return type != NULL && (strcmp(type, METE__TYPE_JSON) == 0 || strcmp(type, METE__TYPE_PROBLEM) == 0);
}

void mete__answer_end(struct mete__out *out, uint32_t how, const char *type, const char *body, size_t len)
{
    bool has_newline = len > 0 && is_json(type);
    if (type != NULL) {
        mete__out_text(out, "Content-Type: ");
        mete__out_text(out, type);
        mete__out_text(out, "\r\n");
    }
    if ((how & METE__HOW_CACHED) == 0) {
        mete__out_text(out, "Cache-Control: no-store\r\n");
    }
    mete__out_text(out, "Content-Length: ");
    mete__out_u64(out, len + has_newline);
    mete__out_text(out, "\r\n\r\n");
    if ((how & METE__HOW_HEAD) == 0 && len > 0) {
        mete__out_bytes(out, body, len);
        mete__out_text(out, has_newline ? "\n" : "");
    }
}

void mete__answer(struct mete__out *out, uint32_t how, unsigned status, const char *type, const char *body, size_t len)
{
    mete__answer_begin(out, how, status);
    mete__answer_end(out, how, type, body, len);
}

void mete__answer_problem(struct mete__out *out, uint32_t how, unsigned status, const char *fields, const char *format,
                          ...)
{
    char detail[DETAIL_SIZE];
    char bytes[PROBLEM_SIZE];
    struct mete__out body = mete__out_on(bytes, sizeof bytes);
    va_list args;
    va_start(args, format);
    int len = vsnprintf(detail, sizeof detail, format, args);
    va_end(args);
    size_t detail_len = len < 0 ? 0 : (size_t)len < sizeof detail ? (size_t)len : sizeof detail - 1;
    const struct mete__problem problem = {.status = status, .detail = {detail, detail_len}};
    mete__problem_write(&body, &problem);
    mete__answer_begin(out, how, status);
    mete__out_text(out, fields);
    mete__answer_end(out, how, METE__TYPE_PROBLEM, body.bytes, body.len);
}
