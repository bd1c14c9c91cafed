"""Commands of the desk: what a packet offers, how a mail names one, and whether its key fits.

A key is bound to the command, the packet, the digest of what the command is about, and the instant until which it is
valid. Invariant: a command is one whole line of a closed grammar, and no line without a fitting key is carried out.
Checked by tests/unit/cases/test_commands.py and, with attacks on the desk, tests/journey/test_desk_attacks.py.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, assert_never
from urllib.parse import quote

from pydantic import SecretStr

from support_agent.answer.packet import FoundDocument, Offered
from support_agent.core.modes import document_key
from support_agent.mail.keys import desk_key, is_desk_key
from support_agent.mail.message import Message
from support_agent.store.records import CaseId, OutboxId
from support_agent.tools.person_choice import CHOICE, PersonChoice


class Command(StrEnum):
    """What a person at the desk can order by mail. `document` sends any item that the person chose."""

    APPROVE = "approve"
    DOCUMENT = "document"
    OWN_WORDS = "own words"
    CLOSE = "close"
    GIVE_BACK = "give back"
    SPAM = "spam"
    CLAIM = "claim"
    UNDO = "undo"

    @property
    def code(self) -> str:
        """Its name in `words.yaml`."""
        return self.value.replace(" ", "_")


_WORDS = "|".join(command.value.replace(" ", r"\s+") for command in Command if command is not Command.DOCUMENT)
_CASE = r"\[(?P<case>[A-Za-z0-9-]{1,64})\]"
_START = rf"(?:{_CASE}\s*)?"
_COMMAND = rf"(?P<command>{_WORDS}|document\s+(?P<number>[1-9][0-9]{{0,4}})|send\s+(?P<choice>{CHOICE}))"
LINE = re.compile(rf"\s*{_START}{_COMMAND}\s+(?P<key>[A-Z2-7]{{26}})\s*", re.IGNORECASE | re.ASCII)
"""One line that is a command: perhaps the case, the command, the key."""
NAMED_CASE = re.compile(_CASE, re.ASCII)
_OPENS, _CLOSES = r"\[({<*\u3010\uff08\uff3b", r"\])}>*\u3011\uff09\uff3d"
_TAG = rf"[{_OPENS}]+[^{_OPENS}{_CLOSES}]{{1,64}}[{_CLOSES}]+[\s:\uff1a|-]*"
_WORD = rf"[^\s:\uff1a{_OPENS}{_CLOSES}]{{1,20}}\s*(?:[\[(]\d{{1,3}}[\])]\s*)?[:\uff1a]\s*"
PREFIX = re.compile(rf"{_TAG}|{_WORD}")
"""What programs put before the subject that they answer or let pass: a tag in brackets, or one word with a colon."""
MAX_PREFIXES = 8
KEYED = re.compile(rf"{_COMMAND}\s+[A-Z2-7]{{26}}", re.IGNORECASE | re.ASCII)
"""A command with a key, anywhere in a text."""
MEANT = re.compile(
    rf"\s*{_START}(?:{_WORDS}|document\s+\d+|send\s+\w+:\S+)\b[\s.,!:;-]*\S{{0,64}}\s*", re.IGNORECASE | re.ASCII
)
"""A line that is meant as a command, whether or not it is one: it must never reach a customer."""


class GivenCommand(NamedTuple):
    """A command as a mail gives it; nothing of it is proven. `words` is the text that belongs to `own words`."""

    command: Command
    key: str
    case_id: CaseId | None
    choice: PersonChoice | None
    words: str
    is_alone: bool
    """Whether nothing else stands where the command does."""


class Subjects(NamedTuple):
    """What the commands of one packet are about, as digests: the proposal's bytes, the company's files, the mail.

    A packet about an answer that leaves by itself has `held`, its bytes, and only the command that undoes it.
    """

    proposal: str | None
    company: str
    mail: str
    held: str | None = None

    def of(self, command: Command) -> str | None:
        """What a command is about; None: there is nothing that it could be about."""
        if self.held is not None or command is Command.UNDO:
            return self.held if command is Command.UNDO else None
        match command:
            case Command.APPROVE:
                return self.proposal
            case Command.DOCUMENT:
                return self.company
            case Command.OWN_WORDS | Command.CLOSE | Command.GIVE_BACK | Command.SPAM | Command.CLAIM:
                return self.mail
            case never:
                assert_never(never)


class Ticket(NamedTuple):
    """What the keys of a packet are bound to besides the command."""

    case_id: CaseId
    packet_id: OutboxId
    until: datetime
    subjects: Subjects

    def parts(self, command: Command) -> tuple[str, ...] | None:
        """All that a key of this command is bound to; None: this packet has no such command."""
        subject = self.subjects.of(command)
        if subject is None:
            return None
        return command.value, self.case_id, self.packet_id, subject, self.until.isoformat()

    def fits(self, secrets: Sequence[SecretStr], given: GivenCommand) -> bool:
        """Whether the key of a command was made for this packet, and for what it is about now."""
        parts = self.parts(given.command)
        return parts is not None and is_desk_key(secrets, given.key, *parts)


def digest_of(raw: bytes) -> str:
    """The digest of a mail's bytes."""
    return hashlib.sha256(raw).hexdigest()


