"""A mail's journey with the fact room on: what is sent, what the desk gets, what is kept, and what nobody is sent."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import replace

import pytest

from support_agent.cases.decision import Decision, escalated
from support_agent.cli import case_printing
from support_agent.config.facts import Retrieve
from support_agent.ops.explain import timeline
from support_agent.ops.replay import chosen, plan_again, replay
from support_agent.store.records import MailId, OutgoingKind
from support_agent.tools.fact_room import FactRoom, FactRooms, RetrievalResult
from tests.fakes_journey import DESK, JAMES, Office, twice, write
from tests.fakes_room import DRAFT, QUESTION, ScriptedRooms, found, says
from tests.unit.seen import ANSWER, CANCEL, FAILURE, PACKET, PERSON_REPLY, REFUND, SEATS, one, reason_told, text_of

NOT_AN_ANSWER = found(says(1, 3, 4, grade=0.71), says(15, 0, grade=None), reason="not_an_answer")


def with_rooms(office: Office, **findings: RetrievalResult | Exception) -> tuple[Office, ScriptedRooms]:
    """The office with a room that looks into every question, and finds this for questions with that word."""
    rooms = ScriptedRooms(findings)
    return with_room(office, rooms), rooms


def with_room(office: Office, rooms: FactRooms) -> Office:
    settings = office.decider.settings
    always = settings.model_copy(update={"facts": settings.facts.model_copy(update={"retrieve": Retrieve.ALWAYS})})
    return replace(office, decider=replace(office.decider, rooms=rooms, settings=always))


def sentence(office: Office, number: int, position: int) -> str:
    document = next(each for each in office.decider.company.documents if each.number == number)
    return document.sentences[position].text


def in_all(office: Office, mail_id: MailId) -> str:
    """Everything that goes out for a mail, as bytes and as text."""
    return "".join(
        row.raw.decode("ascii", "replace") + text_of(row) for row in office.store.outbox.find(mail_id=mail_id)
    )


def test_an_answer_is_the_nearest_section_and_its_link_wherever_the_evidence_stands(office: Office) -> None:
    """The whole section, verbatim, under its heading; nothing of the others."""
    office, rooms = with_rooms(office, refund=found(says(1, 26)))
    mail_id, _ = office.handle(write(REFUND, sender=JAMES))
    answer = " ".join(text_of(office.sent(mail_id)[ANSWER]).split())
    for position in (0, 1, 2):
        assert sentence(office, 1, position) in answer
    assert "Yearly plans" in answer
    assert office.decider.company.documents[0].head.url in answer
    assert sentence(office, 1, 26) not in answer
    assert [case_id for case_id, _ in rooms.opened] == [one(office, mail_id).case_id]


def test_without_evidence_the_desk_gets_what_was_found(office: Office) -> None:
    """Reason in words, number, title, positions and the documents' own sentences, each with its grade."""
    office, _ = with_rooms(office, refund=NOT_AN_ANSWER)
    mail_id, _ = office.handle(write(REFUND, sender=JAMES))
    assert ANSWER not in office.sent(mail_id)
    assert reason_told(office, mail_id) == (
        "no_evidence",
        "question 1 was looked into: not_an_answer, document:1 0.71, document:15",
    )
    packet = text_of(office.sent(mail_id)[PACKET])
    head = office.decider.company.documents[0].head
    assert "Looked into: What was found does not answer it. [not_an_answer]\n" in packet
    assert f"- document 1, grade 0.71, {head.title}\n" in packet
    assert f"    sentence 3: {sentence(office, 1, 3)}\n    sentence 4: {sentence(office, 1, 4)}\n" in packet
    assert f"    sentence 0: {sentence(office, 15, 0)}\n" in packet


def test_nothing_that_a_model_wrote_is_sent_to_anybody(office: Office) -> None:
    """Neither to the customer nor to the desk: drafts and rewritten questions are for `show`."""
    for word, finding in {"refund": NOT_AN_ANSWER, "cancel": found(says(2, 0))}.items():
        roomy, _ = with_rooms(office, **{word: finding})
        mail_id, _ = roomy.handle(write(REFUND if word == "refund" else CANCEL, sender=JAMES))
        sent = in_all(roomy, mail_id)
        assert len(sent) > 500
        assert "900 EUR" not in sent
        assert "rewritten" not in sent


