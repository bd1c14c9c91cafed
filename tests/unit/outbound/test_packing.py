"""A case packed for a person: why it stopped, in code and words, and what was seen and considered."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from pydantic import SecretStr

from support_agent.answer.packet import FoundDocument, Packet, QuestionRetrieval
from support_agent.answer.templates import Templates
from support_agent.cases.decision import Decision
from support_agent.cases.escalation import EscalationReason
from support_agent.cases.route import Route, RoutedMail
from support_agent.config.agent import AgentSettings
from support_agent.config.desk import DeskSettings
from support_agent.config.packaged_files import packaged
from support_agent.config.settings import CompanySettings, Settings
from support_agent.errors import (
    ConfigError,
    GateRefused,
    PermanentError,
    SupportAgentError,
    ToolCallRejected,
    TransientError,
)
from support_agent.mail.message import parse
from support_agent.mail.senders.identity import Sender
from support_agent.models.language_model import Usage
from support_agent.outbound.packing import MAIL_CHARACTERS, MAIL_LINES, RUNNERS_UP, CommandScope, packet_of
from support_agent.outbound.rendered_mail import gated_mail
from support_agent.planner.choice import Vote
from support_agent.planner.plan import Call, Plan, call_text
from support_agent.store.records import CaseId, MailId, OutboxId, OutgoingKind
from support_agent.tools.ending import Reason
from support_agent.tools.fact_room import FindingReason, RetrievalResult
from tests.fakes_room import DRAFT, VISITS

RAW = b"From: anna.keller@example.net\r\nSubject: Re: Refund\r\n\r\nHow much?\r\n\r\n> we wrote\r\n"
MAIL = RoutedMail(
    MailId("ab" * 16),
    RAW,
    datetime(2026, 11, 20, tzinfo=UTC),
    False,
    parse(RAW),
    Sender(address="anna.keller@example.net", level=3, why="dmarc=pass of mx.harborfile.example"),
    Route(case_id=CaseId("case-17"), may_answer=True, may_acknowledge=True),
)
SETTINGS = Settings(
    company=CompanySettings(name="Harborfile", locale="de"),
    agent=AgentSettings(
        address="support@harborfile.example", secret=SecretStr("a key of a test, which signs nothing that is sent")
    ),
    desk=DeskSettings(address="desk@harborfile.example"),
)
SCOPE = CommandScope(OutboxId("packet"), MailId("ab" * 16), "company", datetime(2026, 12, 1, tzinfo=UTC))
FOUND = (FoundDocument(number=1, title="Refund policy", score=0.7),)


def vote(key: str, probability: float) -> Vote:
    return Vote(key=key, similarity=0.5, mentioned=0.0, picked=None, judged=None, probability=probability)


def call(tool: str = "send_document", **changes: object) -> Call:
    values: dict[str, object] = {
        "question": 0,
        "tool": tool,
        "args": {"number": 1},
        "confidence": 0.4,
        "threshold": 0.5,
        "considered": (),
        "status": "below_threshold",
        "result": "",
        "usage": Usage(),
        "seconds": 0.1,
    }
    return Call.model_validate(values | changes)


def decision(reason: str | None = "unsure", why: str = "", calls: tuple[Call, ...] = ()) -> Decision:
    plan = Plan(
        outcome="escalate",
        reason=reason,
        asked=1,
        questions=("How much?",),
        answers=(),
        calls=calls,
        usage=Usage(),
        seconds=0.5,
        model="m",
        combiner="c",
    )
    return Decision(plan=plan, final=None, found=FOUND, decided_at=datetime(2026, 11, 20, tzinfo=UTC), why=why)


def packed(made: Decision, answered: str | None = None) -> Packet:
    return packet_of(MAIL, made, answered, SETTINGS, SCOPE)


def english(packet: Packet) -> str:
    templates = Templates.load(packaged("templates"))
    return gated_mail(OutgoingKind.PACKET, packet.model_copy(update={"locale": "en"}), templates).text


def stopped_line(packet: Packet) -> str:
    return next(line for line in english(packet).splitlines() if line.startswith("Why it stopped: "))


@pytest.mark.parametrize("reason", [*Reason, *EscalationReason])
def test_every_reason_is_told_by_its_code_in_words_and_with_what_more_is_known(
    reason: Reason | EscalationReason,
) -> None:
    """A code alone tells a person nothing."""
    packet = packed(decision(reason.value, "as the rule says"))
    assert (packet.reason_code, packet.why) == (reason.value, "as the rule says")
    words = stopped_line(packet).removeprefix("Why it stopped: ").removesuffix(f" [{reason.value}] as the rule says")
    assert words.endswith(".")


@pytest.mark.parametrize(
    ("error", "code", "why"),
    [
        (GateRefused("a byte without a source"), "gate_refused", "a byte without a source"),
        (GateRefused("it does not say", code="missing"), "gate_refused", "missing: it does not say"),
        (PermanentError("the data is refused", code="database"), "database", "the data is refused"),
        (TransientError("the database is away", code="database"), "database", "the database is away"),
        (ConfigError("agent.secret is not set"), "config", "agent.secret is not set"),
        (ToolCallRejected("no such call"), "tool_call_rejected", "no such call"),
        (SupportAgentError("something else"), "error", "something else"),
    ],
)
def test_answer_that_failed_is_told_by_its_own_error(error: SupportAgentError, code: str, why: str) -> None:
    """Not every error is the gate's; what was considered and found before it stays to be read."""
    packet = packed(decision(None, calls=(call(),)).stopped_by(error))
    assert (packet.reason_code, packet.why) == (code, why)
    assert stopped_line(packet).endswith(f"[{code}] {why}")
    assert (len(packet.considered), packet.found) == (1, FOUND)


