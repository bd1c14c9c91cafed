"""The dry run: what would happen to a mail. Nothing is stored and nothing is sent.

Invariant: decided by the same `Decider` and written by the same letters as the real journey. Checked by
tests/unit/test_printing.py and tests/acceptance/test_try.py.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from support_agent.company.accounts import Accounts
from support_agent.company.values import Customer
from support_agent.decide import Decider, Decision
from support_agent.errors import ConfigError, GateRefused
from support_agent.letters import answer_letter
from support_agent.mail.identity import Sender, identify
from support_agent.mail.message import Message, parse
from support_agent.mail.screening import Screening, Verdict, screen
from support_agent.settings import Settings
from support_agent.tools.ending import Reason


class Frozen(BaseModel):
    """A value of the dry run."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class TriedCall(Frozen):
    tool: str
    args: dict[str, str | int | bool]
    confidence: float


class TriedAnswer(Frozen):
    subject: str
    text: str
    html: str


class Trial(Frozen):
    """One line of `try --json`."""

    file: str
    outcome: Literal["answer", "escalate", "filed"]
    reason: str | None
    level: int
    calls: tuple[TriedCall, ...]
    answer: TriedAnswer | None
    seconds: float
    forward_passes: int


class Tried(Frozen):
    """A trial with what it came from, for printing."""

    trial: Trial
    sender: Sender
    screening: Screening
    decision: Decision | None


def try_mail(
    path: Path,
    decider: Callable[[], Decider],
    accounts: Accounts,
    settings: Settings,
    now: datetime,
    *,
    as_level: int | None,
    as_customer: str | None,
) -> Tried:
    """Run one mail through the journey without a mailbox, a store or a sender.

    Args:
        decider: Opened only when a mail gets as far as the model.
        as_level: The sender level to assume, instead of what the mail proves.
        as_customer: The customer's address to assume; implies level 3 where no level is given.
    Raises:
        ConfigError: the file cannot be read, or there is no such customer.
    """
    started = time.monotonic()
    try:
        message = parse(path.read_bytes())
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}: name a readable .eml file") from error
    screening = screen(message, settings.agent, settings.desk, lambda address: accounts.customer(address) is not None)
    sender, customer = _sender(message, accounts, settings, as_level, as_customer)
    decision: Decision | None = None
    answer: TriedAnswer | None = None
    reason: str | None
    outcome: Literal["answer", "escalate", "filed"]
    if screening.verdict in (Verdict.FILE, Verdict.DROP):
        outcome, reason = "filed", screening.rule
    elif screening.verdict is Verdict.DESK:
        outcome = "escalate"
        reason = Reason.PERSON_ASKED_FOR if screening.rule == "person" else screening.rule
    else:
        decision = decider().decide(message, sender, customer, now)
        outcome, reason = decision.plan.outcome, decision.plan.reason
        if decision.final is not None:
            try:
                letter = answer_letter(decision.final, decider().templates)
                answer = TriedAnswer(subject=letter.subject, text=letter.text, html=letter.html)
            except GateRefused as refused:
                outcome, reason = "escalate", f"{refused.code}: {refused}"
    plan = decision.plan if decision is not None else None
    trial = Trial(
        file=str(path),
        outcome=outcome,
        reason=reason,
        level=sender.level,
        calls=tuple(
            TriedCall(tool=call.tool, args=call.args, confidence=round(call.confidence, 4))
            for call in (plan.calls if plan is not None else ())
            if call.status == "done"
        ),
        answer=answer,
        seconds=round(time.monotonic() - started, 3),
        forward_passes=plan.usage.forward_passes if plan is not None else 0,
    )
    return Tried(trial=trial, sender=sender, screening=screening, decision=decision)


def _sender(
    message: Message,
    accounts: Accounts,
    settings: Settings,
    as_level: int | None,
    as_customer: str | None,
) -> tuple[Sender, Customer | None]:
    sender = identify(message, settings.agent, lambda address: accounts.customer(address) is not None)
    if as_customer is not None:
        customer = accounts.customer(as_customer)
        if customer is None:
            raise ConfigError(f"--as-customer {as_customer}: no customer has that address")
        level = 3 if as_level is None else as_level
        sender = Sender(address=customer.address, level=level, why="assumed for this trial")
    elif as_level is not None:
        sender = Sender(address=sender.address, level=as_level, why="assumed for this trial")
    return sender, accounts.customer(sender.address) if sender.level >= 3 and sender.address else None
