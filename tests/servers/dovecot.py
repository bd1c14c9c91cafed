"""A private Dovecot for tests: own configuration and folders, free loopback ports, gone at the end.

Every user name exists, with the password `PASSWORD`, and has an empty mailbox of its own. Without Dovecot on
the machine its tests are skipped, and fail where `CI` is set.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import imapclient  # type: ignore[import-untyped]
import pytest
from pydantic import SecretStr

from support_agent.config.mail_servers import ImapSettings, Security
from tests.servers.certificates import Certificates
from tests.servers.dovecot_configuration import PASSWORD as PASSWORD
from tests.servers.dovecot_configuration import Setup, configuration, mail_user
from tests.servers.postgres import skip_or_fail

START_S = 20.0
STOP_S = 20.0
NO_MOVE = "IMAP4rev1 UIDPLUS LITERAL+ UNSELECT CHILDREN NAMESPACE"
NO_MOVE_NO_UIDPLUS = "IMAP4rev1 LITERAL+ UNSELECT CHILDREN NAMESPACE"


class Dovecot:
    """A running server. `auth_socket` authenticates Postfix, `config` lets `dovecot-lda` deliver."""

    def __init__(self, folder: Path, imap_port: int, imaps_port: int, certificates: Certificates) -> None:
        self.config = folder / "dovecot.conf"
        self.auth_socket = folder / "run" / "auth-postfix"
        self.folder = folder
        self.imap_port = imap_port
        self.imaps_port = imaps_port
        self._certificates = certificates

    def settings(self, user: str, **changes: object) -> ImapSettings:
        """How the agent reads a user's mailbox, over verified TLS unless changed."""
        base: dict[str, object] = {
            "host": "localhost",
            "port": self.imaps_port,
            "security": Security.TLS,
            "user": user,
            "password": SecretStr(PASSWORD),
            "timeout_s": 20.0,
            "ca_file": self._certificates.authority,
        }
        return ImapSettings.model_validate(base | changes)

    @contextmanager
    def as_person(self, user: str, folder: str = "INBOX") -> Iterator[imapclient.IMAPClient]:
        """A person's own mail program, on the same mailbox."""
        client = imapclient.IMAPClient("localhost", port=self.imap_port, ssl=False, timeout=20)
        with client:
            client.login(user, PASSWORD)
            if not client.folder_exists(folder):
                client.create_folder(folder)
            client.select_folder(folder)
            yield client

    def fill(self, user: str, raws: Iterable[bytes]) -> None:
        """Put many mails into an empty INBOX at once, each with lines that end in CRLF."""
        folder = self.folder / "mail" / user.lower() / "Maildir"
        for name in ("cur", "new", "tmp"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        for number, raw in enumerate(raws):
            # Sizes in the names: Dovecot need not open a file to tell them.
            name = f"{1_600_000_000 + number}.M{number}P1.test,S={len(raw)},W={len(raw)}:2,"
            (folder / "cur" / name).write_bytes(raw)
        for path in (folder.parent, folder, *folder.iterdir()):
            os.chown(path, *mail_user())

    def arrived(self, user: str, timeout_s: float = 20.0) -> bytes:
        """Wait for the one mail in a user's mailbox and return it."""
        end = time.monotonic() + timeout_s
        with self.as_person(user) as person:
            while not (uids := person.search()):
                if time.monotonic() > end:
                    raise RuntimeError(f"no mail for {user} within {timeout_s} s")
                time.sleep(0.05)
                person.noop()
            (uid,) = uids
            return bytes(person.fetch([uid], ["BODY.PEEK[]"])[uid][b"BODY[]"])


def free_port() -> int:
    """A loopback port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for_port(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    """Return once something listens; raise with the server's log where it died or takes too long."""
    end = time.monotonic() + START_S
    while time.monotonic() < end and process.poll() is None:
        with socket.socket() as probe:
            probe.settimeout(1)
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError(f"no server on port {port}: {log.read_text() if log.exists() else 'no log'}")


@contextmanager
def running_dovecot(
    certificates: Certificates,
    capability: str = "",
    *,
    password: str = PASSWORD,
    sent_folder: str = "",
    has_acl: bool = False,
    token_url: str = "",
) -> Iterator[Dovecot]:
    """Start a server and stop it.

    Args:
        capability, password, sent_folder, token_url: As in `Setup`.
        has_acl: The file `acl` in the server's folder says who may do what.
    """
    program = shutil.which("dovecot", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
    if program is None:
        skip_or_fail("Dovecot is not installed: deploy/install-servers.sh installs it")
        return
    folder = Path(tempfile.mkdtemp(prefix="sa-dovecot-"))
    folder.chmod(0o755)
    server = Dovecot(folder, free_port(), free_port(), certificates)
    (folder / "mail").mkdir()
    os.chown(folder / "mail", *mail_user())
    (folder / "log").touch()
    (folder / "log").chmod(0o666)  # dovecot-lda logs as the user that it delivers for
    setup = Setup(
        folder,
        server.imap_port,
        server.imaps_port,
        certificates,
        password=password,
        capability=capability,
        sent_folder=sent_folder,
        acl_file=folder / "acl" if has_acl else None,
        token_url=token_url,
    )
    server.config.write_text(configuration(setup, _version(program)))
    process = subprocess.Popen([program, "-F", "-c", server.config], stderr=subprocess.DEVNULL)
    try:
        wait_for_port(server.imaps_port, process, folder / "log")
        yield server
    finally:
        process.terminate()
        process.wait(STOP_S)
        shutil.rmtree(folder, ignore_errors=True)


def _version(program: str) -> tuple[int, ...]:
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    return tuple(int(number) for number in re.findall(r"\d+", said)[:2])


@pytest.fixture(scope="session")
def dovecot(certificates: Certificates) -> Iterator[Dovecot]:
    """One server for the whole run."""
    with running_dovecot(certificates) as server:
        yield server
