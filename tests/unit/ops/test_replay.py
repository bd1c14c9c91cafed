"""Replay: the same bytes from the store, and whatever was changed since is named; planning again is compared."""

from __future__ import annotations

import shutil
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import JsonValue
from sqlalchemy import text

from support_agent.company.company import Company
from support_agent.errors import ConfigError, PermanentError
from support_agent.ops.replay import Replanned, Replayed, chosen, plan_again, replay
from support_agent.planner.combiner import Calibration
from support_agent.planner.loop import Planner
from support_agent.store.records import MailId, OutgoingKind, OutgoingMail
from support_agent.transport.submission import Delivery
from tests.fakes import PLAIN
from tests.fakes_desk import digest, held_in, remind
from tests.fakes_journey import DESK, JAMES, NOON, STRANGER, Office, SureModel, write

REFUND = "Can I get a refund?"
SEATS = "How many seats have we paid for?"
TOTAL = "What did I pay in total last year?"
OFF_TOPIC = "Do you have a table for four on Saturday?"
HUMAN = "Let me talk to a human."


def replay_all(office: Office) -> tuple[Replayed, ...]:
    return replay(office.store, chosen(office.store))


def plan_all(office: Office, other: Office | None = None) -> tuple[Replanned, ...]:
    return plan_again(office.store, (other or office).dry_run, chosen(office.store))


def execute(office: Office, statement: str, **values: object) -> None:
    """Change the database behind the store's back."""
    with office.store.database.write() as connection:
        assert connection.execute(text(statement), values).rowcount == 1


def full_house(office: Office) -> None:
    """A mail of every kind, to customers, strangers and the desk."""
    office.handle(write(REFUND))
    office.handle(write(REFUND, sender=STRANGER, proof="spf"))
    office.handle(write(f"{SEATS}\r\n\r\n{OFF_TOPIC}", sender=JAMES))
    office.handle(write(TOTAL, sender=JAMES))
    first, _ = office.handle(write(HUMAN, sender=JAMES, subject="Größe"))
    packet = office.sent(first)[OutgoingKind.PACKET].message_id
    remind(office, first)
    digest(office, first)
    held_in(office, "david.chen@example.net", 30)
    office.handle(write("Grüße, we look at it.", sender=DESK, in_reply_to=packet))
    office.handle(write(OFF_TOPIC, proof=None))
    office.transport.deliveries = [Delivery(status="failed", detail="550")]
    office.handle(write(REFUND, sender=JAMES))


def test_every_kind_of_mail_comes_out_the_same(office: Office) -> None:
    """Answers, acknowledgements, packets with the mail attached, and passed-on replies, byte for byte."""
    full_house(office)
    entries = replay_all(office)
    assert {entry.kind for entry in entries} == set(OutgoingKind) - {OutgoingKind.ALARM}  # see test_alarms.py
    assert len(entries) == len(office.store.outbox.find())
    assert [entry for entry in entries if not entry.is_identical] == []


def test_a_calibration_changes_what_is_planned_again_and_not_what_was_sent(office: Office) -> None:
    """The calibration that a plan was made with stands in it."""
    mail_id, _ = office.handle(write(REFUND))
    strict = Calibration(thresholds={"document": 1.0}, version="calibration-1a2b")
    planner = Planner(SureModel(), office.settings.planner, lambda: 0.0, combiner=PLAIN, calibration=strict)
    calibrated = replace(office, decider=replace(office.decider, planner=planner))
    assert [entry.is_identical for entry in replay_all(calibrated)] == [True]
    assert [entry.status for entry in plan_all(office, calibrated)] == ["newly_escalated"]
    later, _ = calibrated.handle(write(REFUND, sender=JAMES))
    plans = [office.store.plans.get(one) for one in (mail_id, later)]
    assert ["calibration-1a2b" in plan.combiner_version for plan in plans if plan] == [False, True]


