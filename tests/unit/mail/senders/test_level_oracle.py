"""S24: below the level that a value needs, nothing tells whether the account exists.

Each mail is sent twice, once by a customer and once by somebody whom the accounts do not know, and what goes out is
compared byte for byte; only the recipient, and the hashes that are keyed with the mail's own bytes, may differ.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from email import message_from_bytes, policy
from pathlib import Path

import pytest

from support_agent.answer.verification import Verifier
from support_agent.cases.decision import Decision
from support_agent.company.database import ReadOnlyDatabase
from support_agent.config.settings import CompanySettings
from support_agent.mail.keys import ORIGIN_HEADER
from support_agent.mail.message import parse
from support_agent.mail.senders.identity import Sender
from support_agent.outbound.rendered_mail import answer_mail
from support_agent.store.records import OutgoingKind
from support_agent.store.store import Store
from tests.fakes_journey import (
    ANNA,
    JAMES,
    NOON,
    STRANGER,
    Office,
    SureModel,
    WordSearch,
    company_store,
    open_office,
    write,
)

DOCUMENT = "Can I get a refund?"
VALUE = "How many seats have we paid for?"
SERIES = "How much did I pay last year?"
BOTH = "1. Can I get a refund?\r\n2. How many seats have we paid for?"
OWN = {"To", "Message-ID", ORIGIN_HEADER, "Content-Type"}
"""Header fields made of the recipient, or of a keyed hash of the mail and its sender; Content-Type by its boundary."""


@pytest.fixture
def offices(company_settings: CompanySettings, empty_store: Path, tmp_path: Path) -> Iterator[tuple[Office, Office]]:
    """Two agents that have seen nothing yet, at one and the same instant, and that write to senders of level 1."""
    kept = company_store(company_settings, empty_store)
    with (
        Store.open(f"sqlite:///{shutil.copy(kept, tmp_path / 'one.sqlite3')}") as one,
        Store.open(f"sqlite:///{shutil.copy(kept, tmp_path / 'two.sqlite3')}") as two,
    ):
        opened = []
        for store in (one, two):
            office = open_office(company_settings, store)
            levels = {"answers_from_level": 1, "acknowledges_from_level": 1}
            agent = office.settings.agent.model_copy(update=levels)
            settings = office.settings.model_copy(update={"agent": agent})
            decider = replace(office.decider, settings=settings)
            opened.append(replace(office, settings=settings, decider=decider, clock=lambda: NOON))
        yield opened[0], opened[1]
        for office in opened:
            office.decider.company.accounts.close()


def mail_of(sender: str, text: str, proof: str | None, number: int = 1, subject: str = "A question") -> bytes:
    """The same mail whoever sends it, but for the sender; it answers the one of the number before."""
    before = f"<{number - 1}@mail.example>" if number > 1 else None
    raw = write(text, sender=sender, proof=proof, subject=subject, in_reply_to=before)
    return re.sub(rb"Message-ID: <[^>]*>", f"Message-ID: <{number}@mail.example>".encode(), raw)


def sent(office: Office, sender: str, text: str, proof: str) -> dict[OutgoingKind, object]:
    """What the sender is told for a first mail."""
    return told_for(office, sender, mail_of(sender, text, proof))


def told_for(office: Office, sender: str, raw: bytes) -> dict[OutgoingKind, object]:
    """What the sender is told, as header fields and bodies; what the desk gets is no matter of the sender's."""
    mail_id, _ = office.handle(raw)
    told: dict[OutgoingKind, object] = {}
    for kind, row in office.sent(mail_id).items():
        if kind is OutgoingKind.PACKET:
            continue
        assert row.recipient == sender
        mail = message_from_bytes(row.raw, policy=policy.default)
        names = [name for name, _ in mail.items()]
        values = [(name, str(value)) for name, value in mail.items() if name not in OWN]
        parts = [part.get_payload(decode=True) for part in mail.walk() if not part.is_multipart()]
        assert set(names) >= OWN
        assert len(parts) == 2
        told[kind] = (names, values, parts)
    return told


@pytest.mark.parametrize("customer", [ANNA, JAMES])
@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        (DOCUMENT, {OutgoingKind.ANSWER}),
        (VALUE, {OutgoingKind.ACKNOWLEDGEMENT}),
        (SERIES, {OutgoingKind.ACKNOWLEDGEMENT}),
        (BOTH, {OutgoingKind.ANSWER}),
        ("Let me talk to a human.", {OutgoingKind.ACKNOWLEDGEMENT}),
    ],
)
def test_at_level_1_a_customer_and_a_stranger_are_told_the_same(
    offices: tuple[Office, Office], customer: str, text: str, kinds: set[OutgoingKind]
) -> None:
    """Answers and acknowledgements: the same mails, header fields and bodies, in the same language."""
    told = sent(offices[0], customer, text, "spf")
    assert set(told) == kinds
    assert told == sent(offices[1], STRANGER, text, "spf")


