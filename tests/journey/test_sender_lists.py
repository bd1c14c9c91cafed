"""A blocked sender's mail is filed, forged or not; with an allow list only proven senders on it get automatic mail."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from support_agent.config.senders import SenderSettings
from support_agent.config.settings import StoreSettings
from support_agent.core.diagnosis import Health
from support_agent.mail.keys import envelope_id
from support_agent.mail.message import parse
from support_agent.ops.store_health import look_at_traffic
from support_agent.store.records import MailStatus, OutboxStatus
from support_agent.transport.submission import Delivery
from tests.fakes_desk import lines_of, order
from tests.fakes_journey import ANNA, DESK, JAMES, NOON, STRANGER, Office, twice, write
from tests.unit.reporting import report
from tests.unit.seen import ACKNOWLEDGEMENT, ANSWER, HUMAN, OFF_TOPIC, PACKET, PERSON_REPLY, REFUND, one, reason_told


def with_senders(office: Office, **lists: tuple[str, ...]) -> Office:
    settings = office.settings.model_copy(update={"senders": SenderSettings.model_validate(lists)})
    return replace(office, settings=settings, decider=replace(office.decider, settings=settings))


@pytest.mark.parametrize("proof", ["dmarc", "spf", None])
@pytest.mark.parametrize("text", [REFUND, HUMAN, OFF_TOPIC])
def test_a_blocked_senders_mail_is_filed(office: Office, proof: str | None, text: str) -> None:
    """Forged or not, a question or a wish for a person: no answer, no acknowledgement, no packet, no case."""
    office = with_senders(office, block=("example.net",))
    mail_id, outcome = office.handle(write(text, sender=ANNA, proof=proof), twice())
    mail = one(office, mail_id)
    assert (outcome, mail.status, mail.reason_code) == ("filed", MailStatus.FILED, "blocked")
    assert mail.why == "senders.block has 'example.net'"
    assert (mail.case_id, office.sent(mail_id), office.transport.given) == (None, {}, [])


def test_others_are_answered_as_before(office: Office) -> None:
    office = with_senders(office, block=("example.net",))
    _, outcome = office.handle(write(REFUND, sender=JAMES))
    assert outcome == "answered"


def test_a_report_from_a_blocked_domain_still_counts(office: Office) -> None:
    """S64: the customer's own server blocks nothing by being blocked."""
    office.transport.deliveries = [Delivery(status="uncertain", detail="cut after the dot")]
    mail_id, _ = office.handle(write(REFUND, sender=JAMES))
    answer = office.sent(mail_id)[ANSWER]
    raw = report(envelope=envelope_id(answer.message_id))
    author = parse(raw).from_
    assert author is not None
    office = with_senders(office, block=(author.domain,))
    bounce_id, outcome = office.handle(raw)
    assert outcome == "filed"
    assert answer.id in str(one(office, bounce_id).why)
    assert office.sent(mail_id)[ANSWER].status is OutboxStatus.FAILED


def test_staff_of_a_blocked_domain_still_answer_packets(office: Office) -> None:
    """`check` warns of it; a proven reply and a command to a packet are carried out nevertheless."""
    office = with_senders(office, block=("harborfile.example",))
    mail_id, _ = office.handle(write(HUMAN))
    packet = office.sent(mail_id)[PACKET]
    reply, _ = office.handle(write("We call you.", sender=DESK, in_reply_to=packet.message_id, number=2))
    assert office.sent(reply)[PERSON_REPLY].recipient == ANNA
    closed = order(office, lines_of(packet)["close"])
    assert one(office, closed).reason_code is None
    other, _ = office.handle(write("Lunch?", sender=DESK, number=3))
    assert one(office, other).reason_code == "blocked"


def test_doctor_counts_what_was_blocked_and_what_was_not_allowed(office: Office, tmp_path: Path) -> None:
    office = with_senders(office, block=(ANNA,), allow=(JAMES,))
    office.handle(write(REFUND, sender=ANNA))
    office.handle(write(REFUND, sender=STRANGER))
    store = StoreSettings(url=f"sqlite:///{tmp_path / 'store.sqlite3'}")
    settings = office.settings.model_copy(update={"store": store})
    said = [one for one in look_at_traffic(settings, NOON) if "senders." in one.what]
    assert [(one.severity, one.what.partition(":")[0]) for one in said] == [
        (Health.OK, "1 mail within a day from senders that senders.block lists"),
        (Health.OK, "1 mail within a day from senders that senders.allow does not list"),
    ]


@pytest.mark.parametrize(
    ("sender", "proof", "outcome"),
    [
        (JAMES, "dmarc", "answered"),
        (JAMES, "spf", "escalated"),
        (ANNA, "dmarc", "escalated"),
        (STRANGER, "dmarc", "escalated"),
    ],
)
def test_only_proven_senders_on_the_list_get_automatic_mail(
    office: Office, sender: str, proof: str, outcome: str
) -> None:
    """All others' mail goes to the desk, and they get no acknowledgement: whoever tries it out tells nobody."""
    office = with_senders(office, allow=("example.org",))
    mail_id, found = office.handle(write(REFUND, sender=sender, proof=proof), twice())
    sent = office.sent(mail_id)
    assert (found, ACKNOWLEDGEMENT in sent, ANSWER in sent) == (outcome, False, outcome == "answered")
    if outcome == "escalated":
        assert reason_told(office, mail_id)[0] == "not_allowed"


def test_a_person_answers_whom_they_like(office: Office) -> None:
    """The list is about what the machine sends by itself."""
    office = with_senders(office, allow=(JAMES,))
    mail_id, _ = office.handle(write(REFUND, sender=ANNA))
    answered = order(office, lines_of(office.sent(mail_id)[PACKET])["document 1"])
    assert office.sent(answered)[ANSWER].recipient == ANNA


def test_block_counts_before_allow(office: Office) -> None:
    office = with_senders(office, allow=("example.org",), block=(JAMES,))
    _, outcome = office.handle(write(REFUND, sender=JAMES))
    assert outcome == "filed"
