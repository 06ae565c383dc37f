# SPDX-License-Identifier: Apache-2.0
"""Mutants of the program: readers of logs, replay, stress."""

CLF = "src/cli/log_clf.c"
CSV = "src/cli/log_csv.c"
JSON = "src/cli/log_json.c"
TIME = "src/cli/log_time.c"
SNIFF = "src/cli/log_sniff.c"
RECORD = "src/cli/log_record.c"
REPLAY = "src/cli/replay_decide.c"
REPORT = "src/cli/replay_report.c"
READER = "src/cli/log_reader.c"
LINES = "src/cli/input_lines.c"
STRESS = "src/cli/stress.c"

MUTANTS = [
    ("clf-host-is-the-client", CLF, "(!usual && !names_are_plain(&head->names))) {", "false) {", "cli/log_clf_test",
     "with a host name in front all clients become one"),
    ("clf-quote-not-escaped", CLF, "if (*text->at == '\\\\' && text->at + 1 < text->end) {", "if (false) {",
     "cli/log_clf_test", "a quote inside a request ends it"),
    ("clf-query-is-a-path", CLF, "*out = mete__text_until(&path, '?');", "*out = path;", "cli/log_clf_test",
     "each query is a key of its own"),
    ("clf-time-cached-for-ever", CLF,
     "clf->time_known && memcmp(time.at, clf->time_text, METE__CLF_TIME_LEN) == 0) {",
     "clf->time_known && memcmp(time.at, clf->time_text, METE__CLF_TIME_LEN - 7) == 0) {", "cli/log_clf_test",
     "another zone's time is taken for the last one"),
    ("clf-control-bytes", CLF, "(unsigned char)*line->at > ' ') {", "*line->at != ' ') {", "cli/log_clf_test",
     "NUL bytes after a crash become part of an address"),
    ("csv-doubled-quote", CSV, "        at += *at == '\"';\n", "", "cli/log_csv_test", "a doubled quote stays doubled"),
    ("csv-text-after-quote", CSV, "return at_end ? METE__REASON_NONE : METE__REASON_QUOTES;",
     "return at_end ? METE__REASON_NONE : METE__REASON_NONE;", "cli/log_csv_test", "a broken row is read as some row"),
    ("csv-nul", CSV, "if (memchr(record.at, '\\0', mete__text_len(&record)) != NULL) {", "if (false) {",
     "cli/log_csv_test", "NUL bytes become part of a key"),
    ("json-first-member", JSON, "            found = value;\n",
     "            found = mete__text_is_empty(&found) ? value : found;\n", "cli/log_json_test",
     "of two members of one name jansson keeps the last"),
    ("json-escapes", JSON, "text->at += *text->at == '\\\\' && mete__text_len(text) > 1 ? 2 : 1;", "text->at += 1;",
     "cli/log_json_test", "an escaped quote ends a text"),
    ("json-nul", JSON, "if (memchr(line.at, '\\0', mete__text_len(&line)) != NULL) {", "if (false) {",
     "cli/log_json_test", "jansson overlooks a NUL after a number"),
    ("json-depth", JSON, "if (depth == 0 && (c == ',' || c == '}' || c == ']')) {",
     "if (c == ',' || c == '}' || c == ']') {", "cli/log_json_test", "a nested value ends at its first comma"),
    ("time-zone-sign", TIME, "*zone_s = (west ? -1 : 1) *", "*zone_s = (west ? 1 : -1) *", "cli/log_time_test",
     "offsets count the wrong way"),
    ("time-leap-second", TIME, "if (time->second == 60 && seconds % METE__DAY_S != 0) {", "if (false) {",
     "cli/log_time_test", "a second 60 at any minute"),
    ("time-fraction", TIME, "for (int i = digits; i < FRACTION_DIGITS; i++) {",
     "for (int i = digits + 1; i < FRACTION_DIGITS; i++) {", "cli/log_time_test", "a fraction is ten times too small"),
    ("time-days-in-month", TIME, "return days[month - 1] + (month == 2 && mete__civil_is_leap(year));",
     "return days[month - 1] + (month == 2);", "cli/log_time_test", "29 February in every year"),
    ("time-unit-guess", TIME, "shift >= 0; shift -= 3) {", "shift >= 3; shift -= 3) {", "cli/log_time_test",
     "nanoseconds are out of range"),
    ("time-range", TIME, "    if (ns > METE_TIME_MAX) {\n", "    if (false) {\n", "cli/log_time_test",
     "a time after the last one is handed to the library"),
    ("cost-with-a-tail", RECORD, "!= METE__NUMBER_OK || !mete__text_is_empty(&text)) {", "!= METE__NUMBER_OK) {",
     "cli/log_csv_test", "12abc is read as 12"),
    ("sniff-case", SNIFF, "return mete__text_len(&text) == strlen(name) && strncasecmp(",
     "return mete__text_len(&text) == strlen(name) && strncmp(", "cli/log_reader_test", "a column Time is not found"),
    ("sniff-escape", SNIFF, "bool plain = *at >= ' ' && *at <= '~' && *at != '\\\\';", "bool plain = true;",
     "cli/test_replay", "control characters of a log reach the terminal"),
    ("replay-costs-not-summed", REPLAY, "&counts->units_allowed : &counts->units_denied, request->cost);",
     "&counts->units_allowed : &counts->units_denied, 1);", "cli/test_replay", "units are counted as requests"),
    ("replay-batch-keys-overwritten", REPLAY, "    decider->key_bytes_used += record->key_len;\n", "",
     "cli/test_replay",
     "all keys of a batch are the last one"),
    ("replay-quiet-hides-notes", REPORT, "    print_notes(report);\n    return",
     "    if (!report->quiet) {\n        print_notes(report);\n    }\n    return", "cli/test_replay",
     "a figure that is not exact is printed without a word"),
    ("replay-order-of-touching-files", REPORT, "file->first_ns < latest->last_ns &&",
     "file->first_ns <= latest->last_ns &&", "cli/test_replay", "a file that begins as the other ends is out of order"),
    ("replay-order-of-neighbours", REPORT,
     "latest = latest == NULL || file->last_ns > latest->last_ns ? file : latest;", "latest = file;",
     "cli/test_replay", "a file is compared with the one before it alone"),
    ("json-field-of-no-line", READER, "if (rows[i].wish != NULL && rows[i].field->missed && !rows[i].field->found) {",
     "if (false) {", "cli/test_replay", "a mistyped field is a log without requests"),
    ("json-field-of-some-lines", READER, "rows[i].field->missed && !rows[i].field->found) {",
     "rows[i].field->missed) {", "cli/test_replay", "one line without the field is taken for all"),
    ("lines-empty-first-block", LINES, "        while (take_empty(lines)) {", "        while (false) {",
     "cli/input_lines_test", "a block of empty lines hides what the log is"),
    ("stress-does-not-need-rounds", STRESS, "bool enough = result->conclusive >= CONCLUSIVE_MIN;",
     "bool enough = true;", "cli/test_stress Errors.test_too_fast_a_rate_is_not_a_pass",
     "no conclusive round at all is a pass"),
    ("stress-inconclusive-counts", STRESS,
     "return (unsigned __int128)elapsed_ns * 2 * limit->count >= limit->period_ns;",
     "return elapsed_ns * limit->count == UINT64_MAX;",
     "cli/test_stress Errors.test_too_fast_a_rate_is_not_a_pass",
     "rounds that say nothing are counted"),
]