def test_changed_byte_is_shown_as_a_diff(office: Office) -> None:
    """One digit of the sent mail was changed in the database."""
    mail_id, _ = office.handle(write(SEATS, sender="anna.keller@example.net"))
    raw = office.sent(mail_id)[OutgoingKind.ANSWER].raw
    tampered = raw.replace(b"tze: 12", b"tze: 13", 1)
    assert tampered != raw
    execute(office, "UPDATE outbox SET raw = :raw", raw=tampered)
    (entry,) = replay_all(office)
    assert not entry.is_identical
    assert {line for line in entry.diff.split("\n") if line[:1] in "+-" and line[:3] not in ("+++", "---")} == {
        "-Bezahlte Pl=C3=A4tze: 13 Pl=C3=A4tze",
        "+Bezahlte Pl=C3=A4tze: 12 Pl=C3=A4tze",
    }


def test_other_line_ends_are_a_difference(office: Office) -> None:
    """Byte for byte: what a diff of lines does not show is said in words."""
    mail_id, _ = office.handle(write(REFUND))
    raw = office.sent(mail_id)[OutgoingKind.ANSWER].raw
    execute(office, "UPDATE outbox SET raw = :raw", raw=raw.replace(b"\r\n", b"\n"))
    (entry,) = replay_all(office)
    assert (entry.is_identical, entry.diff) == (False, "the bytes differ in their line ends only")


def change_answer(office: Office, mail_id: MailId, **changes: object) -> None:
    """Put another record in the place of a stored answer, as only a hand at the database can."""
    record = office.store.outbox.rendered_mail(mail_id, OutgoingKind.ANSWER)
    assert record is not None
    outgoing = office.sent(mail_id)[OutgoingKind.ANSWER]
    both = {**outgoing.model_dump(), **record.model_dump(), **changes}
    changed = OutgoingMail.model_validate({name: both[name] for name in OutgoingMail.model_fields if name in both})
    execute(office, "DELETE FROM outbox WHERE id = :id", id=outgoing.id)
    execute(office, "DELETE FROM rendered_mails WHERE mail_id = :mail_id AND kind = 'answer'", mail_id=mail_id)
    office.store.outbox.queue(changed)


def edited(value: JsonValue, old: str, new: str) -> JsonValue:
    """JSON with a text replaced, wherever it stands."""
    if isinstance(value, dict):
        return {key: edited(part, old, new) for key, part in value.items()}
    if isinstance(value, list):
        return [edited(part, old, new) for part in value]
    return value.replace(old, new) if isinstance(value, str) else value


def test_document_that_is_gone_is_a_problem(office: Office) -> None:
    """The bytes are the same, but nobody could show any more what they were taken from."""
    mail_id, _ = office.handle(write(REFUND, sender=JAMES))
    version = office.decider.company.documents[0].version
    execute(office, "DELETE FROM document_versions WHERE version = :version", version=version)
    (entry,) = replay_all(office)
    assert (entry.mail_id, entry.diff, entry.is_identical) == (mail_id, "", False)
    assert entry.problems == (f"document 1, version {version[:12]} is not there",)


def test_sentence_that_the_document_does_not_say_is_a_problem(office: Office) -> None:
    """An invented sentence in a stored answer is found although the answer renders to itself."""
    mail_id, _ = office.handle(write(REFUND, sender=JAMES))
    record = office.store.outbox.rendered_mail(mail_id, OutgoingKind.ANSWER)
    assert record is not None
    change_answer(office, mail_id, payload=edited(record.payload, "refund", "gift"))
    (entry,) = replay_all(office)
    assert any("sentence" in problem and "is not what the answer says" in problem for problem in entry.problems)
    assert "gift" in entry.diff


def without(value: JsonValue, names: frozenset[str]) -> JsonValue:
    """JSON without some keys, wherever they stand."""
    if isinstance(value, dict):
        return {key: without(part, names) for key, part in value.items() if key not in names}
    return [without(part, names) for part in value] if isinstance(value, list) else value


