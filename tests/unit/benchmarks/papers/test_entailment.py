"""How true probabilities are: worked out by hand, and fitted to what is known."""

from __future__ import annotations

import numpy as np
import pytest

from support_agent.company.documents import load_documents
from support_agent.config.facts import EvidenceSettings
from support_agent.config.packaged_files import packaged
from support_agent.facts.graph.entailment import calibrated
from tests.benchmarks.papers.constructed import constructed
from tests.benchmarks.papers.entailment import (
    Asked,
    Part,
    asked_of,
    calibration_error,
    fitted,
    log_loss,
    probabilities_of,
    report_of,
    table,
)
from tests.unit.facts.graph.fakes import WordJudge, WordSimilarity

ASKED = [Asked("a", ("yes it is", "no"), (True, False)), Asked("b", ("no", "nor that"), (False, False))]


def test_measures_by_hand() -> None:
    """Rule: log loss is the mean of -log P of what is so; the error is weighed by the pairs in a bin."""
    said, right = np.array([0.5, 0.5, 0.95, 1.0]), np.array([True, False, True, False])
    assert log_loss(said[:3], right[:3]) == pytest.approx((2 * np.log(2) - np.log(0.95)) / 3)
    assert log_loss(said, right) < 10
    assert calibration_error(said, right) == pytest.approx((0.0 + abs(1.95 - 1)) / 4)


def test_a_fit_finds_how_far_the_model_leans() -> None:
    """Rule: probabilities that are drawn by other odds are put right."""
    chance = np.random.default_rng(1)
    said = chance.uniform(0.02, 0.98, size=4_000)
    right = chance.random(4_000) < np.array([calibrated(one, 0.5, -2.0) for one in said])
    assert fitted(said, right) == pytest.approx((0.5, -2.0), abs=0.15)


def test_the_pairs_are_those_that_the_room_asks_about() -> None:
    """Rule: each claim with its shortlist; the sentence it was made of is the right one, and a false claim has none."""
    case = next(
        case
        for case in constructed(load_documents(packaged("policies")), 50, 1)
        if any(claim.position is None for claim in case.claims)
    )
    asked = asked_of(case, WordSimilarity(), EvidenceSettings(shortlist=4))
    assert [one.claim for one in asked] == [claim.text for claim in case.claims]
    for one, claim in zip(asked, case.claims, strict=True):
        assert len(one.sentences) == len(one.right) == 4
        right = [sentence for sentence, is_right in zip(one.sentences, one.right, strict=True) if is_right]
        assert right == ([] if claim.position is None else [case.source.sentences[claim.position].text])


def test_only_the_fitting_part_is_fitted() -> None:
    """Rule: on the reported companies the configured numbers are measured, whatever would be better."""
    settings = EvidenceSettings(slope=0.7, intercept=-1.5)
    said = probabilities_of(ASKED, WordJudge("yes"))
    assert said == [(0.9, 0.1), (0.1, 0.1)]
    reported = report_of(Part.REPORTED, ASKED, said, settings, seed=1)
    assert (reported.slope, reported.intercept) == (0.7, -1.5)
    fitting = report_of(Part.FITTING, ASKED, said, settings, seed=1)
    assert (fitting.slope, fitting.intercept) != (0.7, -1.5)
    assert (reported.claims, reported.pairs, reported.right) == (2, 4, 0.25)
    plain = reported.rows[0]
    assert plain.log_loss == pytest.approx(-np.log(0.9))
    assert plain.error == pytest.approx(0.1)
    assert plain.log_loss_range[0] <= plain.log_loss <= plain.log_loss_range[1]
    other = report_of(Part.REPORTED, ASKED, said, EvidenceSettings(slope=1.0, intercept=0.0), seed=1)
    assert other.gain_range == pytest.approx((0.0, 0.0))
    assert reported.gain_range[0] <= plain.log_loss - reported.rows[1].log_loss <= reported.gain_range[1]
    assert table(reported).splitlines()[0].startswith("Entailment, reported companies: 2 claims, 4 pairs, 25.0% right")
