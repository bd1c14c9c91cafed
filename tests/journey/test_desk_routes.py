"""Cases go to the desk of the first rule that fits, stay there, and its people are staff as those of `desk.address`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support_agent.cases.decision import escalated
from support_agent.cases.handling import Handling, Order
from support_agent.cli import case_printing
from support_agent.config.desk import DeskSettings
from support_agent.core.modes import Mode
from support_agent.ops.explain import timeline, why
from support_agent.ops.replay import chosen, replay
from support_agent.store.records import CaseRecord, CaseState, MailId
from tests.fakes_desk import lines_of, order, proposed_in, told
from tests.fakes_journey import ANNA, DESK, JAMES, NOON, STRANGER, Office, twice, write
from tests.unit.seen import (
    ACKNOWLEDGEMENT,
    CANCEL,
    FAILURE,
    HUMAN,
    OFF_TOPIC,
    PACKET,
    PERSON_REPLY,
    REFUND,
    one,
    state,
    text_of,
)

BILLING, BERLIN, OTHERS = "billing@harborfile.example", "berlin@harborfile.example", "others@harborfile.example"
GERMAN = "Guten Tag, ich möchte bitte mit einem Menschen über meine Rechnung sprechen. Mensch"
RULES: tuple[dict[str, object], ...] = (
    {"address": BILLING, "topics": ["document:1", "field:*"]},
    {"address": BERLIN, "languages": ["de"]},
    {"address": OTHERS, "levels": [0]},
)


def with_routes(office: Office, *routes: dict[str, object]) -> Office:
    desk = DeskSettings.model_validate({"address": DESK, "routes": routes})
    settings = office.settings.model_copy(update={"desk": desk})
    return replace(office, settings=settings, decider=replace(office.decider, settings=settings))


def case_of(office: Office, mail_id: MailId) -> CaseRecord:
    case_id = one(office, mail_id).case_id
    assert case_id is not None
    return office.store.cases.get_one(case_id)


def test_each_case_goes_to_the_desk_of_its_rule(office: Office) -> None:
    """By topic, by language, by level, and to `desk.address` where none fits."""
    office = with_routes(office, *RULES)
    given = proposed_in(office)
    found = {BILLING: given.mail_id}
    found[BERLIN], _ = office.handle(write(GERMAN, number=2))
    found[OTHERS], _ = office.handle(write(OFF_TOPIC, sender=STRANGER, proof=None, number=3))
    found[DESK], _ = office.handle(write(HUMAN, number=4))
    for address, mail_id in found.items():
        assert office.sent(mail_id)[PACKET].recipient == address
    whys = [case_of(office, mail_id).desk_why for mail_id in found.values()]
    assert whys == [
        "rule 1 of desk.routes: topic document:1",
        "rule 2 of desk.routes: language de",
        "rule 3 of desk.routes: level 0",
        "desk.address, as no rule of desk.routes fits",
    ]


def test_show_and_why_tell_which_rule_it_was(office: Office) -> None:
    given = proposed_in(with_routes(office, *RULES))
    case_id = str(given.answer.case_id)
    rule = "rule 1 of desk.routes: topic document:1"
    assert f"{BILLING}, by {rule}" in case_printing.timeline(timeline(office.store, case_id))
    (packet,) = [mail for mail in why(office.store, case_id) if mail.kind is PACKET]
    (to,) = [header for header in packet.headers if header.name == "To"]
    assert (packet.desk, to.what) == (f"settings: {rule}", f"settings: {rule}")
    assert f"settings: {rule}" in case_printing.why([packet])
    assert all(entry.is_identical for entry in replay(office.store, chosen(office.store, case=case_id)))


def test_try_tells_it_too(office: Office) -> None:
    tried = with_routes(office, *RULES).dry_run.try_mail("x.eml", write(GERMAN), NOON)
    assert tried.desk == f"{BERLIN}, by rule 2 of desk.routes: language de"
    assert tried.desk in case_printing.dry_run(tried)


def test_a_case_keeps_its_desk(office: Office) -> None:
    """Rule: whatever its later mails are about; its notices go there as well."""
    office = with_routes(office, *RULES)
    first, _ = office.handle(write(GERMAN))
    parent = one(office, first).message_id
    later, _ = office.handle(write("Can I get a refund?", in_reply_to=parent, number=2))
    assert office.sent(later)[PACKET].recipient == BERLIN
    assert office.sent(first)[ACKNOWLEDGEMENT].recipient == ANNA


def test_a_case_whose_desk_is_gone_gets_another(office: Office) -> None:
    """Failure: its packets go on to an address whose replies are not accepted."""
    first, _ = with_routes(office, *RULES).handle(write(GERMAN))
    office = with_routes(office, {"address": OTHERS, "reasons": ["with_person"]})
    later, _ = office.handle(write(CANCEL, in_reply_to=one(office, first).message_id, number=2))
    assert office.sent(later)[PACKET].recipient == OTHERS
    assert case_of(office, later).desk_why == "rule 1 of desk.routes: reason with_person"


def test_an_assigned_case_goes_to_its_person_and_a_desk_can_be_that_person(office: Office) -> None:
    office = with_routes(office, *RULES)
    first, _ = office.handle(write(GERMAN))
    Handling(office.store, office.settings).order(case_of(office, first).id, Order.ASSIGN, "x", NOON, to=BILLING)
    parent = one(office, first).message_id
    later, _ = office.handle(write(CANCEL, in_reply_to=parent, number=2))
    assert office.sent(later)[PACKET].recipient == BILLING
    order(office, lines_of(office.sent(later)[PACKET])["give back"], sender=BILLING)
    last, _ = office.handle(write(HUMAN, in_reply_to=parent, number=3))
    assert office.sent(last)[PACKET].recipient == BERLIN


def test_replies_and_commands_of_its_people_count_as_those_of_the_desk(office: Office) -> None:
    office = with_routes(office, *RULES)
    first, _ = office.handle(write(GERMAN))
    packet = office.sent(first)[PACKET]
    reply, _ = office.handle(write("Wir rufen an.", sender=BERLIN, in_reply_to=packet.message_id, number=2))
    assert (office.sent(reply)[PERSON_REPLY].recipient, text_of(office.sent(reply)[PERSON_REPLY])) == (
        ANNA, "Wir rufen an.\n",
    )  # fmt: skip
    order(office, lines_of(packet)["close"], sender=BERLIN)
    assert state(office, first) is CaseState.CLOSED


@pytest.mark.parametrize("proof", ["spf", None])
def test_an_unproven_mail_from_a_desk_orders_nothing_and_gets_nothing(office: Office, proof: str | None) -> None:
    """Rule: staff are proven (level 2), and our own addresses get no automatic mail."""
    office = with_routes(office, *RULES)
    first, _ = office.handle(write(GERMAN))
    line = lines_of(office.sent(first)[PACKET])["close"]
    forged, _ = office.handle(write("x", subject=line, sender=BERLIN, proof=proof, number=2))
    assert state(office, first) is CaseState.WITH_PERSON
    assert BERLIN not in [to for to, _ in office.transport.given[2:]]
    assert ACKNOWLEDGEMENT not in office.sent(forged)


def test_a_refused_command_is_told_to_the_cases_desk(office: Office) -> None:
    office = with_routes(office, *RULES)
    first, _ = office.handle(write(GERMAN))
    line = lines_of(office.sent(first)[PACKET])["close"]
    again = [order(office, line, sender=BERLIN, number=number) for number in (51, 52)]
    assert "used 'close' already" in told(office, again[1])
    assert office.sent(again[1])[FAILURE].recipient == BERLIN


def test_what_did_not_help_goes_to_the_desk_of_what_was_answered(office: Office) -> None:
    """So does the notice of an answer that was lost: its mail was about something, though the notice has no plan."""
    office = with_routes(office, *RULES)
    mail_id, _ = office.handle(write(REFUND, sender=JAMES))
    assert PACKET not in office.sent(mail_id)
    office.stages.notices.notify(office.stages.routing.routed(mail_id), escalated("undelivered", NOON, "it came back"))
    assert office.sent(mail_id)[FAILURE].recipient == BILLING


def test_a_step_that_runs_twice_leaves_one_desk(office: Office) -> None:
    office = with_routes(office, *RULES)
    mail_id, _ = office.handle(write(GERMAN), twice())
    assert [row.recipient for row in office.store.outbox.find(mail_id=mail_id, kind=PACKET)] == [BERLIN]


def test_a_desk_never_becomes_a_participant(office: Office) -> None:
    """Rule: our own addresses are never added, so no desk answers in a customer's name."""
    office = with_routes(office, *RULES)
    raw = write(HUMAN).replace(b"To: ", b"Cc: " + BILLING.encode() + b"\r\nTo: ", 1)
    mail_id, _ = office.handle(raw)
    assert case_of(office, mail_id).participants == (ANNA,)


def test_a_proposal_is_approved_by_its_own_desk(office: Office) -> None:
    given = proposed_in(with_routes(office, *RULES), Mode.APPROVE)
    order(given.office, given.lines["approve"], sender=BILLING)
    assert JAMES in [to for to, _ in office.transport.given]
