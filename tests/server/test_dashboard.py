# SPDX-License-Identifier: Apache-2.0
"""The dashboard of a real daemon in a real browser.  METE_TEST_PICTURES=FOLDER keeps the screenshots."""

import base64
import json
import os
import tempfile
import unittest
import urllib.request

import serving
from browser import Browser, pixels

POLICIES = """
policies:
  api:
    limits: {second: 20/1s burst 50, hour: sliding_window 2000/1h}
  login:
    limits: {hour: 3/1h burst 3}
  trial:
    limits: {hour: 2/1h burst 2}
    dry_run: true
"""
USERS = """
users:
  - {name: default, policies: all}
  - {name: ops, password: "s3cret ü", policies: all, may_administer: true}
"""
LISTEN = "listen: [{http: '127.0.0.1:%d'}]\nthreads: 1\n"
WIDTHS = [(1280, 900, False), (768, 900, False), (390, 844, True), (320, 640, True)]

# WCAG 2.2, 1.4.3: the contrast of a colour with what stands behind it.
CONTRAST = """(() => {
  const luminance = (c) => {
    const [r, g, b] = c.match(/[\\d.]+/g).slice(0, 3).map((v) => v / 255)
      .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const c = getComputedStyle(e).backgroundColor;
      if (!/, 0\\)$/.test(c)) return c;
    }
    return "rgb(255, 255, 255)";
  };
  const worst = { ratio: 99 };
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim() !== "");
    if (!own || e.closest("svg, script, noscript, option") || !e.checkVisibility()) continue;
    const [a, b] = [luminance(getComputedStyle(e).color), luminance(behind(e))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < worst.ratio) Object.assign(worst, { ratio, text: e.textContent.slice(0, 40) });
  }
  return worst;
})()"""

NAMELESS = """[...document.querySelectorAll("button, input, select, a, [tabindex='0']")].filter((e) =>
  e.checkVisibility() && !(e.textContent.trim() || e.labels?.length || e.getAttribute("aria-label") ||
  e.getAttribute("aria-labelledby"))).map((e) => e.outerHTML)"""