def test_refused_answer_has_words_of_its_own() -> None:
    """The commonest failure of an answer reads as a sentence."""
    packet = packed(decision(None).stopped_by(GateRefused("the mail does not say")))
    assert stopped_line(packet) == (
        "Why it stopped: The answer was made, but a part of it has no source. [gate_refused] the mail does not say"
    )


def test_plan_without_a_reason_covers_nothing() -> None:
    """A mail in which no question was found."""
    assert packed(decision(None)).reason_code == "not_covered"


def test_packet_holds_the_mail_its_sender_and_where_to_reply() -> None:
    """The whole text, with the quotation: a person may need what the machine does not read."""
    packet = packed(decision(), answered="Your plan: Team")
    assert (packet.case_id, packet.locale) == ("case-17", "de")
    assert (packet.customer_address, packet.level) == ("anna.keller@example.net", 3)
    assert packet.level_why == MAIL.sender.why
    assert packet.subject == "Re: Refund"
    assert "How much?" in packet.mail_text
    assert "> we wrote" in packet.mail_text
    assert packet.answered_text == "Your plan: Team"
    assert packet.reply_address == "support@harborfile.example"


@pytest.mark.parametrize("text", ["x\n" * 4_000, "y" * 100_000, "word " * 3_000 + "\n" * 3_000])
def test_long_mail_is_shown_by_its_beginning(text: str) -> None:
    """Twelve kilobytes of short lines must not hold up the others; the whole mail is attached, and that is said."""
    mail = replace(MAIL, message=MAIL.message.model_copy(update={"text": text}))
    packet = packet_of(mail, decision(), None, SETTINGS, SCOPE)
    assert text.startswith(packet.mail_text)
    assert len(packet.mail_text) <= MAIL_CHARACTERS
    assert packet.mail_text.count("\n") < MAIL_LINES
    assert packet.left_out == len(text) - len(packet.mail_text)
    assert f"[{packet.left_out:,} more characters: the whole mail is attached]\n" in english(packet)


def test_mail_that_is_shown_whole_says_nothing_of_more() -> None:
    """The bound itself still fits."""
    mail = replace(MAIL, message=MAIL.message.model_copy(update={"text": "\n".join("x" * MAIL_LINES)}))
    packet = packet_of(mail, decision(), None, SETTINGS, SCOPE)
    assert (packet.mail_text, packet.left_out) == (mail.message.text, None)
    assert "more characters" not in english(packet)


