# SPDX-License-Identifier: Apache-2.0
"""Structured Field Values for HTTP (RFC 9651), as strict as its section 4.2: lists, dictionaries and items.

parse_list("\"a\";q=1, \"b\"") is [("a", [("q", 1)]), ("b", [])].  Anything that the RFC tells a parser to refuse
raises ValueError.  serialise_list writes the canonical form of section 4.1, so a field that was serialised to the
letter is equal to its own parse written again.
"""
import base64
import re
from decimal import Decimal


class Token(str):
    pass


class Date(int):
    pass


class DisplayString(str):
    pass


KEY = re.compile(r"[a-z*][a-z0-9_.*-]*")
NUMBER = re.compile(r"(-?)([0-9]+)(?:\.([0-9]*))?")
TOKEN = re.compile(r"[A-Za-z*][A-Za-z0-9!#$%&'*+.^_`|~:/-]*")
BYTES = re.compile(r":([A-Za-z0-9+/=]*):")
SERIALISED_KEY = re.compile(r"[a-z*][a-z0-9_.*-]*\Z")
INTEGER_MAX = 999_999_999_999_999


class Cursor:
    def __init__(self, text):
        if any(ord(character) > 0x7E or (ord(character) < 0x20 and character != "\t") for character in text):
            raise ValueError(f"not ASCII text: {text!r}")
        self.text = text
        self.at = 0

    def fail(self, why):
        raise ValueError(f"{why} at {self.at} of {self.text!r}")

    def is_end(self):
        return self.at == len(self.text)

    def skip(self, characters):
        while not self.is_end() and self.text[self.at] in characters:
            self.at += 1

    def has(self, character):
        """Takes the character if it is next."""
        if self.text.startswith(character, self.at):
            self.at += 1
            return True
        return False

    def match(self, pattern, what):
        found = pattern.match(self.text, self.at)
        if found is None:
            self.fail(f"no {what}")
        self.at = found.end()
        return found


def parse_list(text):
    return parse_all(text, list_members)


def parse_dictionary(text):
    return parse_all(text, dictionary_members)


def parse_item(text):
    return parse_all(text, item)


def parse_all(text, what):
    cursor = Cursor(text)
    cursor.skip(" ")
    value = what(cursor)
    cursor.skip(" ")
    if not cursor.is_end():
        cursor.fail("something is left over")
    return value


def list_members(cursor):
    members = []
    while not cursor.is_end():
        members.append(item_or_inner_list(cursor))
        if not next_member(cursor):
            break
    return members


def dictionary_members(cursor):
    members = {}
    while not cursor.is_end():
        key = cursor.match(KEY, "key").group()
        value = item_or_inner_list(cursor) if cursor.has("=") else (True, parameters(cursor))
        members.pop(key, None)  # of two, the last one and its place count
        members[key] = value
        if not next_member(cursor):
            break
    return members


def next_member(cursor):
    cursor.skip(" \t")
    if cursor.is_end():
        return False
    if not cursor.has(","):
        cursor.fail("no comma")
    cursor.skip(" \t")
    if cursor.is_end():
        cursor.fail("a comma at the end")
    return True


def item_or_inner_list(cursor):
    return inner_list(cursor) if cursor.text.startswith("(", cursor.at) else item(cursor)


def inner_list(cursor):
    cursor.has("(")
    items = []
    while True:
        cursor.skip(" ")
        if cursor.has(")"):
            return items, parameters(cursor)
        items.append(item(cursor))
        if cursor.is_end() or cursor.text[cursor.at] not in " )":
            cursor.fail("no space after an item of an inner list")


def item(cursor):
    value = bare_item(cursor)
    return value, parameters(cursor)


def parameters(cursor):
    found = {}
    while cursor.has(";"):
        cursor.skip(" ")
        key = cursor.match(KEY, "key").group()
        value = bare_item(cursor) if cursor.has("=") else True
        found.pop(key, None)
        found[key] = value
    return list(found.items())


def bare_item(cursor):
    if cursor.is_end():
        cursor.fail("no item")
    first = cursor.text[cursor.at]
    if first == "-" or first.isdigit():
        return number(cursor)
    if cursor.has('"'):
        return string(cursor)
    if first == ":":
        return byte_sequence(cursor)
    if cursor.has("?"):
        return cursor.match(re.compile("[01]"), "boolean").group() == "1"
    if cursor.has("@"):
        value = number(cursor)
        if not isinstance(value, int):
            cursor.fail("a date with a fraction")
        return Date(value)
    if cursor.has("%"):
        return display_string(cursor)
    return Token(cursor.match(TOKEN, "item").group())


def number(cursor):
    sign, whole, fraction = cursor.match(NUMBER, "number").groups()
    if fraction is None:
        if len(whole) > 15:
            cursor.fail("an integer of more than 15 digits")
        return int(sign + whole)
    if len(whole) > 12 or not 1 <= len(fraction) <= 3:
        cursor.fail("a decimal with too many or too few digits")
    return Decimal(f"{sign}{whole}.{fraction}")


def string(cursor):
    out = []
    while not cursor.is_end():
        character = cursor.text[cursor.at]
        cursor.at += 1
        if character == '"':
            return "".join(out)
        if character == "\\":
            if cursor.is_end() or cursor.text[cursor.at] not in '"\\':
                cursor.fail("a backslash before something else")
            character = cursor.text[cursor.at]
            cursor.at += 1
        elif character == "\t":
            cursor.fail("a control character in a string")
        out.append(character)
    cursor.fail("a string without an end")


def byte_sequence(cursor):
    text = cursor.match(BYTES, "byte sequence").group(1)
    return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)


def display_string(cursor):
    if not cursor.has('"'):
        cursor.fail("no quote")
    out = bytearray()
    while not cursor.is_end():
        if cursor.has('"'):
            return DisplayString(out.decode("utf-8"))
        if cursor.has("%"):
            out.append(int(cursor.match(re.compile("[0-9a-f]{2}"), "octet").group(), 16))
        else:
            out.append(ord(cursor.text[cursor.at]))
            cursor.at += 1
    cursor.fail("a string without an end")


def serialise_list(members):
    return ", ".join(serialise_item(member) for member in members)


def serialise_dictionary(members):
    out = []
    for key, member in members.items():
        value, its_parameters = member
        out.append(key + serialise_parameters(its_parameters) if value is True else f"{key}={serialise_item(member)}")
    return ", ".join(out)


def serialise_item(member):
    value, its_parameters = member
    if isinstance(value, list):
        return f"({' '.join(map(serialise_item, value))}){serialise_parameters(its_parameters)}"
    return serialise_bare(value) + serialise_parameters(its_parameters)


def serialise_parameters(its_parameters):
    out = []
    for key, value in its_parameters:
        if not SERIALISED_KEY.match(key):
            raise ValueError(f"not a key: {key!r}")
        out.append(f";{key}" if value is True else f";{key}={serialise_bare(value)}")
    return "".join(out)


def serialise_bare(value):
    if isinstance(value, bool):
        return f"?{int(value)}"
    if isinstance(value, Date):
        return f"@{int(value)}"
    if isinstance(value, int):
        if abs(value) > INTEGER_MAX:
            raise ValueError(f"an integer of more than 15 digits: {value}")
        return str(value)
    if isinstance(value, Decimal):
        text = f"{value.quantize(Decimal('0.001')):f}".rstrip("0")
        return text + "0" if text.endswith(".") else text
    if isinstance(value, bytes):
        return f":{base64.b64encode(value).decode()}:"
    if isinstance(value, Token):
        return str(value)
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
