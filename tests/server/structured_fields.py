# SPDX-License-Identifier: Apache-2.0
"""Structured field values read strictly (RFC 9651, section 4.2): what rate limit fields are made of.

parse_list('"a";q=5;w=60') is [("a", {"q": 5, "w": 60})]; a dictionary is {"limit": 5}.  What is not canonical
(section 4.1: one space after a comma, none after a semicolon) is refused, as nothing else may be sent.
"""
import base64
import re

KEY = re.compile(r"[a-z*][a-z0-9_.*-]*")
INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(?![0-9.])")
STRING = re.compile(r'"((?:[ !#-\[\]-~]|\\["\\])*)"')
BYTES = re.compile(r":([A-Za-z0-9+/]*={0,2}):")


class Cursor:
    def __init__(self, text):
        self.text = text
        self.at = 0

    def take(self, pattern):
        match = pattern.match(self.text, self.at)
        if match:
            self.at = match.end()
        return match

    def eat(self, word):
        found = self.text.startswith(word, self.at)
        self.at += len(word) if found else 0
        return found

    def fail(self):
        raise ValueError(f"not a structured field: {self.text[:self.at]!r} >>> {self.text[self.at:]!r}")


def bare_item(cursor):
    match = cursor.take(INTEGER)
    if match:
        return int(match.group())
    match = cursor.take(STRING)
    if match:
        return re.sub(r"\\(.)", r"\1", match.group(1))
    match = cursor.take(BYTES)
    if match:
        value = base64.b64decode(match.group(1), validate=True)
        if base64.b64encode(value).decode() == match.group(1):  # pad bits are zero
            return value
    return cursor.fail()


def parameters(cursor):
    found = {}
    while cursor.eat(";"):
        key = cursor.take(KEY) or cursor.fail()
        if key.group() in found:
            cursor.fail()
        found[key.group()] = bare_item(cursor) if cursor.eat("=") else True
    return found


def members(text, member):
    cursor = Cursor(text)
    found = [member(cursor)]
    while cursor.at < len(text):
        if not cursor.eat(", "):
            cursor.fail()
        found.append(member(cursor))
    return found


def parse_item(text):
    found = parse_list(text)
    if len(found) != 1:
        raise ValueError(f"not one item: {text!r}")
    return found[0]


def parse_list(text):
    return members(text, lambda cursor: (bare_item(cursor), parameters(cursor)))


def parse_dictionary(text):
    def member(cursor):
        key = cursor.take(KEY) or cursor.fail()
        if not cursor.eat("="):
            cursor.fail()
        return key.group(), bare_item(cursor)
    return dict(members(text, member))
