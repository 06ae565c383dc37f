# SPDX-License-Identifier: Apache-2.0
"""Certificates for configuration files to name."""
import os
import subprocess


def make_certificate(folder, name):
    certificate, key = (os.path.join(folder, f"{name}.{end}") for end in ("pem", "key"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-days", "2", "-keyout", key, "-out", certificate, "-subj", f"/CN={name}"],
                   check=True, capture_output=True, timeout=60)
    return certificate, key
