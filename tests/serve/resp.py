# SPDX-License-Identifier: Apache-2.0
"""A strict client of the Redis protocol, RESP2 and RESP3, for tests.

Replies become Python values: bytes (bulk and verbatim strings), Simple and ErrorReply (both str), int, float, bool,
None, list, set and dict.  An error reply is a value, not an exception: tests look at it.  Anything that the protocol
does not allow raises ProtocolError.
"""
import socket

import schema


class ProtocolError(Exception):
    pass


class Simple(str):
    """+OK"""


class ErrorReply(str):
    """-ERR ..."""

    @property
    def code(self):
        return self.split(" ", 1)[0]


class Push(list):
    """>N, RESP3's out-of-band data"""


def encode(*arguments):
    """A command as an array of bulk strings."""
    parts = [b"*%d\r\n" % len(arguments)]
    for argument in arguments:
        data = argument if isinstance(argument, bytes) else str(argument).encode()
        parts.append(b"$%d\r\n%b\r\n" % (len(data), data))
    return b"".join(parts)


class Resp:
    def __init__(self, address, timeout=20):
        if isinstance(address, str):
            self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.socket.settimeout(timeout)
            self.socket.connect(address)
        else:
            self.socket = socket.create_connection(address, timeout)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb")

    def __call__(self, *arguments):
        self.send(*arguments)
        reply = self.read()
        schema.check(arguments, reply)
        return reply

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.file.close()
        self.socket.close()

    def send(self, *arguments):
        self.raw(encode(*arguments))

    def raw(self, data):
        self.socket.sendall(data)

    def split(self, data, at):
        """Sends data in two writes."""
        self.socket.sendall(data[:at])
        self.socket.sendall(data[at:])

    def pipeline(self, commands):
        """All commands in one write; all their replies."""
        self.raw(b"".join(encode(*command) for command in commands))
        replies = [self.read() for _ in commands]
        for command, reply in zip(commands, replies):
            schema.check(command, reply)
        return replies

    def is_closed(self):
        """Waits for the end of the stream; False when a byte comes instead."""
        try:
            return self.file.read(1) == b""
        except ConnectionResetError:
            return True

    def read(self):
        line = self.line()
        kind, rest = line[:1], line[1:]
        if kind in READERS:
            return READERS[kind](self, rest)
        raise ProtocolError(f"no such type: {line!r}")

    def line(self):
        line = self.file.readline(1 << 20)
        if line == b"":
            raise EOFError("the connection was closed")
        if not line.endswith(b"\r\n") or b"\r" in line[:-2]:
            raise ProtocolError(f"a line that does not end in CRLF: {line!r}")
        return line[:-2]

    def bulk(self, length):
        data = self.file.read(length + 2)
        if len(data) != length + 2:
            raise EOFError("the connection was closed inside a string")
        if data[-2:] != b"\r\n":
            raise ProtocolError(f"a string that does not end in CRLF: {data[-20:]!r}")
        return data[:-2]

    def items(self, count):
        return [self.read() for _ in range(count)]


def integer(text):
    if str(int(text)).encode() != text:
        raise ProtocolError(f"not a plain integer: {text!r}")
    return int(text)


def read_bulk(client, rest):
    length = integer(rest)
    if length == -1:
        return None
    return client.bulk(length)


def read_array(client, rest):
    length = integer(rest)
    return None if length == -1 else client.items(length)


def read_map(client, rest):
    pairs = client.items(2 * integer(rest))
    keys = pairs[::2]
    if len(set(keys)) != len(keys):
        raise ProtocolError(f"a map with the same key twice: {keys}")
    return dict(zip(keys, pairs[1::2]))


def read_double(_client, rest):
    return float(rest)


def read_boolean(_client, rest):
    if rest not in (b"t", b"f"):
        raise ProtocolError(f"not a boolean: {rest!r}")
    return rest == b"t"


def read_verbatim(client, rest):
    data = client.bulk(integer(rest))
    if data[3:4] != b":":
        raise ProtocolError(f"a verbatim string without a format: {data[:8]!r}")
    return data[4:]


READERS = {
    b"+": lambda client, rest: Simple(rest.decode()),
    b"-": lambda client, rest: ErrorReply(rest.decode()),
    b":": lambda client, rest: integer(rest),
    b"$": read_bulk,
    b"*": read_array,
    b"%": read_map,
    b"~": lambda client, rest: set(client.items(integer(rest))),
    b">": lambda client, rest: Push(client.items(integer(rest))),
    b",": read_double,
    b"#": read_boolean,
    b"_": lambda client, rest: None,
    b"(": lambda client, rest: integer(rest),
    b"=": read_verbatim,
    b"!": lambda client, rest: ErrorReply(client.bulk(integer(rest)).decode()),
}


def plain(reply):
    """The same reply with text instead of bytes, and a flat list of pairs as a dictionary is left alone."""
    if isinstance(reply, bytes):
        return reply.decode("latin-1")
    if isinstance(reply, dict):
        return {plain(key): plain(value) for key, value in reply.items()}
    if isinstance(reply, (list, set)):
        return [plain(item) for item in reply]
    return reply


def pairs(reply):
    """A RESP3 map, or the flat array of names and values that RESP2 has instead, as a dictionary."""
    reply = plain(reply)
    if isinstance(reply, dict):
        return reply
    if not isinstance(reply, list) or len(reply) % 2 != 0:
        raise ProtocolError(f"not a map: {reply!r}")
    return dict(zip(reply[::2], reply[1::2]))
