"""Several brands on one engine: the same mail in two mailboxes is two journeys, and none delays another's."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from support_agent.engine.engine import Engine, executor_id
from support_agent.engine.journeys import Journeys
from support_agent.engine.steps import Steps
from support_agent.errors import PermanentError
from tests.integration.engine.conftest import IDLE_TIMEOUT_S, Gate, join_journeys
from tests.integration.engine.journeys import FAST

LATER = datetime.now(UTC) + timedelta(days=1)


class Brands:
    """An engine with a main mailbox and the brand `shop`; `ended` has what ran, by brand."""

    def __init__(self, url: str, names: tuple[str, ...] = ("", "shop")) -> None:
        self.gate = Gate()
        self.ended: list[tuple[str, str]] = []
        self.engine = Engine(url, executor_id(secrets.token_hex(4)), FAST)
        self.of: dict[str, Journeys] = {name: self._serve(name) for name in names}
        self.engine.launch()

    def _serve(self, name: str) -> Journeys:
        def handle(mail_id: str, steps: Steps) -> str:
            if mail_id == "waits":
                steps.step("wait", self.gate.work)
            if mail_id == "fails":
                raise PermanentError("no", code=f"of-{name}")
            steps.step("end", lambda: self.ended.append((name, mail_id)))
            return "answered"

        return self.engine.serve(name, handle)


@pytest.fixture
def brands(database_url: str) -> Iterator[Brands]:
    made = Brands(database_url)
    yield made
    made.gate.opened.set()
    made.engine.stop(timeout_s=0)
    join_journeys()


def test_the_same_mail_in_two_mailboxes_is_two_journeys(brands: Brands) -> None:
    """A customer writes to both addresses at once: both copies have the same bytes, so the same id."""
    for journeys in brands.of.values():
        journeys.start("m1", "thread")
        assert journeys.wait_until_idle(IDLE_TIMEOUT_S)
        assert journeys.ended(["m1", "m2"]) == {"m1": True}
    assert sorted(brands.ended) == [("", "m1"), ("shop", "m1")]


def test_a_mail_in_hand_delays_no_other_brand(brands: Brands) -> None:
    """Each brand's queue has its own threads; only the brand itself is not idle."""
    brands.of[""].start("waits", "thread")
    assert brands.gate.reached.wait(IDLE_TIMEOUT_S)
    brands.of["shop"].start("m1", "thread")
    assert brands.of["shop"].wait_until_idle(IDLE_TIMEOUT_S)
    assert brands.ended == [("shop", "m1")]
    assert not brands.of[""].wait_until_idle(0.1)


def test_a_failure_is_its_brands_alone(brands: Brands) -> None:
    """Otherwise a brand would quarantine a mail that it does not know."""
    brands.of["shop"].start("fails", "thread")
    assert brands.of["shop"].wait_until_idle(IDLE_TIMEOUT_S)
    (failure,) = brands.of["shop"].failed()
    assert (failure.mail_id, failure.error.code) == ("fails", "of-shop")
    assert brands.of[""].failed() == []


def test_a_mail_whose_record_is_deleted_runs_again_for_its_brand(brands: Brands) -> None:
    """It touches no other brand's records, but the first mailbox deletes the old ones of all."""
    for journeys in brands.of.values():
        journeys.start("m1", "thread")
        assert journeys.wait_until_idle(IDLE_TIMEOUT_S)
    brands.of["shop"].delete_records(["m1"])
    assert (brands.of[""].ended(["m1"]), brands.of["shop"].ended(["m1"])) == ({"m1": True}, {})
    assert brands.of["shop"].delete_finished(LATER) == 0
    assert brands.of[""].delete_finished(LATER) == 1


def test_a_brand_that_is_not_served_for_a_while_finds_its_mails_again(database_url: str) -> None:
    """Its line was taken out of the configuration while a mail was in hand, and put back later."""
    first = Brands(database_url)
    first.of["shop"].start("waits", "thread")
    assert first.gate.reached.wait(IDLE_TIMEOUT_S)
    first.engine.stop(timeout_s=0)
    first.gate.opened.set()
    join_journeys()
    without = Brands(database_url, ("",))
    without.of[""].start("m1", "thread")
    assert without.of[""].wait_until_idle(IDLE_TIMEOUT_S)
    without.engine.stop(timeout_s=0)
    join_journeys()
    again = Brands(database_url)
    again.gate.opened.set()
    assert again.of["shop"].wait_until_idle(IDLE_TIMEOUT_S)
    assert again.ended == [("shop", "waits")]
    again.engine.stop(timeout_s=0)
    join_journeys()


@pytest.mark.parametrize("name", ["shop", "a:b"])
def test_a_brand_is_added_once_and_by_a_plain_name(brands: Brands, name: str) -> None:
    with pytest.raises(ValueError, match="cannot be added"):
        brands.engine.serve(name, lambda _mail_id, _steps: "")
