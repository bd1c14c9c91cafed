"""Records: what may be stored at all."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from pydantic import JsonValue, ValidationError

from support_agent.store.records import MailId, OutgoingKind, Record, mail_id_of
from tests.contract.store.examples import NOON, call, case, cursor, outgoing, plan, rendered

MAIL = MailId("ab" * 16)


def test_ids_follow_from_what_they_name() -> None:
    """Rule: nothing invents an id, so a step that runs again meets its own row."""
    assert mail_id_of(b"mail") == hashlib.sha256(b"mail").hexdigest()[:32]
    assert mail_id_of(b"mail") != mail_id_of(b"mail ")
    assert outgoing(MAIL, OutgoingKind.PACKET).id == f"{MAIL}-packet"


@pytest.mark.parametrize(
    ("record", "change"),
    [
        (cursor(1), {"last_uid": -1}),
        (cursor(1), {"last_uid": 2**32}),
        (case(), {"id": ""}),
        (case(), {"id": "a b"}),
        (case(), {"opened_at": NOON.replace(tzinfo=None)}),
        (case(), {"state": "lost"}),
        (call(), {"confidence": 1.5}),
        (call(), {"confidence": float("nan")}),
        (call(), {"seconds": float("inf")}),
        (call(), {"args": {"score": float("nan")}}),
        (call(), {"votes": [float("inf")]}),
        (plan(MAIL), {"outcome": "maybe"}),
        (plan(MAIL), {"tokens": -1}),
        (rendered(MAIL), {"payload": "text"}),
        (rendered(MAIL), {"unknown": 1}),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, dict) else type(value).__name__,
)
def test_what_no_database_could_hold_is_refused_at_the_edge(record: Record, change: dict[str, Any]) -> None:
    """Rule: rows are built from valid records only; the table classes check nothing."""
    values = record.model_dump()
    type(record).model_validate(values)
    with pytest.raises(ValidationError):
        type(record).model_validate(values | change)


@pytest.mark.parametrize("value", [None, True, 0.5, "text", [1, {"a": []}], {}])
def test_any_json_is_a_trace(value: JsonValue) -> None:
    """Rule: the trace's shape is the planner's business."""
    kept = plan(MAIL).model_copy(update={"trace": value})
    assert type(kept).model_validate(kept.model_dump()).trace == value


def test_records_are_frozen() -> None:
    """Rule: a record is what was read, not a way to write."""
    with pytest.raises(ValidationError, match="frozen"):
        cursor(1).last_uid = 2  # type: ignore[misc]
