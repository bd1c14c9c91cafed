"""Trials of drafts on past mails: one at a time, in memory, and bounded."""

from __future__ import annotations

from dataclasses import replace
from threading import Event

from support_agent.config.settings import Settings
from support_agent.desk_page.trials import KEPT, Original, Trial, Trials
from support_agent.errors import ConfigError
from support_agent.ops.backtest.running import Bench
from support_agent.ops.publishing import FileDraft, document_place, present
from tests.fakes_documents import bench_on
from tests.fakes_journey import ANNA, JAMES, Office, write
from tests.unit.seen import REFUND

WAIT_S = 60


def draft_of(office: Office, new: str = "A yearly subscription can") -> FileDraft:
    company = office.settings.company
    place = document_place(company, 1, None)
    now = present(company, place)
    return FileDraft(place=place, text=now.text.replace("A yearly plan can", new), base=now.digest)


def start(trials: Trials, office: Office, draft: FileDraft, opened: list[str] | None = None) -> None:
    def bench(settings: Settings, name: str) -> Bench:
        if opened is not None:
            opened.append(name)
        return bench_on(office, settings, name)

    trials.start(draft, office.settings, office.store, bench, office.clock())


def test_the_mails_whose_answer_the_draft_changes_are_listed_with_both(own_office: Office) -> None:
    own_office.handle(write(REFUND, sender=JAMES))
    own_office.handle(write("How do I cancel?", sender=ANNA))
    trials, draft = Trials(), draft_of(own_office)
    start(trials, own_office, draft)
    start(trials, own_office, draft)  # it has begun already
    trial = trials.wait(draft.digest, WAIT_S)
    assert trial is not None
    assert trial.found is not None, trial.problem
    assert (trial.found.mails, len(trial.found.changed)) == (2, 1)
    assert trial.step is not None
    assert (trial.step.done, trial.step.total) == (4, 4)


def test_todays_answers_are_remembered_for_the_next_draft(own_office: Office) -> None:
    own_office.handle(write(REFUND, sender=JAMES))
    trials = Trials()
    for new in ("A yearly subscription can", "A yearly contract can"):
        draft = draft_of(own_office, new)
        start(trials, own_office, draft)
        assert (trial := trials.wait(draft.digest, WAIT_S)) is not None
        assert trial.found is not None
    (remembered,) = trials._before.values()
    assert len(remembered._results) == 1


def test_without_a_mail_or_an_agent_the_trial_says_so(own_office: Office) -> None:
    trials, draft = Trials(), draft_of(own_office)
    start(trials, own_office, draft)
    assert (trial := trials.wait(draft.digest, WAIT_S)) is not None
    assert "no mail of a customer" in trial.problem

    def bench(_settings: Settings, _name: str) -> Bench:
        raise ConfigError("no model")

    own_office.handle(write(REFUND, sender=JAMES))
    other = draft_of(own_office, "Another plan can")
    trials.start(other, own_office.settings, own_office.store, bench, own_office.clock())
    assert (trial := trials.wait(other.digest, WAIT_S)) is not None
    assert trial.problem == "no model"


def test_a_newer_draft_of_the_same_file_ends_the_older_trial(own_office: Office) -> None:
    own_office.handle(write(REFUND, sender=JAMES))
    trials, goes_on = Trials(), Event()
    older, newer = draft_of(own_office), draft_of(own_office, "Another plan can")

    def slow(settings: Settings, name: str) -> Bench:
        assert goes_on.wait(WAIT_S)
        return bench_on(own_office, settings, name)

    trials.start(older, own_office.settings, own_office.store, slow, own_office.clock())
    trials.start(newer, own_office.settings, own_office.store, slow, own_office.clock())
    assert trials.of(older.digest) is None
    goes_on.set()
    assert (trial := trials.wait(newer.digest, WAIT_S)) is not None
    assert trial.found is not None
    assert trials.of(older.digest) is None


def test_no_more_than_a_few_are_remembered() -> None:
    trials = Trials()
    names = [trials.keep_frame(f"<p>{number}</p>") for number in range(KEPT + 1)]
    assert trials.frame(names[0]) is None
    assert trials.frame(names[-1]) == f"<p>{KEPT}</p>"
    kept = [trials.keep_original(Original(f"{number}.txt", b"x")) for number in range(KEPT + 1)]
    assert trials.original(kept[0]) is None
    assert trials.original(kept[-1]) is not None


def test_a_trial_is_over_when_it_has_found_something_or_failed() -> None:
    assert not Trial("x").is_over
    assert replace(Trial("x"), problem="busy").is_over
