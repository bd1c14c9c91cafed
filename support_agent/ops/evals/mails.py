"""Measures the answers to a company's own labelled mails: `support-agent eval mails DIR`; its help has the format.

An answer is right if everything in it is an acceptable outcome of one of the questions, and each document has an
acceptable section. It is wrong if anything is not: one right block does not make up for a wrong one. Every mail is
decided in a dry run by the product's own decider. Checked by tests/unit/ops/evals/test_mails.py.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import ceil
from statistics import median
from typing import NamedTuple

from pydantic import Field, computed_field

from support_agent.answer.final_answer import DocumentItem
from support_agent.core.frozen import Frozen
from support_agent.mail.message import parse
from support_agent.ops.dry_run import DryRun, DryRunCall, DryRunResult, read_mail
from support_agent.ops.evals.mail_labels import MailLabel, Sections, document_of
from support_agent.planner.plan_run import TOPIC_KINDS


@dataclass(frozen=True)
class Sent:
    """What a mail was answered with: the outcomes, and the headings of each document's excerpts; a link has none."""

    outcomes: tuple[str, ...] = ()
    sections: Mapping[int, frozenset[str]] = field(default_factory=dict)


class Score(Frozen):
    """How one mail, or several together, came out; "questions" are those that the agent has an answer to.

    `wrong_section` counts the wrong mails in which only a section is wrong. `documents` counts the documents that were
    sent with sections to choose among; of these, `right_sections` are right ones with a right section, and `whole` lack
    nothing that the customer needs. `seconds` are those of each mail, where they were measured.
    """

    name: str = ""
    mails: int
    answered: int
    wrong: int
    wrong_section: int
    documents: int
    right_sections: int
    whole: int
    answerable: int
    answerable_answered: int
    questions: int
    questions_right: int
    seconds: tuple[float, ...] = Field((), exclude=True)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def right_of_answered(self) -> float:
        """0..1; 1 where nothing was answered."""
        return (self.answered - self.wrong) / self.answered if self.answered else 1.0

    @computed_field  # type: ignore[prop-decorator]
    @property
    def answered_of_answerable(self) -> float:
        """0..1; 1 where nothing could be answered."""
        return self.answerable_answered / self.answerable if self.answerable else 1.0

    @computed_field  # type: ignore[prop-decorator]
    @property
    def seconds_median(self) -> float:
        """Of a mail."""
        return median(self.seconds or (0.0,))

    @computed_field  # type: ignore[prop-decorator]
    @property
    def seconds_95th(self) -> float:
        """95 % of the mails took no longer."""
        ranked = sorted(self.seconds) or [0.0]
        return ranked[ceil(0.95 * len(ranked)) - 1]


COUNTS = tuple(name for name, field in Score.model_fields.items() if field.annotation is int)
"""The fields of a score that are added up over mails."""


def sent_in(tried: DryRunResult) -> Sent:
    """What a mail was answered with in a dry run."""
    final = tried.decision.final if tried.decision is not None else None
    if tried.line.outcome != "answer" or final is None:
        return Sent()
    documents = [item for answer in final.answers for item in answer.items if isinstance(item, DocumentItem)]
    return Sent(
        outcomes=outcomes_of(tried.line.calls),
        sections={
            item.number: frozenset(excerpt.heading for excerpt in item.excerpts) for item in documents if item.excerpts
        },
    )


def outcomes_of(calls: Sequence[DryRunCall]) -> tuple[str, ...]:
    """What was sent, in the words of the labels; each pointer is followed back to its series."""
    said: dict[str, str] = {}
    sent: list[str] = []
    for call in calls:
        args = {name: str(value) for name, value in call.args.items()}
        match call.tool:
            case "fetch_series":
                said[f"@{len(said) + 1}"] = f"{args['series']},{args['period']}"
            case "filter" | "sort":
                said[f"@{len(said) + 1}"] = said[args["pointer"]]
            case "aggregate":
                said[f"@{len(said) + 1}"] = f"{said[args['pointer']]},{args['aggregation']}"
            case "calculate":
                sides = f"{said[args['left']]},{args['operation']},{said[args['right']]}"
                said[f"@{len(said) + 1}"] = f"calculate({sides})"
            case "send_table":
                sent.append(f"send_table({said[args['pointer']]})")
            case "send_aggregate":
                value = said[args["pointer"]]
                sent.append(value if value.startswith("calculate(") else f"send_aggregate({value})")
            case "fetch_record":
                said[f"@{len(said) + 1}"] = f"{args['records']},{args['id']}"
            case "send_record":
                sent.append(f"send_record({said[args['pointer']]},{args['column']})")
            case "send_document":
                sent.append(f"send_document({args['number']})")
            case "send_account_field":
                sent.append(f"send_account_field({args['field']})")
            case "ask_clarification":
                sent.append("ask_clarification")
    return tuple(sent)


