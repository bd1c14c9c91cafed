"""What a person did, told from their words: shared sentences, addresses and values; all else is their own."""

from __future__ import annotations

import pytest

from support_agent.answer.final_answer import FinalAnswer
from support_agent.answer.sources import RenderedAnswer
from support_agent.core.modes import Mode
from support_agent.desk.judging import Done, sent, wrote
from support_agent.store.desk_records import LabelOutcome
from support_agent.store.records import OutgoingKind
from support_agent.tools.person_choice import PersonChoice
from tests.fakes_desk import Proposed, proposed_in
from tests.fakes_journey import ANNA, Office
from tests.unit.seen import REFUND, SEATS

SAME, OTHER, OWN, NOTHING = LabelOutcome


def judged(office: Office, words: str, text: str = REFUND) -> Done:
    """What a person did who wrote this where the answer to a mail of Anna's was proposed."""
    given = proposed_in(office, Mode.SHADOW, text, sender=ANNA)
    record = office.store.outbox.rendered_mail(given.mail_id, OutgoingKind.ANSWER)
    assert record is not None
    final, rendered = FinalAnswer.model_validate(record.payload), RenderedAnswer.model_validate(record.spans)
    return wrote(words, final, rendered, office.decider.company.texts)


def final_of(given: Proposed) -> FinalAnswer:
    record = given.office.store.outbox.rendered_mail(given.mail_id, OutgoingKind.ANSWER)
    assert record is not None
    return FinalAnswer.model_validate(record.payload)


def sentence(office: Office, number: int) -> str:
    return max((one.text for one in office.decider.company.by_number[number].sentences), key=len)


def test_a_sentence_of_the_proposed_document_is_the_same(office: Office) -> None:
    assert judged(office, f"Hi Anna,\n{sentence(office, 1)}\nAda") == Done(SAME)


def test_the_address_of_another_document_is_another_choice(office: Office) -> None:
    url = office.decider.company.by_number[2].head.url
    assert judged(office, f"Please read {url}.") == Done(OTHER, "document:2")


def test_another_document_beside_the_proposed_one_is_another_choice(office: Office) -> None:
    """The proposed answer alone was not enough."""
    assert judged(office, f"{sentence(office, 1)} {sentence(office, 2)}") == Done(OTHER, "document:2")


@pytest.mark.parametrize("words", ["We will call you.", "", "Thank you."])
def test_words_that_share_nothing_are_a_persons_own(office: Office, words: str) -> None:
    assert judged(office, words) == Done(OWN)


@pytest.mark.parametrize(("words", "outcome"), [("Es sind 12 Plätze.", SAME), ("Es sind sieben Plätze.", OWN)])
def test_the_value_of_the_account_is_the_same(office: Office, words: str, outcome: LabelOutcome) -> None:
    assert judged(office, words, SEATS) == Done(outcome)


def test_a_part_of_the_answer_is_not_the_same(office: Office) -> None:
    """Of two items a person said one: the other was not wanted, or was wrong."""
    both = f"1. {SEATS}\r\n2. Can I get a refund?"
    assert judged(office, "Es sind 12 Plätze.", both) == Done(OWN)
    assert judged(office, f"Es sind 12 Plätze. {sentence(office, 1)}", both).outcome is SAME


def test_a_document_by_its_number_is_the_same_only_where_it_was_proposed_alone(office: Office) -> None:
    one = PersonChoice("document:1")
    proposed, other = (final_of(proposed_in(office, number=n, text=text)) for n, text in ((7, REFUND), (8, SEATS)))
    assert sent(one, proposed, None) == Done(OTHER, "document:1")
    assert sent(one, proposed, other) == Done(OTHER, "document:1")
    assert sent(one, proposed, proposed) == Done(SAME)


def test_another_part_of_the_same_item_is_another_choice(office: Office) -> None:
    """The machine's sections were not what the person wanted."""
    proposed = final_of(proposed_in(office))
    part = PersonChoice("document:1", "2")
    made = proposed.model_copy(update={"answers": ()})
    assert sent(part, proposed, proposed) == Done(SAME)
    assert sent(part, made, proposed) == Done(OTHER, "document:1")
