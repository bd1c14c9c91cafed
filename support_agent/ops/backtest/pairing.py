"""Pairs each customer's question with the first answer that a person of the company gave.

A mail belongs to the thread that its In-Reply-To and References name. An answer of ours without them belongs to the
newest question with its subject from its recipient. Later mails of a customer in a thread are follow-ups: a person
usually has such a case. Checked by tests/unit/ops/backtest/test_pairing.py.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from support_agent.config.settings import Settings
from support_agent.core.levels import lower_address
from support_agent.mail.machines.machine_headers import auto_submitted
from support_agent.mail.message import Message
from support_agent.mail.outgoing import thread_subject
from support_agent.ops.backtest.sources import PastMail


@dataclass
class Pair:
    """A question, the first answer to it that a person of ours wrote, and how many follow-ups came."""

    question: PastMail
    answer: PastMail | None = None
    follow_ups: int = 0

    @property
    def waited(self) -> timedelta | None:
        """How long the customer waited for the answer."""
        return None if self.answer is None else self.answer.at - self.question.at


@dataclass
class _Threads:
    by_id: dict[str, Pair | None] = field(default_factory=dict)
    """None: a thread that has no question yet."""
    by_subject: dict[tuple[str, str], Pair] = field(default_factory=dict)


def own_addresses(settings: Settings, more: Sequence[str] = ()) -> frozenset[str]:
    """The addresses from which the company writes; "@example.org" stands for all of a domain."""
    agent = settings.agent
    known = (agent.address, *agent.aliases, *settings.people, *more)
    return frozenset(lower_address(address) for address in known if address)


def pairs_of(mails: Iterable[PastMail], own: Collection[str], same_subject: timedelta) -> tuple[Pair, ...]:
    """The questions of customers with their answers.

    Args:
        mails: The oldest first.
        own: From `own_addresses`.
        same_subject: How old a question may be that an answer belongs to by its subject.
    """
    threads = _Threads()
    pairs: list[Pair] = []
    for mail in mails:
        is_ours = _is_from(mail.message, own)
        if is_ours and any(token != "no" for token, _ in auto_submitted(mail.message)):
            continue
        pair = _known(threads, mail.message) or (_by_subject(threads, mail, same_subject) if is_ours else None)
        if pair is None and not is_ours:
            pair = Pair(mail)
            pairs.append(pair)
            threads.by_subject[_sender(mail.message), _subject(mail.message)] = pair
        elif pair is not None and is_ours:
            pair.answer = pair.answer or mail
        elif pair is not None:
            pair.follow_ups += 1
        threads.by_id[mail.message.message_id] = pair
    return tuple(pairs)


def _known(threads: _Threads, message: Message) -> Pair | None:
    named = (message.in_reply_to or "", *reversed(message.references))
    return next((pair for name in named if (pair := threads.by_id.get(name)) is not None), None)


def _by_subject(threads: _Threads, mail: PastMail, within: timedelta) -> Pair | None:
    subject = _subject(mail.message)
    found = (threads.by_subject.get((lower_address(one.addr), subject)) for one in mail.message.to)
    return next((pair for pair in found if pair is not None and mail.at - pair.question.at <= within), None)


def _subject(message: Message) -> str:
    return (thread_subject(message.subject) or "").casefold()


def _sender(message: Message) -> str:
    return "" if message.from_ is None else lower_address(message.from_.addr)


def _is_from(message: Message, own: Collection[str]) -> bool:
    address = _sender(message)
    return bool(address) and (address in own or f"@{address.rpartition('@')[2]}" in own)
