# SPDX-License-Identifier: Apache-2.0
"""HTTP for tests: a client of the daemon's API over http.client, and the fields of its answers read strictly."""
import http.client
import json
import re
import socket
from urllib.parse import quote

import sf


class Response:
    def __init__(self, status, fields, body):
        self.status = status
        self.fields = fields  # (name in lower case, value), in order
        self.body = body

    def __repr__(self):
        return f"<{self.status} {self.fields} {self.body[:200]!r}>"

    def __contains__(self, name):
        return any(name.lower() == field for field, _ in self.fields)

    def __getitem__(self, name):
        """A field's value: lines of the same name joined as RFC 9110 section 5.3 says."""
        values = [value for field, value in self.fields if field == name.lower()]
        if not values:
            raise KeyError(f"{name} in {self!r}")
        return ", ".join(values)

    def get(self, name, default=None):
        return self[name] if name in self else default

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def retry_after(self):
        """Seconds; None without the field.  Only delay-seconds, and never 0, are expected (RFC 9110 10.2.3)."""
        if "Retry-After" not in self:
            return None
        value = self["Retry-After"]
        if not re.fullmatch(r"[1-9][0-9]*", value):
            raise AssertionError(f"Retry-After: {value!r}")
        return int(value)

    @property
    def rate_limit(self):
        """{limit's name: parameters} of RateLimit, which must be in canonical form (RFC 9651 section 4.1)."""
        return named_items(self["RateLimit"])

    @property
    def rate_limit_policy(self):
        return named_items(self["RateLimit-Policy"])


def named_items(value):
    items = sf.parse_list(value)
    assert items, "an empty list must not be sent"
    assert sf.serialise_list(items) == value, f"not canonical: {value!r}"
    for name, _ in items:
        assert type(name) is str, f"not a String: {value!r}"  # Token and others are classes of their own
    assert len({name for name, _ in items}) == len(items), value
    return {name: dict(parameters) for name, parameters in items}


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Web:
    def __init__(self, address, timeout=20, context=None):
        if isinstance(address, str):
            self.connection = UnixConnection(address, timeout)
        elif context is not None:
            self.connection = http.client.HTTPSConnection(*address, timeout=timeout, context=context)
        else:
            self.connection = http.client.HTTPConnection(*address, timeout=timeout)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.connection.close()

    def __call__(self, method, target, headers=(), body=None):
        """One exchange on the kept connection.  headers: pairs, or a dictionary."""
        headers = list(headers.items() if isinstance(headers, dict) else headers)
        connection = self.connection
        connection.putrequest(method, target, skip_accept_encoding=True)
        for name, value in headers:
            connection.putheader(name, value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        response = connection.getresponse()
        return Response(response.status, [(name.lower(), value) for name, value in response.getheaders()],
                        response.read())

    def get(self, target, headers=()):
        return self("GET", target, headers)

    def post_json(self, target, value, headers=()):
        return self("POST", target, [("Content-Type", "application/json"), *headers], json.dumps(value).encode())

    def take(self, policy, key, cost=None, verb="take", **named):
        return self("GET", query(verb, policy, key, cost), **named)

    def peek(self, policy, key, cost=None, **named):
        return self.take(policy, key, cost, verb="peek", **named)

    def refund(self, policy, key, cost=None, **named):
        return self("POST", query("refund", policy, key, cost), **named)

    def reset(self, policy, key, **named):
        return self("POST", query("reset", policy, key), **named)


def query(verb, policy, key, cost=None):
    target = f"/v1/{verb}?policy={quote(policy, safe='')}&key={quote(key, safe='')}"
    return target if cost is None else f"{target}&cost={cost}"


def exchange(address, data, timeout=20, finish=False):
    """Sends bytes, and everything that comes until the daemon closes."""
    with socket.create_connection(address, timeout) as stream:
        stream.sendall(data)
        if finish:
            stream.shutdown(socket.SHUT_WR)
        received = []
        while True:
            try:
                chunk = stream.recv(65536)
            except ConnectionResetError:
                break
            if not chunk:
                break
            received.append(chunk)
    return b"".join(received)
