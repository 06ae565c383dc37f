/* SPDX-License-Identifier: Apache-2.0 */
/* Time zones by their names. */
#include "limiter/zone.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tzif.h"

static void assert_open(const char *name, mete_status expected)
{
    struct mete__zone *untouched = (struct mete__zone *)(uintptr_t)0x10;
    struct mete__zone *zone = untouched;
    assert_int_equal(mete__zone_open(name, &zone), expected);
    if (expected != METE_OK) {
        assert_ptr_equal(zone, untouched);
        return;
    }
    assert_true(mete__zone_is_valid(zone));
    mete__zone_destroy(zone);
}

static void write_file(const char *path, const void *bytes, size_t len)
{
    FILE *stream = fopen(path, "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(bytes, 1, len, stream), len);
    assert_int_equal(fclose(stream), 0);
}

static void test_names(void **state)
{
    (void)state;
    const char *bad[] = {
        "/etc/localtime",
        "..",
        "../zoneinfo/UTC",
        "Europe/../Europe/Berlin",
        "./UTC",
        "Europe/./Berlin",
        "Europe//Berlin",
        "Europe/",
        "/",
        " ",
        "Europe/Ber lin",
        "Europe/Berlin\n",
        ":UTC",
        "Europe\\Berlin",
        "Z\xc3\xbcrich",
        "Europe",
        "Europe/Atlantis",
        "Europe/Berlin/x",
        "posix/America/Argentina/ComodRivadaviaXY", /* 40 bytes */
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_open(bad[i], METE_EINVAL);
    }
    assert_open("", METE_OK);
    assert_open("UTC", METE_OK);
    assert_open("Europe/Berlin", METE_OK);
    assert_open("America/Port-au-Prince", METE_OK);
    assert_open("Etc/GMT+1", METE_OK);
    assert_open("America/Argentina/ComodRivadavia", METE_OK);
    struct mete__zone *zone = NULL;
    assert_int_equal(mete__zone_open("Asia/Kathmandu", &zone), METE_OK);
    assert_int_equal(mete__zone_offset_s(zone, 1790000000), 20700);
    mete__zone_destroy(zone);
}

static void test_folder(void **state)
{
    (void)state;
    char folder[] = "/tmp/mete-zone-XXXXXX";
    assert_non_null(mkdtemp(folder));
    char path[64];
    struct tzif file = tzif_v2(tzif_changes, 3, "\n\n");

    snprintf(path, sizeof path, "%s/Mine", folder);
    write_file(path, file.bytes, file.len);
    assert_int_equal(setenv("TZDIR", folder, 1), 0);
    assert_open("Mine", METE_OK);
    assert_open("Europe/Berlin", METE_EINVAL);
    assert_open("UTC", METE_OK); /* needs no file */

    write_file(path, file.bytes, file.len - 1);
    assert_open("Mine", METE_ECORRUPT);
    write_file(path, "", 0);
    assert_open("Mine", METE_ECORRUPT);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_open("Mine", METE_EINVAL); /* does not wait for a writer */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("Mine", path), 0);
    assert_open("Mine", METE_EINVAL);
    assert_int_equal(unlink(path), 0);

    assert_int_equal(rmdir(folder), 0);
    assert_open("Mine", METE_EINVAL);
    assert_int_equal(unsetenv("TZDIR"), 0);
    assert_open("Europe/Berlin", METE_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_folder),
    };
    unsetenv("TZDIR");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
