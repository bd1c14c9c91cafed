"""A certificate authority for tests and its certificate for `localhost`, made by openssl, gone at the end."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.servers.postgres import skip_or_fail

NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
SIGNS = ("-addext", "keyUsage=critical,keyCertSign,cRLSign")
"""Since Python 3.13 an authority must say that it signs (OpenSSL's X509_V_FLAG_X509_STRICT)."""
OF_LOCALHOST = "subjectAltName=DNS:localhost\nsubjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n"
DAYS = "60"
"""They must not end soon: the desk would get an alarm."""


class Certificates(NamedTuple):
    """PEM files; `stranger` is another authority, which signed nothing here."""

    authority: Path
    certificate: Path
    key: Path
    stranger: Path


def _openssl(*arguments: str | Path) -> None:
    done = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)


def _make_authority(folder: Path, name: str) -> tuple[Path, Path]:
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    made = ("-keyout", key, "-out", certificate)
    _openssl("req", "-x509", *NEW_KEY, *SIGNS, "-days", DAYS, "-subj", f"/CN={name}", *made)
    return certificate, key


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """Made once a run."""
    if shutil.which("openssl") is None:
        skip_or_fail("openssl is not installed: the mail servers of the tests need certificates")
    folder = tmp_path_factory.mktemp("certificates")
    authority, authority_key = _make_authority(folder, "authority")
    stranger, _ = _make_authority(folder, "stranger")
    key, request, certificate = folder / "server.key", folder / "server.csr", folder / "server.pem"
    extensions = folder / "extensions"
    extensions.write_text(OF_LOCALHOST)
    _openssl("req", *NEW_KEY, "-subj", "/CN=localhost", "-keyout", key, "-out", request)
    signer = ("-CA", authority, "-CAkey", authority_key, "-set_serial", "2", "-days", DAYS)
    _openssl("x509", "-req", "-in", request, *signer, "-extfile", extensions, "-out", certificate)
    return Certificates(authority=authority, certificate=certificate, key=key, stranger=stranger)
