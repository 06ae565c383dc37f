# SPDX-License-Identifier: Apache-2.0
"""Mutants of time zones, calendars and the text of limits."""

ZONE = "src/limiter/zone.c"
RULE = "src/limiter/zone_rule.c"
FILE = "src/limiter/zone_file.c"
CALENDAR = "src/limiter/calendar.c"
CIVIL = "src/limiter/civil.h"
TEXT = "src/limiter/limit_text.c"
FORMAT = "src/limiter/limit_format.c"

MUTANTS = [
    ("zone-step-late", ZONE, "if (zone->steps[middle].at_s <= unix_s) {", "if (zone->steps[middle].at_s < unix_s) {",
     "limiter/zone_test", "an offset begins a second late"),
    ("zone-gap", ZONE, "        if (at_s < step->at_s) {\n            at_s = step->at_s;\n        }\n", "",
     "limiter/zone_test", "a midnight that is skipped begins its day too early"),
    ("zone-fold", ZONE, "if (shown_s > most_s) {", "if (false) {", "limiter/calendar_test",
     "a repeated time is in the day before once more"),
    ("zone-leap-seconds", ZONE, "if (block.leaps_count > 0) {", "if (false) {", "limiter/zone_test",
     "a zone that counts leap seconds is off by half a minute"),
    ("zone-counts-believed", ZONE, "if (size > mete__text_len(text) - HEADER_SIZE) {", "if (false) {",
     "limiter/zone_test", "reads beyond the end of the file"),
    ("zone-type-believed", ZONE, "if (type >= block->types_count) {", "if (false) {", "limiter/zone_test",
     "an index points out of the types"),
    ("zone-order-believed", ZONE, "if (i > 0 && step.at_s <= block_time(block, i - 1)) {", "if (false) {",
     "limiter/zone_test", "steps that go back are taken"),
    ("zone-last-week", RULE, "return days < next ? days : days - 7;", "return days;", "limiter/zone_rule_test",
     "the last Sunday of a month falls in the next"),
    ("zone-julian-leap-day", RULE, "date->day >= 60);", "date->day > 60);", "limiter/zone_rule_test",
     "March 1 is a day early in leap years"),
    ("zone-west-is-east", RULE, "*out = -west_s;", "*out = west_s;", "limiter/zone_rule_test",
     "POSIX counts the other way"),
    ("zone-times-of-days", RULE, "take_time(text, 167, &out->time_s);", "take_time(text, 24, &out->time_s);",
     "limiter/zone_rule_test", "zones whose clocks change on a day counted from another"),
    ("zone-name-leaves-the-folder", FILE, "&& part->at[0] != '.';", ";", "limiter/zone_file_test", "../ in a name"),
    ("calendar-week-from-sunday", CALENDAR, "#define WEEKDAYS_BEFORE_1970 3", "#define WEEKDAYS_BEFORE_1970 4",
     "limiter/calendar_test", "weeks begin on Monday"),
    ("calendar-hour-shown-twice", CALENDAR, "return before->offset_s < after->offset_s &&", "return",
     "limiter/calendar_test", "an hour that comes twice is one of two hours"),
    ("civil-centuries", CIVIL, "return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);",
     "return year % 4 == 0;", "limiter/calendar_test", "2100 is no leap year"),

    # --- limits as text
    ("text-given-twice", TEXT, "if ((parser->options & names[i].option) != 0) {", "if (false) {",
     "limiter/limit_text_test", "the second of two bursts wins in silence"),
    ("text-burst-zero", TEXT, "if (status == METE_OK && parser->limit.burst == 0) {", "if (false) {",
     "limiter/limit_text_test", "burst 0 is read as none given"),
    ("text-period-overflows", TEXT, "if (times > METE_PERIOD_MAX / unit->ns) {", "if (false) {",
     "limiter/limit_text_test", "a long period wraps to a short one"),
    ("text-anchored-and-calendar", TEXT, "if (is_anchored && is_calendar) {", "if (false) {", "limiter/limit_text_test",
     "a contradiction is resolved in silence"),
    ("text-zone-without-calendar", TEXT, "if (!is_calendar && (parser->options & OPTION_ZONE) != 0) {", "if (false) {",
     "limiter/limit_text_test", "a zone that means nothing"),
    ("text-zone-too-long", TEXT, "if (len >= METE_TIME_ZONE_SIZE) {", "if (len > METE_TIME_ZONE_SIZE) {",
     "limiter/limit_text_test", "a name of 40 bytes has no room for its end"),
    ("text-quote-raw", TEXT, "if (byte >= ' ' && byte < 0x7f && byte != '\\\\') {", "if (byte != 0) {",
     "limiter/limit_text_test", "control characters of a limit reach the terminal"),
    ("text-units", FORMAT, '{"h", "hour", UINT64_C(3600000000000)}', '{"h", "hour", UINT64_C(360000000000)}',
     "limiter/limit_text_test", "an hour of six minutes"),
    ("text-other-case", TEXT, "return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;", "return c;",
     "limiter/limit_text_test", "words may be in either case"),
]
