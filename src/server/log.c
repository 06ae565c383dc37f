/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines: made in a buffer of fixed size, written by one call.
 *
 * logfmt: a value stands bare when it is not empty and has only printable
 * characters other than blank, quote, '=' and backslash.  Else it is quoted,
 * and \" \\ \n \r \t \xNN stand for what they stand for in C; \xNN is also each
 * byte that is no UTF-8 (RFC 3629), so every value can be read back.
 * JSON (RFC 8259): control characters are \u00NN; a byte that is no UTF-8 reads
 * as the four characters \xNN, because JSON has nothing for it.
 *
 * No line is longer than METE__LOG_LINE_MAX and no value than METE__LOG_VALUE_MAX
 * as written; a value that was cut ends with "...+N", N being the bytes left out.
 *
 * Whoever reads the log may stop reading or go away.  A daemon must not wait for it
 * or die of it: such lines are counted, and the next line that can be written
 * says lost=N.
 */
#define _GNU_SOURCE /* MSG_NOSIGNAL, sigtimedwait */
#include "server/log.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

/* A pipe that poll(2) calls writable takes this much without waiting, and takes it whole (pipe(7)). */
#define METE__LOG_LINE_MAX 4096u
_Static_assert(METE__LOG_LINE_MAX <= PIPE_BUF, "lines of processes that share a pipe must not mix");

#define METE__LOG_VALUE_MAX 1024u

/* Kept free for the end of the line: ,"fields_cut":N,"lost":N}\n with numbers of 20 digits. */
#define METE__LOG_TAIL 80u
/* "...+" and a number. */
#define METE__LOG_MARK 24u

#define METE__LOG_QUIET_MS 1000u

struct line {
    char bytes[METE__LOG_LINE_MAX];
    size_t len;
    bool is_json;
    uint64_t fields_cut;
};

/* Settings are read by any thread without order: a line more in the old form does no harm. */
static bool log_is_json;
static int log_least = METE__LOG_INFO;
static int log_fd = STDERR_FILENO;

/* Lines are written one after the other, so that what poll says still holds at the write. */
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t log_lost; /* under log_lock */

void mete__log_configure(bool is_json, enum mete__log_level least)
{
    __atomic_store_n(&log_is_json, is_json, __ATOMIC_RELAXED);
    __atomic_store_n(&log_least, (int)least, __ATOMIC_RELAXED);
}

void mete__log_to(int fd)
{
    __atomic_store_n(&log_fd, fd, __ATOMIC_RELAXED);
}

static void put(struct line *line, const char *text, size_t len)
{
    memcpy(line->bytes + line->len, text, len);
    line->len += len;
}

static void put_text(struct line *line, const char *text)
{
    put(line, text, strlen(text));
}

static void put_u64(struct line *line, uint64_t value)
{
    char digits[20];
    size_t at = sizeof(digits);
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    put(line, digits + at, sizeof(digits) - at);
}

/* The length of the character at the front, 0 when there is none (RFC 3629, section 4). */
static size_t utf8_len(const unsigned char *at, size_t len)
{
    unsigned char first = at[0];
    if (first < 0x80) {
        return 1;
    }
    size_t want = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || want > len) {
        return 0;
    }
    /* Overlong forms, surrogates, and what lies beyond U+10FFFF. */
    unsigned char low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    unsigned char high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    if (at[1] < low || at[1] > high) {
        return 0;
    }
    for (size_t i = 2; i < want; i++) {
        if (at[i] < 0x80 || at[i] > 0xBF) {
            return 0;
        }
    }
    return want;
}

/* C0, DEL and C1: they move a terminal's cursor. */
static bool is_control(const unsigned char *at, size_t len)
{
    return len == 1 ? at[0] < 0x20 || at[0] == 0x7F : len == 2 && at[0] == 0xC2 && at[1] < 0xA0;
}

static size_t write_hex(char *to, const char *prefix, unsigned char byte)
{
    static const char digits[] = "0123456789abcdef";
    size_t len = strlen(prefix);
    memcpy(to, prefix, len);
    to[len] = digits[byte >> 4];
    to[len + 1] = digits[byte & 15];
    return len + 2;
}

