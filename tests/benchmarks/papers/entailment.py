"""`python -m tests.benchmarks.papers.entailment [--part fitting]`: how far the model's yes to an entailment is true.

The pairs are those that the fact room asks the model about: each claim of the constructed cases with the sentences on
its shortlist. The right one is the sentence that the claim was made of; a false claim has none. On the reported
companies the model's probability is measured beside the calibrated one; `--part fitting` fits the two numbers of the
calibration on other companies: `evidence.slope` and `evidence.intercept`. `--slope` and `--intercept` measure numbers
that are not configured yet. The intervals hold 95% of the resamples of the claims; the calibration is worth shipping
where all of the gain's is above 0. Checked by tests/unit/benchmarks/papers/test_entailment.py.
Source: Platt 1999, with his smoothed targets; expected calibration error as in Naeini et al. 2015.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from enum import StrEnum
from itertools import islice
from typing import Annotated, NamedTuple

import numpy as np
import typer
from numpy.typing import NDArray
from scipy.optimize import minimize  # type: ignore[import-untyped]

from support_agent.cli.options import JsonOption, print_data
from support_agent.cli.terminal import as_table
from support_agent.config.facts import EvidenceSettings
from support_agent.core.frozen import Frozen
from support_agent.facts.graph.entailment import QUESTION, calibrated, log_odds
from support_agent.facts.graph.evidence import EvidenceChainer
from support_agent.facts.graph.extraction import RuleExtractor
from support_agent.facts.graph.graph import graph_of
from support_agent.facts.graph.steps import DraftSteps
from support_agent.models.judge import Judge
from support_agent.models.opening import open_embedder
from support_agent.tools.base import Similarity
from tests.benchmarks.companies import demo_settings
from tests.benchmarks.papers.command import open_judge, run
from tests.benchmarks.papers.constructed import FITTING, REPORTED, Constructed, constructed, documents_of
from tests.benchmarks.papers.resamples import middle, resamples
from tests.benchmarks.papers.retrieval import Cosines, KeptEmbedder

CASES = 1_000
"""That the claims are taken from."""
BINS = 10
TINY = 1e-12
Numbers = NDArray[np.float64]


class Part(StrEnum):
    """Which companies' documents."""

    FITTING = "fitting"
    REPORTED = "reported"


class Asked(NamedTuple):
    """A claim with its shortlist, and which of the sentences it was made of."""

    claim: str
    sentences: tuple[str, ...]
    right: tuple[bool, ...]


class Measured(Frozen):
    """How true probabilities are: mean log loss and expected calibration error, each with its interval."""

    name: str
    log_loss: float
    log_loss_range: tuple[float, float]
    error: float
    error_range: tuple[float, float]


class Report(Frozen):
    """How many claims and pairs were asked about, the share of right ones, a row a way, and what it is calibrated by.

    `gain_range` is of how much less the log loss is when it is calibrated.
    """

    part: Part
    claims: int
    pairs: int
    right: float
    rows: tuple[Measured, ...]
    gain_range: tuple[float, float]
    slope: float
    intercept: float


