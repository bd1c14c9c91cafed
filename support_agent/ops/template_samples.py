"""Items and mails of every kind, with which `check` tries templates: the inputs of the packaged template tests.

Invariant: together the samples take every branch that an item can cause (no value, one row, no row, each code), so that
`check` finds a template that fails on one. Checked by
tests/unit/ops/test_template_checks.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TypeVar, get_args

from support_agent.answer.acknowledgement import Acknowledgement
from support_agent.answer.alarm import Alarm
from support_agent.answer.digest import Digest
from support_agent.answer.final_answer import (
    AggregateItem,
    CalculationItem,
    FinalAnswer,
    Item,
    Operand,
    TableItem,
)
from support_agent.answer.item_kinds import KINDS
from support_agent.answer.packet import Packet
from support_agent.config.packaged_files import packaged
from support_agent.core.frozen import Frozen
from support_agent.ops.template_tests import TemplateCase, around, load_cases

PERIODS = (
    "this_month", "last_month", "this_quarter", "last_quarter", "this_year", "last_year", "all_time",
)  # fmt: skip
AGGREGATIONS: tuple[str, ...] = get_args(Operand.model_fields["aggregation"].annotation)
OPERATIONS: tuple[str, ...] = get_args(CalculationItem.model_fields["operation"].annotation)
LEVELS = ("0", "1", "2", "3")
CODES = {
    "period": (*PERIODS, "year", "month"),
    "aggregation": AGGREGATIONS,
    "operation": OPERATIONS,
    "level": LEVELS,
}
"""The codes of items and packets; tools add steps and reasons."""
LATER_PARTS = ("original_id", "customer_reply_to", "story", "proposed_text")
"""Parts of a packet that templates of earlier versions do not show; parts that packets get later belong here."""
_Mail = TypeVar("_Mail", bound=Frozen)


@cache
def _cases() -> tuple[TemplateCase, ...]:
    cases, _ = load_cases(packaged("templates"))
    return tuple(placed.case for placed in cases)


def sample_items(steps: tuple[str, ...] = ()) -> Iterator[Item]:
    """Items of every kind and in every shape."""
    given = [case.item for case in _cases() if case.item is not None]
    yield from sorted((*given, *_with_each_code(given, steps)), key=lambda item: list(KINDS).index(item.kind))


def _with_each_code(items: Sequence[Item], steps: tuple[str, ...]) -> Iterator[Item]:
    """The first table, aggregate and calculation with each code that may stand in them."""
    table = next(item for item in items if isinstance(item, TableItem))
    operand = next(item.operand for item in items if isinstance(item, AggregateItem))
    calculation = next(item for item in items if isinstance(item, CalculationItem))
    yield table.model_copy(update={"steps": steps})
    yield AggregateItem(operand=operand.model_copy(update={"steps": steps}))
    for aggregation in AGGREGATIONS:
        yield AggregateItem(operand=operand.model_copy(update={"aggregation": aggregation}))
    for name in PERIODS:
        period = operand.period.model_copy(update={"name": name})
        yield AggregateItem(operand=operand.model_copy(update={"period": period}))
    for operation in OPERATIONS:
        yield calculation.model_copy(update={"operation": operation})


def sample_answers(locale: str) -> Iterator[FinalAnswer]:
    """Whole answers, with the notice at the top and below; the first has every item."""
    yield around(*sample_items(), locale=locale)
    for final in _in_locale(locale, (case.answer for case in _cases())):
        yield from (final.model_copy(update={"notice": notice}) for notice in ("bottom", "top"))


def sample_acknowledgements(locale: str) -> Iterator[Acknowledgement]:
    """Acknowledgements without the parts that older templates lack."""
    return (one for one in _acknowledgements(locale) if not _says_hours(one))


def sample_later_acknowledgements(locale: str) -> Iterator[Acknowledgement]:
    """Acknowledgements with parts that older templates lack: when people work next, and how soon they answer."""
    return (one for one in _acknowledgements(locale) if _says_hours(one))


def _acknowledgements(locale: str) -> Iterator[Acknowledgement]:
    return _in_locale(locale, (case.acknowledgement for case in _cases()))


def _says_hours(made: Acknowledgement) -> bool:
    return made.opens_at is not None or made.reply_within_h is not None


def sample_packets(locale: str) -> Iterator[Packet]:
    """Full packets and the smallest possible one."""
    return (packet for packet in _packets(locale) if not _is_later(packet))


def sample_later_packets(locale: str) -> Iterator[Packet]:
    """Packets with a part of `LATER_PARTS`, and those about no known customer, which older templates lack, too."""
    return (packet for packet in _packets(locale) if _is_later(packet))


def _packets(locale: str) -> Iterator[Packet]:
    return _in_locale(locale, (case.packet for case in _cases()))


def _is_later(packet: Packet) -> bool:
    return packet.about_mail_id == "" or any(getattr(packet, name) for name in LATER_PARTS)


def sample_digests(locale: str) -> Iterator[Digest]:
    """Weekly digests: of a full week, of a quiet one, and of one in which people got every mail."""
    return _in_locale(locale, (case.digest for case in _cases()))


def sample_alarms(locale: str) -> Iterator[Alarm]:
    """Alarms that begin, go on and end."""
    return _in_locale(locale, (case.alarm for case in _cases()))


def _in_locale(locale: str, mails: Iterable[_Mail | None]) -> Iterator[_Mail]:
    """The mails of those cases that have one."""
    return (mail.model_copy(update={"locale": locale}) for mail in mails if mail is not None)
