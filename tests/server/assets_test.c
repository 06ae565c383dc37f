/* SPDX-License-Identifier: Apache-2.0 */
/* The dashboard's files in the program are those of web/. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "server/assets.h"

static const struct mete__asset *find(const char *path)
{
    return mete__asset_find(path, strlen(path));
}

static void test_paths(void **state)
{
    (void)state;
    assert_string_equal(find("/")->type, "text/html; charset=utf-8");
    assert_string_equal(find("/app.js")->type, "text/javascript; charset=utf-8");
    assert_string_equal(find("/style.css")->type, "text/css; charset=utf-8");
    assert_string_equal(find("/favicon.svg")->type, "image/svg+xml");
    static const char *const absent[] = {"",   "/index.html", "/app.j",         "/app.jss",
                                         "//", "app.js",      "/../web/app.js", "/APP.JS"};
    for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++) {
        assert_null(find(absent[i]));
    }
    assert_null(mete__asset_find("/app.js\0", 8));
}

/* One tag per content, in quotes, of characters that a field may hold. */
static void test_tags(void **state)
{
    (void)state;
    for (size_t i = 0; i < mete__asset_count; i++) {
        const char *etag = mete__assets[i].etag;
        assert_int_equal(strlen(etag), 18);
        assert_int_equal(strspn(etag + 1, "0123456789abcdef"), 16);
        assert_true(etag[0] == '"' && etag[17] == '"');
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(etag, mete__assets[j].etag);
        }
    }
}

static void test_bytes(void **state)
{
    (void)state;
    const char *source = getenv("METE_SOURCE_DIR");
    assert_non_null(source);
    for (size_t i = 0; i < mete__asset_count; i++) {
        const struct mete__asset *asset = &mete__assets[i];
        char path[4096];
        snprintf(path, sizeof path, "%s/web%s", source, strcmp(asset->path, "/") == 0 ? "/index.html" : asset->path);
        FILE *file = fopen(path, "rb");
        assert_non_null(file);
        char *bytes = malloc(asset->len + 1);
        assert_non_null(bytes);
        assert_int_equal(fread(bytes, 1, asset->len + 1, file), asset->len);
        assert_memory_equal(bytes, asset->bytes, asset->len);
        free(bytes);
        fclose(file);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_tags),
        cmocka_unit_test(test_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