def score(label: MailLabel, sent: Sent) -> Score:
    """Score one mail."""
    expected = {outcome for outcomes in label.expected for outcome in outcomes}
    is_other = any(outcome not in expected for outcome in sent.outcomes)
    documents = sent.sections.items() if label.sections else ()
    right_sections = sum(
        any(headings & sections.any_of for sections in label.of_document(number)) for number, headings in documents
    )
    is_beside = right_sections < len(documents)
    is_wrong = is_other or is_beside
    is_answerable = bool(label.answerable)
    return Score(
        mails=1,
        answered=int(bool(sent.outcomes)),
        wrong=int(is_wrong),
        wrong_section=int(is_wrong and not is_other),
        documents=len(documents),
        right_sections=right_sections,
        whole=sum(_is_whole(label.of_document(number), headings) for number, headings in documents),
        answerable=int(is_answerable),
        answerable_answered=int(is_answerable and bool(sent.outcomes) and not is_wrong),
        questions=len(label.answerable),
        questions_right=sum(
            any(_answers(label, place, outcome, sent) for outcome in outcomes)
            for place, outcomes in enumerate(label.expected)
            if outcomes in label.answerable
        ),
    )


def _is_whole(acceptable: Sequence[Sections], headings: frozenset[str]) -> bool:
    return any(headings & sections.any_of and sections.needs <= headings for sections in acceptable)


def _answers(label: MailLabel, place: int, outcome: str, sent: Sent) -> bool:
    """Whether an acceptable outcome of a question was sent; a document needs an acceptable section."""
    if outcome not in sent.outcomes:
        return False
    number = document_of(outcome)
    headings = None if number is None else sent.sections.get(number)
    if number is None or headings is None or not label.sections:
        return True
    acceptable = label.sections[place].get(number)
    return acceptable is not None and bool(headings & acceptable.any_of)


def total(scores: Iterable[Score], name: str = "") -> Score:
    """The score of several mails together, under this name."""
    together = list(scores)
    counts = {key: sum(getattr(one, key) for one in together) for key in COUNTS}
    return Score(name=name, **counts, seconds=tuple(s for one in together for s in one.seconds))


class ScoredMail(NamedTuple):
    """One mail, tried and scored; `confidence` is the lowest of the calls that sent something, 0 if none did."""

    label: MailLabel
    tried: DryRunResult
    score: Score

    @property
    def confidence(self) -> float:
        sending = (call.confidence for call in self.tried.line.calls if call.tool in TOPIC_KINDS)
        return min(sending, default=0.0)

    @property
    def is_right(self) -> bool:
        return bool(self.score.answered) and not self.score.wrong


def try_labelled(dry_run: DryRun, now: datetime, label: MailLabel) -> DryRunResult:
    """Try a mail as one of the sender that its label names, on the day it is dated; at `now` where it has no date.

    Raises:
        ConfigError: the file cannot be read, or a model cannot be used.
    """
    raw = read_mail(label.path, dry_run.settings.imap.max_message_bytes)
    at = parse(raw).sent_at or now
    return dry_run.try_mail(label.path.name, raw, at, as_level=label.level, as_customer=label.customer)


def evaluate(mails: Iterable[MailLabel], tried: Callable[[MailLabel], DryRunResult]) -> list[ScoredMail]:
    """Try and score each mail."""
    results = []
    for label in mails:
        one = tried(label)
        own = score(label, sent_in(one)).model_copy(update={"seconds": (one.line.seconds,)})
        results.append(ScoredMail(label, one, own))
    return results


class MailReport(Frozen):
    """How the mails came out: all of them, by kind and by language."""

    all: Score
    kinds: tuple[Score, ...]
    languages: tuple[Score, ...]


def report_of(results: Sequence[ScoredMail]) -> MailReport:
    """The totals."""
    return MailReport(
        all=total((result.score for result in results), "all"),
        kinds=_grouped(results, lambda label: label.kind),
        languages=_grouped(results, lambda label: label.language),
    )


def _grouped(results: Sequence[ScoredMail], key: Callable[[MailLabel], str]) -> tuple[Score, ...]:
    groups: dict[str, list[Score]] = defaultdict(list)
    for result in results:
        groups[key(result.label)].append(result.score)
    return tuple(total(of, name) for name, of in sorted(groups.items()))


def table(report: MailReport) -> str:
    """The report as text."""
    lines = []
    for what, groups in (("kind", report.kinds), ("language", report.languages), ("", (report.all,))):
        lines += [f"{what} {group.name}: {_in_words(group)}".strip() for group in groups]
    return "\n".join(lines)


def _in_words(group: Score) -> str:
    right = group.answered - group.wrong
    return (
        f"{group.mails} mails, {group.answered} answered, {right} right ({group.right_of_answered:.2f}; "
        f"{group.wrong_section} wrong by the section alone), {group.right_sections} of {group.documents} documents "
        f"with a right section, {group.answerable_answered} of {group.answerable} answerable answered rightly "
        f"({group.answered_of_answerable:.2f}), {group.questions_right} of {group.questions} questions; "
        f"median {group.seconds_median:.2f} s, 95th percentile {group.seconds_95th:.2f} s"
    )


def line_of(result: ScoredMail) -> str:
    """The result of one mail in a line, to find wrong and missing answers."""
    label, sent = result.label, sent_in(result.tried)
    verdict = "WRONG" if result.score.wrong else "right" if result.score.answered else "person"
    beside = f"  sections {sorted(map(sorted, sent.sections.values()))}" if result.score.wrong_section else ""
    got = ", ".join(sent.outcomes) or result.tried.line.reason
    wanted = "; ".join(" or ".join(outcomes) for outcomes in label.expected)
    return f"{verdict:7}{label.path.name} {label.language} {label.kind}: {got}{beside}  expected {wanted}"
