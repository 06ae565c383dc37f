# SPDX-License-Identifier: Apache-2.0
"""A real nginx in front, asking by auth_request, and a real curl behind it all: at the edge a denial is a 429 with
its fields, never the 500 that nginx makes of every answer but 2xx, 401 and 403."""
import os
import re
import socket
import subprocess
import threading
import unittest

import conf
import sf
from daemon import folder, needs, on_end, serve, wait_until
from web import Web

# On Unix sockets in a folder of the test's own.
NGINX = """
daemon off; master_process on; worker_processes 2; {user}
pid {folder}/nginx.pid; error_log {folder}/error.log warn;
events {{ worker_connections 256; }}
http {{
    access_log off;
    client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
    uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
    upstream mete {{ server {mete}; keepalive 16; }}
    server {{
        listen unix:{folder}/app.sock;
        location / {{ return 200 "app\\n"; }}
        location /forbidden {{ return 403; }}
    }}
    server {{
        listen unix:{folder}/edge.sock;
        set_real_ip_from unix:;
        real_ip_header X-Test-Client;
        {locations}
    }}
}}
"""

LOCATIONS = """
        location / {{
            auth_request     /_mete;
            auth_request_set $rl     $upstream_http_ratelimit;
            auth_request_set $rl_pol $upstream_http_ratelimit_policy;
            auth_request_set $rl_ra  $upstream_http_retry_after;
            add_header RateLimit $rl always;
            add_header RateLimit-Policy $rl_pol always;
            error_page 403 = @limited;
            proxy_pass http://unix:{folder}/app.sock;
        }}
        location = /_mete {{
            internal;
            proxy_pass http://mete/check/{policy};
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_pass_request_body off;
            proxy_set_header Content-Length "";
            proxy_set_header X-Original-URI $request_uri;
            proxy_set_header X-Forwarded-For $remote_addr;
            {fail_open}
        }}
        location @open {{ return 204; }}
        location @limited {{
            add_header RateLimit $rl always;
            add_header RateLimit-Policy $rl_pol always;
            add_header Retry-After $rl_ra always;
            return 429;
        }}
"""


def documented(mete, folder):
    """The locations that docs/http.md has for nginx, with our addresses for its own."""
    with open(os.path.join(os.environ["METE_SOURCE_DIR"], "docs", "http.md"), encoding="utf-8") as file:
        text = re.search(r"```nginx\n(.*?)```", file.read(), re.DOTALL).group(1)
    return text.replace("127.0.0.1:8080", mete).replace("http://app", f"http://unix:{folder}/app.sock")