def offered(
    ticket: Ticket, secret: SecretStr, address: str, found: tuple[FoundDocument, ...], *, may_answer: bool
) -> Iterator[Offered]:
    """The commands of a packet.

    Args:
        address: Where a person sends them.
        found: Documents to offer by name; a person may name any other by its number.
        may_answer: Whether the sender gets automatic mail at all.
    """
    for command in Command:
        parts = ticket.parts(command)
        if parts is None or (command is Command.DOCUMENT and not may_answer):
            continue
        key = desk_key(secret, *parts)
        if command is not Command.DOCUMENT:
            yield _offer(ticket, command, command.value, key, address)
            continue
        for document in found:
            yield _offer(ticket, command, f"document {document.number}", key, address, document.title)


def _offer(ticket: Ticket, command: Command, words: str, key: str, address: str, title: str | None = None) -> Offered:
    line = f"[{ticket.case_id}] {words} {key}"
    return Offered(code=command.code, line=line, link=f"mailto:{address}?subject={quote(line)}", title=title)


def given_in(message: Message, answered_subject: str = "") -> GivenCommand | None:
    """The command that a mail gives, in its subject or as the first line of its own text; None: it gives none.

    Args:
        answered_subject: That of the packet which the mail answers: a customer chose it, so it is no command.
    """
    text, subjects = message.visible_text.strip(), _without_prefixes(message.subject)
    is_new = set(subjects).isdisjoint(_without_prefixes(answered_subject))
    if is_new and (match := next(filter(None, map(LINE.fullmatch, subjects)), None)) is not None:
        return _given(match, text, is_alone=not text)  # a signature is no text
    first, _, rest = text.partition("\n")
    match = LINE.fullmatch(first)
    return None if match is None else _given(match, rest.strip(), is_alone=not rest.strip())


def cases_named_in(message: Message) -> Iterator[CaseId]:
    """The case with which a mail's subject begins, as its packets' do, among tags that look like one.

    A case that stands elsewhere is only mentioned.
    """
    found = map(NAMED_CASE.match, _without_prefixes(message.subject))
    return (CaseId(match["case"].lower()) for match in found if match is not None)


def _without_prefixes(subject: str) -> list[str]:
    """A subject, and what is left of it without the first prefix, the first two, and so on."""
    rests = [" ".join(subject.split())]
    while len(rests) <= MAX_PREFIXES and (prefix := PREFIX.match(rests[-1])) is not None:
        rests.append(rests[-1][prefix.end() :])
    return rests


def is_meant_as_command(words: str) -> bool:
    """Whether a person's own words read like a command: they must not be passed on to a customer."""
    first = words.strip().partition("\n")[0]
    return MEANT.fullmatch(first) is not None or holds_command(words)


def holds_command(text: str) -> bool:
    """Whether a text has a command with a key anywhere."""
    return KEYED.search(text) is not None


def _given(match: re.Match[str], words: str, *, is_alone: bool) -> GivenCommand:
    written = document_key(int(match["number"])) if match["number"] else match["choice"]
    name = Command.DOCUMENT if written else " ".join(match["command"].lower().split())
    command = Command(name)
    return GivenCommand(
        command=command,
        key=match["key"].upper(),
        case_id=CaseId(match["case"].lower()) if match["case"] else None,
        choice=PersonChoice.read(written) if written else None,
        words=words,
        is_alone=is_alone or command is Command.OWN_WORDS,
    )