def test_answer_of_a_version_that_kept_no_tables_comes_out_the_same(office: Office) -> None:
    """What was added to items and sources since is not stored; the bytes and the spans are the same all the same."""
    mail_id, _ = office.handle(write(REFUND, sender=JAMES))
    record = office.store.outbox.rendered_mail(mail_id, OutgoingKind.ANSWER)
    assert record is not None
    payload = without(record.payload, frozenset({"notice", "keeps_form", "depth", "cells", "is_header"}))
    spans = without(record.spans, frozenset({"column"}))
    assert (payload, spans) != (record.payload, record.spans)
    change_answer(office, mail_id, payload=payload, spans=spans)
    (entry,) = replay_all(office)
    assert (entry.diff, entry.problems) == ("", ())


@pytest.mark.parametrize("place", ["top", "bottom"])
def test_the_notice_stays_where_it_was_sent_whatever_is_set_now(office: Office, place: str) -> None:
    """It is part of what the answer is made from."""
    company = office.settings.company.model_copy(update={"notice": place})
    settings = office.settings.model_copy(update={"company": company})
    other = replace(office, settings=settings, decider=replace(office.decider, settings=settings))
    mail_id, _ = other.handle(write(REFUND, sender=JAMES))
    text = office.sent(mail_id)[OutgoingKind.ANSWER].raw
    assert (text.index(b"a machine (AI)") < text.index(b"Refund policy")) == (place == "top")
    (entry,) = replay_all(office)
    assert entry.is_identical


def test_spans_of_another_text_are_a_problem(office: Office) -> None:
    """`why` shows the stored spans: they must be those of the bytes that went out."""
    mail_id, _ = office.handle(write(REFUND, sender=JAMES))
    record = office.store.outbox.rendered_mail(mail_id, OutgoingKind.ANSWER)
    assert record is not None
    change_answer(office, mail_id, spans=edited(record.spans, "Kind regards", "Yours"))
    (entry,) = replay_all(office)
    assert (entry.diff, entry.problems) == ("", ("the stored spans, which `why` shows, are not those of the text",))


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("DELETE FROM rendered_mails", "its sources are not stored"),
        ("DELETE FROM template_sets", "it cannot be rendered again: templates"),
        ("UPDATE rendered_mails SET payload = '{}'", "it cannot be rendered again:"),
        ("UPDATE outbox SET recipient = 'eve@elsewhere.example'", "it was sent to eve@elsewhere.example, but rendered"),
    ],
)
def test_damaged_store_is_a_problem_and_no_crash(office: Office, statement: str, problem: str) -> None:
    """Each part that is needed is missed by name, and the next mail is still replayed."""
    office.handle(write(REFUND, sender=JAMES))
    execute(office, statement)
    (entry,) = replay_all(office)
    assert not entry.is_identical
    assert entry.problems[0].startswith(problem)


def test_chosen_mails(office: Office) -> None:
    """One case, all, or since an instant."""
    first, _ = office.handle(write(REFUND))
    second, _ = office.handle(write(SEATS, number=2))
    case = office.store.cases.recent(9)[1].case.id
    assert chosen(office.store) == (first, second)
    assert chosen(office.store, case=case) == (first,)
    later = office.store.mails.find()[1].received_at
    assert chosen(office.store, since=later) == (second,)
    assert chosen(office.store, since=NOON + timedelta(days=1)) == ()
    with pytest.raises(ConfigError, match="support-agent cases"):
        chosen(office.store, case="nonsense")


def test_same_decider_decides_the_same(office: Office) -> None:
    """The instant is the stored one: "last year" is the year it was then. Unplanned mails are left out."""
    full_house(office)
    office.clock = lambda: NOON.replace(year=NOON.year + 3)
    entries = plan_all(office)
    assert [entry.status for entry in entries] == ["same"] * len(entries)
    planned = {mail.id for mail in office.store.mails.find() if office.store.plans.get(mail.id) is not None}
    assert {entry.mail_id for entry in entries} == planned
    assert 0 < len(planned) < len(office.store.mails.find())
    assert all(entry.before == entry.after for entry in entries)


