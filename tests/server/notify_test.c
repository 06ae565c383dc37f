/* SPDX-License-Identifier: Apache-2.0 */
/* A service manager of the test's own: what it hears, and the sockets it hands over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "server/notify.h"

static char folder[64];

static int set_up(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/mete-notify-XXXXXX");
    assert_non_null(mkdtemp(folder));
    unsetenv("NOTIFY_SOCKET");
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof(path), "%s/socket", folder);
    unlink(path);
    rmdir(folder);
    return 0;
}

/* A datagram socket bound to this name, '@' standing for NUL. */
static int manager(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t len = strlen(name);
    memcpy(address.sun_path, name, len);
    if (name[0] == '@') {
        address.sun_path[0] = '\0';
    }
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)),
                     0);
    setenv("NOTIFY_SOCKET", name, 1);
    return fd;
}

static void expect_message(int fd, const char *wanted)
{
    char bytes[256] = {0};
    ssize_t len = recv(fd, bytes, sizeof(bytes) - 1, 0);
    assert_int_equal(len, strlen(wanted));
    assert_string_equal(bytes, wanted);
}

static void a_message_is_one_datagram(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof(path), "%s/socket", folder);
    int fd = manager(path);
    mete__notify("READY=1");
    mete__notify("RELOADING=1\nMONOTONIC_USEC=12345");
    expect_message(fd, "READY=1");
    expect_message(fd, "RELOADING=1\nMONOTONIC_USEC=12345");
    close(fd);
}

static void an_abstract_socket(void **state)
{
    (void)state;
    char name[64];
    snprintf(name, sizeof(name), "@mete-notify-test-%ld", (long)getpid());
    int fd = manager(name);
    mete__notify("STOPPING=1");
    expect_message(fd, "STOPPING=1");
    close(fd);
}

static int count_descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 256; fd++) {
        count += fcntl(fd, F_GETFD) >= 0;
    }
    return count;
}

static void without_a_manager_nothing_happens(void **state)
{
    (void)state;
    static char too_long[300];
    memset(too_long, 'a', sizeof(too_long) - 1);
    too_long[0] = '/';
    const char *const names[] = {"", "@", "/", "relative", "vsock:2:1234", "/nowhere/at/all", "@nobody here", too_long};
    int before = count_descriptors();
    mete__notify("READY=1");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        setenv("NOTIFY_SOCKET", names[i], 1);
        mete__notify("READY=1");
    }
    assert_int_equal(count_descriptors(), before);
}

static void a_manager_that_does_not_read(void **state)
{
    (void)state;
    char name[64];
    snprintf(name, sizeof(name), "@mete-notify-full-%ld", (long)getpid());
    int fd = manager(name);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, name, strlen(name));
    address.sun_path[0] = '\0';
    int other = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    while (sendto(other, "x", 1, 0, (struct sockaddr *)&address,
                  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name))) == 1) {
    }
    time_t start = time(NULL);
    mete__notify("STATUS=late");
    assert_in_range(time(NULL) - start, 1, 10);
    close(other);
    close(fd);
}

/*
 * Runs check in a child that has, as after exec by a manager, listening sockets from 3 on; LISTEN_PID is
 * the child's id plus pid_off.
 */
static void in_child(void (*check)(void), const char *count, const char *names, int pid_off)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        for (int fd = 3; fd <= 6; fd++) {
            int made = socket(AF_UNIX, fd == 6 ? SOCK_DGRAM : SOCK_STREAM, 0);
            struct sockaddr_un address = {.sun_family = AF_UNIX};
            bind(made, (struct sockaddr *)&address, sizeof(sa_family_t));
            if (fd != 5 && fd != 6) {
                listen(made, 1); /* 5 does not listen; 6 is no stream */
            }
            if (made != fd) {
                dup2(made, fd);
                close(made);
            }
        }
        char pid[32];
        snprintf(pid, sizeof(pid), "%ld", (long)getpid() + pid_off);
        setenv("LISTEN_PID", pid, 1);
        setenv("LISTEN_FDS", count, 1);
        if (names != NULL) {
            setenv("LISTEN_FDNAMES", names, 1);
        }
        check();
        _exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

#define CHILD_CHECK(condition) \
    do {                       \
        if (!(condition)) {    \
            _exit(__LINE__);   \
        }                      \
    } while (0)

static void check_names(void)
{
    CHILD_CHECK(mete__notify_socket("resp") == 3);
    CHILD_CHECK(mete__notify_socket("http") == 4);
    CHILD_CHECK(mete__notify_socket("resp") == 3);
    CHILD_CHECK(mete__notify_socket("0") == 3);
    CHILD_CHECK(mete__notify_socket("1") == 4);
    CHILD_CHECK(mete__notify_socket("res") == -1);
    CHILD_CHECK(mete__notify_socket("resp:http") == -1);
    CHILD_CHECK(mete__notify_socket("") == -1);
    CHILD_CHECK(mete__notify_socket("2") == -1);
    CHILD_CHECK(mete__notify_socket("-1") == -1);
    CHILD_CHECK(mete__notify_socket("99999999999999999999") == -1);
    CHILD_CHECK((fcntl(3, F_GETFD) & FD_CLOEXEC) != 0);
    CHILD_CHECK((fcntl(4, F_GETFD) & FD_CLOEXEC) != 0);
}

static void check_numbers(void)
{
    CHILD_CHECK(mete__notify_socket("0") == 3);
    CHILD_CHECK(mete__notify_socket("1") == 4);
    CHILD_CHECK(mete__notify_socket("resp") == -1);
}

static void check_swapped(void)
{
    /* A name goes before a number. */
    CHILD_CHECK(mete__notify_socket("1") == 3);
    CHILD_CHECK(mete__notify_socket("0") == 4);
}

static void check_kinds(void)
{
    CHILD_CHECK(mete__notify_socket("a") == 3);
    CHILD_CHECK(mete__notify_socket("not-listening") == -1);
    CHILD_CHECK(mete__notify_socket("datagram") == -1);
    CHILD_CHECK(mete__notify_socket("4") == -1);  /* closed */
    CHILD_CHECK(mete__notify_socket("63") == -1); /* closed */
    CHILD_CHECK(mete__notify_socket("64") == -1);
    CHILD_CHECK((fcntl(6, F_GETFD) & FD_CLOEXEC) != 0);
}

static void check_none(void)
{
    CHILD_CHECK(mete__notify_socket("resp") == -1);
    CHILD_CHECK(mete__notify_socket("0") == -1);
    CHILD_CHECK((fcntl(3, F_GETFD) & FD_CLOEXEC) == 0);
}

static void inherited_sockets(void **state)
{
    (void)state;
    in_child(check_names, "2", "resp:http", 0);
    in_child(check_numbers, "2", NULL, 0);
    in_child(check_numbers, "2", "", 0);
    in_child(check_swapped, "2", "1:0", 0);
    in_child(check_kinds, "1000000", "a::not-listening:datagram", 0);
}

static void sockets_for_somebody_else(void **state)
{
    (void)state;
    in_child(check_none, "2", "resp:http", 1);
    in_child(check_none, "2x", "resp:http", 0);
    in_child(check_none, "", "resp:http", 0);
    in_child(check_none, "0", "resp:http", 0);
    in_child(check_none, "-2", "resp:http", 0);
    assert_int_equal(mete__notify_socket("0"), -1);
}

int main(void)
{
#define CASE(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(a_message_is_one_datagram),    CASE(an_abstract_socket), CASE(without_a_manager_nothing_happens),
        CASE(a_manager_that_does_not_read), CASE(inherited_sockets),  CASE(sockets_for_somebody_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
