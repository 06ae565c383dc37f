/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* strcasestr */
#include "cli/client.h"

#include <errno.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "wire/base64.h"
#include "wire/out.h"

#define SILENCE_S 5           /* without a byte */
#define ANSWER_S 15           /* from first to last */
#define ANSWER_MAX (8u << 20) /* 1,024 policies of 64 plans are below 4 MiB */
#define HOST_SIZE 256u
#define SENTENCE_SIZE 1024u
#define DEFAULT_PORT "8080"

static __attribute__((format(printf, 2, 3))) void say(const struct mete__client *client, const char *format, ...)
{
    char sentence[SENTENCE_SIZE];
    va_list values;
    va_start(values, format);
    vsnprintf(sentence, sizeof sentence, format, values);
    va_end(values);
    if (client->why != NULL) {
        snprintf(client->why, client->why_size, "%s", sentence);
    } else {
        mete__cli_error(client->command, "%s", sentence);
    }
}

/* --- where ------------------------------------------------------------------- */

struct place {
    char host[HOST_SIZE];
    char port[HOST_SIZE];
    const char *path; /* of a Unix socket; NULL: host and port */
};

static bool is_printable(const char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text <= ' ' || *text == 127) {
            return false;
        }
    }
    return true;
}

/* "host", "host:port", "[::1]", "[::1]:port", ":port", "unix:/path" */
static bool read_place(const char *address, struct place *out)
{
    const char *host = address, *port = DEFAULT_PORT;
    size_t host_len;
    *out = (struct place){.path = strncmp(address, "unix:", 5) == 0 ? address + 5 : NULL};
    if (out->path != NULL) {
        return out->path[0] != '\0' && strlen(out->path) < sizeof((struct sockaddr_un *)0)->sun_path;
    }
    if (address[0] == '[') {
        const char *end = strchr(address, ']');
        if (end == NULL || (end[1] != ':' && end[1] != '\0')) {
            return false;
        }
        host = address + 1;
        host_len = (size_t)(end - host);
        port = end[1] == ':' ? end + 2 : port;
    } else {
        host_len = strcspn(address, ":");
        port = address[host_len] == ':' ? address + host_len + 1 : port;
    }
    if (host_len >= HOST_SIZE || strlen(port) >= HOST_SIZE || port[0] == '\0' || strchr(port, ':') != NULL ||
        strchr(address, '/') != NULL || !is_printable(address)) {
        return false;
    }
    memcpy(out->host, host_len > 0 ? host : "127.0.0.1", host_len > 0 ? host_len : sizeof "127.0.0.1" - 1);
    strcpy(out->port, port);
    return true;
}

static bool connect_in_time(int fd, const struct sockaddr *to, socklen_t to_len)
{
    struct timeval silence = {.tv_sec = SILENCE_S};
    return setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &silence, sizeof silence) == 0 &&
           setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &silence, sizeof silence) == 0 && connect(fd, to, to_len) == 0;
}

static int connect_unix(const struct mete__client *client, const char *path)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    strcpy(to.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect_in_time(fd, (const struct sockaddr *)&to, sizeof to)) {
        return fd;
    }
    say(client, "cannot reach %s: %s", client->address, strerror(errno));
    if (fd >= 0) {
        close(fd);
    }
    return -1;
}

static int connect_tcp(const struct mete__client *client, const struct place *place)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    int failure = getaddrinfo(place->host, place->port, &hints, &found);
    if (failure != 0) {
        say(client, "cannot reach %s: %s", client->address, gai_strerror(failure));
        return -1;
    }
    int fd = -1;
    for (struct addrinfo *at = found; at != NULL && fd < 0; at = at->ai_next) {
        fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
        if (fd >= 0 && !connect_in_time(fd, at->ai_addr, at->ai_addrlen)) {
            int reason = errno;
            close(fd);
            fd = -1;
            errno = reason;
        }
    }
    if (fd < 0) {
        say(client, "cannot reach %s: %s (is mete serve running?)", client->address,
            errno == EINPROGRESS ? "it does not answer" : strerror(errno));
    }
    freeaddrinfo(found);
    return fd;
}

/* --- the question --------------------------------------------------------------- */

static void write_request(const struct mete__client *client, const char *path, const char *body, struct mete__out *out)
{
    bool is_unix = strncmp(client->address, "unix:", 5) == 0;
    mete__out_format(out, "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nAccept: application/json\r\n",
                     body != NULL ? "POST" : "GET", path, is_unix ? "localhost" : client->address);
    if (client->user != NULL) {
        mete__out_text(out, "Authorization: Basic ");
        mete__base64_write(out, mete__span_of(client->user, strlen(client->user)));
        mete__out_text(out, "\r\n");
    }
    if (body != NULL) {
        mete__out_format(out, "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s", strlen(body), body);
    } else {
        mete__out_text(out, "\r\n");
    }
}

static bool send_all(int fd, const struct mete__out *out)
{
    for (size_t sent = 0; sent < out->len;) {
        ssize_t now = send(fd, out->bytes + sent, out->len - sent, MSG_NOSIGNAL);
        if (now < 0 && errno == EINTR) {
            continue;
        }
        if (now <= 0) {
            return false;
        }
        sent += (size_t)now;
    }
    return true;
}