def test_nothing_is_stored_or_sent_by_planning_again(office: Office) -> None:
    """A question put to the past must not change it."""
    full_house(office)
    before = (
        office.store.traffic.totals(),
        office.store.outbox.find(),
        [office.store.plans.get(i) for i in chosen(office.store)],
    )
    given = len(office.transport.given)
    plan_all(office, office.with_model(0.01, threshold=1.0))
    after = (
        office.store.traffic.totals(),
        office.store.outbox.find(),
        [office.store.plans.get(i) for i in chosen(office.store)],
    )
    assert after == before
    assert len(office.transport.given) == given


def test_other_template_changes_the_text(office: Office) -> None:
    """The diff is of what the customer reads."""
    office.handle(write(SEATS, sender=JAMES))
    greeting = office.decider.templates.source("en/answer.txt.j2").replace("Kind regards", "Best wishes")
    (entry,) = plan_all(office, office.with_templates(answer=greeting))
    assert (entry.status, entry.is_changed) == ("changed", True)
    assert "-Kind regards\n+Best wishes" in entry.diff


def test_other_document_changes_the_text(office: Office, tmp_path: Path) -> None:
    """`--policies DIR`: what would be answered with the next version of a document."""
    office.handle(write(REFUND, sender=JAMES))
    folder = tmp_path / "policies"
    shutil.copytree(office.settings.company.policies, folder)
    path = next(folder.glob("001-*.md"))
    path.write_text(path.read_text("utf-8").replace("url: https://", "url: https://new."), "utf-8")
    company = Company.load(office.settings.company.model_copy(update={"policies": folder}))
    (entry,) = plan_again(
        office.store, replace(office, decider=replace(office.decider, company=company)).dry_run, chosen(office.store)
    )
    company.accounts.close()
    assert entry.status == "changed"
    assert "+The whole document: https://new.harborfile.example/" in entry.diff


def test_less_sure_model_escalates_what_was_answered(office: Office) -> None:
    """And with the first one it is answered again: both directions are counted apart."""
    office.handle(write(REFUND, sender=JAMES))
    unsure = office.with_model(0.9, threshold=1.0)
    (entry,) = plan_all(office, unsure)
    assert (entry.status, entry.after.reason, entry.diff) == ("newly_escalated", "unsure", "")
    unsure.handle(write("How do I cancel?", sender=JAMES, number=2))
    statuses = [entry.status for entry in plan_all(office)]
    assert statuses == ["same", "newly_answered"]


@pytest.mark.parametrize("damage", ["rendered_mails SET spans = '{}'", "tool_calls SET args = '[1,2]' WHERE seq = 1"])
def test_an_answer_or_a_plan_of_another_version_is_not_compared(office: Office, damage: str) -> None:
    """And the error says what to do, instead of what a library found wrong."""
    office.handle(write(REFUND, sender=JAMES))
    execute(office, f"UPDATE {damage}")
    with pytest.raises(PermanentError, match=r"another version of the program wrote .* read it with that version"):
        plan_all(office)


def test_gate_refusal_counts_as_escalated(office: Office) -> None:
    """Before, where the mail really was refused; and after, where new templates would be."""
    hostile = office.with_templates(answer="Hello.\n")
    hostile.handle(write(REFUND, sender=JAMES))
    (entry,) = plan_all(hostile)
    assert (entry.status, entry.before.outcome, entry.before.reason) == ("same", "escalate", "gate_refused")
    (entry,) = plan_all(office)
    assert entry.status == "newly_answered"


def test_json_says_whether_it_differs(office: Office) -> None:
    """What a script reads has the verdict in it."""
    office.handle(write(REFUND, sender=JAMES))
    assert replay_all(office)[0].model_dump(mode="json")["is_identical"] is True
    assert plan_all(office)[0].model_dump(mode="json")["is_changed"] is False
