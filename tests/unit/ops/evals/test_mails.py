"""Labelled mails: what a label may say, what counts as right, and how mails are counted together."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from support_agent.company.company import Company
from support_agent.config.settings import CompanySettings
from support_agent.core.levels import Level
from support_agent.errors import ConfigError
from support_agent.mail.machines.screening import Screening, Verdict
from support_agent.mail.senders.identity import Sender
from support_agent.ops.dry_run import DryRunCall, DryRunLine, DryRunResult
from support_agent.ops.evals.mail_labels import (
    MailLabel,
    Sections,
    acceptable,
    read_labels,
    require_known,
    topic_of,
)
from support_agent.ops.evals.mails import ScoredMail, Sent, evaluate, line_of, outcomes_of, report_of, score, table
from tests.labelled import labels

ROW = {"file": "1.eml", "level": 2, "expected": [["send_document(1)", "escalate"]]}


def test_an_outcome_is_told_by_the_series_its_pointer_came_from() -> None:
    """A pointer's name says nothing; what was fetched, and how it was joined, does."""
    calls = (
        _call("fetch_series", series="payments", period="2024"),
        _call("aggregate", pointer="@1", aggregation="total"),
        _call("fetch_series", series="payments", period="2025"),
        _call("aggregate", pointer="@3", aggregation="total"),
        _call("calculate", operation="subtract", left="@2", right="@4"),
        _call("send_aggregate", pointer="@5"),
        _call("send_table", pointer="@1"),
    )
    assert outcomes_of(calls) == (
        "calculate(payments,2024,total,subtract,payments,2025,total)",
        "send_table(payments,2024)",
    )


def test_an_outcome_names_the_record_and_the_column() -> None:
    calls = (
        _call("fetch_record", records="invoices", id="HF-2025-0030"),
        _call("send_record", pointer="@1", column="amount"),
        _call("send_record", pointer="@1", column="all"),
    )
    assert outcomes_of(calls) == ("send_record(invoices,HF-2025-0030,amount)", "send_record(invoices,HF-2025-0030,all)")


def test_a_whole_record_has_the_column_that_a_label_asks_for() -> None:
    assert acceptable(("send_record(invoices,HF-1,amount)", "escalate")) == (
        "send_record(invoices,HF-1,amount)",
        "escalate",
        "send_record(invoices,HF-1,all)",
    )


LABEL = MailLabel(
    Path("two.eml"),
    None,
    2,
    "two",
    "en",
    expected=(("send_document(1)", "escalate"), ("send_document(2)",)),
    sections=(
        {1: Sections(any_of=frozenset({"Time", "Overview"}), needs=frozenset({"Exceptions"}))},
        {2: Sections(any_of=frozenset({"How"}))},
    ),
)


def test_one_wrong_block_makes_a_mail_wrong() -> None:
    """However right the rest of it is."""
    right = score(LABEL, Sent(("send_document(1)",)))
    assert (right.wrong, right.questions_right) == (0, 1)
    assert score(LABEL, Sent(("send_document(1)", "send_document(3)"))).wrong == 1


def test_the_right_document_with_the_wrong_section_is_a_wrong_answer() -> None:
    both = ("send_document(1)", "send_document(2)")
    right = score(LABEL, Sent(both, {1: frozenset({"Time"}), 2: frozenset({"How", "Fees"})}))
    assert (right.wrong, right.questions_right, right.documents, right.right_sections, right.whole) == (0, 2, 2, 2, 1)
    wrong = score(LABEL, Sent(both, {1: frozenset({"Exceptions"}), 2: frozenset({"How"})}))
    assert (wrong.wrong, wrong.wrong_section, wrong.right_sections, wrong.questions_right) == (1, 1, 1, 1)
    other = score(LABEL, Sent(("send_document(3)",), {3: frozenset({"How"})}))
    assert (other.wrong, other.wrong_section) == (1, 0)


