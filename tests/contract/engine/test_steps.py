"""What every journey may rely on, on the durable engine and in a dry run."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, TypeAdapter

from support_agent.engine.steps import Steps
from support_agent.errors import GateRefused, PermanentError, Postponed, SupportAgentError, TransientError
from tests.contract.engine.conftest import SETTINGS, Travel


class Amount(BaseModel):
    """The kind of value steps give: frozen, with types that JSON does not have."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    value: Decimal
    paid_at: datetime
    lines: tuple[str, ...]


class DetailedAmount(Amount):
    detail: str


class Refused(GateRefused):
    """An error of a room, with more in it than its class in errors.py."""

    code = "refused"


AMOUNT = Amount(value=Decimal("19.90"), paid_at=datetime(2025, 3, 1, tzinfo=UTC), lines=("Grüße",))
DETAILED = DetailedAmount(**AMOUNT.model_dump(), detail="lost")


class Flaky:
    """Work that fails a number of times before it succeeds."""

    def __init__(self, failures: int, error: Exception) -> None:
        self.failures = failures
        self.error = error
        self.runs = 0

    def __call__(self) -> str:
        self.runs += 1
        if self.runs <= self.failures:
            raise self.error
        return "done"


def test_a_step_runs_its_work_once_and_gives_its_result(travel: Travel) -> None:
    work = Flaky(0, TransientError("unused"))
    assert travel(lambda steps: steps.step("parse", work)) == "done"
    assert work.runs == 1


@pytest.mark.parametrize("value", [None, True, 0, 1.5, "", [], [1, [None]], {"a": {"b": "\x00 Ü"}}], ids=repr)
def test_plain_json_needs_no_type(value: Any, travel: Travel) -> None:
    assert travel(lambda steps: steps.step("parse", lambda: value)) == value


def test_a_typed_result_comes_back_as_its_type(travel: Travel) -> None:
    result = travel(lambda steps: steps.step("plan", lambda: AMOUNT, Amount))
    assert result == AMOUNT
    assert type(result) is Amount


def test_a_result_of_several_types_is_named_by_an_adapter(travel: Travel) -> None:
    union: TypeAdapter[tuple[Amount, ...] | None] = TypeAdapter(tuple[Amount, ...] | None)
    assert travel(lambda steps: steps.step("plan", lambda: (AMOUNT,), union)) == (AMOUNT,)
    assert travel(lambda steps: steps.step("plan", lambda: None, union)) is None


@pytest.mark.parametrize(
    "value",
    [(1,), {1}, {1: "a"}, math.nan, math.inf, b"bytes", Decimal(1), AMOUNT, object(), "\udc80", print],
    ids=lambda value: type(value).__name__ + ascii(value)[:8],
)
def test_a_result_that_json_would_change_or_cannot_hold_is_refused(value: Any, travel: Travel) -> None:
    """Without this the first run and a later one would go on with different values."""
    with pytest.raises(PermanentError, match="step 'plan'") as caught:
        travel(lambda steps: steps.step("plan", lambda: value))
    assert caught.value.code == "not_json"


def test_a_result_that_its_type_would_cut_is_refused(travel: Travel) -> None:
    """A subclass has fields that the named type does not keep."""
    with pytest.raises(PermanentError, match="step 'plan'") as caught:
        travel(lambda steps: steps.step("plan", lambda: DETAILED, Amount))
    assert caught.value.code == "not_json"


def test_what_may_pass_is_tried_again(travel: Travel) -> None:
    work = Flaky(SETTINGS.step_attempts - 1, TransientError("busy"))
    assert travel(lambda steps: steps.step("send", work)) == "done"
    assert work.runs == SETTINGS.step_attempts


def test_tries_are_bounded_and_the_last_error_is_the_end(travel: Travel) -> None:
    work = Flaky(SETTINGS.step_attempts, TransientError("still busy", code="smtp_busy"))
    with pytest.raises(TransientError, match=r"^still busy$") as caught:
        travel(lambda steps: steps.step("send", work))
    assert caught.value.code == "smtp_busy"
    assert work.runs == SETTINGS.step_attempts


def test_work_that_is_not_recorded_has_the_tries_of_a_step(travel: Travel) -> None:
    """Failure: a blip of the database at the first read of a mail ended its journey, and nobody answered it."""
    work = Flaky(SETTINGS.step_attempts - 1, TransientError("busy"))
    assert travel(lambda steps: steps.run("parse", lambda: [work()])) == ["done"]
    with pytest.raises(TransientError, match="busy"):
        travel(lambda steps: steps.run("parse", Flaky(SETTINGS.step_attempts, TransientError("busy"))))
    with pytest.raises(PermanentError, match="unexpected KeyError in step 'parse'"):
        travel(lambda steps: steps.run("parse", Flaky(1, KeyError("x"))))


@pytest.mark.parametrize(
    ("error", "kind", "code", "text"),
    [
        (PermanentError("no such user", code="smtp_user"), PermanentError, "smtp_user", "no such user"),
        (Refused("a byte"), GateRefused, "refused", "a byte"),
        (Postponed("it is being sent"), Postponed, "postponed", "it is being sent"),
        (KeyError("x"), PermanentError, "unexpected", "unexpected KeyError in step 'send': 'x'"),
    ],
    ids=["ours", "a room's own", "a thing for later", "a bug"],
)
def test_what_will_not_pass_is_not_tried_again(
    error: Exception, kind: type[SupportAgentError], code: str, text: str, travel: Travel
) -> None:
    """The error that comes out is exactly a class of errors.py: the record can give it back as it was."""
    work = Flaky(1, error)
    with pytest.raises(kind) as caught:
        travel(lambda steps: steps.step("send", work))
    assert (type(caught.value), caught.value.code, str(caught.value)) == (kind, code, text)
    assert work.runs == 1


def test_a_journey_may_go_on_after_a_failed_step(travel: Travel) -> None:
    """How a refused answer becomes an escalation."""

    def journey(steps: Steps) -> str:
        try:
            return steps.step("gate", Flaky(1, Refused("a byte")))
        except GateRefused as error:
            reason = str(error)
        return steps.step("escalate", lambda: f"escalated: {reason}")

    assert travel(journey) == "escalated: a byte"


def test_a_step_inside_a_step_is_refused(travel: Travel) -> None:
    """It would run again with the outer one, recorded or not."""

    def nested(steps: Steps) -> Callable[[], str]:
        return lambda: steps.step("inner", lambda: "done")

    with pytest.raises(PermanentError, match="'inner' was called inside step 'outer'") as caught:
        travel(lambda steps: steps.step("outer", nested(steps)))
    assert caught.value.code == "nested_step"
