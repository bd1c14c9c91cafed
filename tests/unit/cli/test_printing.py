"""What people read: aligned plain text, with nothing in it that a terminal would obey."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.cells import cell_len

from support_agent.cli import case_printing, printing
from support_agent.cli.terminal import as_table
from support_agent.core.diagnosis import Diagnosis, Health
from support_agent.core.findings import Finding, Severity
from support_agent.models.pulling import CacheState, ListedModel
from support_agent.ops.explain import timeline, why
from support_agent.ops.replay import Replayed, ReplayReport, chosen, plan_again, replay
from support_agent.store.records import CaseId, MailId, OutgoingKind
from tests.fakes_journey import JAMES, NOON, Office, write

SEATS = "How many seats have we paid for?"
OFF_TOPIC = "Do you have a table for four on Saturday?"
HOSTILE = "\x1b[31mred\x1b[0m \x07bell \u202egnp.exe \x9b2Jclear [bold]markup[/bold] {{ 7*7 }}"


def case_of(office: Office, mail_id: MailId) -> str:
    mail = office.store.mails.get(mail_id)
    assert mail is not None
    assert mail.case_id is not None
    return mail.case_id


def tried(office: Office, raw: bytes) -> str:
    return case_printing.dry_run(office.dry_run.try_mail("mail.eml", raw, NOON))


def shown(office: Office, mail_id: MailId) -> str:
    return case_printing.timeline(timeline(office.store, case_of(office, mail_id)))


def why_shown(office: Office, mail_id: MailId) -> str:
    return case_printing.why(why(office.store, case_of(office, mail_id)))


def report(office: Office, other: Office | None = None) -> ReplayReport:
    """A replay of everything, planned again by another office where there is one."""
    mails = chosen(office.store)
    again = None if other is None else plan_again(office.store, other.dry_run, mails)
    return ReplayReport(replayed=replay(office.store, mails), replanned=again)


VIEWS: dict[str, Callable[[Office, MailId], str]] = {
    "timeline": shown,
    "why": why_shown,
    "cases": lambda office, _: printing.cases(office.store.cases.recent(9)),
    "replay": lambda office, _: case_printing.replay(report(office, office.with_model(0.9, threshold=1.0))),
}


def is_obeyed(character: str) -> bool:
    return unicodedata.category(character) in {"Cc", "Cf"} and character != "\n"


@pytest.mark.parametrize("view", VIEWS)
def test_mail_cannot_draw_on_the_screen(office: Office, view: str) -> None:
    """Escapes, bells, bidi marks and C1 controls of subject and text go; brackets and braces are only text."""
    mail_id, _ = office.handle(write(f"{SEATS}\r\n\r\n{OFF_TOPIC} {HOSTILE}", sender=JAMES, subject=HOSTILE))
    printed = VIEWS[view](office, mail_id)
    assert [character for character in printed if is_obeyed(character)] == []
    if view in ("timeline", "cases"):
        assert "[bold]markup[/bold] {{ 7*7 }}" in printed


@pytest.mark.parametrize("view", VIEWS)
def test_lines_do_not_end_in_blanks(office: Office, view: str) -> None:
    """Output that is compared or pasted has no invisible ends, and no empty end."""
    mail_id, _ = office.handle(write(f"{SEATS}\r\n\r\n{OFF_TOPIC}", sender=JAMES))
    printed = VIEWS[view](office, mail_id)
    assert printed == printed.strip("\n")
    assert [line for line in printed.split("\n") if line != line.rstrip()] == []


def test_timeline_tells_the_whole_story(office: Office) -> None:
    """Who, at which level, each call with its confidence and runners-up, the answer and what became of it."""
    mail_id, _ = office.handle(write(f"{SEATS}\r\n\r\n{OFF_TOPIC}", sender=JAMES))
    printed = shown(office, mail_id)
    for words in (
        "customer  james.okafor@example.org\n",
        "  level      3 (dmarc=pass for example.org, a known customer)\n",
        "  outcome    answered (not_covered)\n",
        f"  question 1: {SEATS}\n",
        "    send_account_field(seats_paid), 0.99 of ",
        "      of field:seats_paid 0.99, none 0.00",
        "[account field seats_paid]",
        "answer to james.okafor@example.org: sent at 2026-11-20 12:00:",
        "packet to desk@harborfile.example: sent at",
        "  | Hello James Okafor,\n",
    ):
        assert words in printed


def test_why_puts_each_line_beside_its_sources(office: Office) -> None:
    """Text on the left, sources on the right in one column, the query below."""
    mail_id, _ = office.handle(write(SEATS, sender=JAMES))
    printed = why_shown(office, mail_id)
    rows = [row for row in printed.split("\n") if " | " in row]
    assert {row.index(" | ") for row in rows} == {case_printing.TEXT_CELLS}
    assert f"{'Kind regards':<{case_printing.TEXT_CELLS}} | template en/answer.txt.j2:" in printed
    assert '| "1 seat": account field seats_paid, value' in printed
    assert "  seats_paid  SELECT seats_paid FROM subscriptions WHERE customer_id = :customer_id" in printed
    assert "Message-ID " in printed


def test_long_lines_go_on_below(office: Office) -> None:
    """No word of the sent text is lost, however long its line."""
    mail_id, _ = office.handle(write("Can I get a refund?", sender=JAMES))
    (mail,) = why(office.store, case_of(office, mail_id))
    rows = [row for row in case_printing.why((mail,)).split("\n") if row[case_printing.TEXT_CELLS :][:2] == " |"]
    left = " ".join(row[: case_printing.TEXT_CELLS].strip() for row in rows)
    words = " ".join(line.text.strip() for line in mail.lines if line.text.strip())
    assert " ".join(left.split()).endswith(" ".join(words.split()))


def test_columns_are_aligned_for_wide_characters(office: Office) -> None:
    """A Japanese subject takes two cells a character; what stands right of it stays in its column."""
    office.handle(write(SEATS, sender="someone@elsewhere.example", subject="席"))
    office.handle(write(OFF_TOPIC, sender=JAMES, subject="seats"))
    printed = as_table([("席がありません", "end"), ("abc", "end")])
    assert {cell_len(row.removesuffix("end")) for row in printed.split("\n")} == {16}
    header, *rows = printing.cases(office.store.cases.recent(9)).split("\n")
    assert all(row[header.index("CUSTOMER") - 1] == " " for row in rows)


def test_empty_lists_say_so() -> None:
    """No output would look like a failure."""
    assert printing.cases(()) == "no cases yet"
    assert case_printing.why(()).startswith("nothing was sent in this case, or it is no longer kept")
    assert case_printing.replay(ReplayReport(replayed=())) == "0 mails replayed: nothing to do"
    assert "\n0 mails planned again: 0 same, 0 changed" in case_printing.replay(ReplayReport(replayed=(), replanned=()))
    assert printing.findings(()) == "0 errors, 0 warnings"


def test_findings_name_file_line_and_what_to_do() -> None:
    """One line each, and their number."""
    error = Finding(severity=Severity.ERROR, path=Path("a.md"), line=3, what="no title", todo="add one")
    warning = Finding(severity=Severity.WARNING, path=Path("b.toml"), line=None, what="old", todo="look")
    assert printing.findings([error, warning]) == (
        "error: a.md:3: no title: add one\nwarning: b.toml: old: look\n1 error, 1 warning"
    )


def test_replay_says_identical_or_shows_the_difference(office: Office) -> None:
    """One line a mail; what differs is below it."""
    office.handle(write(SEATS, sender=JAMES))
    same = report(office)
    assert case_printing.replay(same).endswith("  answer           identical\n1 mail replayed: identical")
    other = Replayed(
        case_id=CaseId("abc"),
        mail_id=MailId("m"),
        kind=OutgoingKind.PACKET,
        message_id="<x@y>",
        recipient="desk",
        diff="-a\n+b",
        problems=("document 1 is not stored",),
    )
    printed = case_printing.replay(ReplayReport(replayed=(*same.replayed, other)))
    assert "abc  packet           DIFFERS\n    document 1 is not stored\n    -a\n    +b\n" in printed
    assert printed.endswith("2 mails replayed: 1 of them differ")


def test_planning_again_shows_what_changed_and_counts(office: Office) -> None:
    """A newly escalated mail shows what the customer would no longer get, and why."""
    office.handle(write(SEATS, sender=JAMES))
    printed = case_printing.replay(report(office, office.with_model(0.9, threshold=1.0)))
    assert "    now: a person (unsure)\n    -Subject: Re: A question\n" in printed
    assert printed.endswith(
        "1 mail planned again: 0 same, 0 changed, 0 newly answered, 1 newly escalated, 0 newly filed, 0 newly held"
    )
    same = case_printing.replay(report(office, office))
    assert same.endswith(
        "\n1 mail planned again: 1 same, 0 changed, 0 newly answered, 0 newly escalated, 0 newly filed, 0 newly held"
    )


def test_a_dry_run_shows_calls_and_answer(office: Office) -> None:
    """Who at which level, the calls chosen, the answer, the time."""
    printed = tried(office, write(SEATS, sender=JAMES))
    assert f"mail.eml\n  from       {JAMES}, level 3 (dmarc=pass" in printed
    assert "  call  send_account_field(seats_paid)  0.99  done\n" in printed
    assert "  Subject: Re: A question\n\n  | Hello James Okafor,\n" in printed
    assert " forward pass" in printed


@pytest.mark.parametrize(
    ("head", "words", "expected"),
    [
        (b"", "Let me talk to a human.", "outcome    escalate: person_asked_for\n"),
        (b"Precedence: bulk\r\n", SEATS, "outcome    filed: S5\n"),
        (b"", OFF_TOPIC, "outcome    escalate: not_covered\n"),
    ],
)
def test_a_dry_run_says_why_there_is_no_answer(office: Office, head: bytes, words: str, expected: str) -> None:
    """Escalated or filed, and the rule or reason."""
    printed = tried(office, head + write(words, sender=JAMES))
    assert expected in printed
    assert "Subject:" not in printed


def test_diagnoses_say_what_to_do_below() -> None:
    """What, how bad, what to do."""
    good = Diagnosis(subject="database", severity=Health.OK, what="the schema is current")
    bad = Diagnosis(subject="mailbox", severity=Health.ERROR, what="no answer", todo="start it")
    assert printing.diagnoses([good, bad]) == (
        "database  ok     the schema is current\nmailbox   error  no answer\n                 to do: start it"
    )


def test_models_are_listed_with_their_sources() -> None:
    """A table, then where each may come from."""
    listed = ListedModel(
        name="tiny",
        title="Tiny model",
        licence="MIT",
        size_bytes=1_500_000_000,
        path=Path("/cache/tiny"),
        state=CacheState.ABSENT,
        sources=("hub", "packages"),
    )
    header, row, _, sources = printing.models([listed]).split("\n")
    assert header.split() == ["MODEL", "STATE", "SIZE", "LICENCE", "PATH"]
    assert row.split() == ["tiny", CacheState.ABSENT.value, "1,500", "MB", "MIT", "/cache/tiny"]
    assert sources == "tiny: Tiny model; from hub, packages"
