"""Two brands in one process, over real servers: each customer hears from the brand that they wrote to."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from email.message import EmailMessage
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.acceptance.program import Done, demo_mail, workspace_in
from tests.acceptance.test_run_once import DESK, SOPHIE, SUPPORT, empty, inbox, servers_as_settings, settled
from tests.servers.dovecot import PASSWORD, Dovecot
from tests.servers.postfix import Postfix
from tests.servers.program import ForkedProgram

pytestmark = pytest.mark.servers

SHOP, SHOP_DESK = "shop@example.com", "shop-desk@example.com"
MAIL = demo_mail("11").replace(f"To: {SUPPORT}".encode(), f"To: {SUPPORT}, {SHOP}".encode())
"""Sophie wants a person, and writes to both; no question for the model."""


class Served(NamedTuple):
    workspace: Path
    done: Done
    inboxes: dict[str, list[EmailMessage]]


@pytest.fixture(scope="module")
def served(
    program: ForkedProgram, dovecot: Dovecot, postfix: Postfix, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    """The same mail is in both mailboxes, with the same bytes; `run --once`."""
    users = (SUPPORT, SHOP, DESK, SHOP_DESK, SOPHIE)
    for user in users:
        empty(dovecot, user)
    for user in (SUPPORT, SHOP):
        with dovecot.as_person(user) as person:
            person.append("INBOX", MAIL)
    workspace = workspace_in(tmp_path_factory.mktemp("brands"), program.run)
    shop = workspace_in(workspace, program.run)
    (shop / "password").write_text(PASSWORD)
    change(shop / "support-agent.toml", dovecot, postfix)
    own = workspace / "support-agent.toml"
    own.write_text(own.read_text("utf-8") + '\n[brands]\nfiles = { shop = "workspace/support-agent.toml" }\n', "utf-8")
    settings = servers_as_settings(dovecot, postfix)
    done = program.run("run", "--once", folder=workspace, settings=settings, scripted=True)
    settled(dovecot, SOPHIE, 2)
    settled(dovecot, DESK, 1)
    settled(dovecot, SHOP_DESK, 1)
    yield Served(workspace, done, {user: inbox(dovecot, user) for user in users})
    for user in users:
        empty(dovecot, user)
    shutil.rmtree(workspace)


def change(path: Path, dovecot: Dovecot, postfix: Postfix) -> None:
    """Make the workspace the shop's: its addresses, its name, and the servers, with the password in a file."""
    text = path.read_text("utf-8").replace('"Harborfile"', '"The Shop"')
    text = text.replace(SUPPORT, SHOP).replace(DESK, SHOP_DESK).replace("skip_existing = true", "skip_existing = false")
    for section, server in (("imap", dovecot.settings(SHOP)), ("smtp", postfix.settings())):
        given = {"user": server.user, "ca_file": str(server.ca_file), "host": server.host, "password_file": "password"}
        lines = [f'{key} = "{value}"' for key, value in given.items()] + [f"port = {server.port}"]
        head, _, rest = text.partition(f"[{section}]\n")
        ours, separator, others = rest.partition("\n[")
        kept = [line for line in ours.splitlines() if line.partition("=")[0].strip() not in (*given, "port")]
        text = "\n".join([f"{head}[{section}]", *lines, *kept]) + separator + others
    path.write_text(f"{text}\n[brands]\nis_brand = true\n", "utf-8")


def test_each_brand_acknowledges_from_its_own_address_and_asks_its_own_desk(served: Served) -> None:
    assert served.done.code == 0, served.done.err
    senders = [mail["From"].addresses[0].addr_spec for mail in served.inboxes[SOPHIE]]
    assert sorted(senders) == sorted([SUPPORT, SHOP]), served.done.err
    for desk, own in ((DESK, SUPPORT), (SHOP_DESK, SHOP)):
        (packet,) = served.inboxes[desk]
        assert packet["From"].addresses[0].addr_spec == own


def test_a_brands_mail_carries_its_own_name(served: Served) -> None:
    by_sender = {mail["From"].addresses[0].addr_spec: mail for mail in served.inboxes[SOPHIE]}
    for sender, named, other in ((SHOP, "The Shop", "Harborfile"), (SUPPORT, "Harborfile", "The Shop")):
        body = by_sender[sender].get_body(("plain",))
        assert body is not None
        assert named in body.get_content()
        assert other not in body.get_content()


def test_each_brand_has_its_mail_in_its_own_store_alone(program: ForkedProgram, served: Served) -> None:
    """The same mail is one row in each."""
    for folder in (served.workspace, served.workspace / "workspace"):
        with closing(sqlite3.connect(folder / "support-agent.sqlite3")) as database:
            assert database.execute("SELECT count(*), count(DISTINCT id) FROM mails").fetchone() == (1, 1)
        replayed = program.run("replay", "--all", folder=folder)
        assert (replayed.code, "DIFFERS" in replayed.out) == (0, False), replayed.out + replayed.err


def test_doctor_and_check_look_at_each_brand(
    program: ForkedProgram, served: Served, dovecot: Dovecot, postfix: Postfix
) -> None:
    doctor = program.run("doctor", folder=served.workspace, settings=servers_as_settings(dovecot, postfix))
    assert "shop: mailbox" in doctor.out
    assert SHOP in doctor.out
