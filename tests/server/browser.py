# SPDX-License-Identifier: Apache-2.0
"""Chromium without a window, driven by the DevTools protocol over its pipe
(--remote-debugging-pipe: JSON texts that end with a NUL, on descriptors 3 and 4).
https://chromedevtools.github.io/devtools-protocol/"""
import base64
import json
import os
import select
import shutil
import struct
import subprocess
import tempfile
import time
import zlib

NAMES = ["chromium", "chromium-browser", "google-chrome"]
START_S = 60
ANSWER_S = 60


class Browser:
    """One page.  What goes wrong in it is kept in .complaints, what it loads in .requested."""

    def __init__(self):
        program = next((shutil.which(name) for name in NAMES if shutil.which(name)), None)
        if program is None:
            raise SystemExit("chromium is missing: tools/install-deps test")
        self.folder = tempfile.mkdtemp(prefix="mete-browser-")
        to_browser, self.write_fd = os.pipe()
        self.read_fd, from_browser = os.pipe()
        self.process = subprocess.Popen(
            ["sh", "-c", 'exec "$@" 3<&%d 4>&%d' % (to_browser, from_browser), "sh", program, "--headless=new",
             "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions",
             "--disable-background-networking", "--disable-component-update", "--hide-scrollbars",
             "--force-color-profile=srgb", "--lang=en-US", "--remote-debugging-pipe",
             "--user-data-dir=" + self.folder, "about:blank"],
            pass_fds=(to_browser, from_browser), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer = b""
        self.last_id = 0
        self.session = None
        self.complaints = []
        self.requested = []
        target = self.call("Target.createTarget", url="about:blank", within_s=START_S)["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Log", "Network"]:
            self.call(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.read_fd)
        os.close(self.write_fd)
        for _ in range(20):  # its helpers may still write
            shutil.rmtree(self.folder, ignore_errors=True)
            if not os.path.exists(self.folder):
                break
            time.sleep(0.1)

    def call(self, method, within_s=ANSWER_S, **parameters):
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": parameters}
        if self.session is not None:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.write_fd, data):]
        deadline = time.monotonic() + within_s
        while True:
            answer = self._read(deadline)
            if answer is None:
                raise AssertionError("no answer to %s within %d s" % (method, within_s))
            if answer.get("id") == self.last_id:
                if "error" in answer:
                    raise AssertionError("%s: %s" % (method, answer["error"]["message"]))
                return answer["result"]

    def _read(self, deadline):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.read_fd], [], [], max(0, deadline - time.monotonic()))
            data = os.read(self.read_fd, 1 << 20) if ready else b""
            if not data:
                return None
            self.buffer += data
        text, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(text)
        self._note(message.get("method"), message.get("params", {}))
        return message

    def _note(self, method, parameters):
        if method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.complaints.append("exception: " + details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            entry = parameters["entry"]
            self.complaints.append("%s: %s %s" % (entry["source"], entry["text"], entry.get("url", "")))
        elif method == "Network.requestWillBeSent":
            self.requested.append(parameters["request"]["url"])

    def open(self, url):
        self.call("Page.navigate", url=url)

    def value(self, expression):
        """What a JavaScript expression says; promises are waited for."""
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise AssertionError("%s: %s" % (expression, result["exceptionDetails"]))
        return result["result"].get("value")

    def wait_for(self, expression, within_s=30):
        """Until the expression is true; returns its value."""
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline:
            value = self.value(expression)
            if value:
                return value
            time.sleep(0.1)
        raise AssertionError("not within %d s: %s\n%s" % (within_s, expression, self.value("document.body.innerText")))

    def resize(self, width, height, is_phone=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=2 if is_phone else 1, mobile=is_phone)

    def prefer(self, **features):
        """prefers-color-scheme and its like, by names with _ for -."""
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": name.replace("_", "-"), "value": value} for name, value in features.items()])

    def press(self, key, text=None):
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowRight": 39, "End": 35}
        shared = {"key": key, "code": key, "windowsVirtualKeyCode": codes.get(key, 0)}
        if key == "Enter":
            text = "\r"
        self.call("Input.dispatchKeyEvent", type="keyDown", **shared, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **shared)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def picture(self, path=None, scale=1):
        """A screenshot of the whole page as PNG bytes."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": scale}
        png = base64.b64decode(self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                                         clip=clip)["data"])
        if path:
            with open(path, "wb") as file:
                file.write(png)
        return png


def pixels(png):
    """(width, height, rows of bytes, bytes per pixel) of a PNG as Chromium writes them (RFC 2083: 8 bits, no
    interlace)."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at, data, head = 8, b"", None
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at:at + 8])
        body = png[at + 8:at + 8 + size]
        head = struct.unpack(">IIBBBBB", body) if kind == b"IHDR" else head
        data += body if kind == b"IDAT" else b""
        at += 12 + size
    width, height, depth, colour, _, _, interlace = head
    assert depth == 8 and colour in (2, 6) and interlace == 0
    step = 3 if colour == 2 else 4
    return width, height, list(_unfilter(zlib.decompress(data), width * step, height, step)), step


def _unfilter(raw, line, height, step):
    above = bytearray(line)
    for y in range(height):
        start = y * (line + 1)
        kind, row = raw[start], bytearray(raw[start + 1:start + 1 + line])
        if kind == 1:
            for i in range(step, line):
                row[i] = (row[i] + row[i - step]) & 255
        elif kind == 2:
            row = bytearray((a + b) & 255 for a, b in zip(row, above))
        elif kind == 3:
            for i in range(line):
                row[i] = (row[i] + (((row[i - step] if i >= step else 0) + above[i]) >> 1)) & 255
        elif kind == 4:
            for i in range(line):
                left, corner = (row[i - step], above[i - step]) if i >= step else (0, 0)
                guess = left + above[i] - corner
                away = abs(guess - left), abs(guess - above[i]), abs(guess - corner)
                near = left if away[0] <= away[1] and away[0] <= away[2] else above[i] if away[1] <= away[2] else corner
                row[i] = (row[i] + near) & 255
        yield row
        above = row
