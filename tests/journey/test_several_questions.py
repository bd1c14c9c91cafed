"""One sentence that asks for two things, from the mail to the mail: both are sent, each with its own probability."""

from __future__ import annotations

import pytest

from support_agent.answer.final_answer import FinalAnswer
from support_agent.answer.formatting import format_confidence
from support_agent.cli import case_printing
from support_agent.ops.explain import timeline, why
from support_agent.ops.replay import chosen, plan_again, replay
from support_agent.store.records import CaseId, OutgoingKind
from tests.fakes_journey import ANNA, Office, write

BOTH = "I need the number of our seats and the refund rules, please."


def case_of(office: Office, words: str) -> CaseId:
    """The case of a mail that went through the whole journey."""
    mail_id, _ = office.handle(write(words, sender=ANNA))
    mail = office.store.mails.get(mail_id)
    assert mail is not None
    assert mail.case_id is not None
    return mail.case_id


def test_both_are_sent_and_show_has_each_with_its_probability_and_threshold(office: Office) -> None:
    case_id = case_of(office, BOTH)
    (story,) = timeline(office.store, case_id).mails
    assert story.plan is not None
    assert story.plan.questions == ("A question. I need the number of our seats", "the refund rules, please.")
    sent = [call for call in story.plan.calls if call.tool.startswith("send_")]
    assert [(call.question, call.args) for call in sent] == [(1, {"field": "seats_paid"}), (2, {"number": 1})]
    assert all(call.confidence >= call.threshold > 0 for call in sent)
    assert [item.kind for item in story.sent[0].items] == ["account_field", "document"]
    shown = case_printing.timeline(timeline(office.store, case_id))
    for call in sent:
        assert f"{format_confidence(call.confidence)} of {format_confidence(call.threshold)} needed" in shown


def test_each_line_of_both_has_its_source(office: Office) -> None:
    (explained,) = why(office.store, case_of(office, BOTH))
    told = {source.what for line in explained.lines for source in line.sources}
    assert any(what.startswith("account field seats_paid, value") for what in told)
    assert any(what.startswith("document 1") for what in told)


def test_the_answer_is_rendered_and_planned_again_to_the_same(office: Office) -> None:
    case_of(office, BOTH)
    (replayed,) = replay(office.store, chosen(office.store))
    assert (replayed.diff, replayed.problems) == ("", ())
    (planned,) = plan_again(office.store, office.dry_run, chosen(office.store))
    assert (planned.status, planned.diff) == ("same", "")


@pytest.mark.parametrize("words", ["I need the number of our seats, please.", "I need the seats list and a chair."])
def test_one_thing_is_answered_alone(office: Office, words: str) -> None:
    mail_id, _ = office.handle(write(words, sender=ANNA))
    record = office.store.outbox.rendered_mail(mail_id, OutgoingKind.ANSWER)
    assert record is not None
    final = FinalAnswer.model_validate(record.payload)
    assert [item.kind for answer in final.answers for item in answer.items] == ["account_field"]
    assert final.asked == 1
