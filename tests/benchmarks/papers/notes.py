"""`python -m tests.benchmarks.papers.notes`: how well the hallucination grader tells true notes from false ones.

A draft that is true and refused loses an answerable question; one that is false and passes is worse. Each of sixteen
sections of three companies has a true note and a false one, most of whose numbers stand in the section too, so that no
rule finds them. Each is graded with its section and the next one as passages, in each of `FORMS`: `now` is the
product's. Told are the AUROC with a 95 % interval (bootstrap of the sections, seed 1), and how many true notes have a
grade above that of every false one. Checked by tests/unit/benchmarks/papers/test_notes.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pydantic import Field
from sklearn.metrics import roc_auc_score  # type: ignore[import-untyped]

from support_agent.cli.options import ConfigOption, JsonOption, print_data
from support_agent.cli.terminal import as_table
from support_agent.company.documents import load_documents
from support_agent.config.toml_file import read_toml
from support_agent.core.frozen import Frozen
from support_agent.facts.chunks import cut, document_source, in_characters
from support_agent.facts.grading_words import HALLUCINATION_ASK, NOTE, PASSAGE, QUESTION
from support_agent.facts.material import named
from support_agent.models.judge import Judge
from tests.benchmarks.companies import COMPANIES
from tests.benchmarks.papers.command import open_judge, quiet_settings, run

FILE = Path(__file__).with_suffix(".toml")
WHOLE_SECTION = 10_000
SAMPLES = 1_000
ONE_ASK = "According to the passage, is the note true?"
ANSWER_ASK = "According to the passages, does the note answer the question rightly?"


class Labelled(Frozen):
    """A section, a question to it, a note that it bears out, and one that it does not."""

    company: str
    document: int
    heading: str
    question: str
    true: str
    false: str


class _File(Frozen):
    notes: tuple[Labelled, ...] = Field(min_length=1)


class Case(NamedTuple):
    """What a grade is of; the first passage is the one that counts."""

    passages: Sequence[str]
    question: str
    note: str


Form = Callable[[Judge, Case], float]


def _now(judge: Judge, case: Case) -> float:
    return judge.yes(HALLUCINATION_ASK, [*named(case.passages), (NOTE, case.note)]).probability


def _best(judge: Judge, case: Case) -> float:
    """Each passage by itself: the surest counts."""
    return max(judge.yes(ONE_ASK, [(PASSAGE, one), (NOTE, case.note)]).probability for one in case.passages)


def _raised(judge: Judge, case: Case) -> float:
    """How far the passages raise what is said of the note without any."""
    return _log_odds(_now(judge, case)) - _log_odds(_now(judge, case._replace(passages=[""])))


def _to_question(judge: Judge, case: Case) -> float:
    material = [*named(case.passages), (QUESTION, case.question), (NOTE, case.note)]
    return judge.yes(ANSWER_ASK, material).probability


def _log_odds(probability: float) -> float:
    bounded = min(max(probability, 1e-6), 1 - 1e-6)
    return math.log(bounded / (1 - bounded))


FORMS: Mapping[str, Form] = {"now": _now, "best": _best, "raised": _raised, "question": _to_question}


class FormRow(Frozen):
    """One form: how well its scores part the notes; `passed` true notes lie above every false one."""

    form: str
    auroc: float
    low: float
    high: float
    passed: int
    notes: int
    highest_false: float


def load_notes(path: Path = FILE) -> tuple[Labelled, ...]:
    """The labelled notes, those of the command by default."""
    return _File.model_validate(read_toml(path).data).notes


def passages_of(labelled: Labelled) -> list[str]:
    """The section of a note, then the next of its document (or the one before), as the grader is shown them."""
    documents = {int(one.number): one for one in load_documents(COMPANIES / labelled.company / "policies")}
    chunks = cut(document_source(documents[labelled.document]), in_characters(WHOLE_SECTION, 0))
    place = [chunk.heading for chunk in chunks].index(labelled.heading)
    other = chunks[place + 1 if place + 1 < len(chunks) else place - 1]
    return [f"{chunk.heading}. {chunk.text}" for chunk in (chunks[place], other)]


def evaluate(notes: Sequence[Labelled], judge: Judge, forms: Mapping[str, Form] = FORMS) -> tuple[FormRow, ...]:
    """A row a form; 2 notes or more."""
    cases = [
        [Case(passages, one.question, note) for note in (one.true, one.false)]
        for one, passages in ((one, passages_of(one)) for one in notes)
    ]
    return tuple(
        _row(name, np.array([[form(judge, case) for case in pair] for pair in cases])) for name, form in forms.items()
    )


def _row(name: str, scores: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> FormRow:
    random = np.random.default_rng(1)
    drawn = [_auroc(scores[random.integers(0, len(scores), len(scores))]) for _ in range(SAMPLES)]
    low, high = np.quantile(drawn, [0.025, 0.975])
    highest = float(scores[:, 1].max())
    passed = int((scores[:, 0] > highest).sum())
    return FormRow(
        form=name, auroc=_auroc(scores), low=low, high=high, passed=passed, notes=len(scores), highest_false=highest
    )


def _auroc(scores: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> float:
    return float(roc_auc_score([True] * len(scores) + [False] * len(scores), [*scores[:, 0], *scores[:, 1]]))


def table(rows: Sequence[FormRow]) -> str:
    """A line a form."""
    lines: list[tuple[str, ...]] = [("FORM", "AUROC", "95 %", "TRUE ABOVE EVERY FALSE", "HIGHEST FALSE")]
    for row in rows:
        passed = f"{row.passed} of {row.notes}"
        lines.append(
            (row.form, f"{row.auroc:.2f}", f"{row.low:.2f} to {row.high:.2f}", passed, f"{row.highest_false:.2f}")
        )
    return as_table(lines)


class Report(Frozen):
    """The rows of all forms."""

    rows: tuple[FormRow, ...]


def main(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Grade notes that are true and notes that are not, in each form of the grader's question."""
    with open_judge(quiet_settings(config)) as judge:
        rows = evaluate(load_notes(), judge)
    print_data(Report(rows=rows), as_json, table(rows))


if __name__ == "__main__":
    run(main, "notes")
