# SPDX-License-Identifier: Apache-2.0
"""Every reply a test sees is checked against the schema that COMMAND DOCS tells for its command.

The schemas are asked from a daemon of their own, once per test program, so that a test's daemon may be locked.
"""
import functools
import json
import os
import re
import subprocess

KINDS = {"bulk": bytes, "list": list, "null": type(None)}


@functools.lru_cache(maxsize=None)
def schemas():
    """{name in lower case: schema}"""
    from resp import Resp
    process = subprocess.Popen([os.environ["METE_BIN"], "serve", "--resp", "127.0.0.1:0", "--http", "off", "--threads",
                                "1", "--test-clock"], stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    try:
        port = None
        while port is None:
            port = re.search(r"address=127.0.0.1:(\d+)", process.stderr.readline())
        with Resp(("127.0.0.1", int(port[1]))) as client:
            client.send("COMMAND", "DOCS")
            docs = client.read()
        found = {}
        for name, facts in zip(docs[::2], docs[1::2]):
            found[name.decode()] = json.loads(dict(zip(facts[::2], facts[1::2]))[b"reply_schema"])
        return found
    finally:
        process.terminate()
        process.stderr.close()
        process.wait(30)


def fits(schema, reply):
    if schema == "bool":
        return isinstance(reply, bool) or reply in (0, 1)
    if schema == "map":
        return isinstance(reply, dict) or isinstance(reply, list) and len(reply) % 2 == 0
    if isinstance(schema, str):
        return isinstance(reply, KINDS[schema])
    (kind, inner), = schema.items()
    if kind == "int":
        is_int = isinstance(reply, int) and not isinstance(reply, bool)
        return is_int and inner[0] <= reply and (inner[1] is None or reply <= inner[1])
    if kind == "simple":
        return isinstance(reply, str) and reply == inner
    if kind == "any":
        return any(fits(each, reply) for each in inner)
    if kind == "items":
        return isinstance(reply, list) and len(reply) == len(inner) and all(map(fits, inner, reply))
    if kind == "each":
        return isinstance(reply, list) and all(fits(inner, each) for each in reply)
    if kind == "map":
        if isinstance(reply, list):
            reply = dict(zip(reply[::2], reply[1::2])) if len(reply) == 2 * len(inner) else {}
        return {name.decode() for name in reply} == set(inner) and \
            all(fits(inner[name.decode()], value) for name, value in reply.items())
    raise AssertionError(f"no such schema: {schema}")


def check(arguments, reply):
    """An error may answer everything; a command that is not in the table only an error."""
    from resp import ErrorReply
    if isinstance(reply, ErrorReply):
        return
    name = arguments[0]
    name = (name.decode("latin-1") if isinstance(name, bytes) else str(name)).lower()
    schema = schemas().get(name)
    assert schema is not None, f"{name} is answered and not in COMMAND DOCS: {reply!r}"
    assert fits(schema, reply), f"{arguments}: {reply!r} does not fit {schema}"
