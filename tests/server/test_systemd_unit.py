# SPDX-License-Identifier: Apache-2.0
"""The units of systemd as installed: sections, keys and values that it knows, and what
belongs together.  (systemd ignores a key that it does not know: a typing error would
take a protection away in silence.)"""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

BUILD = os.environ["METE_BUILD_DIR"]
UNITS = ("mete.service", "mete.socket")

YES = r"yes|no"
TIME = r"\d+(ms|s|min)"
UNIT_LIST = r"[\w.-]+\.(service|socket|target)( [\w.-]+\.(service|socket|target))*"
CALLS = r"~?(@[a-z-]+|[a-z_0-9]+)( (@[a-z-]+|[a-z_0-9]+))*"

# systemd.unit(5), systemd.service(5), systemd.exec(5), systemd.socket(5), systemd.kill(5)
KNOWN = {
    "Unit": {
        "Description": r".+", "Documentation": r"man:\w+\(\d\)",
        "After": UNIT_LIST, "Requires": UNIT_LIST, "Conflicts": UNIT_LIST,
    },
    "Service": {
        "Type": r"notify", "NotifyAccess": r"main", "ExecStart": r"/\S+( \S+)*", "ExecReload": r"/\S+( \S+)*",
        "Restart": r"on-failure|always", "RestartSec": TIME, "TimeoutStopSec": TIME, "LimitNOFILE": r"\d+",
        "User": r"[a-z]+", "StateDirectory": r"[\w/]+", "StateDirectoryMode": r"0[0-7]{3}",
        "RuntimeDirectory": r"[\w/]+", "RuntimeDirectoryMode": r"0[0-7]{3}", "ConfigurationDirectory": r"[\w/]+",
        "UMask": r"0[0-7]{3}", "CapabilityBoundingSet": r"(CAP_[A-Z_]+)?", "AmbientCapabilities": r"(CAP_[A-Z_]+)?",
        "NoNewPrivileges": YES, "PrivateUsers": YES, "PrivateDevices": YES, "PrivateTmp": YES, "RemoveIPC": YES,
        "ProtectSystem": r"yes|no|full|strict", "ProtectHome": r"yes|no|read-only|tmpfs", "ProtectClock": YES,
        "ProtectControlGroups": YES, "ProtectHostname": YES, "ProtectKernelLogs": YES, "ProtectKernelModules": YES,
        "ProtectKernelTunables": YES, "ProtectProc": r"noaccess|invisible|ptraceable|default",
        "RestrictAddressFamilies": r"AF_\w+( AF_\w+)*", "RestrictNamespaces": YES, "RestrictRealtime": YES,
        "RestrictSUIDSGID": YES, "LockPersonality": YES, "MemoryDenyWriteExecute": YES,
        "KeyringMode": r"inherit|private|shared", "SystemCallArchitectures": r"native", "SystemCallFilter": CALLS,
        "SystemCallErrorNumber": r"E[A-Z]+",
    },
    "Socket": {
        "ListenStream": r"(\d+\.\d+\.\d+\.\d+:|\[[0-9a-f:]+\]:)\d+|/\S+", "NoDelay": YES, "Backlog": r"\d+",
    },
    "Install": {"WantedBy": UNIT_LIST, "Also": UNIT_LIST},
}

# Each takes something away from whoever breaks in.
PROTECTIONS = {
    "NoNewPrivileges": "yes", "PrivateUsers": "yes", "PrivateDevices": "yes", "PrivateTmp": "yes",
    "ProtectSystem": "strict", "ProtectHome": "yes", "ProtectKernelModules": "yes", "ProtectKernelTunables": "yes",
    "ProtectControlGroups": "yes", "RestrictNamespaces": "yes", "MemoryDenyWriteExecute": "yes",
    "CapabilityBoundingSet": "", "UMask": "0077",
}


def read_unit(text):
    """[(section, key, value)]; a line that is neither is an error."""
    section = None
    entries = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line or line.startswith(("#", ";")):
            continue
        head = re.fullmatch(r"\[(\w+)\]", line)
        entry = re.fullmatch(r"(\w+)=(.*)", line)
        if head:
            section = head.group(1)
        elif entry and section is not None:
            entries.append((section, *entry.groups()))
        else:
            raise ValueError(f"line {number}: {line!r}")
    return entries


def problems(entries):
    for section, key, value in entries:
        pattern = KNOWN.get(section, {}).get(key)
        if pattern is None:
            yield f"[{section}] {key}: not known"
        elif not re.fullmatch(pattern, value):
            yield f"[{section}] {key}={value}: not a value of it"


class Units(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.prefix = pathlib.Path(cls.folder.name) / "opt" / "mete"
        subprocess.run(["cmake", "--install", BUILD, "--prefix", str(cls.prefix), "--component", "systemd"],
                       check=True, stdout=subprocess.DEVNULL)
        cls.text = {name: (cls.prefix / "lib/systemd/system" / name).read_text() for name in UNITS}
        cls.units = {name: read_unit(text) for name, text in cls.text.items()}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def values(self, name, key):
        return [value for _, entry_key, value in self.units[name] if entry_key == key]

    def test_the_check_notices(self):
        for broken in ("[Service]\nProtectHome=maybe\n", "[Service]\nProtectHomes=yes\n", "[Servant]\nType=notify\n",
                       "[Socket]\nListenStream=localhost\n", "[Service]\nExecStart=mete serve\n"):
            self.assertEqual(len(list(problems(read_unit(broken)))), 1, broken)
        for malformed in ("Type=notify\n", "[Service]\nType\n", "[Service\n"):
            self.assertRaises(ValueError, read_unit, malformed)

    def test_sections_keys_and_values_are_known(self):
        for name, entries in self.units.items():
            self.assertGreater(len(entries), 5, name)
            self.assertEqual(list(problems(entries)), [], name)
            self.assertNotIn("@METE", self.text[name])

    def test_keys_stand_once_but_for_lists(self):
        for name, entries in self.units.items():
            once = [(section, key) for section, key, _ in entries if key not in ("SystemCallFilter", "ListenStream")]
            self.assertEqual(len(once), len(set(once)), name)

    def test_protections(self):
        for key, value in PROTECTIONS.items():
            self.assertEqual(self.values("mete.service", key), [value], key)

    def test_the_command_is_one_that_the_program_takes(self):
        words = self.values("mete.service", "ExecStart")[0].split()
        self.assertEqual(words, [str(self.prefix / "bin" / "mete"), "serve", "--config", "/etc/mete/mete.yaml",
                                 "--store", "%S/mete/store"])
        usage = subprocess.run([os.environ["METE_BIN"], "serve", "--help"], capture_output=True, text=True, check=True)
        for option in ("--config", "--store"):
            self.assertIn(option, usage.stdout)

    def test_sockets_are_on_loopback(self):
        """Unless told otherwise.  By its name mete.socket belongs to mete.service."""
        addresses = self.values("mete.socket", "ListenStream")
        self.assertEqual(len(addresses), 2)
        for address in addresses:
            self.assertTrue(address.startswith("127.0.0.1:"), address)

    def test_the_user_is_made(self):
        lines = (self.prefix / "lib/sysusers.d/mete.conf").read_text().splitlines()
        users = [line.split()[1] for line in lines if not line.startswith("#")]
        self.assertEqual(users, self.values("mete.service", "User"))


if __name__ == "__main__":
    unittest.main()