def test_sender_without_an_address_is_said() -> None:
    """A From with two addresses, or none: an empty line would look like an error of the program."""
    nobody = replace(MAIL, sender=Sender(address="", level=0, why="no From"))
    assert packet_of(nobody, decision(), None, SETTINGS, SCOPE).customer_address == "(no single sender)"


def test_calls_are_told_with_their_outcome_and_the_likeliest_others() -> None:
    """Searching and finishing tell a person nothing; a confidence is never over 1."""
    votes = tuple(vote(f"document:{number}", number / 10) for number in range(6))
    calls = (
        call("find_documents"),
        call(considered=votes),
        call("fetch_series", status="done", result="@1: 12 rows", confidence=1.0000001),
        call("finish"),
    )
    unsure, done = packed(decision(calls=calls)).considered
    assert (unsure.call, unsure.confidence, unsure.outcome) == ("send_document(1)", 0.4, "below_threshold")
    assert [other.call for other in unsure.runners_up] == ["document:4", "document:3", "document:2"][:RUNNERS_UP]
    assert (done.call, done.confidence, done.outcome) == ("fetch_series(1)", 1.0, "@1: 12 rows")


def test_call_is_written_with_its_arguments() -> None:
    """As a person would write it."""
    arguments = {"series": "payments", "period": "last_year"}
    assert call_text("fetch_series", arguments) == "fetch_series(payments, last_year)"
    assert call_text("finish", {}) == "finish()"


def looked(number: int) -> QuestionRetrieval:
    return QuestionRetrieval(number=number, question=f"Question {number}?", reason_code="irrelevant")


def finding(number: int) -> dict[int, RetrievalResult]:
    return {number: RetrievalResult(reason=FindingReason.IRRELEVANT, index_version="v", trace=VISITS)}


def test_what_was_found_out_goes_along_without_the_rooms_own_record() -> None:
    """Where there is no answer, about every question; drafts stay in the store."""
    made = decision(calls=(call("escalate", question=2),)).model_copy(
        update={"retrievals": (looked(1), looked(2)), "findings": finding(1) | finding(2)}
    )
    packet = packed(made)
    assert packet.retrievals == (looked(1), looked(2))
    assert DRAFT not in packet.model_dump_json()


@pytest.mark.parametrize("code", FindingReason)
def test_every_reason_of_a_look_is_told_in_words(code: FindingReason) -> None:
    """A code alone tells a person nothing."""
    made = decision().model_copy(
        update={"retrievals": (looked(1).model_copy(update={"reason_code": code.value}),), "findings": finding(1)}
    )
    line = next(line for line in english(packed(made)).splitlines() if line.startswith("Looked into: "))
    assert line.endswith(f". [{code.value}]")


def with_reply_to(value: str) -> RoutedMail:
    raw = f"Reply-To: {value}\r\n".encode() + RAW
    return replace(MAIL, raw=raw, message=parse(raw))


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("Anna <Anna.Keller@example.net>", None),
        ("anna.keller@example.net, HOW TO REPLY <a@b.example>", "a@b.example"),
        (
            "a@b.example, c@b.example, d@b.example, e@b.example, f@b.example",
            "a@b.example, c@b.example, d@b.example, [...]",
        ),
        ("no address", None),
    ],
)
def test_s16_a_reply_to_elsewhere_is_shown_as_its_first_addresses_without_their_names(
    value: str, shown: str | None
) -> None:
    """It is a stranger's text: what a person reads of it is short, and cannot pass for the packet's own words."""
    packet = packet_of(with_reply_to(value), decision(), None, SETTINGS, SCOPE)
    assert packet.customer_reply_to == shown


def test_a_packet_template_from_before_shows_no_reply_to_and_is_used_all_the_same() -> None:
    older = Templates.load(packaged("templates")).as_files()
    before = re.sub(r"{% if packet.customer_reply_to %}.*?{% endif %}\n", "", older["de/escalation.txt.j2"], flags=re.S)
    assert before != older["de/escalation.txt.j2"]
    packet = packet_of(with_reply_to("a@b.example"), decision(), None, SETTINGS, SCOPE)
    made = gated_mail(OutgoingKind.PACKET, packet, Templates.from_files(older | {"de/escalation.txt.j2": before}))
    assert "a@b.example" not in made.text
