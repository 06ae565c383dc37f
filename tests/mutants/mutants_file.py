# SPDX-License-Identifier: Apache-2.0
"""Mutants of the store file: what is trusted in it, and how it keeps its time."""

MAP = "src/table/map.c"
CELLS = "src/table/clock_cells.h"
STORE = "src/limiter/store.c"
OS = "src/base/os_linux.c"
PROFILE = "src/algorithm/profile.c"

MUTANTS = [
    ("file-checksum-ignored", MAP, "check_of(header) != header->check || ", "", "api/damage_test",
     "a damaged secret or size is trusted"),
    ("file-size-ignored", MAP, "if (bytes != fixed->bytes) {", "if (false) {", "api/damage_test",
     "a truncated file ends the process by a signal"),
    ("file-size-at-least", MAP, "if (bytes != fixed->bytes) {", "if (bytes < fixed->bytes) {", "api/damage_test",
     "a file that was added to is trusted"),
    ("file-zeros-ignored", MAP, " || !is_zero(header->more_zeros, sizeof header->more_zeros)) {", ") {",
     "store/damage_test", "damage behind the clock cells is not seen"),
    ("file-layout-not-recomputed", MAP, "memcmp(fixed, &expected, sizeof expected) != 0 ||", "", "fuzz/header",
     "places inside the file are believed"),
    ("file-boot-cell-trusted", MAP, "!mete__boot_cell_is_valid(header->boot) || ", "", "store/damage_test",
     "a damaged offset moves store time"),
    ("file-anchor-trusted", MAP, " || !mete__anchor_cell_is_valid(header->anchor)) {", ") {", "store/damage_test",
     "a damaged anchor moves store time after the next boot"),
    ("file-keys-max-ignored", MAP, "if (fixed->keys_max != spec->keys_max) {", "if (false) {", "api/file_test",
     "a store of another size is opened in silence"),
    ("file-clock-kind-ignored", MAP, "if (fixed->clock_kind != spec->clock_kind) {", "if (false) {", "api/file_test",
     "times of two clocks meet in one store"),
    ("file-content-ignored", MAP, "if (fixed->content != spec->content || fixed->name_hash != spec->name_hash) {",
     "if (false) {", "store/damage_test", "a log is opened in a store's place"),
    ("file-replaced", OS, "    return linkat(AT_FDCWD, source,",
     "    unlink(path);\n    return linkat(AT_FDCWD, source,",
     "store/create_test", "of two that open at once each has a store of its own"),
    ("file-not-reserved", OS, "int failure = posix_fallocate(fd, 0, (off_t)bytes);",
     "int failure = ftruncate(fd, (off_t)bytes);", "store/damage_test", "a full disk ends the process by a signal"),
    ("file-fifo-opened", OS, "if (fstat(file->fd, &info) != 0 || !S_ISREG(info.st_mode)) {",
     "if (fstat(file->fd, &info) != 0) {", "store/damage_test", "something that is no file is read as one"),
    ("scale-of-zero-trusted", PROFILE, "scale->kind >= METE__KINDS || scale->count == 0) {",
     "scale->kind >= METE__KINDS) {", "store/scales_test", "a damaged scale divides by zero"),
    ("scale-kind-trusted", PROFILE, "scale->kind == METE__KIND_NONE || scale->kind >= METE__KINDS ||", "",
     "store/scales_test", "a scale of no kind is used"),

    # --- time over restarts
    ("clock-earns-by-going-back", CELLS, "mete__sub_floor0_u64(wall_ns, (cell.hi >> 12) * 1000);",
     "mete__max_u64(wall_ns, (cell.hi >> 12) * 1000) - mete__min_u64(wall_ns, (cell.hi >> 12) * 1000);",
     "store/clock_cells_test", "a wall clock that went back refills all keys"),
    ("clock-elapsed-not-cut", CELLS, "mete__min_u64(elapsed_ns, METE__ELAPSED_MAX_NS);",
     "elapsed_ns + 0 * METE__ELAPSED_MAX_NS;", "store/clock_cells_test",
     "a wall clock far ahead ends the store's time"),
    ("clock-boot-not-recognised", CELLS, "return (cell.lo | METE__CHECK24) == (boot_id | METE__CHECK24);",
     "return (cell.lo | METE__CHECK24) == ~boot_id;", "store/reboot_test", "each open makes a new offset, without end"),
    ("clock-every-boot-the-same", CELLS, "return (cell.lo | METE__CHECK24) == (boot_id | METE__CHECK24);",
     "(void)cell;\n    return boot_id != 0;", "store/reboot_test", "store time starts anew after a boot"),
    ("anchor-store-rounded-up", CELLS, "mete__anchor_cell_of_us(store_ns / 1000,",
     "mete__anchor_cell_of_us(mete__div_ceil_u64(store_ns, 1000),", "store/clock_cells_test",
     "each boot earns up to a microsecond"),
    ("anchor-wall-rounded-down", CELLS, "mete__div_ceil_u64(wall_ns, 1000));", "wall_ns / 1000);",
     "store/clock_cells_test",
     "each boot earns up to a microsecond"),
    ("clock-offset-of-zero", STORE, "mete__boot_cell(boot_id, now_ns - mete__monotonic_ns());",
     "mete__boot_cell(boot_id, now_ns);", "store/reboot_test", "store time jumps by the age of the boot"),
    ("anchor-never-renewed", STORE, "if (now_ns / 1000 > seen.lo >> 12) {", "if (false) {", "store/reboot_test",
     "a boot loses all time since the file was made"),
    ("anchor-not-at-the-end", STORE, "        renew_anchor(store, mete__store_now(store));\n", "",
     "store/clock_cells_test",
     "closing loses up to a second"),
]