def write_file(folder, text):
    path = os.path.join(folder, "mete.yml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def take(port, policy, key, times):
    body = json.dumps({"policy": policy, "requests": [{"key": key}] * times}).encode()
    request = urllib.request.Request("http://127.0.0.1:%d/v1/take" % port, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def brightness(png):
    """Mean of the pixels, 0..255, and how many colours there are."""
    _, _, rows, step = pixels(png)
    seen, total, count = set(), 0, 0
    for row in rows:
        for i in range(0, len(row), step):
            colour = bytes(row[i:i + 3])
            seen.add(colour)
            total += sum(colour)
            count += 3
    return total / count, len(seen)


class Dashboard(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        self.browser.open("about:blank")  # the page of the test before asks no more
        self.browser.wait_for("location.href === 'about:blank'")
        self.browser.complaints.clear()
        self.browser.requested.clear()
        self.browser.resize(1280, 900)
        self.browser.prefer(prefers_color_scheme="light")

    def serve(self, text=POLICIES, port=0):
        folder = tempfile.TemporaryDirectory(prefix="mete-dashboard-")
        self.addCleanup(folder.cleanup)
        daemon = serving.Daemon("--config", write_file(folder.name, LISTEN % port + text), listeners=1)
        return daemon, daemon.port("http")

    def open(self, port):
        self.browser.open("http://127.0.0.1:%d/" % port)
        self.browser.wait_for("document.readyState === 'complete' && !!window.fetch")

    def wait_live(self):
        self.browser.wait_for("document.getElementById('state').dataset.state === 'live'")

    def click(self, selector):
        self.browser.value("document.querySelector(%s).click()" % json.dumps(selector))

    def text(self, selector):
        return self.browser.value("document.querySelector(%s).textContent" % json.dumps(selector))

    def picture(self, name):
        folder = os.environ.get("METE_TEST_PICTURES")
        if folder:
            self.browser.picture(os.path.join(folder, name + ".png"))

    def assert_clean(self, port):
        self.assertEqual(self.browser.complaints, [])
        outside = [url for url in self.browser.requested if not url.startswith("http://127.0.0.1:%d/" % port)]
        self.assertEqual([url for url in outside if url != "about:blank"], [])

    def test_before_there_is_data(self):
        daemon, port = self.serve()
        self.addCleanup(daemon.finish)
        self.open(port)
        self.wait_live()
        self.browser.wait_for("document.querySelectorAll('#policies tbody tr').length === 3")
        self.assertIn("Nobody was denied.", self.text("#top-denied"))
        self.assertIn("Nobody came yet.", self.text("#top-allowed"))
        self.assertIn("token_bucket 20/1s burst 50", self.text("#policies"))
        self.assertIn("dry run", self.text("#policies tr[data-name=trial]"))
        self.assertNotIn("NaN", self.text("body"))
        self.assertNotIn("undefined", self.text("body"))
        self.picture("empty")
        self.assert_clean(port)

    def test_with_traffic(self):
        daemon, port = self.serve()
        self.addCleanup(daemon.finish)
        self.open(port)
        self.wait_live()
        take(port, "login", "203.0.113.66", 10)
        take(port, "api", "tenant/7", 30)
        take(port, "trial", "ada", 5)
        self.browser.wait_for("document.querySelector('#policies tr[data-name=login] .total').textContent.startsWith('7 ')")
        self.browser.wait_for("document.querySelectorAll('#top-denied button').length === 2")
        self.assertEqual(self.text("#top-denied li:first-child .name"), "203.0.113.66  login")
        self.assertEqual(self.text("#top-denied li:first-child .count"), "7")
        self.assertEqual(self.text("#top-allowed li:first-child .name"), "tenant/7  api")
        self.assertTrue(self.text("#policies tr[data-name=trial] .total").startswith("3 "))
        self.browser.wait_for("/M.*L/.test(document.querySelector('.line-denied').getAttribute('d'))")
        self.assertGreater(self.browser.value("Math.max(...page.history.map((s) => s.all.denied))"), 0)
        self.looks()
        self.assert_clean(port)

    def looks(self):
        """Light and dark, wide and narrow."""
        for scheme, least, most in [("light", 200, 256), ("dark", 0, 60)]:
            self.browser.prefer(prefers_color_scheme=scheme)
            for width, height, is_phone in WIDTHS:
                self.browser.resize(width, height, is_phone)
                self.browser.value("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 100)))")
                self.assertLessEqual(self.browser.value("document.documentElement.scrollWidth"), width, scheme)
                if width not in (1280, 390):
                    continue
                self.picture("%s-%d" % (scheme, width))
                light, colours = brightness(self.browser.picture(scale=0.25))
                self.assertTrue(least <= light < most, (scheme, width, light))
                self.assertGreater(colours, 20)
                worst = self.browser.value(CONTRAST)
                self.assertGreaterEqual(worst["ratio"], 4.5, (scheme, width, worst))

    def test_many_policies(self):
        many = "policies:\n" + "".join("  p%03d: {limits: {hour: 5/1h}}\n" % i for i in range(300))
        daemon, port = self.serve(many)
        self.addCleanup(daemon.finish)
        self.open(port)
        self.wait_live()
        take(port, "p299", "ada", 1)
        self.browser.wait_for("!!document.querySelector('#policies tr[data-name=p299]')")
        self.assertEqual(self.browser.value("document.querySelectorAll('#policies tbody tr').length"), 50)
        self.assertEqual(self.text("#policies-note"), "the busiest 50 of 300")
        self.assertEqual(self.browser.value("document.querySelectorAll('#chart-policy option').length"), 301)
        self.assert_clean(port)

    def test_keyboard_and_names(self):
        daemon, port = self.serve()
        self.addCleanup(daemon.finish)
        self.open(port)
        self.wait_live()
        self.browser.wait_for("page.history.length > 1")
        self.assertEqual(self.browser.value(NAMELESS), [])
        ids = self.browser.value("[...document.querySelectorAll('[id]')].map((e) => e.id)")
        self.assertEqual(len(ids), len(set(ids)))
        self.assertEqual(self.browser.value("document.documentElement.lang"), "en")
        reached = []
        for _ in range(20):
            self.browser.press("Tab")
            reached.append(self.browser.value("document.activeElement.id"))
            outline = self.browser.value("getComputedStyle(document.activeElement).outlineStyle")
            self.assertNotEqual(outline, "none", reached)
            if reached[-1] == "ask-reset":
                break
        for name in ["chart-policy", "chart", "ask-policy", "ask-key", "ask-reset"]:
            self.assertIn(name, reached)
        self.browser.value("document.getElementById('chart').focus()")
        self.browser.press("ArrowLeft")
        self.assertIn("allowed/s", self.text("#chart-tip"))
        self.assertFalse(self.browser.value("document.getElementById('chart-tip').hidden"))
        self.browser.press("Escape")
        self.assertTrue(self.browser.value("document.getElementById('chart-tip').hidden"))
        self.browser.prefer(prefers_reduced_motion="reduce")
        self.assertEqual(self.browser.value("getComputedStyle(document.querySelector('main')).transitionDuration"), "0s")
        self.assert_clean(port)

    def test_peek_and_reset(self):
        daemon, port = self.serve()
        self.addCleanup(daemon.finish)
        key = base64.b64encode(b"\xff\x00\x80").decode()
        body = json.dumps({"policy": "login", "requests": [{"key_base64": key}] * 5}).encode()
        urllib.request.urlopen(urllib.request.Request("http://127.0.0.1:%d/v1/take" % port, body,
                                                      {"Content-Type": "application/json"}), timeout=30).close()
        self.open(port)
        self.wait_live()
        self.browser.wait_for("document.querySelectorAll('#top-denied button').length === 1")
        self.click("#top-denied button")
        self.browser.wait_for("/is denied for/.test(document.getElementById('answer').textContent)")
        self.assertIn("0 of 3 left", self.text("#answer"))
        self.assertTrue(self.browser.value("document.getElementById('ask-base64').checked"))
        self.click("#ask-reset")
        self.assertTrue(self.browser.value("document.getElementById('confirm').open"))
        self.assertEqual(self.browser.value("document.activeElement.value"), "no")
        self.picture("confirm")
        self.browser.press("Escape")
        self.browser.wait_for("!document.getElementById('confirm').open")
        self.click("#ask button[type=submit]")
        self.browser.wait_for("/0 of 3 left/.test(document.getElementById('answer').textContent)")
        self.click("#ask-reset")
        self.browser.press("Tab")
        self.browser.press("Enter")
        self.browser.wait_for("/The key was reset.*3 of 3 left/s.test(document.getElementById('answer').textContent)")
        self.assert_clean(port)
        self.browser.value("document.getElementById('ask-key').value = '!'")
        self.click("#ask button[type=submit]")
        self.browser.wait_for("/base64/.test(document.querySelector('#answer .failed')?.textContent)")

    def test_daemon_goes_and_comes_back(self):
        daemon, port = self.serve()
        self.open(port)
        self.wait_live()
        daemon.finish()
        self.browser.wait_for("document.getElementById('state').dataset.state === 'gone'")
        self.assertIn("does not answer", self.text("#notice"))
        self.assertTrue(self.browser.value("document.body.hasAttribute('data-stale')"))
        self.picture("gone")
        daemon, _ = self.serve(port=port)
        self.addCleanup(daemon.finish)
        self.wait_live()
        self.assertTrue(self.browser.value("document.getElementById('notice').hidden"))

    def test_pauses_when_hidden(self):
        daemon, port = self.serve()
        self.addCleanup(daemon.finish)
        self.open(port)
        self.wait_live()
        hide = "Object.defineProperty(document, 'hidden', {value: %s, configurable: true});" \
            "document.dispatchEvent(new Event('visibilitychange'))"
        self.browser.value(hide % "true")
        self.browser.value("new Promise((done) => setTimeout(done, 500))")  # what was under way comes to its end
        before = len(self.browser.requested)
        self.browser.value("new Promise((done) => setTimeout(done, 1500))")
        self.assertEqual(len(self.browser.requested), before)
        self.assertEqual(self.text("#state"), "Paused")
        self.browser.value(hide % "false")
        self.wait_live()
        self.assertGreater(len(self.browser.requested), before)

    def test_sign_in(self):
        daemon, port = self.serve(POLICIES + USERS)
        self.addCleanup(daemon.finish)
        self.open(port)
        self.browser.wait_for("!document.getElementById('signin').hidden")
        self.assertIn("may not", self.text("#notice"))
        self.assertEqual(self.browser.value("document.activeElement.id"), "signin-user")
        self.picture("sign-in")
        self.browser.type("ops")
        self.browser.press("Tab")
        self.browser.type("s3cret ü")
        self.browser.press("Enter")
        self.wait_live()
        self.assertTrue(self.browser.value("document.getElementById('signin').hidden"))
        self.assertEqual(self.browser.value("document.getElementById('signin-password').value"), "")
        self.browser.wait_for("document.querySelectorAll('#policies tbody tr').length === 3")


if __name__ == "__main__":
    unittest.main()
