"""`python -m tests.benchmarks.desk_page`: what a page of the desk costs, on a large store and on an empty one.

The large store has made rows: 20,000 cases with 1,000,000 mails over two years, their plans, outbox and labels, put in
in bulk. Each page is asked for several times by a person who is signed in; the median counts, once by the clock and
once by the processor's time of this process, which other work on the machine changes less. `--keep FILE` keeps the
store, or takes the one that is there. Milliseconds are this machine's and are asserted nowhere.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from sqlalchemy import insert, text

from support_agent.config.log import configure_log
from support_agent.config.settings import LogSettings
from support_agent.desk_page.backtest_process import Backtests
from support_agent.desk_page.server import PAGES
from support_agent.store.records import CaseState, MailStatus, OutboxStatus, OutgoingKind
from support_agent.store.store import Store
from support_agent.store.tables import CaseRow, LabelRow, MailRow, OutboxRow, PlanRow, TableRow, ToolCallRow
from tests.fakes_desk import proposed_in
from tests.fakes_documents import BY_ADMIN
from tests.fakes_journey import DESK, NOON, make_company, open_office
from tests.fakes_page import Browser

CASES, MAILS = 20_000, 1_000_000
TIMES = 9
BATCH = 5_000
SPAN = timedelta(days=730)
"""The time over which the made mails came in."""
TOPICS = ("document:1", "document:2", "document:3", "document:6", "field:plan")
REASONS = ("not_covered", "unsure", "person_asked_for", "beside", "repeated")
LANGUAGES = ("en", "de", "fr", "")
WAITING_SHARE = 20
"""One of so many cases waits for a person."""
RAW = b"From: a@example.net\r\nSubject: A question\r\n\r\n" + b"How much did I pay last year, and for what? " * 30
JUDGED = {"same": 6, "own words": 2, "other choice": 1, "nothing": 1}
"""Of ten labels, how many have each outcome."""


class Cost(NamedTuple):
    """The median milliseconds of a page: by the clock, and of this process."""

    clock_ms: float
    processor_ms: float


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--mails", type=int, default=MAILS)
    parser.add_argument("--times", type=int, default=TIMES)
    parser.add_argument("--keep", type=Path, default=None)
    given = parser.parse_args(arguments)
    configure_log(LogSettings(level="error"))
    with tempfile.TemporaryDirectory() as folder:
        files = {"large": given.keep or Path(folder) / "large.sqlite3", "empty": Path(folder) / "empty.sqlite3"}
        found = {}
        for name, file in files.items():
            is_there = file.exists()
            with closing(Store.open(f"sqlite:///{file}")) as store:
                store.upgrade()
                if name == "large" and not is_there:
                    fill(store, given.cases, given.mails)
                place = Path(folder) / name
                place.mkdir()
                found[name] = measured(store, place, given.times)
    print_table(given.cases, given.mails, found["large"], found["empty"])


def print_table(cases: int, mails: int, large: dict[str, Cost], empty: dict[str, Cost]) -> None:
    """A line for each page."""
    print(f"{cases} cases, {mails} mails; median ms by the clock (of the process), beside an empty store")  # noqa: T201
    width = max(map(len, large))
    for page, cost in large.items():
        beside = empty.get(page)
        other = f"{beside.clock_ms:7.1f} ({beside.processor_ms:.1f})" if beside else "      -"
        print(f"{page:{width}}  {cost.clock_ms:7.1f} ({cost.processor_ms:.1f})  {other}")  # noqa: T201


def measured(store: Store, folder: Path, times: int) -> dict[str, Cost]:
    """What each page costs that is got and shown, the first time left out."""
    office = open_office(make_company(folder), store)
    office.clock = lambda: NOON
    office.keep_company()
    proposed = proposed_in(office)
    wired = proposed.office.wired
    backtests = partial(Backtests, config=folder / "support-agent.toml", work=folder / "work")
    browser = Browser(proposed.office, page=BY_ADMIN, wired=lambda: wired, backtests=backtests)
    costs = {page: _cost(partial(browser.get, page), times) for page in pages(proposed.answer.case_id or "")}
    office.decider.company.accounts.close()
    return costs


def pages(case_id: str) -> Iterator[str]:
    """The addresses that are measured: each page of PAGES without further parts, some in several forms, and a case."""
    for page in PAGES:
        if page.method == "GET" and "{" not in page.path and page.path not in SKIPPED:
            yield page.path
            yield from MORE.get(page.path, ())
    yield "/documents/1"
    yield f"/cases/{case_id}"


SKIPPED = ("/quality/backtest/report", "/quality/backtest/file")
"""Pages that are there only after a backtest."""
MORE = {
    "/": ("/?reason=not_covered", "/?language=de&level=2"),
    "/quality": ("/quality?days=7", "/quality?days=90"),
    "/quality/mails": ("/quality/mails?group=answered&days=90",),
}


def _cost(ask: Callable[[], object], times: int) -> Cost:
    ask()
    clock, processor = [], []
    for _ in range(times):
        at, used = time.perf_counter(), time.process_time()
        ask()
        clock.append(time.perf_counter() - at)
        processor.append(time.process_time() - used)
    return Cost(1000 * median(clock), 1000 * median(processor))


# The made store


def fill(store: Store, cases: int, mails: int) -> None:
    """Put made cases and mails into an empty store."""
    for table, rows in (
        (CaseRow, _cases(cases)),
        (MailRow, _mails(cases, mails)),
        (PlanRow, _plans(cases, mails)),
        (ToolCallRow, _calls(cases, mails)),
        (OutboxRow, _outbox(cases, mails)),
        (LabelRow, _labels(cases, mails)),
    ):
        _put(store, table, rows)
    if store.database.url.drivername != "sqlite":
        with store.database.write() as connection:
            connection.execute(text("ANALYZE"))


def _put(store: Store, table: type[TableRow], rows: Iterator[dict[str, Any]]) -> None:
    while batch := list(islice(rows, BATCH)):
        with store.database.write() as connection:
            connection.execute(insert(table), batch)


def _case(number: int) -> str:
    return f"MADE{number:07d}"


def _mail(number: int) -> str:
    return hashlib.md5(b"%d" % number, usedforsecurity=False).hexdigest()


def _cases(cases: int) -> Iterator[dict[str, Any]]:
    for number in range(cases):
        yield {
            "id": _case(number),
            "customer_address": f"customer{number}@example.net",
            "subject": f"Question {number}",
            "state": (CaseState.WITH_PERSON if _waits(number) else CaseState.CLOSED).value,
            "opened_at": NOON - SPAN,
            "assignee": DESK if number % 3 == 0 else None,
            "desk": DESK,
            "desk_why": "desk.address",
            "language": LANGUAGES[number % len(LANGUAGES)],
        }


def _waits(case: int) -> bool:
    return case % WAITING_SHARE == 0


def _at(number: int, mails: int) -> datetime:
    return NOON - SPAN + number * SPAN / mails


def _status(number: int, cases: int, mails: int) -> MailStatus:
    """The last mail of a case that waits is escalated; of others 55 of 100 are answered, 30 escalated, 15 filed."""
    if number >= mails - cases and _waits(number % cases):
        return MailStatus.ESCALATED
    place = number // cases * 7 % 100 if cases > 1 else number % 100
    place = (place + number * 13) % 100
    return MailStatus.ANSWERED if place < 55 else MailStatus.ESCALATED if place < 85 else MailStatus.FILED


def _mails(cases: int, mails: int) -> Iterator[dict[str, Any]]:
    for number in range(mails):
        status, at = _status(number, cases, mails), _at(number, mails)
        yield {
            "id": _mail(number),
            "raw_sha256": hashlib.sha256(b"%d" % number).hexdigest(),
            "raw": RAW + b"%d\r\n" % number,
            "message_id": f"<{number}@example.net>",
            "folder": "INBOX",
            "uid_validity": 1,
            "uid": number + 1,
            "received_at": at,
            "case_id": _case(number % cases),
            "status": status.value,
            "reason_code": REASONS[number % len(REASONS)] if status is MailStatus.ESCALATED else None,
            "why": None,
            "handled_at": at + timedelta(seconds=5),
            "sender_address": f"customer{number % cases}@example.net",
            "level": number % 4,
            "sender_why": "dmarc=pass",
            "screening_verdict": "answer",
            "screening_rule": "S3" if status is MailStatus.FILED else None,
        }


def _planned(cases: int, mails: int) -> Iterator[int]:
    return (number for number in range(mails) if _status(number, cases, mails) is not MailStatus.FILED)


def _plans(cases: int, mails: int) -> Iterator[dict[str, Any]]:
    for number in _planned(cases, mails):
        yield {
            "mail_id": _mail(number),
            "planned_at": _at(number, mails) + timedelta(seconds=4),
            "model": "made",
            "combiner_version": "c1",
            "company_version": "v1",
            "index_version": "i1",
            "outcome": "answer" if _status(number, cases, mails) is MailStatus.ANSWERED else "escalate",
            "reason": None,
            "seconds": 0.2 + number % 97 / 10,
            "forward_passes": 4,
            "tokens": 300,
            "trace": [],
            "memory": None,
        }


def _calls(cases: int, mails: int) -> Iterator[dict[str, Any]]:
    for number in _planned(cases, mails):
        topic, sure = TOPICS[number % len(TOPICS)], 0.4 + number % 60 / 100
        yield {
            "mail_id": _mail(number),
            "seq": 0,
            "tool": "send_document" if topic.startswith("document") else "send_account_field",
            "args": {"number": 1},
            "confidence": sure,
            "threshold": 0.6,
            "votes": [{"key": topic, "probability": sure}, {"key": "none", "probability": 1 - sure}],
            "result": "",
            "status": "done" if _status(number, cases, mails) is MailStatus.ANSWERED else "below_threshold",
            "seconds": 1.0,
        }


def _outbox(cases: int, mails: int) -> Iterator[dict[str, Any]]:
    for number in range(mails):
        status = _status(number, cases, mails)
        waits = number >= mails - cases and _waits(number % cases)
        if status is MailStatus.ANSWERED:
            yield _letter(number, cases, mails, OutgoingKind.ANSWER)
        elif status is MailStatus.ESCALATED:
            yield _letter(number, cases, mails, OutgoingKind.ACKNOWLEDGEMENT)
            yield _letter(number, cases, mails, OutgoingKind.PACKET)
            if not waits:
                yield _letter(number, cases, mails, OutgoingKind.PERSON_REPLY, after=timedelta(hours=1 + number % 30))


def _letter(
    number: int, cases: int, mails: int, kind: OutgoingKind, after: timedelta = timedelta(seconds=6)
) -> dict[str, Any]:
    at = _at(number, mails) + after
    is_lost = number % 100_000 == 7
    status = OutboxStatus.UNCERTAIN if is_lost else OutboxStatus.SENT
    return {
        "id": f"{_mail(number)}-{kind.value}",
        "mail_id": _mail(number),
        "case_id": _case(number % cases),
        "kind": kind.value,
        "number": 1,
        "message_id": f"<{number}.{kind.value}@harborfile.example>",
        "envelope_from": "support@harborfile.example",
        "recipient": f"customer{number % cases}@example.net",
        "raw": RAW,
        "status": status.value,
        "attempts": 1,
        "next_try_at": at,
        "last_detail": "250 ok",
        "created_at": at,
        "sent_at": None if is_lost else at + timedelta(seconds=2),
        "copied_at": None,
        "notified_at": None,
    }


def _labels(cases: int, mails: int) -> Iterator[dict[str, Any]]:
    """One of ten answers was judged."""
    outcomes = [name for name, count in JUDGED.items() for _ in range(count)]
    answered = (number for number in range(mails) if _status(number, cases, mails) is MailStatus.ANSWERED)
    for number in islice(answered, 0, None, 10):
        yield {
            "mail_id": _mail(number),
            "number": 1,
            "outcome": outcomes[number // 10 % len(outcomes)],
            "choice": None,
            "keys": [TOPICS[number % len(TOPICS)]],
            "who": DESK,
            "how": "command",
            "made_at": _at(number, mails) + timedelta(hours=2),
            "undone_at": None,
        }


if __name__ == "__main__":
    main()