def test_a_part_that_is_answered_shows_the_desk_the_rest_only(office: Office) -> None:
    office, _ = with_rooms(office, refund=found(says(1, 3)), cancel=found(says(2, 4), reason="irrelevant"))
    mail_id, _ = office.handle(write("1. Can I get a refund?\r\n2. How do I cancel my plan?", sender=JAMES))
    assert {ANSWER, PACKET} <= set(office.sent(mail_id))
    packet = text_of(office.sent(mail_id)[PACKET])
    assert "Question 2: " in packet
    assert "How do I cancel my plan?\nLooked into: Nothing that was found has to do with it. [irrelevant]\n" in packet
    assert "Question 1: " not in packet
    assert packet.count("Looked into:") == 1


def test_an_account_question_needs_no_room(office: Office) -> None:
    office, rooms = with_rooms(office)
    mail_id, _ = office.handle(write(SEATS, sender=JAMES))
    assert set(office.sent(mail_id)) == {ANSWER}
    assert rooms.asked == []


def test_a_room_that_cannot_be_opened_costs_the_documents_only(office: Office) -> None:
    """Fails closed: values are answered, documents are a person's."""

    class Locked:
        def open(self, case_id: str, memory: str | None, names: Collection[str]) -> FactRoom:
            raise OSError("no such index")

    office = with_room(office, Locked())
    assert set(office.sent(office.handle(write(SEATS, sender=JAMES))[0])) == {ANSWER}
    mail_id, _ = office.handle(write(REFUND, sender=JAMES))
    assert reason_told(office, mail_id) == ("no_evidence", "question 1 was looked into: failed")


def test_what_was_found_is_kept_with_the_plan(office: Office) -> None:
    """The index's version with the answer, the room's record as it is, and the cost of both."""
    plain, _ = office.handle(write(REFUND))
    roomy, _ = with_rooms(office, refund=found(says(1, 0)))
    mail_id, _ = roomy.handle(write(REFUND, sender=JAMES))
    without, kept = office.store.plans.get(plain), office.store.plans.get(mail_id)
    assert without is not None
    assert kept is not None
    finding = Decision.model_validate(kept.trace).findings[1]
    assert finding == found(says(1, 0))
    assert 0 < kept.forward_passes - finding.forward_passes <= without.forward_passes
    assert 0 < kept.tokens - finding.tokens <= without.tokens


def test_the_story_tells_what_was_found_and_marks_the_models_words(office: Office) -> None:
    office, _ = with_rooms(office, refund=NOT_AN_ANSWER)
    mail_id, _ = office.handle(write(REFUND, sender=JAMES))
    story = timeline(office.store, one(office, mail_id).case_id or "")
    plan = story.mails[0].plan
    assert plan is not None
    (look,) = plan.retrievals
    result = look.result
    assert (look.question, result.is_answered, result.reason) == (1, False, "not_an_answer")
    assert (result.index_version, result.tokens, result.forward_passes, result.seconds) == ("passages-1", 700, 9, 1.5)
    assert [evidence.number for evidence in look.evidence] == [1, 15]
    assert look.evidence[0].sentences[0].text == sentence(office, 1, 3)
    told = case_printing.timeline(story)
    assert "    retrieved: not_an_answer, 1.50 s, 9 forward passes, 700 tokens\n" in told
    assert "      document 1, grade 0.71, sentences 3, 4\n" in told
    assert f"      the model's draft, sent to nobody: {DRAFT}\n" in told
    assert f"      the model's question, sent to nobody: {QUESTION}\n" in told


def test_mails_are_made_again_without_the_room_and_planned_again_with_it(office: Office) -> None:
    roomy, _ = with_rooms(office, refund=NOT_AN_ANSWER, cancel=found(says(2, 0)))
    roomy.handle(write(REFUND, sender=JAMES))
    roomy.handle(write(CANCEL, sender=JAMES, number=2))
    mails = chosen(office.store)
    assert all(entry.is_identical for entry in replay(office.store, mails))
    changed, rooms = with_rooms(office, refund=found(says(1, 3)), cancel=found(says(2, 0)))
    statuses = [entry.status for entry in plan_again(office.store, changed.dry_run, mails)]
    assert statuses == ["newly_answered", "same"]
    assert len(rooms.asked) == 2


def test_a_plan_of_before_there_was_a_room_can_be_read(office: Office) -> None:
    """Its record has no findings."""
    mail_id, _ = office.handle(write(REFUND, sender=JAMES))
    plan = office.store.plans.get(mail_id)
    assert plan is not None
    assert isinstance(plan.trace, dict)
    assert {"findings", "looked"} <= set(plan.trace)
    older = {key: value for key, value in plan.trace.items() if key not in ("findings", "looked")}
    assert Decision.model_validate(older).findings == {}


