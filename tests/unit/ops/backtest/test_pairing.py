"""Which answer belongs to which question."""

from __future__ import annotations

from datetime import timedelta

import pytest

from support_agent.config.agent import AgentSettings
from support_agent.config.desk import DeskSettings
from support_agent.config.settings import Settings
from support_agent.ops.backtest.pairing import Pair, own_addresses, pairs_of
from tests.unit.ops.backtest.made import ANNA, OWN, past_mail, raw

TOM = "tom@harborfile.example"


def paired(*contents: bytes, own: tuple[str, ...] = (OWN,), days: int = 14) -> tuple[Pair, ...]:
    return pairs_of(map(past_mail, contents), frozenset(own), timedelta(days=days))


def answers(*pairs: Pair) -> list[str | None]:
    return [None if pair.answer is None else pair.answer.message.message_id for pair in pairs]


def test_the_first_answer_of_ours_in_the_thread_is_the_answer_and_the_customers_next_mail_a_follow_up() -> None:
    (pair,) = paired(
        raw(1),
        raw(2, sender=OWN, to=ANNA, hours=2, parent=1),
        raw(3, hours=3, parent=2),
        raw(4, sender=OWN, to=ANNA, hours=4, parent=3),
    )
    assert answers(pair) == ["<2@made.example>"]
    assert (pair.follow_ups, pair.waited) == (1, timedelta(hours=2))


def test_an_answer_without_references_belongs_to_its_recipients_question_with_that_subject() -> None:
    pairs = paired(
        raw(1, subject="Refund"),
        raw(2, subject="Seats"),
        raw(3, subject="Refund", sender="other@example.net"),
        raw(4, subject="RE: Refund", sender=OWN, to=ANNA, hours=5),
    )
    assert answers(*pairs) == ["<4@made.example>", None, None]


def test_an_answer_is_not_taken_for_one_to_a_question_long_ago() -> None:
    late = raw(2, subject="Re: A question", sender=OWN, to=ANNA, hours=24 * 15)
    assert answers(*paired(raw(1), late)) == [None]
    assert answers(*paired(raw(1), late, days=16)) == ["<2@made.example>"]


def test_an_automatic_answer_of_ours_is_no_answer_of_a_person() -> None:
    """Rule: "We have received your mail", and what this program sent itself, show nothing."""
    receipt = raw(2, sender=OWN, to=ANNA, hours=1, parent=1, Auto_Submitted="auto-replied")
    person = raw(3, sender=OWN, to=ANNA, hours=2, parent=1)
    assert answers(*paired(raw(1), receipt, person)) == ["<3@made.example>"]


def test_a_mail_of_ours_that_answers_nothing_is_no_question_and_what_a_customer_answers_to_it_is_one() -> None:
    pairs = paired(raw(1, sender=OWN, to=ANNA, subject="Newsletter"), raw(2, subject="Re: Newsletter", parent=1))
    assert [pair.question.message.message_id for pair in pairs] == ["<2@made.example>"]


@pytest.mark.parametrize("own", [TOM, "@harborfile.example"])
def test_an_address_or_all_of_a_domain_can_be_ours(own: str) -> None:
    assert answers(*paired(raw(1), raw(2, sender=TOM, to=ANNA, parent=1), own=(own,))) == ["<2@made.example>"]


def test_our_addresses_are_those_of_the_agent_the_desk_and_the_option() -> None:
    agent = AgentSettings(address="A@x.example", aliases=("b@x.example",))
    settings = Settings(agent=agent, desk=DeskSettings(address="desk@x.example", staff=("c@x.example",)))
    named = {"a@x.example", "b@x.example", "desk@x.example", "c@x.example", "@y.example"}
    assert own_addresses(settings, ["@y.example"]) == named
