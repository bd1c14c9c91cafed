"""The dry run: what would happen to a mail. Nothing is stored and nothing is sent.

Invariant: decided by the same `Decider` and written by the same letters as the real journey, and what fails
there escalates here too. Checked by tests/unit/ops/test_dry_run.py and tests/acceptance/test_try.py.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from support_agent.answer.verification import Verifier
from support_agent.cases.hand_over import HandOver
from support_agent.cases.place import unproven_ours, why_unwritable
from support_agent.company.accounts import Accounts
from support_agent.company.values import Customer
from support_agent.config.settings import Settings
from support_agent.core.frozen import Frozen
from support_agent.core.levels import CUSTOMER, Level
from support_agent.desk.decision import Decision, screened_out
from support_agent.errors import ConfigError, SupportAgentError
from support_agent.mail.machines.screening import Screening, Verdict, screen
from support_agent.mail.message import Message, parse, read_file
from support_agent.mail.senders.dkim_check import DkimCheck, dkim_check
from support_agent.mail.senders.dns_lookup import SYSTEM_DNS, TxtLookup
from support_agent.mail.senders.identity import Sender, identify
from support_agent.outbound.letters import Letter, answer_letter
from support_agent.tools.base import SentAnswer
from support_agent.workflow.decide import Decider

FILED = (Verdict.FILE, Verdict.DROP)


class TriedCall(Frozen):
    tool: str
    args: dict[str, str | int | bool]
    confidence: Annotated[float, Field(ge=0, le=1)]


class TriedAnswer(Frozen):
    subject: str
    text: str
    html: str


class Trial(Frozen):
    """One line of `try --json`; `reason` is the code that the store would have, or the rule that filed the mail."""

    file: str
    outcome: Literal["answer", "escalate", "filed"]
    reason: str | None
    level: Level
    calls: tuple[TriedCall, ...]
    answer: TriedAnswer | None
    seconds: float
    forward_passes: int


class Tried(Frozen):
    """A trial with what it came from, for printing; `why` is what more is known of the reason, one sentence, or ""."""

    trial: Trial
    sender: Sender
    screening: Screening
    decision: Decision | None
    why: str


class Rehearsal(NamedTuple):
    """A mail's decision, and its answer as it would go out; without one, the plan says why a person gets the mail."""

    decision: Decision
    letter: Letter | None


def read_mail(path: Path, max_bytes: int) -> bytes:
    """The bytes of a mail in a file, as `message.read_file` bounds them.

    Raises:
        ConfigError: the file cannot be read.
    """
    try:
        return read_file(path, max_bytes)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}: name a readable .eml file") from error


def try_mail(
    file: str,
    raw: bytes,
    decider: Callable[[], Decider],
    accounts: Accounts,
    settings: Settings,
    now: datetime,
    *,
    as_level: int | None,
    as_customer: str | None,
    lookup_txt: TxtLookup = SYSTEM_DNS,
) -> Tried:
    """Run one mail through the journey without a mailbox, a store or a sender.

    Args:
        file: The name it has in the result.
        decider: Opened only when a mail gets as far as the model.
        as_level: The sender level to assume, instead of what the mail proves.
        as_customer: The customer's address to assume; implies level 3 where no level is given.
        lookup_txt: Asked where `agent.verify_dkim` is on.
    Raises:
        ConfigError: there is no such customer, or the decider cannot be opened.
    """
    started = time.monotonic()
    message = parse(raw)
    screening = screen(message, settings.agent, settings.desk, lambda address: accounts.customer(address) is not None)
    check = dkim_check(lambda: raw, settings.agent, lambda: now, lookup_txt)
    sender, customer = _sender(message, accounts, settings, check, as_level, as_customer)
    rehearsal: Rehearsal | None = None
    outcome: Literal["answer", "escalate", "filed"] = "filed" if screening.verdict in FILED else "escalate"
    told = _unasked(screening, sender, settings)
    if told is None:
        opened = decider()
        screening = opened.judged(message, screening)
        told = _unasked(screening, sender, settings)
    if told is None:
        rehearsal = rehearse(opened, opened.with_attached_text(message, lambda: raw, sender), sender, customer, now)
        outcome = "escalate" if rehearsal.letter is None else "answer"
        told = rehearsal.decision.plan.reason, rehearsal.decision.why
    reason, why = told
    plan = None if rehearsal is None else rehearsal.decision.plan
    trial = Trial(
        file=file,
        outcome=outcome,
        reason=reason,
        level=sender.level,
        calls=tuple(
            TriedCall(tool=call.tool, args=call.args, confidence=round(min(call.confidence, 1.0), 4))
            for call in (() if plan is None else plan.calls)
            if call.status == "done"
        ),
        answer=None if rehearsal is None else _answer(rehearsal.letter),
        seconds=round(time.monotonic() - started, 3),
        forward_passes=0 if rehearsal is None else rehearsal.decision.forward_passes,
    )
    decision = None if rehearsal is None else rehearsal.decision
    return Tried(trial=trial, sender=sender, screening=screening, decision=decision, why=why)


def rehearse(
    decider: Decider,
    message: Message,
    sender: Sender,
    customer: Customer | None,
    now: datetime,
    sent: tuple[SentAnswer, ...] = (),
    *,
    case_id: str = "",
    memory: str | None = None,
) -> Rehearsal:
    """Decide a mail and write its answer as the journey does: what fails, or what the gate refuses, escalates.

    The arguments are those of `Decider.decide`.
    """
    try:
        decision = decider.decide(message, sender, customer, now, sent, case_id=case_id, memory=memory)
    except SupportAgentError as error:
        return Rehearsal(decider.failed(error, now), None)
    try:
        verifier = Verifier.of(decider.company)
        letter = None if decision.final is None else answer_letter(decision.final, decider.templates, verifier)
    except SupportAgentError as error:
        return Rehearsal(decision.stopped_by(error), None)
    return Rehearsal(decision, letter)


def _unasked(screening: Screening, sender: Sender, settings: Settings) -> tuple[str | None, str] | None:
    """Code and sentence of why the journey does not ask the model; None: it does."""
    if screening.verdict in FILED:
        return screening.rule, ""
    if screening.verdict is Verdict.DESK:
        reason, _ = screened_out(screening)
        return reason, ""  # the sentence is the screening's
    if why := unproven_ours(sender, settings):
        return HandOver.UNPROVEN_OURS, why
    if why := why_unwritable(sender.address):
        return HandOver.UNWRITABLE, why
    return None


def _answer(letter: Letter | None) -> TriedAnswer | None:
    return None if letter is None else TriedAnswer(subject=letter.subject, text=letter.text, html=letter.html)


def _sender(
    message: Message,
    accounts: Accounts,
    settings: Settings,
    check: DkimCheck | None,
    as_level: int | None,
    as_customer: str | None,
) -> tuple[Sender, Customer | None]:
    sender = identify(message, settings.agent, lambda address: accounts.customer(address) is not None, check)
    if as_customer is not None:
        customer = accounts.customer(as_customer)
        if customer is None:
            raise ConfigError(f"--as-customer {as_customer}: no customer has that address")
        level = CUSTOMER if as_level is None else as_level
        sender = Sender(address=customer.address, level=level, why="assumed for this trial")
    elif as_level is not None:
        sender = Sender(address=sender.address, level=as_level, why="assumed for this trial")
    return sender, accounts.customer(sender.address) if sender.level >= CUSTOMER and sender.address else None
