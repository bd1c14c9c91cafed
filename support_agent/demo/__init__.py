"""The demo company Harborfile: its accounts, the database behind them, and the mails its customers send.

Everything here is made up, under domains that RFC 2606 reserves. The company's documents are in `policies/`.
"""

from __future__ import annotations

from importlib.resources import files

SUPPORT_ADDRESS = "support@harborfile.example"
AUTHSERV_ID = "mx.harborfile.example"
"""The server whose Authentication-Results the demo believes (RFC 8601)."""


def read_mails() -> tuple[tuple[str, bytes], ...]:
    """The demo's mails as (file name, bytes), by name, with the CRLF line ends that IMAP wants."""
    folder = files(__name__) / "mails"
    found = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".eml")), key=lambda e: e.name)
    return tuple((entry.name, _with_crlf(entry.read_bytes())) for entry in found)


def _with_crlf(raw: bytes) -> bytes:
    """RFC 5322 lines end in CRLF; a checkout may have turned them into LF."""
    return raw.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
