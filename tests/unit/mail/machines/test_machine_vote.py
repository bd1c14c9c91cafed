"""The fitted vote on what machines write: what it may do to a screening, and what it reads."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from pydantic import ValidationError

from support_agent.config.embedding import MULTILINGUAL
from support_agent.config.screening import ScreeningSettings
from support_agent.mail.machines.machine_vote import (
    MACHINE_RULE,
    MAYBE_MACHINE_RULE,
    MachineVote,
    MachineWeights,
    committed,
    features,
    layout,
    open_vote,
)
from support_agent.mail.machines.screening import CLOSING_RULE, PERSON_RULE, UNREADABLE_RULE, Screening, Verdict
from support_agent.mail.message import Message, parse
from tests.fakes_journey import write
from tests.unit.facts.words import WordEmbedder

OPEN = Screening(verdict=Verdict.ANSWER, rule=None, why="no rule forbids an automatic answer")
COLUMNS = 4 * WordEmbedder.dimensions + len(layout("", ""))


def vote(score: float, **settings: float) -> MachineVote:
    """A vote that gives every mail this score."""
    weights = MachineWeights(version="test-1", intercept=score, weights=(0.0,) * COLUMNS)
    return MachineVote(WordEmbedder(), weights, ScreeningSettings.model_validate(settings))


def message(text: str = "How do I cancel?") -> Message:
    return parse(write(text))


@pytest.mark.parametrize(
    ("score", "rule", "told"),
    [
        (3.0, MACHINE_RULE, "the mail's wording looks like a machine's: 0.95"),
        (0.5, MAYBE_MACHINE_RULE, "the mail's wording may be a machine's: 0.62"),
    ],
)
def test_what_a_machine_wrote_or_may_have_written_goes_to_the_desk(score: float, rule: str, told: str) -> None:
    """Rule: with the probability and the version of the weights, so that the reason can be read later."""
    assert vote(score).judged(message(), OPEN) == Screening(verdict=Verdict.DESK, rule=rule, why=told, vote="test-1")


def test_a_persons_mail_goes_on() -> None:
    assert vote(-0.1).judged(message(), OPEN) is OPEN


def test_the_thresholds_are_settings() -> None:
    assert vote(0.5, doubtful_from=0.7).judged(message(), OPEN) is OPEN
    assert vote(0.5, sure_from=0.6).judged(message(), OPEN).rule == MACHINE_RULE
    with pytest.raises(ValidationError, match="sure_from is below doubtful_from"):
        ScreeningSettings(doubtful_from=0.9)


@pytest.mark.parametrize(
    "screening",
    [
        Screening(verdict=Verdict.FILE, rule="S2", why="Auto-Submitted: auto-replied"),
        Screening(verdict=Verdict.DROP, rule="S9", why="our own mail"),
        Screening(verdict=Verdict.DESK, rule=UNREADABLE_RULE, why="the mail is encrypted"),
    ],
)
@pytest.mark.parametrize("score", [9.0, -9.0])
def test_what_a_rule_decided_stays_as_it_is(screening: Screening, score: float) -> None:
    """Rule: the vote never brings back a mail that a rule filed or gave to a person."""
    assert vote(score).judged(message(), screening) is screening


@pytest.mark.parametrize("rule", [PERSON_RULE, CLOSING_RULE])
def test_a_machine_is_not_told_either_that_a_person_has_its_mail(rule: str) -> None:
    """The failure's story: a receipt that names a person of the desk was acknowledged, and answered that."""
    screening = Screening(verdict=Verdict.DESK, rule=rule, why="")
    assert vote(9.0).judged(message(), screening).rule == MACHINE_RULE
    assert vote(-9.0).judged(message(), screening) is screening


def test_who_asks_for_a_person_is_told_that_one_has_the_mail_unless_the_vote_is_sure() -> None:
    """In doubt it is a customer, who must not be met with silence."""
    screening = Screening(verdict=Verdict.DESK, rule=PERSON_RULE, why="")
    assert vote(0.5).judged(message(), screening) is screening


def test_a_mail_without_words_is_not_voted_on() -> None:
    assert vote(9.0).judged(message(" \n"), OPEN) is OPEN


def test_without_an_embedder_that_has_weights_there_is_no_vote() -> None:
    """Rule: the rules of screening decide alone then, and where the vote is switched off."""
    use = WordEmbedder()
    assert open_vote({"minilm": use}, ScreeningSettings()) is None
    assert open_vote({"use": use}, ScreeningSettings(machine_vote=False)) is None
    assert open_vote({"minilm": use, "use": use}, ScreeningSettings()) is not None


@pytest.mark.parametrize(("name", "dimensions"), [("use", 512), ("e5", 384)])
def test_the_committed_weights_fit_their_embedder(name: Literal["use", "e5"], dimensions: int) -> None:
    assert set(committed()) == set(MULTILINGUAL)
    assert len(committed()[name].weights) == 4 * dimensions + len(layout("", ""))
    assert committed()[name].version.startswith(name)


def test_the_text_is_embedded_once_with_its_subject_and_its_ends() -> None:
    embedder = WordEmbedder()
    text = "Back on Monday. Until then Jo helps. Urgent? Call Jo."
    row = features(embedder, [("Re: Invoice", text)])
    assert embedder.embedded == ["Re: Invoice", text, "Back on Monday.", "Call Jo."]
    assert row.shape == (1, COLUMNS)


def test_a_mail_has_the_same_features_alone_and_among_others() -> None:
    mails = [("Re: Invoice", "I am away."), ("", ""), ("Ticket [4711]", "x" * 100_000), ("\ud800", "\n\n\0")]
    together = features(WordEmbedder(), mails)
    alone = np.vstack([features(WordEmbedder(), [mail]) for mail in mails])
    assert np.array_equal(together, alone)
    assert np.isfinite(together).all()


def test_layout_needs_no_language() -> None:
    """Rule: numbers, lines and marks speak, words do not."""
    assert layout("Re: abc", "abcd efgh?\n@") == layout("Re: xyz", "мова слів?\n@")
    assert layout("[4711] abc", "abc") != layout("abc", "abc")