/* One character (or one byte that is none: char_len 0) as it stands between quotes.  `to` has room for 8. */
static size_t escape(char *to, const unsigned char *at, size_t char_len, bool is_json)
{
    static const char named[] = "\"\"\\\\\nn\rr\tt";
    for (size_t i = 0; char_len == 1 && i < sizeof(named) - 1; i += 2) {
        if (at[0] == (unsigned char)named[i]) {
            to[0] = '\\';
            to[1] = named[i + 1];
            return 2;
        }
    }
    if (char_len == 0) {
        return write_hex(to, is_json ? "\\\\x" : "\\x", at[0]);
    }
    if (!is_control(at, char_len)) {
        memcpy(to, at, char_len);
        return char_len;
    }
    if (is_json) {
        return write_hex(to, "\\u00", at[char_len - 1]);
    }
    size_t len = 0;
    for (size_t i = 0; i < char_len; i++) {
        len += write_hex(to + len, "\\x", at[i]);
    }
    return len;
}

static bool is_bare(const unsigned char *at, size_t len)
{
    if (len == 0 || len > METE__LOG_VALUE_MAX) {
        return false;
    }
    for (size_t char_len; len > 0; at += char_len, len -= char_len) {
        char_len = utf8_len(at, len);
        if (char_len == 0 || is_control(at, char_len) || memchr(" \"=\\", at[0], 4) != NULL) {
            return false;
        }
    }
    return true;
}

/* The value between quotes, in at most room bytes, quotes and mark included. */
static void put_quoted(struct line *line, const char *bytes, size_t len, size_t room)
{
    const unsigned char *at = (const unsigned char *)bytes;
    size_t end = line->len + room - METE__LOG_MARK - 2;
    put(line, "\"", 1);
    while (len > 0) {
        char escaped[8];
        size_t char_len = utf8_len(at, len);
        size_t escaped_len = escape(escaped, at, char_len, line->is_json);
        if (line->len + escaped_len > end) {
            put(line, "...+", 4);
            put_u64(line, len);
            break;
        }
        put(line, escaped, escaped_len);
        at += char_len + (char_len == 0);
        len -= char_len + (char_len == 0);
    }
    put(line, "\"", 1);
}

static void put_value(struct line *line, const char *bytes, size_t len, size_t room)
{
    if (!line->is_json && len + METE__LOG_MARK + 2 <= room && is_bare((const unsigned char *)bytes, len)) {
        put(line, bytes, len);
    } else {
        put_quoted(line, bytes, len, room);
    }
}

static void put_name(struct line *line, const char *name)
{
    if (line->is_json) {
        put(line, line->len == 0 ? "{\"" : ",\"", 2);
        put_text(line, name);
        put(line, "\":", 2);
    } else {
        put(line, " ", line->len > 0);
        put_text(line, name);
        put(line, "=", 1);
    }
}

static void put_number(struct line *line, const char *name, uint64_t value)
{
    put_name(line, name);
    put_u64(line, value);
}

static void put_field(struct line *line, const struct mete__log_field *field)
{
    size_t left = sizeof(line->bytes) - METE__LOG_TAIL - line->len;
    size_t name_len = strlen(field->name) + 4;
    /* Room for the name, and a value of a few characters or a number. */
    if (left < name_len + 2 * METE__LOG_MARK) {
        line->fields_cut++;
    } else if (field->text == NULL) {
        put_number(line, field->name, field->number);
    } else {
        size_t room = left - name_len < METE__LOG_VALUE_MAX ? left - name_len : METE__LOG_VALUE_MAX;
        put_name(line, field->name);
        put_value(line, field->text, field->text_len == SIZE_MAX ? strlen(field->text) : field->text_len, room);
    }
}