def test_a_label_without_sections_takes_any_section() -> None:
    """Sections are labelled where somebody cares for them."""
    label = MailLabel(Path("1.eml"), None, 2, "mail", "en", expected=(("send_document(1)",),))
    one = score(label, Sent(("send_document(1)",), {1: frozenset({"Fees"})}))
    assert (one.wrong, one.questions_right, one.documents) == (0, 1, 0)


def rows(folder: Path, *lines: object) -> Path:
    (folder / "1.eml").write_bytes(b"Subject: x\r\n\r\nhi\r\n")
    (folder / "labels.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n\n", encoding="utf-8")
    return folder


def test_labels_are_read_with_what_may_be_left_out(tmp_path: Path) -> None:
    (label,) = read_labels(rows(tmp_path, ROW))
    assert (label.path, label.customer, label.kind, label.language) == (tmp_path / "1.eml", None, "mail", "en")
    assert (label.expected, label.sections) == ((("send_document(1)", "escalate"),), ())


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"expected": [["send_dokument(1)"]]}, "is no outcome"),
        ({"expected": [["escalate()"]]}, "is no outcome"),
        ({"expected": []}, "at least 1 item"),
        ({"expected": [["escalate"], []]}, "at least 1 item"),
        ({"level": 4}, "level"),
        ({"file": "2.eml"}, "no mail 2.eml"),
        ({"sections": [{}, {}]}, "one object a question"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_a_line_that_cannot_be_used_is_told_with_its_number(
    tmp_path: Path, wrong: dict[str, object], told: str
) -> None:
    """A misspelt outcome would count every answer as wrong."""
    with pytest.raises(ConfigError, match=rf"labels\.jsonl:2: .*{told}"):
        read_labels(rows(tmp_path, ROW, ROW | wrong))


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"expected": [["send_document(1)"], ["escalate", "send_document(99)"]]}, "no document '99', did you mean 9?"),
        ({"expected": [["send_document(one)"]]}, "no document 'one', but 1, 2, 3,"),
        ({"expected": [["send_account_field(plam)"]]}, "no account field 'plam', did you mean plan?"),
        ({"expected": [["send_table(payment,2024)"]]}, "no series 'payment', did you mean payments?"),
        ({"expected": [["send_aggregate(plan,2024,total)"]]}, "no series 'plan', but payments, storage, api_calls"),
        (
            {"expected": [["calculate(payments,2024,total,subtract,payment,2025,total)"]]},
            "no series 'payment', did you mean payments?",
        ),
        ({"expected": [["send_record(invoice,HF-1,all)"]]}, "no record kind 'invoice', did you mean invoices?"),
        ({"expected": [["send_record(invoices,HF-1,amont)"]]}, "no column of invoices 'amont', did you mean amount?"),
        ({"expected": [["escalate"]], "sections": [{"99": {"any_of": ["Fees"]}}]}, "no document '99'"),
        (
            {"sections": [{"1": {"any_of": ["Yearly plans"], "needs": ["Yearly plan"]}}]},
            "no section of document 1 'Yearly plan', did you mean Yearly plans?",
        ),
    ],
)
def test_what_a_label_names_and_the_company_does_not_have_is_told_with_its_line(
    company_settings: CompanySettings, tmp_path: Path, wrong: dict[str, object], told: str
) -> None:
    """Failure: a typo counted as a wrong answer, and as a topic that nothing is like."""
    labels = read_labels(rows(tmp_path, ROW, ROW | wrong))
    with pytest.raises(ConfigError, match=rf"labels\.jsonl:2: the company has {re.escape(told)}.*: correct it"):
        require_known(labels, Company.load(company_settings))


def test_everything_that_labels_name_wrongly_is_told_at_once(company_settings: CompanySettings, tmp_path: Path) -> None:
    wrong = [ROW | {"expected": [[f"send_document({number})", "escalate"]]} for number in (98, 1, 99, 99)]
    with pytest.raises(ConfigError) as refused:
        require_known(read_labels(rows(tmp_path, *wrong)), Company.load(company_settings))
    assert [line.partition(": ")[0][-2:] for line in str(refused.value).splitlines()] == [":1", ":3", ":4"]


