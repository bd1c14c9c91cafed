"""`doctor` against real servers: it logs in to both, counts, and leaves the mailbox as it was."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest
from pydantic import SecretStr

from support_agent.app.probes import real_probes
from support_agent.config.mail_servers import ImapSettings, SmtpSettings
from support_agent.config.settings import ChromaSettings, Settings
from support_agent.core.cursor import Cursor
from support_agent.core.diagnosis import Diagnosis, Health
from support_agent.facts.index import Index, IndexEntry, count_entries, open_client
from support_agent.ops.doctor import diagnose
from support_agent.store.store import Store
from support_agent.transport.mailbox import Mailbox
from tests.contract.store.examples import NOON
from tests.servers.dovecot import Dovecot
from tests.servers.postfix import Postfix
from tests.unit.facts.words import WordEmbedder

NUMBERS = count(1)


@pytest.fixture
def user(dovecot: Dovecot) -> str:
    """A user with three mails, two of them unread."""
    user = f"doctor-{next(NUMBERS)}@harborfile.example"
    with dovecot.as_person(user) as person:
        for number, flags in enumerate(((), (), (b"\\Seen",))):
            raw = f"From: a@example.net\r\nSubject: {number}\r\n\r\nhello\r\n"
            person.append("INBOX", raw.encode(), flags=flags)
    return user


def the(subject: str, tmp_path: Path, imap: ImapSettings, smtp: SmtpSettings) -> Diagnosis:
    settings = Settings(imap=imap, smtp=smtp).model_dump()
    settings["store"]["url"] = f"sqlite:///{tmp_path / 'store.sqlite3'}"
    settings["chroma"]["path"] = tmp_path / "chroma"
    settings["model"]["cache_dir"] = tmp_path / "models"
    diagnoses = diagnose(Settings.model_validate(settings), real_probes(NOON))
    (diagnosis,) = [diagnosis for diagnosis in diagnoses if diagnosis.subject == subject]
    return diagnosis


@pytest.mark.servers
def test_the_mailbox_is_counted_and_left_as_it_was(
    dovecot: Dovecot, postfix: Postfix, user: str, tmp_path: Path
) -> None:
    """S32: a person's unread state survives, and nothing is flagged."""
    diagnosis = the("mailbox", tmp_path, dovecot.settings(user, sent_copies="none"), postfix.settings())
    assert (diagnosis.severity, diagnosis.what) == (
        Health.OK,
        "localhost: logged in to INBOX, the first start handles 3 mails",
    )
    with dovecot.as_person(user) as person:
        flags = [set(entry[b"FLAGS"]) - {b"\\Recent"} for entry in person.fetch(person.search(), ["FLAGS"]).values()]
    assert flags == [set(), set(), {b"\\Seen"}]


@pytest.mark.servers
def test_what_is_new_is_counted_from_the_cursor(dovecot: Dovecot, postfix: Postfix, user: str, tmp_path: Path) -> None:
    """S30, and S31: under another UIDVALIDITY everything is read again."""
    with Mailbox(dovecot.settings(user)) as mailbox:
        first, *_ = mailbox.fetch_after(mailbox.resume(None))
    here = first.cursor
    with Store.open(f"sqlite:///{tmp_path / 'store.sqlite3'}") as store:
        store.upgrade()
        for uid_validity, new in ((here.uid_validity, 2), (here.uid_validity + 1, 3)):
            store.cursors.move(Cursor(folder="INBOX", uid_validity=uid_validity, last_uid=here.last_uid))
            diagnosis = the("mailbox", tmp_path, dovecot.settings(user, sent_copies="none"), postfix.settings())
            assert (diagnosis.severity, f", {new} mails to handle" in diagnosis.what) == (Health.OK, True)


@pytest.mark.servers
def test_the_sender_is_logged_in_to(dovecot: Dovecot, postfix: Postfix, user: str, tmp_path: Path) -> None:
    imap, smtp = dovecot.settings(user), postfix.settings()
    assert the("sender", tmp_path, imap, smtp).severity is Health.OK
    diagnosis = the("sender", tmp_path, imap, postfix.settings(password=SecretStr("wrong")))
    assert (diagnosis.severity, diagnosis.todo) == (Health.ERROR, "check smtp.user and smtp.password")


@pytest.mark.servers
def test_a_wrong_password_is_told_with_the_keys_to_correct(
    dovecot: Dovecot, postfix: Postfix, user: str, tmp_path: Path
) -> None:
    imap = dovecot.settings(user, password=SecretStr("wrong"))
    diagnosis = the("mailbox", tmp_path, imap, postfix.settings())
    assert (diagnosis.severity, diagnosis.todo) == (Health.ERROR, "check imap.user and imap.password")


def test_the_texts_of_a_vector_store_are_counted(tmp_path: Path) -> None:
    """None before it was filled."""
    settings = ChromaSettings(path=tmp_path / "chroma")
    assert count_entries(settings) is None
    Index(open_client(settings), WordEmbedder()).update([IndexEntry(key="document:1", text="refund")])
    assert count_entries(settings) == 1
