"""Whole journeys with an observer: what is counted and traced, and that nothing of a mail gets into either."""

from __future__ import annotations

from pathlib import Path

import pytest

from support_agent.errors import TransientError
from support_agent.store.outbox import Outbox
from support_agent.store.records import MailId
from support_agent.transport.submission import Delivery
from support_agent.watch.gauges import of_store
from support_agent.watch.metrics import BRAND, METRICS, OTHER
from tests.benchmarks.history import scans
from tests.fakes_journey import ANNA, NOON, Office, write
from tests.fakes_watch import Series, Watched, value
from tests.fakes_worker import fails_once
from tests.unit.seen import HUMAN, OFF_TOPIC, REFUND, one

EMAILS = Path(__file__).parents[2] / "emails"
CLOSED = {
    (metric.name, label): frozenset((*values, OTHER)) for metric in METRICS for label, values in metric.labels.items()
}
MARKER = "zzqqxx"
"""A word that is in the hostile mails alone."""


def closed(series: Series) -> bool:
    """Whether each label of each series has a value of the table."""
    return all(
        text in CLOSED[metric_of(name), label]
        for name, labels in series
        for label, text in labels
        if label not in (BRAND, "le", "version")
    )


def metric_of(name: str) -> str:
    """The metric of a series: a histogram has several, and one that says when it began, as a counter has."""
    begun = name.removesuffix("_created")
    found = (name.removesuffix("_bucket"), name.removesuffix("_count"), name.removesuffix("_sum"), begun)
    known = {metric.name for metric in METRICS}
    return next((one for one in (*found, f"{begun}_total") if one in known), name)


def test_journeys_steps_and_sends_are_counted(office: Office) -> None:
    watched = Watched(office)
    watched.handle(write(REFUND))
    watched.handle(write(HUMAN, number=2))
    office.transport.deliveries = [Delivery(status="retry", detail="421 later")]
    watched.handle(b"Auto-Submitted: auto-replied\r\n" + write(REFUND, number=3))
    watched.handle(write(OFF_TOPIC, number=4, sender="noah.williams@example.net"))
    found = watched.series
    for outcome, number in (("answered", 1), ("escalated", 2), ("filed", 1), ("failed", 0)):
        assert value(found, "support_agent_journeys_total", outcome=outcome) == number
    assert value(found, "support_agent_step_seconds_count", step="screen") == 4
    assert value(found, "support_agent_step_seconds_count", step="plan") == 3
    assert value(found, "support_agent_sends_total", kind="answer", result="sent") == 1
    assert value(found, "support_agent_sends_total", kind="packet", result="sent") == 1
    assert value(found, "support_agent_sends_total", kind="packet", result="retry") == 1
    assert closed(found)


def test_the_store_is_read_at_each_scrape(office: Office) -> None:
    watched = Watched(office)
    watched.handle(write(HUMAN))
    office.receive(write(REFUND, number=2))
    found = watched.series
    assert value(found, "support_agent_queue_mails") == 1
    assert value(found, "support_agent_queue_oldest_seconds") > 0
    assert value(found, "support_agent_cases_waiting") == 1
    assert value(found, "support_agent_engine_mails", state="queued") == 2
    assert value(found, "support_agent_outbox_mails", status="ready") == 0
    assert value(found, "support_agent_alarm", alarm="backlog") == 0
    assert value(found, "support_agent_ready", part="database") == 1
    assert value(found, "support_agent_ready", part="mailbox") == 0
    office.store.database.downgrade("0015")
    assert value(watched.series, "support_agent_ready", part="database") == 0


def test_no_query_of_a_scrape_reads_a_whole_table(office: Office, tmp_path: Path) -> None:
    """Rule: a scrape costs the same with a million stored mails: each table is searched by an index."""
    scraped = {"scrape": lambda: len(list(of_store(office.store, office.settings, NOON)))}
    assert scraped["scrape"]() > 20
    assert scans(scraped, tmp_path / "store.sqlite3") == {}