static time_t now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* Up to the end of the connection. */
static bool receive_all(int fd, struct mete__out *in)
{
    time_t end = now_s() + ANSWER_S;
    for (;;) {
        char *room = mete__out_room(in, 16384);
        if (room == NULL || now_s() > end) {
            errno = room == NULL ? EMSGSIZE : EAGAIN;
            return false;
        }
        ssize_t got = recv(fd, room, 16384, 0);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return got == 0;
        }
        in->len += (size_t)got;
    }
}

/* --- the answer ------------------------------------------------------------------ */

/* The value of Content-Length, or -1. */
static long long content_length(const char *head)
{
    const char *at = strcasestr(head, "\r\nContent-Length:");
    return at != NULL ? atoll(at + sizeof "\r\nContent-Length:" - 1) : -1;
}

/* bytes end with a NUL.  RFC 9112: a status line, fields, an empty line, the body. */
static bool read_answer(const struct mete__client *client, char *bytes, size_t len, struct mete__client_answer *out)
{
    char *end = strstr(bytes, "\r\n\r\n");
    if (strncmp(bytes, "HTTP/1.", 7) != 0 || end == NULL || sscanf(bytes, "HTTP/1.%*c %3u", &out->status) != 1) {
        say(client, "what answers at %s does not speak HTTP%s", client->address,
            bytes[0] == '-' ? ": is it the RESP listener?" : "");
        return false;
    }
    *end = '\0';
    const char *body = end + 4;
    size_t body_len = len - (size_t)(body - bytes);
    if (content_length(bytes) != (long long)body_len) {
        say(client, "the answer of %s is not whole", client->address);
        return false;
    }
    json_error_t error;
    out->body = json_loadb(body, body_len, JSON_REJECT_DUPLICATES, &error);
    if (!json_is_object(out->body)) {
        say(client, "what answers at %s is no mete daemon: status %u, and no JSON object", client->address,
            out->status);
        json_decref(out->body);
        out->body = NULL;
        return false;
    }
    return true;
}

static bool exchange(const struct mete__client *client, int fd, const struct mete__out *question, struct mete__out *in)
{
    if (!question->is_failed && send_all(fd, question) && receive_all(fd, in)) {
        mete__out_bytes(in, "", 1); /* texts end */
        return !in->is_failed;
    }
    bool is_late = errno == EAGAIN || errno == EWOULDBLOCK;
    say(client, "%s: %s", client->address, is_late ? "no answer in time" : strerror(errno));
    return false;
}

static bool ask_at(const struct mete__client *client, const struct place *place, const char *path, const char *body,
                   struct mete__client_answer *out)
{
    struct mete__out question, in;
    int fd = place->path != NULL ? connect_unix(client, place->path) : connect_tcp(client, place);
    if (fd < 0) {
        return false;
    }
    mete__out_init(&question, ANSWER_MAX);
    mete__out_init(&in, ANSWER_MAX);
    write_request(client, path, body, &question);
    bool is_good = exchange(client, fd, &question, &in) && read_answer(client, in.bytes, in.len - 1, out);
    mete__out_clear(&in);
    mete__out_clear(&question);
    close(fd);
    return is_good;
}

static const char *user_of_environment(void)
{
    const char *user = getenv("METE_USER");
    return user != NULL && user[0] != '\0' ? user : NULL;
}

int mete__client_ask(const struct mete__client *client, const char *path, const json_t *body,
                     struct mete__client_answer *out)
{
    struct place place;
    *out = (struct mete__client_answer){0};
    if (client->user != NULL && strchr(client->user, ':') == NULL) {
        say(client, "%s: NAME:PASSWORD expected", client->user == user_of_environment() ? "METE_USER" : "--user");
        return METE__EXIT_USAGE;
    }
    if (!read_place(client->address, &place)) {
        say(client, "--connect: '%s' is not HOST:PORT, [IPv6]:PORT or unix:PATH", client->address);
        return METE__EXIT_USAGE;
    }
    char *text = body != NULL ? json_dumps(body, JSON_COMPACT) : NULL;
    if (body != NULL && text == NULL) {
        say(client, "no memory");
        return METE__EXIT_INPUT;
    }
    bool is_good = ask_at(client, &place, path, text, out);
    free(text);
    return is_good ? METE__EXIT_OK : METE__EXIT_INPUT;
}

int mete__client_complain(const struct mete__client *client, const struct mete__client_answer *answer)
{
    const char *detail = json_string_value(json_object_get(answer->body, "detail"));
    const char *title = json_string_value(json_object_get(answer->body, "title"));
    bool is_refused = answer->status == 401 || answer->status == 403;
    say(client, "%s%s",
        detail != NULL  ? detail
        : title != NULL ? title
                        : "the daemon refused",
        is_refused && client->user == NULL ? "; log in with --user NAME:PASSWORD or METE_USER" : "");
    return answer->status == 400 || answer->status == 404 || answer->status == 413 ? METE__EXIT_USAGE
                                                                                   : METE__EXIT_INPUT;
}

struct mete__client mete__client_default(const char *command)
{
    return (struct mete__client){.command = command, .address = METE__CLIENT_ADDRESS, .user = user_of_environment()};
}