/* As RFC 3339, section 5.6, with milliseconds. */
static void put_time(struct line *line)
{
    uint64_t now_ms = mete__wall_ns() / 1000000;
    time_t now_s = (time_t)(now_ms / 1000);
    struct tm tm;
    char text[32];
    size_t len = gmtime_r(&now_s, &tm) != NULL ? strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm) : 0;
    unsigned ms = (unsigned)(now_ms % 1000);
    const char rest[] = {'.', (char)('0' + ms / 100), (char)('0' + ms / 10 % 10), (char)('0' + ms % 10), 'Z'};
    put_name(line, "time");
    put(line, "\"", line->is_json);
    put(line, text, len);
    put(line, rest, sizeof(rest));
    put(line, "\"", line->is_json);
}

static void put_tail(struct line *line, uint64_t lost)
{
    if (line->fields_cut > 0) {
        put_number(line, "fields_cut", line->fields_cut);
    }
    if (lost > 0) {
        put_number(line, "lost", lost);
    }
    put(line, "}", line->is_json);
    put(line, "\n", 1);
}

/* A write to a pipe that nobody reads raises SIGPIPE: it is held back here, and taken away if this write
 * raised it. */
static ssize_t write_without_signal(int fd, const char *bytes, size_t len)
{
    sigset_t pipe_only;
    sigset_t before;
    sigset_t pending;
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
    sigpending(&pending);
    ssize_t written = write(fd, bytes, len);
    if (written < 0 && errno == EPIPE && !sigismember(&pending, SIGPIPE)) {
        sigtimedwait(&pipe_only, NULL, &(struct timespec){0});
        errno = EPIPE;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return written;
}

static bool write_line(int fd, const char *bytes, size_t len)
{
    ssize_t written = send(fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (written < 0 && errno == ENOTSOCK) {
        struct pollfd poll_fd = {.fd = fd, .events = POLLOUT};
        if (poll(&poll_fd, 1, 0) != 1 || (poll_fd.revents & POLLOUT) == 0) {
            return false;
        }
        written = write_without_signal(fd, bytes, len);
    }
    return written == (ssize_t)len;
}

void mete__log_fields(enum mete__log_level level, const char *event, const struct mete__log_field *fields,
                      size_t field_count)
{
    static const char *const names[] = {"debug", "info", "warn", "error"};
    if ((int)level < __atomic_load_n(&log_least, __ATOMIC_RELAXED)) {
        return;
    }
    int errno_before = errno;
    struct line line;
    line.len = 0;
    line.fields_cut = 0;
    line.is_json = __atomic_load_n(&log_is_json, __ATOMIC_RELAXED);
    put_time(&line);
    put_name(&line, "level");
    put_value(&line, names[level], strlen(names[level]), METE__LOG_VALUE_MAX);
    put_name(&line, "event");
    put_quoted(&line, event, strlen(event), METE__LOG_VALUE_MAX);
    for (size_t i = 0; i < field_count; i++) {
        put_field(&line, &fields[i]);
    }

    pthread_mutex_lock(&log_lock);
    put_tail(&line, log_lost);
    if (write_line(__atomic_load_n(&log_fd, __ATOMIC_RELAXED), line.bytes, line.len)) {
        log_lost = 0;
    } else {
        log_lost++;
    }
    pthread_mutex_unlock(&log_lock);
    errno = errno_before;
}

/* Places are shared by threads: whoever swaps the time writes the line, the others count. */
bool mete__log_may(struct mete__log_quiet *quiet, uint64_t now_ms, uint64_t *suppressed)
{
    uint64_t now = now_ms > 0 ? now_ms : 1; /* 0: never yet */
    uint64_t last = __atomic_load_n(&quiet->last_ms, __ATOMIC_RELAXED);
    /* Another thread's clock may be a little ahead: a time before the last one waits. */
    bool is_due = last == 0 || (now > last && now - last >= METE__LOG_QUIET_MS);
    if (!is_due ||
        !__atomic_compare_exchange_n(&quiet->last_ms, &last, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        __atomic_fetch_add(&quiet->suppressed, 1, __ATOMIC_RELAXED);
        return false;
    }
    *suppressed = __atomic_exchange_n(&quiet->suppressed, 0, __ATOMIC_RELAXED);
    return true;
}