def is_listening(path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stream:
        return stream.connect_ex(path) == 0


class Edge(unittest.TestCase):
    def start(self, limits, test_clock=True, fail_open=False, **settings):
        self.daemon = serve(self, conf.config({"edge": conf.policy(limits, deny_status=403, **settings)}),
                            test_clock=test_clock)
        self.start_nginx(lambda mete, folder: LOCATIONS.format(
            folder=folder, policy="edge", fail_open="error_page 502 504 = @open;" if fail_open else ""))

    def start_nginx(self, locations):
        self.folder = folder(self)
        os.chmod(self.folder, 0o755)
        host, port = self.daemon.address("http")
        text = NGINX.format(folder=self.folder, mete=f"{host}:{port}", user="user root;" if os.geteuid() == 0 else "",
                            locations=locations(f"{host}:{port}", self.folder))
        with open(os.path.join(self.folder, "nginx.conf"), "w", encoding="utf-8") as file:
            file.write(text)
        self.edge = os.path.join(self.folder, "edge.sock")
        nginx = subprocess.Popen([needs("setpriv"), "--pdeathsig", "TERM", needs("nginx"), "-p", self.folder,
                                  "-c", os.path.join(self.folder, "nginx.conf")],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        on_end(self, nginx.stderr.close)
        on_end(self, nginx.wait, 20)
        on_end(self, nginx.terminate)
        wait_until(lambda: nginx.poll() is not None or is_listening(self.edge), 20, "nginx does not listen")
        if nginx.poll() is not None:
            self.fail("nginx does not start: " + nginx.stderr.read().decode())

    def get(self, target="/", client="192.0.2.1", method="GET"):
        with Web(self.edge) as web:
            return web(method, target, {"X-Test-Client": client})

    # gw-045 https://github.com/keptn/keptn/issues/9474, gw-046 https://github.com/nginx/nginx/issues/941
    # A 429 of the limiter was a 500 at the edge.
    def test_gw_045_046_a_denial_is_429_at_the_edge(self):
        self.start({"perip": "2/1m burst 2"})
        first, second, third = self.get(), self.get("/other?x=1"), self.get(method="POST")
        self.assertEqual([response.status for response in (first, second, third)], [200, 200, 429])
        self.assertEqual(first.body, b"app\n")
        self.assertEqual(sf.parse_list(first["RateLimit"]), [("perip", [("r", 1), ("t", 30)])])
        self.assertEqual(first["RateLimit-Policy"], '"perip";q=2;w=60')
        self.assertNotIn("Retry-After", first)
        self.assertEqual(third.rate_limit["perip"], {"r": 0, "t": 30})
        self.assertEqual(third.retry_after, 30)
        self.assertEqual(self.get(client="192.0.2.2").status, 200, "another client has its own")
        self.daemon.clock_s(30)
        self.assertEqual(self.get().status, 200)

    def test_gw_045_under_load_there_is_no_5xx(self):
        self.start("50/1h", test_clock=False)
        statuses = []

        def work():
            with Web(self.edge) as web:
                for _ in range(60):
                    statuses.append(web("GET", "/", {"X-Test-Client": "192.0.2.1"}).status)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(statuses), 480)
        self.assertEqual(statuses.count(200), 50)
        self.assertEqual(statuses.count(429), 430)

    def test_the_recipe_of_the_documentation(self):
        """As it is printed there; the policy itself says 429."""
        self.daemon = serve(self, conf.config({"api": conf.policy({"perip": "1/1h burst 1"})}))
        self.start_nginx(documented)
        allowed, denied = self.get(), self.get()
        self.assertEqual((allowed.status, denied.status), (200, 429))
        self.assertEqual(allowed["RateLimit"], '"perip";r=0;t=3600')
        self.assertEqual(denied.retry_after, 3600)
        self.assertEqual(self.get(client="192.0.2.2").status, 200)

    def test_the_applications_own_403_stays(self):
        self.start("5/1h")
        self.assertEqual(self.get("/forbidden").status, 403)

    def test_path_as_part_of_the_key(self):
        """The path that the client asked for, which nginx passes on in X-Original-URI."""
        self.start("1/1h", key=["client_address", "path"])
        self.assertEqual([self.get(target).status for target in ("/a?1", "/a?2", "/b", "/b", "/a")],
                         [200, 429, 200, 429, 429])

    def test_without_the_daemon(self):
        """Closed by default, open with two lines of configuration."""
        for fail_open, status in (False, 500), (True, 200):
            with self.subTest(fail_open=fail_open):
                self.start("5/1h", fail_open=fail_open)
                self.assertEqual(self.get().status, 200)
                self.daemon.kill()
                self.assertEqual(self.get().status, status)

    def test_curl_at_the_edge(self):
        self.start("1/1h burst 1")
        outputs = [subprocess.run([needs("curl"), "-si", "--unix-socket", self.edge, "-H", "X-Test-Client: 192.0.2.9",
                                   "http://edge/"], capture_output=True, text=True, timeout=20, check=True).stdout
                   for _ in "12"]
        self.assertRegex(outputs[0], r"^HTTP/1\.1 200 ")
        self.assertRegex(outputs[1], r"^HTTP/1\.1 429 ")
        self.assertRegex(outputs[1], r"(?im)^retry-after: 3600\r?$")


class Curl(unittest.TestCase):
    """The daemon's own API with curl."""

    def curl(self, *arguments):
        run = subprocess.run([needs("curl"), "-sS", "-i", *arguments], capture_output=True, text=True, timeout=20,
                             check=True)
        return run.stdout

    def test_a_denial_with_its_fields(self):
        daemon = serve(self, conf.config({"api": conf.policy({"perip": "1/1h burst 1"})}))
        url = daemon.url("/v1/take?policy=api&key=alice")
        self.assertRegex(self.curl(url), r"^HTTP/1\.1 200 ")
        denied = self.curl(url)
        self.assertRegex(denied, r"^HTTP/1\.1 429 ")
        self.assertRegex(denied, r"(?im)^retry-after: 3600\r?$")
        self.assertRegex(denied, r'(?im)^ratelimit: "perip";r=0;t=3600\r?$')
        self.assertRegex(denied, r'(?im)^ratelimit-policy: "perip";q=1;w=3600\r?$')
        self.assertRegex(denied, r"(?im)^content-type: application/problem\+json\r?$")

    def test_head_post_and_json(self):
        daemon = serve(self, conf.config({"api": conf.policy("5/1h")}))
        self.assertRegex(self.curl("-I", daemon.url("/v1/take?policy=api&key=k")), r"^HTTP/1\.1 200 ")
        self.assertRegex(self.curl("-X", "POST", daemon.url("/v1/take?policy=api&key=k")), r"^HTTP/1\.1 200 ")
        self.assertRegex(self.curl("-H", "Content-Type: application/json", "-d",
                                   '{"policy": "api", "key": "k", "cost": 3}', daemon.url("/v1/take")),
                         r"^HTTP/1\.1 200 ")
        self.assertRegex(self.curl(daemon.url("/v1/take?policy=api&key=k")), r"^HTTP/1\.1 429 ")

    def test_large_body_with_expect(self):
        """curl sends "Expect: 100-continue" before a large body; the answer is in time, whatever it is."""
        daemon = serve(self, conf.config({"api": conf.policy("5/1h")}))
        body = '{"policy": "api", "key": "' + "k" * 30000 + '"}'
        output = self.curl("-H", "Content-Type: application/json", "-H", "Expect: 100-continue", "-d", body,
                           "--max-time", "5", daemon.url("/v1/take"))
        self.assertRegex(output, r"(?m)^HTTP/1\.1 200 ")

    def test_several_on_one_connection(self):
        daemon = serve(self, conf.config({"api": conf.policy("2/1h")}))
        url = daemon.url("/v1/take?policy=api&key=k")
        output = self.curl(url, url, url, "-w", "connections=%{num_connects}\\n")
        self.assertEqual(re.findall(r"HTTP/1\.1 (\d+)", output), ["200", "200", "429"])
        self.assertEqual(re.findall(r"connections=(\d+)", output), ["1", "0", "0"])


if __name__ == "__main__":
    unittest.main()