@pytest.mark.parametrize("name", ["tuning", "labelled"])
def test_the_demos_own_labels_name_only_what_its_company_has(company_settings: CompanySettings, name: str) -> None:
    """Headings in each language of a document count."""
    require_known(labels(name), Company.load(company_settings))


def test_a_folder_without_labels_says_which_file_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"labels\.jsonl"):
        read_labels(tmp_path)


@pytest.mark.parametrize(
    ("outcome", "topic"),
    [
        ("send_document(1)", "document:1"),
        ("send_account_field(plan)", "field:plan"),
        ("send_record(invoices,HF-1,all)", "record:invoices"),
        ("calculate(payments,2024,total,subtract,payments,2025,total)", "series:payments"),
        ("escalate", None),
        ("ask_clarification", None),
    ],
)
def test_the_topic_of_an_outcome(outcome: str, topic: str | None) -> None:
    assert topic_of(outcome) == topic


def _tried(*sent: int, seconds: float = 1.0, sure: float = 0.9) -> DryRunResult:
    calls = tuple(DryRunCall(tool="send_document", args={"number": number}, confidence=sure) for number in sent)
    line = DryRunLine(
        file="1.eml",
        outcome="answer" if sent else "escalate",
        reason=None if sent else "unsure",
        level=Level(2),
        calls=calls,
        answer=None,
        seconds=seconds,
        forward_passes=0,
    )
    screening = Screening(verdict=Verdict.ANSWER, rule="", why="")
    return DryRunResult(
        line=line, sender=Sender(address="", level=2, why=""), screening=screening, decision=None, why=""
    )


def _result(
    expected: str, *sent: int, kind: str = "document", language: str = "en", seconds: float = 1.0
) -> ScoredMail:
    label = MailLabel(Path(f"{kind}.eml"), None, 2, kind, language, expected=((expected,),))
    outcomes = Sent(tuple(f"send_document({number})" for number in sent))
    own = score(label, outcomes).model_copy(update={"seconds": (seconds,)})
    return ScoredMail(label, _tried(*sent, seconds=seconds), own)


def test_mails_are_counted_by_kind_and_language_with_their_seconds() -> None:
    results = [
        _result("send_document(1)", 1, seconds=0.1),
        _result("send_document(1)", 2, language="de", seconds=0.2),
        _result("send_document(1)", seconds=0.3),
        _result("escalate", kind="uncovered", seconds=9.0),
    ]
    report = report_of(results)
    whole = report.all
    assert (whole.mails, whole.answered, whole.wrong, whole.answerable, whole.answerable_answered) == (4, 2, 1, 3, 1)
    assert whole.right_of_answered == 0.5
    assert whole.answered_of_answerable == pytest.approx(1 / 3)
    assert (whole.seconds_median, whole.seconds_95th) == (0.25, 9.0)
    assert [group.name for group in report.kinds] == ["document", "uncovered"]
    assert [(group.name, group.wrong) for group in report.languages] == [("de", 1), ("en", 0)]
    assert "language de: 1 mails, 1 answered, 0 right (0.00;" in table(report)


def test_a_mail_is_as_sure_as_its_least_sure_answer() -> None:
    assert [(one.confidence, one.is_right) for one in (_result("escalate"), _result("send_document(1)", 1))] == [
        (0.0, False),
        (0.9, True),
    ]


def test_each_mail_is_tried_and_told_in_a_line() -> None:
    label = MailLabel(Path("1.eml"), None, 2, "mail", "en", expected=(("send_document(1)",),))
    (result,) = evaluate([label], lambda _: _tried())
    assert line_of(result) == "person 1.eml en mail: unsure  expected send_document(1)"


def _call(tool: str, **args: str | int) -> DryRunCall:
    return DryRunCall(tool=tool, args=dict(args), confidence=1.0)
