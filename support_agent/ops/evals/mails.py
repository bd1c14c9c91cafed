"""How a company's own labelled mails come out: `support-agent eval mails DIR`; the format stands in the command's help.

A mail is answered right where everything it was sent is an acceptable outcome of one of its questions, of a document an
acceptable section too, and wrong where anything is not: one right block does not make up for a wrong one. Every mail is
decided by the product's own decider, as a dry run. Checked by tests/unit/ops/evals/test_mails.py.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import ceil
from statistics import median
from typing import NamedTuple

from support_agent.answer.final_answer import DocumentItem
from support_agent.core.frozen import Frozen
from support_agent.ops.dry_run import Tried, TriedCall
from support_agent.ops.evals.mail_labels import Label, Sections, document_of
from support_agent.planner.work import TOPIC_KINDS


@dataclass(frozen=True)
class Sent:
    """What a mail got: the outcomes, and of each document the headings of its excerpts; of a link there are none."""

    outcomes: tuple[str, ...] = ()
    sections: Mapping[int, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Score:
    """How one mail, or several together, came out; "questions" are those that the agent has an answer to.

    `wrong_section` of the wrong ones are so by their sections alone. `documents` are the documents that were sent with
    sections to choose among, `right_sections` of them right ones with a right section, and `whole` of these miss
    nothing that the customer needs.
    """

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

    @property
    def right_of_answered(self) -> float:
        """0..1; 1 where nothing was answered."""
        return (self.answered - self.wrong) / self.answered if self.answered else 1.0

    @property
    def named_of_answered(self) -> float:
        """0..1, the same where a document with another section counts as right: the right thing was named."""
        return (self.answered - self.wrong + self.wrong_section) / self.answered if self.answered else 1.0

    @property
    def answered_of_answerable(self) -> float:
        """0..1; 1 where nothing could be answered."""
        return self.answerable_answered / self.answerable if self.answerable else 1.0


def sent_in(tried: Tried) -> Sent:
    """What a mail got in a trial."""
    final = tried.decision.final if tried.decision is not None else None
    if tried.trial.outcome != "answer" or final is None:
        return Sent()
    documents = [item for answer in final.answers for item in answer.items if isinstance(item, DocumentItem)]
    return Sent(
        outcomes=outcomes_of(tried.trial.calls),
        sections={
            item.number: frozenset(excerpt.heading for excerpt in item.excerpts) for item in documents if item.excerpts
        },
    )


def outcomes_of(calls: Sequence[TriedCall]) -> tuple[str, ...]:
    """What was sent, in the words of the labels: pointers are followed back to the series they came from."""
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


def score(label: Label, sent: Sent) -> Score:
    """One mail."""
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


def _answers(label: Label, place: int, outcome: str, sent: Sent) -> bool:
    """Whether an acceptable outcome of a question was sent, of a document with an acceptable section."""
    if outcome not in sent.outcomes:
        return False
    number = document_of(outcome)
    headings = None if number is None else sent.sections.get(number)
    if number is None or headings is None or not label.sections:
        return True
    acceptable = label.sections[place].get(number)
    return acceptable is not None and bool(headings & acceptable.any_of)


def total(scores: Iterable[Score]) -> Score:
    """Several mails together."""
    columns = zip(*((vars(one).values()) for one in scores), strict=True)
    return Score(*(sum(column) for column in columns))


class Result(NamedTuple):
    """One mail, tried and scored; `confidence` is that of its least sure call that sent something, 0 where none did."""

    label: Label
    tried: Tried
    score: Score

    @property
    def confidence(self) -> float:
        sending = (call.confidence for call in self.tried.trial.calls if call.tool in TOPIC_KINDS)
        return min(sending, default=0.0)

    @property
    def is_right(self) -> bool:
        return bool(self.score.answered) and not self.score.wrong


def evaluate(mails: Iterable[Label], tried: Callable[[Label], Tried]) -> list[Result]:
    """Each mail, tried and scored."""
    results = []
    for label in mails:
        one = tried(label)
        results.append(Result(label, one, score(label, sent_in(one))))
    return results


class Group(Frozen):
    """Mails together; see `Score` for the counts. `right_of_answered` and `answered_of_answerable` are 0..1."""

    name: str
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
    right_of_answered: float
    answered_of_answerable: float
    seconds_median: float
    seconds_95th: float


class Report(Frozen):
    """How the mails came out: all of them, by kind and by language."""

    all: Group
    kinds: tuple[Group, ...]
    languages: tuple[Group, ...]


def report_of(results: Sequence[Result]) -> Report:
    """The totals; there is one mail at least."""
    return Report(
        all=group_of("all", results),
        kinds=_grouped(results, lambda label: label.kind),
        languages=_grouped(results, lambda label: label.language),
    )


def _grouped(results: Sequence[Result], key: Callable[[Label], str]) -> tuple[Group, ...]:
    groups: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        groups[key(result.label)].append(result)
    return tuple(group_of(name, of) for name, of in sorted(groups.items()))


def group_of(name: str, results: Sequence[Result]) -> Group:
    """The totals of some mails, one at least."""
    whole = total(result.score for result in results)
    seconds = sorted(result.tried.trial.seconds for result in results)
    return Group(
        name=name,
        **asdict(whole),
        right_of_answered=whole.right_of_answered,
        answered_of_answerable=whole.answered_of_answerable,
        seconds_median=median(seconds),
        seconds_95th=seconds[ceil(0.95 * len(seconds)) - 1],
    )


def table(report: Report) -> str:
    """The report as people read it."""
    lines = []
    for what, groups in (("kind", report.kinds), ("language", report.languages), ("", (report.all,))):
        lines += [f"{what} {group.name}: {_told(group)}".strip() for group in groups]
    return "\n".join(lines)


def _told(group: Group) -> str:
    right = group.answered - group.wrong
    return (
        f"{group.mails} mails, {group.answered} answered, {right} right ({group.right_of_answered:.2f}; "
        f"{group.wrong_section} wrong by the section alone), {group.right_sections} of {group.documents} documents "
        f"with a right section, {group.answerable_answered} of {group.answerable} answerable answered rightly "
        f"({group.answered_of_answerable:.2f}), {group.questions_right} of {group.questions} questions; "
        f"median {group.seconds_median:.2f} s, 95th percentile {group.seconds_95th:.2f} s"
    )


def line_of(result: Result) -> str:
    """What became of a mail, in a line, for whoever looks into what is wrong or lost."""
    label, sent = result.label, sent_in(result.tried)
    verdict = "WRONG" if result.score.wrong else "right" if result.score.answered else "person"
    beside = f"  sections {sorted(map(sorted, sent.sections.values()))}" if result.score.wrong_section else ""
    got = ", ".join(sent.outcomes) or result.tried.trial.reason
    wanted = "; ".join(" or ".join(outcomes) for outcomes in label.expected)
    return f"{verdict:7}{label.path.name} {label.language} {label.kind}: {got}{beside}  expected {wanted}"