class _Recorder:
    """An `Entailment` that keeps what it is asked, and says that nothing entails anything."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, tuple[str, ...]]] = []

    def entailed(self, sentences: Sequence[str], claim: str) -> tuple[float, ...]:
        """See `Entailment.entailed`."""
        self.asked.append((claim, tuple(sentences)))
        return (0.0,) * len(sentences)


def asked_of(case: Constructed, similarity: Similarity, settings: EvidenceSettings) -> list[Asked]:
    """What the model is asked of the claims of a case; a claim that is cut up by the steps is left out."""
    recorder = _Recorder()
    chainer = EvidenceChainer(
        graph_of([case.source], RuleExtractor()),
        [case.source],
        settings=settings,
        steps=DraftSteps(),
        similarity=similarity,
        entailment=recorder,
    )
    chainer.find(case.question, case.answer, sources={case.source.key})
    texts = [sentence.text for sentence in case.source.sentences]
    gold = {claim.text: None if claim.position is None else texts[claim.position] for claim in case.claims}
    return [
        Asked(claim, sentences, tuple(one == gold[claim] for one in sentences))
        for claim, sentences in recorder.asked
        if claim in gold
    ]


def probabilities_of(asked: Sequence[Asked], judge: Judge) -> list[tuple[float, ...]]:
    """What the model says of each sentence, not calibrated; it raises where the model fails."""
    return [
        tuple(judge.yes(QUESTION, (("claim", claim), ("sentence", one))).probability for one in sentences)
        for claim, sentences, _ in asked
    ]


def fitted(probabilities: Numbers, right: NDArray[np.bool_]) -> tuple[float, float]:
    """Slope and intercept with the least log loss, to three digits."""
    n_right, n_wrong = int(right.sum()), int((~right).sum())
    targets = np.where(right, (n_right + 1) / (n_right + 2), 1 / (n_wrong + 2))
    odds = np.array([log_odds(one) for one in probabilities])

    def loss(numbers: Numbers) -> float:
        said = numbers[0] * odds + numbers[1]
        return float((np.logaddexp(0, said) - targets * said).mean())

    slope, intercept = minimize(loss, np.array([1.0, 0.0]), method="L-BFGS-B").x
    return round(float(slope), 3), round(float(intercept), 3)


def measured(name: str, probabilities: Sequence[Sequence[float]], asked: Sequence[Asked], seed: int) -> Measured:
    """The measures of probabilities, one a sentence of each claim."""
    said = [np.array(one) for one in probabilities]
    right = [np.array(one.right) for one in asked]

    def over(chosen: Sequence[int], measure: Callable[[Numbers, NDArray[np.bool_]], float]) -> float:
        return measure(np.concatenate([said[n] for n in chosen]), np.concatenate([right[n] for n in chosen]))

    def between(measure: Callable[[Numbers, NDArray[np.bool_]], float]) -> tuple[float, float]:
        return middle(np.array([over(list(draw), measure) for draw in resamples(len(said), seed)]))

    everything = range(len(said))
    return Measured(
        name=name,
        log_loss=over(everything, log_loss),
        log_loss_range=between(log_loss),
        error=over(everything, calibration_error),
        error_range=between(calibration_error),
    )


def gain_range(
    before: Sequence[Sequence[float]], after: Sequence[Sequence[float]], asked: Sequence[Asked], seed: int
) -> tuple[float, float]:
    """How much less the log loss is, on the same resamples of the claims."""
    right = [np.array(one.right) for one in asked]
    lost = [
        [log_loss(np.array(said), is_so) for said, is_so in zip(way, right, strict=True)] for way in (before, after)
    ]
    sizes = np.array([len(one) for one in right])
    gains, draws = (np.array(lost[0]) - np.array(lost[1])) * sizes, resamples(len(asked), seed)
    return middle(gains[draws].sum(axis=1) / sizes[draws].sum(axis=1))


def log_loss(probabilities: Numbers, right: NDArray[np.bool_]) -> float:
    """The mean of -log P of what is so."""
    return float(-np.log(np.clip(np.where(right, probabilities, 1 - probabilities), TINY, 1.0)).mean())


def calibration_error(probabilities: Numbers, right: NDArray[np.bool_]) -> float:
    """The mean difference between probability and share of right ones, in ten bins of equal width."""
    bins = np.minimum((probabilities * BINS).astype(int), BINS - 1)
    gaps = [abs(float((probabilities[bins == n] - right[bins == n]).sum())) for n in range(BINS)]
    return sum(gaps) / len(probabilities)


def report_of(
    part: Part,
    asked: Sequence[Asked],
    probabilities: Sequence[tuple[float, ...]],
    settings: EvidenceSettings,
    seed: int,
) -> Report:
    """Measure the probabilities as they are, as configured, and (where it is allowed) as fitted to these claims."""
    right = np.concatenate([one.right for one in asked])
    slope, intercept = settings.slope, settings.intercept
    name = "Calibrated, as configured"
    if part is Part.FITTING:
        slope, intercept = fitted(np.concatenate(probabilities), right)
        name = "Calibrated, as fitted here"
    changed = [[calibrated(one, slope, intercept) for one in row] for row in probabilities]
    rows = (
        measured("As the model says it", probabilities, asked, seed),
        measured(name, changed, asked, seed),
    )
    return Report(
        part=part,
        claims=len(asked),
        pairs=len(right),
        right=float(right.mean()),
        rows=rows,
        gain_range=gain_range(probabilities, changed, asked, seed),
        slope=slope,
        intercept=intercept,
    )


def table(report: Report) -> str:
    """The report as lines of text."""
    rows: list[tuple[str, ...]] = [("", "LOG LOSS", "95%", "CALIBRATION ERROR", "95%")]
    rows += [
        (row.name, f"{row.log_loss:.3f}", _range(row.log_loss_range), f"{row.error:.3f}", _range(row.error_range))
        for row in report.rows
    ]
    head = (
        f"Entailment, {report.part.value} companies: {report.claims} claims, {report.pairs} pairs, "
        f"{report.right:.1%} right; slope {report.slope}, intercept {report.intercept}"
    )
    return f"{head}\n\n{as_table(rows)}\n\nLog loss less when calibrated, 95%: {_range(report.gain_range)}"


def _range(bounds: tuple[float, float]) -> str:
    return f"{bounds[0]:.3f} to {bounds[1]:.3f}"


def main(
    part: Annotated[Part, typer.Option(help="Whose documents: those that are reported, or fitted to.")] = Part.REPORTED,
    claims: Annotated[int, typer.Option(min=2, help="Claims that the model is asked about.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Of the cases, the claims and the resamples.")] = 1,
    slope: Annotated[float | None, typer.Option(help="In the place of evidence.slope.")] = None,
    intercept: Annotated[float | None, typer.Option(help="In the place of evidence.intercept.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Ask the model which sentences entail the claims of constructed cases, and measure how true its yes is."""
    with demo_settings() as settings:
        similarity = Cosines(KeptEmbedder(open_embedder(settings)))
        names = FITTING if part is Part.FITTING else REPORTED
        cases = list(constructed(documents_of(names, settings), CASES, seed))
        random.Random(seed).shuffle(cases)
        asked = list(islice((one for case in cases for one in asked_of(case, similarity, settings.evidence)), claims))
        with open_judge(settings) as judge:
            probabilities = probabilities_of(asked, judge)
        wanted = {"slope": slope, "intercept": intercept}
        changes = {key: value for key, value in wanted.items() if value is not None}
        report = report_of(part, asked, probabilities, settings.evidence.model_copy(update=changes), seed)
    print_data(report, as_json, table(report))


if __name__ == "__main__":
    run(main, "entailment")
