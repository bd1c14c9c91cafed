"""The report of a backtest: frozen figures, and the assumptions behind them. It holds customers' words.

The share of right answers is not known where a person answered in own words, so it has two values: `least` counts those
as wrong, `most` leaves them out. The interval goes from the lower bound of the first to the upper bound of the second;
each bound holds with 95 % certainty (Clopper-Pearson). Checked by tests/unit/ops/backtest/test_report.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from statistics import median

from support_agent.config.backtest import PROVEN_BY_MAIL, BacktestSettings
from support_agent.core.frozen import Frozen
from support_agent.core.modes import document_key
from support_agent.ops.backtest import documents
from support_agent.ops.backtest.clusters import Cluster, clusters_of
from support_agent.ops.backtest.contradictions import Contradiction, together
from support_agent.ops.backtest.results import PastResult
from support_agent.ops.backtest.running import Bench, Past
from support_agent.ops.evals.measures import bounds
from support_agent.store.desk_records import LabelOutcome
from support_agent.tools.ending import Reason

THRESHOLDS = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
UNCOVERED = frozenset({Reason.NOT_COVERED, Reason.UNSURE, Reason.BESIDE, Reason.NO_EVIDENCE})
"""Reasons for which another document could have answered."""
SECONDS_A_DAY = 86_400
DAYS_A_MONTH = 30.4


class Precision(Frozen):
    """Of answers with documents: how many a person's answer agrees with; see the module.

    `sent` counts the mails that would be answered, values of accounts included, which nothing can judge later.
    """

    sent: int
    same: int
    other: int
    own_words: int

    @property
    def judged(self) -> int:
        """Answers that a person answered with documents, too."""
        return self.same + self.other

    @property
    def least(self) -> float | None:
        """0..1; answers in own words count as wrong."""
        return self.same / (self.judged + self.own_words) if self.judged + self.own_words else None

    @property
    def most(self) -> float | None:
        """0..1; answers in own words are left out."""
        return self.same / self.judged if self.judged else None

    @property
    def low(self) -> float:
        """The lower bound of `least`."""
        count = self.judged + self.own_words
        return 1.0 - bounds(count - self.same, count)[1] if count else 0.0

    @property
    def high(self) -> float:
        """The upper bound of `most`."""
        return 1.0 - bounds(self.other, self.judged)[0] if self.judged else 1.0


class AtThreshold(Frozen):
    """What would be sent if this confidence were needed. `share`: of all questions, 0..1."""

    threshold: float
    share: float
    precision: Precision


class Topic(Frozen):
    """A topic, "document:6" or "field:plan": as it is configured now, and with other thresholds."""

    key: str
    title: str
    precision: Precision
    thresholds: tuple[AtThreshold, ...]


class MailCount(Frozen):
    """How many mails have something in common, and how many of them would be answered."""

    name: str
    mails: int
    answered: int = 0


class Savings(Frozen):
    """Minutes of people a month, at `least` and at `most` of the precision."""

    answers_a_month: float
    minutes_a_month_least: float
    minutes_a_month_most: float


class BacktestReport(Frozen):
    """What today's agent would have done with past mail. Shares are 0..1 of `questions`.

    `questions` are those that people wrote and that opened a thread; `automatic` ones are counted by rule, apart.
    """

    made_at: datetime
    first_at: datetime | None
    last_at: datetime | None
    mails: int
    unreadable: int
    too_many: int
    questions: int
    follow_ups: int
    people_answered: int
    median_wait_s: float | None
    answered: int
    answered_share: float
    precision: Precision
    thresholds: tuple[AtThreshold, ...]
    topics: tuple[Topic, ...]
    reasons: tuple[MailCount, ...]
    missed: tuple[documents.Missed, ...]
    clusters: tuple[Cluster, ...]
    dead: tuple[MailCount, ...]
    overlaps: tuple[documents.Overlap, ...]
    contradictions: tuple[Contradiction, ...]
    languages: tuple[MailCount, ...]
    automatic: tuple[MailCount, ...]
    savings: Savings
    assumptions: tuple[str, ...]


def report_of(past: Past, bench: Bench, made_at: datetime) -> BacktestReport:
    """Put the figures together."""
    settings, results = bench.settings.backtest, past.results
    asked = [one for one in results if not one.is_automatic]
    answered = [one for one in asked if one.outcome == "answer"]
    uncovered = [one for one in asked if one.reason in UNCOVERED and one.outcome != "answer" and not one.answered_with]
    titles = {int(one.number): one.head.title for one in bench.company.documents}
    waits = [one.waited_s for one in asked if one.waited_s is not None]
    instants = [one.at for one in results]
    precision = _precision((one, one.label_at(0.0)) for one in (one.as_sent() for one in answered))
    vectors = bench.matcher.meaning.vectors([one.text for one in uncovered])
    return BacktestReport(
        made_at=made_at,
        first_at=min(instants, default=None),
        last_at=max(instants, default=None),
        mails=len(past.mails.mails),
        unreadable=past.mails.unreadable,
        too_many=past.mails.too_many,
        questions=len(asked),
        follow_ups=sum(pair.follow_ups for pair in past.pairs),
        people_answered=sum(one.is_answered for one in asked),
        median_wait_s=median(waits) if waits else None,
        answered=len(answered),
        answered_share=len(answered) / max(1, len(asked)),
        precision=precision,
        thresholds=_at_thresholds(asked, len(asked)),
        topics=tuple(_topics(asked, bench)),
        reasons=_counts((one.reason or "unknown", False) for one in asked if one.outcome != "answer"),
        missed=documents.missed(titles, asked),
        clusters=clusters_of(uncovered, vectors, settings.near_questions, settings.fewest_in_cluster, len(asked)),
        dead=tuple(MailCount(name=f"{n}: {titles[n]}", mails=0) for n in documents.dead(titles, results)),
        overlaps=tuple(documents.overlaps(bench.matcher)),
        contradictions=(
            *bench.numbered.between(),
            *together([found for one in asked for found in one.contradictions]),
        ),
        languages=_counts((one.language or "unknown", one.outcome == "answer") for one in asked),
        automatic=_counts((one.rule or "unknown", False) for one in results if one.is_automatic),
        savings=_savings(precision, instants, settings),
        assumptions=tuple(_assumptions(bench, asked)),
    )


def _precision(labelled: Iterable[tuple[PastResult, LabelOutcome]]) -> Precision:
    labels = Counter(label for _, label in labelled)
    return Precision(
        sent=labels.total(),
        same=labels[LabelOutcome.SAME],
        other=labels[LabelOutcome.OTHER_CHOICE],
        own_words=labels[LabelOutcome.OWN_WORDS],
    )


def _at_thresholds(results: Sequence[PastResult], asked: int) -> tuple[AtThreshold, ...]:
    found = []
    for threshold in THRESHOLDS:
        sent = [(one, one.label_at(threshold)) for one in results if one.sent_at(threshold)]
        found.append(AtThreshold(threshold=threshold, share=len(sent) / max(1, asked), precision=_precision(sent)))
    return tuple(found)


def _topics(asked: Sequence[PastResult], bench: Bench) -> Iterable[Topic]:
    """Each topic that is sent, or would be with a lower threshold, the most frequent first."""
    titles = {document_key(one.number): one.head.title for one in bench.company.documents}
    keys = Counter(choice.topic for one in asked for choice in one.sent_at(0.0))
    for key, _ in keys.most_common():
        own = [_only(one, key) for one in asked if any(choice.topic == key for choice in one.choices)]
        sent = [one for one in (each.as_sent() for each in own) if one.choices]
        yield Topic(
            key=key,
            title=titles.get(key, key.partition(":")[2]),
            precision=_precision((one, one.label_at(0.0)) for one in sent),
            thresholds=_at_thresholds(own, len(asked)),
        )


def _only(result: PastResult, topic: str) -> PastResult:
    return result.model_copy(update={"choices": tuple(one for one in result.choices if one.topic == topic)})


def _counts(named: Iterable[tuple[str, bool]]) -> tuple[MailCount, ...]:
    """Mails by name, the most first."""
    mails, answered = Counter[str](), Counter[str]()
    for name, is_answered in named:
        mails[name] += 1
        answered[name] += is_answered
    return tuple(MailCount(name=name, mails=count, answered=answered[name]) for name, count in mails.most_common())


def _savings(precision: Precision, instants: Sequence[datetime], settings: BacktestSettings) -> Savings:
    days = max(1.0, (max(instants) - min(instants)).total_seconds() / SECONDS_A_DAY) if instants else 1.0
    answers = precision.sent / days * DAYS_A_MONTH

    def minutes(share: float | None) -> float:
        right = 0.0 if share is None else share
        return answers * (right * settings.minutes_per_answer - (1 - right) * settings.minutes_per_wrong_answer)

    least, most = minutes(precision.least), minutes(precision.most)
    return Savings(answers_a_month=answers, minutes_a_month_least=least, minutes_a_month_most=most)


def _assumptions(bench: Bench, asked: Sequence[PastResult]) -> Iterable[str]:
    """What the figures rest on, for the reader."""
    is_asked = bench.settings.planner.model_votes != "never"
    failed = sum(one.reason == Reason.MODEL_FAILED for one in asked)
    if failed and not is_asked:
        yield f"{failed} of {len(asked)} questions cannot be decided without the language model, so people got them."
    elif failed:
        yield (
            f"In {failed} of {len(asked)} questions the language model failed or took longer than model.timeout_s, so "
            "people got them. If the machine was busy, run the same command again: it decides these, and no others."
        )
    if not any(one.is_answered for one in asked):
        yield "No answer of your people was found, so nothing could be judged: name their addresses with --own."
    settings = bench.settings.backtest
    if bench.level is None:
        yield "Each sender is taken for proven: level 2, and 3 where the accounts know the address."
    elif bench.level == PROVEN_BY_MAIL:
        yield "Each sender has the level that the mail proves."
    else:
        yield f"Every sender has level {bench.level}."
    if not is_asked:
        yield "The language model was not asked; with it other mails are answered."
    yield "Each mail is decided on its own day, with the documents that are valid today and today's values of accounts."
    yield "Only the mail that opens a thread is decided; people are expected to answer its follow-ups."
    yield (
        "A person's answer shows that a document was right if sentences of both mean the same (cosine "
        f"{settings.shared_meaning:g}). Of an answer in own words nothing can be said: `least` counts it as wrong, "
        "`most` leaves it out. Sent values of accounts are not judged."
    )
    yield "Below the threshold that is configured, a document counts as sent whole: its sections were not chosen."
    yield (
        "Contradictions are differing numbers in sentences that mean nearly the same. Others, in words, in tables or "
        "over several sentences, are not found."
    )
    yield (
        f"A person needs {settings.minutes_per_answer:g} minutes for an answer and "
        f"{settings.minutes_per_wrong_answer:g} to make up for a wrong one (backtest.minutes_per_answer, "
        "backtest.minutes_per_wrong_answer); nobody measured that."
    )
