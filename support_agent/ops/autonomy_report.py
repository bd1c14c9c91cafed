"""What `support-agent autonomy` shows of each item: its mode, and why it has it; and how it is set by hand.

Invariant: only what the company has can be given a mode, and showing changes nothing. Checked by
tests/unit/cli/test_autonomy.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from support_agent.answer.final_answer import FinalAnswer
from support_agent.cases.autonomy import Autonomy, Standing
from support_agent.company.company import Company
from support_agent.config.settings import Settings
from support_agent.core.findings import nearest
from support_agent.core.frozen import Frozen
from support_agent.core.modes import Mode
from support_agent.errors import ConfigError
from support_agent.facts.topics import topics_of
from support_agent.store.desk_records import Label, LabelOutcome, LabelSource, ModeSource
from support_agent.store.records import CaseId, DeliverySource, OutgoingKind
from support_agent.store.store import Store

OPERATOR = DeliverySource.OPERATOR.value
OUTCOMES = {
    "same": LabelOutcome.SAME,
    "own-words": LabelOutcome.OWN_WORDS,
    "nothing": LabelOutcome.NOTHING,
}
"""What a person may say of an answer, besides the item that was right."""


class ItemAutonomy(Frozen):
    """One item: its mode, and who or what gave it that mode. `title` is "" if the company does not have it any more.

    `right` of the last `judged` decisions were right; `lower_bound` is the bound on the precision. `earned` is the mode
    that the rule gives it now, and `earned_why` says why that one.
    """

    key: str
    title: str
    mode: Mode
    why: str
    judged: int
    right: int
    lower_bound: float
    earned: Mode
    earned_why: str


def titles_of(company: Company) -> dict[str, str]:
    """What has a mode, with its title: each document, field, series, kind of records and canned question."""
    topics = {topic.key: topic.title for topic in topics_of(company)}
    return topics | {f"question:{question.number}": question.about for question in company.questions}


def report(store: Store, settings: Settings, titles: Mapping[str, str]) -> tuple[ItemAutonomy, ...]:
    """Each item of the company, then items that only the store knows.

    Args:
        titles: From `titles_of`.
    """
    keys = dict.fromkeys([*titles, *store.modes.valid()])
    standings = Autonomy(store, settings.autonomy).standings(tuple(keys))
    return tuple(_item(standing, titles.get(standing.item.key, "")) for standing in standings)


def _item(standing: Standing, title: str) -> ItemAutonomy:
    item, record, earned = standing
    return ItemAutonomy(
        key=item.key,
        title=title,
        mode=item.mode,
        why=item.why,
        judged=record.judged,
        right=record.right,
        lower_bound=round(record.lower_bound, 4),
        earned=earned.mode,
        earned_why=earned.why,
    )


def apply(store: Store, settings: Settings, titles: Mapping[str, str], now: datetime) -> tuple[str, ...]:
    """Give each item the mode that it has earned; return the keys of those that changed."""
    autonomy = Autonomy(store, settings.autonomy)
    changing = [item.key for item in report(store, settings, titles) if item.earned is not item.mode]
    for key in changing:
        autonomy.raise_earned(key, now)
    return tuple(changing)


def label_by_hand(
    store: Store, settings: Settings, titles: Mapping[str, str], case_id: str, done: str, now: datetime
) -> Label:
    """Judge the last answer of a case, sent or not: what a person found that should have been done.

    Args:
        titles: From `titles_of`.
        done: same, own-words, nothing, or the item that was right ("document:3").
    Raises:
        ConfigError: the case has no answer, or `done` is none of these.
    """
    found = store.deliveries.in_case(CaseId(case_id), OutgoingKind.ANSWER)
    record = store.outbox.rendered_mail(found[-1].mail_id, OutgoingKind.ANSWER, found[-1].number) if found else None
    if record is None:
        raise ConfigError(f"no answer in case {case_id}: `support-agent cases` lists the cases", code="no_answer")
    if done not in OUTCOMES and done not in titles:
        todo = f"write {', '.join(OUTCOMES)}, or an item that `support-agent autonomy` lists, such as document:3"
        raise ConfigError(f"{done!r} is nothing that a person does with an answer{nearest(done, titles)}: {todo}")
    outcome, choice = OUTCOMES.get(done, LabelOutcome.OTHER_CHOICE), done if done in titles else None
    final, autonomy = FinalAnswer.model_validate(record.payload), Autonomy(store, settings.autonomy)
    return autonomy.judge(record.mail_id, final, outcome, choice, OPERATOR, LabelSource.BY_HAND, now)


def unlabel(store: Store, settings: Settings, case_id: str, now: datetime) -> None:
    """Undo the last label of a case, and what it lowered.

    Raises:
        ConfigError: no mail of the case has a label.
    """
    timeline = store.cases.timeline(CaseId(case_id))
    labelled = [entry.mail.id for entry in (timeline.mails if timeline else ()) if store.labels.of(entry.mail.id)]
    if not labelled or Autonomy(store, settings.autonomy).forget(labelled[-1], OPERATOR, now) is None:
        raise ConfigError(f"no label in case {case_id}: `support-agent show CASE` shows them", code="no_label")


def set_by_hand(store: Store, titles: Mapping[str, str], key: str, mode: Mode, why: str, now: datetime) -> None:
    """Give an item a mode; the rule never raises the item above it.

    Raises:
        ConfigError: the company has no such item.
    """
    if key not in titles:
        todo = "`support-agent autonomy` lists the items"
        raise ConfigError(f"there is no item {key!r}{nearest(key, titles)}: {todo}", code="no_item")
    store.modes.change(key, mode, ModeSource.BY_HAND, OPERATOR, why or "no reason given", now)


def undo(store: Store, key: str, now: datetime) -> None:
    """Undo the last change of an item's mode; the change before it holds again.

    Raises:
        ConfigError: its mode was never changed.
    """
    if store.modes.undo(key, OPERATOR, now) is None:
        raise ConfigError(f"the mode of {key} was not changed: `support-agent autonomy` lists the items")