def test_what_the_room_knows_of_the_case_is_handed_on(office: Office) -> None:
    """It is opened with what it knew, and what it knows then stands in the decision, but not in the plan's record."""
    office, rooms = with_rooms(office, refund=found(says(1, 0)))
    message_id = office.receive(write(REFUND, sender=JAMES))
    mail = office.stages.parse(message_id)
    sender = office.stages.identify(mail)
    decision = office.decider.decide(mail.message, sender, None, office.clock(), case_id="case-7", memory="known")
    assert [case_id for case_id, _ in rooms.opened] == ["case-7"]
    assert decision.memory == f"known|{rooms.asked[0]}"
    assert '"memory"' not in decision.record(message_id, "c", "i").model_dump_json()
    assert escalated("limit", office.clock()).memory is None


@pytest.mark.parametrize(
    "quotation",
    [
        "Dear James, see: {line}",
        "Hello,\r\n{line}\r\nBye",
        "> {line}\r\nas you see",
        "Dear James,\r\nthis is what we found:\r\n| {first}\r\n| {rest}",
    ],
)
def test_the_evidence_of_a_packet_never_goes_on_to_the_customer(office: Office, quotation: str) -> None:
    """A staff member's mail program quotes it in a form of its own, or breaks its line."""
    office, _ = with_rooms(office, refund=NOT_AN_ANSWER)
    mail_id, _ = office.handle(write(REFUND, sender=JAMES))
    packet = office.sent(mail_id)[PACKET]
    line = next(each.strip() for each in text_of(packet).splitlines() if "sentence 3:" in each)
    words = quotation.format(line=line, first=line[:40], rest=line[40:])
    reply, _ = office.handle(write(words, sender=DESK, in_reply_to=packet.message_id, number=2))
    passed = [row for row in office.store.outbox.find(mail_id=reply) if row.kind is OutgoingKind.PERSON_REPLY]
    assert all("sentence 3" not in text_of(row) for row in passed)
    assert {row.kind for row in office.store.outbox.find(mail_id=reply)} <= {PERSON_REPLY, FAILURE}


def test_a_person_may_say_what_the_documents_say(office: Office) -> None:
    """The company's sentence and the customer's question in a person's own reply are no quotation of the packet."""
    office, _ = with_rooms(office, refund=NOT_AN_ANSWER)
    mail_id, _ = office.handle(write(REFUND, sender=JAMES))
    packet = office.sent(mail_id)[PACKET]
    words = f"You asked: can I get a refund?\r\n{sentence(office, 1, 3)}"
    reply, _ = office.handle(write(words, sender=DESK, in_reply_to=packet.message_id, number=2))
    assert set(office.sent(reply)) == {PERSON_REPLY}
    assert sentence(office, 1, 3) in " ".join(text_of(office.sent(reply)[PERSON_REPLY]).split())


def test_a_record_that_is_none_hides_nothing(office: Office) -> None:
    """The room's record is its own affair; a strange one must not hide the case."""
    deep = "[" * 5_000 + "]" * 5_000
    for number, trace in enumerate(("no json", deep, json.dumps({"a": [{"model_text": "not marked so"}]}))):
        roomy, _ = with_rooms(office, refund=NOT_AN_ANSWER.model_copy(update={"trace": trace}))
        mail_id, _ = roomy.handle(write(f"{REFUND} {number}", sender=JAMES, number=number))
        plan = timeline(office.store, one(office, mail_id).case_id or "").mails[-1].plan
        assert plan is not None
        assert plan.retrievals[0].written == ()


def test_the_next_mail_of_a_case_begins_with_what_the_last_one_left(office: Office) -> None:
    """And planning the first again begins with nothing, as it did then."""
    office, rooms = with_rooms(office, refund=found(says(1, 3)), cancel=found(says(2, 0)))
    first, _ = office.handle(write(REFUND, sender=JAMES))
    answer = office.sent(first)[ANSWER].message_id
    seats, _ = office.handle(write(SEATS, sender=JAMES, in_reply_to=answer, number=2))
    office.handle(write(CANCEL, sender=JAMES, in_reply_to=answer, number=3))
    assert one(office, first).case_id == one(office, seats).case_id
    assert rooms.memories[0] is None
    assert [memory == f"|{rooms.asked[0]}" for memory in rooms.memories[1:]] == [True, True]
    again, replanned = with_rooms(office, refund=found(says(1, 3)), cancel=found(says(2, 0)))
    plan_again(office.store, again.dry_run, chosen(office.store))
    assert replanned.memories == rooms.memories


def test_a_plan_that_is_made_twice_begins_with_the_same_memory(office: Office) -> None:
    """The process died between the plan and its record: the second run must not know what the first found out."""
    office, rooms = with_rooms(office, refund=found(says(1, 3)))
    office.handle(write(REFUND, sender=JAMES), twice())
    assert rooms.memories == [None, None]
