"""Everything that is kept about a person: in the store, in files beside the configuration, and what is only named.

A person is one or more addresses. Spellings that differ by case, by the domain's alphabet or by a "+" tag are the same
address. What nobody can attribute by an address, such as the results of backtests, counts as everybody's.

Checked by tests/unit/ops/test_forgetting.py, which searches all files and tables for the words of a forgotten person.
"""

from __future__ import annotations

import email
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import idna

from support_agent.cases.route import own_addresses
from support_agent.config.settings import Settings
from support_agent.core.frozen import Frozen
from support_agent.errors import ConfigError
from support_agent.mail.addresses import normal_address, without_tag
from support_agent.ops.backup.targets import target_of
from support_agent.store.persons import Kept
from support_agent.store.records import CaseId
from support_agent.store.store import Store

MAX_FILE_BYTES = 50_000_000
"""Larger files are not searched for addresses: they are models and databases."""
ASIDE_TIMEOUT_S = 30.0
EXPORTED = "people-*"
"""The folders of labelled mails that `support-agent autonomy export` writes."""
NOT_OURS = (
    "your mailbox and its Sent folder have their own copies of the mails",
    "logs of this program name mails by id; logs of your mail servers name addresses",
    "folders that commands wrote elsewhere (autonomy export, backtest --work and --html) are not known to the store",
    "backups show addresses, and what was not encrypted, until you delete them",
)
"""What `forget` cannot reach, as it is said to the operator."""


class PersonAddresses(Frozen):
    """The addresses of one person, normalised and without tags."""

    addresses: tuple[str, ...]

    def is_named_in(self, raw: bytes) -> bool:
        """Whether an address of the person stands in a mail: as it is, or in an encoded part of text."""
        pattern = self._pattern()
        if pattern.search(raw):
            return True
        if b"base64" not in raw.lower() and b"quoted-printable" not in raw.lower():
            return False
        return any(pattern.search(part) for part in _texts(raw))

    def _pattern(self) -> re.Pattern[bytes]:
        return re.compile(b"|".join(_spelt(address) for address in self.addresses), re.IGNORECASE)


class PersonData(Frozen):
    """What was found of a person.

    Args:
        elsewhere: Cases of others in which the person is named; they stay.
        results: Files with results of backtests, which hold words of customers without their names; they go.
        labelled: Exported mails of the person; they go.
        named_in: Further files beside the configuration that name the person; a person decides about them.
        aside: Stores that restores left aside, each with what deletes it. Mail that the store of now does not have is
            encrypted there with keys of its own, which stay; addresses are in plain text.
    """

    kept: Kept
    elsewhere: tuple[CaseId, ...] = ()
    results: tuple[Path, ...] = ()
    labelled: tuple[Path, ...] = ()
    named_in: tuple[Path, ...] = ()
    aside: tuple[str, ...] = ()
    not_ours: tuple[str, ...] = NOT_OURS

    @property
    def is_nothing(self) -> bool:
        """Whether `forget` has nothing to delete, but perhaps engine records."""
        return self.kept.is_nothing and not self.results and not self.labelled


def person_of(addresses: Sequence[str], settings: Settings) -> PersonAddresses:
    """The person with these addresses.

    Raises:
        ConfigError: one is no address, or one of the agent or its staff: their mails are in everybody's cases.
    """
    found = []
    for text in addresses:
        address = normal_address(text)
        if address is None:
            raise ConfigError(f"{text!r} is no address: write name@domain")
        plain = without_tag(address)
        if plain in own_addresses(settings) or address in own_addresses(settings):
            raise ConfigError(f"{plain} is an address of yours: its mails belong to the cases of others")
        found.append(plain)
    return PersonAddresses(addresses=tuple(dict.fromkeys(found)))


def traces_of(store: Store, person: PersonAddresses, folder: Path, results: Path) -> PersonData:
    """Find everything of a person; every stored mail is read.

    Args:
        folder: That of the configuration.
        results: Where `backtest` keeps its results.
    """
    named = [stored for stored in store.persons.raws() if person.is_named_in(stored.raw)]
    alone = [stored.mail_id for stored in named if stored.case_id is None]
    kept = store.persons.find(person.addresses, [*alone, *store.persons.begun()])
    elsewhere = {stored.case_id for stored in named if stored.case_id is not None} - set(kept.cases)
    files = tuple(_files(folder, results))
    kept_results = tuple(path for path in sorted(results.rglob("*")) if path.is_file())
    ids = set(kept.mails)
    labelled = tuple(path for path in files if path.parent.match(EXPORTED) and path.stem in ids)
    return PersonData(
        kept=kept,
        elsewhere=tuple(sorted(elsewhere)),
        results=kept_results,
        labelled=labelled,
        named_in=tuple(path for path in files if path not in labelled and person.is_named_in(_read(path))),
        aside=_aside(store),
    )


def _aside(store: Store) -> tuple[str, ...]:
    url = store.database.url.render_as_string(hide_password=False)
    return target_of(url, ASIDE_TIMEOUT_S, has_engine=False).left()


def _spelt(address: str) -> bytes:
    """A pattern for an address with any "+" tag, its domain in either alphabet; nothing longer."""
    local, _, domain = address.rpartition("@")
    domains = {domain.encode(), _u_label(domain).encode()}
    ends = b"|".join(re.escape(one) for one in sorted(domains))
    return (
        b"(?<![\\w.+!#$%&'*/=?^`{|}~-])"
        + re.escape(local.encode())
        + b"(\\+[^@\\s<>]*)?@("
        + ends
        + b")(?![\\w-]|\\.\\w)"
    )


def _u_label(domain: str) -> str:
    try:
        return idna.decode(domain)
    except (idna.IDNAError, UnicodeError):
        return domain


def _texts(raw: bytes) -> Iterator[bytes]:
    """The decoded parts of a mail, and of the mails in it."""
    for part in email.message_from_bytes(raw).walk():
        content = part.get_payload(decode=True)
        if isinstance(content, bytes):
            yield content


def _files(folder: Path, results: Path) -> Iterable[Path]:
    """The files beside the configuration that may name somebody."""
    for path in sorted(folder.rglob("*")):
        is_known = results in path.parents or ".sqlite3" in path.name
        if not is_known and path.is_file() and path.stat().st_size <= MAX_FILE_BYTES:
            yield path


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