CORRESPONDENCE = (
    ("A question", DOCUMENT),
    ("Re: A question", VALUE),
    ("Re: [Case 12345] A question", "Thank you. Can I get a refund?"),
    ("Seats", BOTH),
    ("Sitze", "Guten Tag, wie viele seats haben wir bezahlt? Mit freundlichen Gr\u00fc\u00dfen"),
    ("", SERIES),
    ("Re: A question", "Let me talk to a human."),
    ("Re: A question", DOCUMENT),
)
"""Mails of one thread, enough of them to reach the limit of a case and of a repeated answer."""


@pytest.mark.parametrize("customer", [ANNA, JAMES])
@pytest.mark.parametrize("proof", [None, "spf"])
def test_s24_a_whole_correspondence_below_the_level_is_the_same_for_both(
    offices: tuple[Office, Office], customer: str, proof: str | None
) -> None:
    """S24: which mails are answered, acknowledged or left alone, in which words and fields; at level 0 none is."""
    correspondences = [
        [
            told_for(office, sender, mail_of(sender, text, proof, number, subject))
            for number, (subject, text) in enumerate(CORRESPONDENCE, 1)
        ]
        for office, sender in zip(offices, (customer, STRANGER), strict=True)
    ]
    assert correspondences[0] == correspondences[1]
    kinds = {kind for told in correspondences[0] for kind in told}
    assert kinds == (set() if proof is None else {OutgoingKind.ANSWER, OutgoingKind.ACKNOWLEDGEMENT})


@pytest.mark.parametrize("proof", [None, "spf"])
@pytest.mark.parametrize("text", [DOCUMENT, VALUE, SERIES, BOTH, "Let me talk to a human."])
def test_s24_the_same_work_is_done_for_both(
    offices: tuple[Office, Office], monkeypatch: pytest.MonkeyPatch, proof: str | None, text: str
) -> None:
    """S24: the time of an answer tells nothing either. The accounts are not looked into, and the model and the search
    are asked the same questions in the same order."""
    work: list[tuple[str, str, tuple[object, ...], dict[str, object]]] = []

    def watch(owner: type, name: str) -> None:
        done = getattr(owner, name)

        def watched(self: object, *args: object, **more: object) -> object:
            work.append((owner.__name__, name, args, more))
            return done(self, *args, **more)

        monkeypatch.setattr(owner, name, watched)

    watch(ReadOnlyDatabase, "select")
    for owner, names in ((SureModel, ["score"]), (WordSearch, ["nearest", "similarities"])):
        for name in names:
            watch(owner, name)
    done = []
    for office, sender in zip(offices, (ANNA, STRANGER), strict=True):
        work.clear()
        office.handle(mail_of(sender, text, proof))
        done.append(list(work))
    assert done[0] == done[1]
    assert not any(owner == "ReadOnlyDatabase" for owner, *_ in done[0])
    work.clear()
    offices[0].handle(mail_of(ANNA, text, "dmarc", number=2))
    assert any(owner == "ReadOnlyDatabase" for owner, *_ in work)


def decided(office: Office, sender: str, text: str, level: int, *, reply_to: bytes = b"") -> Decision:
    message = parse(mail_of(sender, text, "dmarc").replace(b"MIME-Version", reply_to + b"MIME-Version"))
    customer = office.decider.company.accounts.customer(sender) if level >= 3 else None
    return office.decider.decide(message, Sender(address=sender, level=level, why="given"), customer, NOON)


def answered_with(office: Office, decision: Decision) -> tuple[str, str, str] | None:
    if decision.final is None:
        return None
    rendered = answer_mail(decision.final, office.decider.templates, Verifier.of(office.decider.company))
    return rendered.subject, rendered.text, rendered.html


def calls_of(decision: Decision) -> list[object]:
    """What was called and what came of it; what it cost depends on the mails before."""
    return [(call.tool, call.args, call.confidence, call.status, call.result) for call in decision.plan.calls]


@pytest.mark.parametrize("customer", [ANNA, JAMES])
@pytest.mark.parametrize("text", [DOCUMENT, VALUE, SERIES, BOTH])
def test_at_level_2_a_customer_and_a_stranger_are_answered_alike(office: Office, customer: str, text: str) -> None:
    """Subject, text and HTML, the calls and the reason; also at level 3 where the Reply-To is another's (S16)."""
    stranger = decided(office, STRANGER, text, 2)
    known = decided(office, customer, text, 2)
    lowered = decided(office, customer, text, 3, reply_to=b"Reply-To: <other@elsewhere.example>\r\n")
    for decision in (known, lowered):
        assert answered_with(office, decision) == answered_with(office, stranger)
        assert decision.plan.reason == stranger.plan.reason
        assert calls_of(decision) == calls_of(stranger)
    assert (answered_with(office, stranger) is None) == (text in (VALUE, SERIES))


@pytest.mark.parametrize("text", [DOCUMENT, VALUE, SERIES, BOTH])
def test_at_level_3_the_same_mail_is_answered_otherwise(office: Office, text: str) -> None:
    """The tests above would prove nothing if the level made no difference."""
    known, stranger = decided(office, ANNA, text, 3), decided(office, STRANGER, text, 2)
    assert answered_with(office, known) != answered_with(office, stranger)