def test_a_failed_try_and_a_failed_journey_are_counted(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    busy = TransientError("the database is busy")
    monkeypatch.setattr(Outbox, "queue_first", fails_once(Outbox.queue_first, busy))
    watched = Watched(office)
    watched.handle(write(REFUND))
    with pytest.raises(RuntimeError), watched.observer.journey("m"):
        raise RuntimeError(MARKER)
    found = watched.series
    assert value(found, "support_agent_step_failures_total", step="answer") == 1
    assert value(found, "support_agent_step_seconds_count", step="answer") == 2
    assert value(found, "support_agent_journeys_total", outcome="failed") == 1
    assert [span.status.description for span in watched.spans if span.status.description] == [
        "TransientError",
        "RuntimeError",
    ]


def test_a_journey_is_a_span_with_a_span_for_each_step(office: Office) -> None:
    """Ids, outcome and tries; of the case as soon as it is known."""
    watched = Watched(office)
    mail_id = watched.handle(write(REFUND))
    spans = {span.name: span for span in watched.spans}
    journey, deciding = spans.pop("journey"), ("identify", "route", "hold", "plan")
    assert set(spans) == {"parse", "screen", "decide", *deciding, "answer", "send", "end"}
    for name, step in spans.items():
        above = spans["decide"] if name in deciding else journey
        assert above.context is not None
        assert step.parent is not None
        assert step.parent.span_id == above.context.span_id
    assert journey.attributes == {
        "support_agent.mail_id": mail_id,
        "support_agent.brand": "",
        "support_agent.outcome": "answered",
        "support_agent.case_id": one(office, mail_id).case_id,
    }
    assert {step.attributes["support_agent.attempt"] for step in spans.values() if step.attributes} == {1}
    assert spans["route"].attributes is not None
    assert spans["route"].attributes["support_agent.case_id"] == one(office, mail_id).case_id


def hostile() -> list[bytes]:
    """Mails whose every field is meant for a label: quotes, line ends, names of metrics, very long words."""
    evil = f'{MARKER}"}} 1\nsupport_agent_evil_total{{x="{MARKER}'
    named = (f"{MARKER}-{'y' * 200}@{MARKER}.example", f'"{MARKER}\\"}} 1"@example.net')
    return [
        *(write(evil, sender=sender, subject=evil.replace("\n", " "), number=9) for sender in named),
        *(write(f"{REFUND} {evil}", subject=MARKER, number=number) for number in (10, 11)),
        write(HUMAN, subject=MARKER, in_reply_to=f"<{MARKER}@{MARKER}>", number=12, proof=None),
        *(path.read_bytes() for path in sorted(EMAILS.glob("*.eml"))[::6]),
        b"\x00\xff" * 500,
    ]


def test_hostile_mail_makes_no_label_and_no_attribute(office: Office) -> None:
    """Rule: label sets are closed, and spans have ids and fixed words, whatever comes in."""
    watched = Watched(office)
    before = {key for key in watched.series if not key[0].endswith("_created")}
    ids: list[MailId] = []
    for raw in hostile():
        try:
            ids.append(watched.handle(raw))
        except Exception:
            continue  # the engine records it as a failed journey
    assert len(ids) > 10
    found = watched.series
    assert closed(found)
    others = {key for key in found if ("outcome", OTHER) in key[1] or ("step", OTHER) in key[1]}
    assert {key for key in found if not key[0].endswith("_created")} - others <= before | others
    words = [str(text) for span in watched.spans for text in (span.name, *(span.attributes or {}).values())]
    words += [str(span.status.description) for span in watched.exported.spans]
    cases = {case for mail in ids if (case := one(office, mail).case_id)}
    assert not [word for word in words if MARKER in word or "@" in word or ANNA in word]
    assert {word for word in words if len(word) > 20} <= {*ids, *cases}
