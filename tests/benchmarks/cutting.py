"""`python -m tests.benchmarks.cutting [SET ...] [--fit]`: how many mails are cut into as many questions as they have.

SET: tuning, labelled, a company of `tests/companies`, or a set of `tests/mails/made`; without any, those that may be
developed on. Prints a line a mail that was cut otherwise, then the totals. `--fit` writes the weights first:
`facts/reading.json` from the made sentences of `sentences.toml`, then `planner/questions.json` from the sets that may
be developed on.
"""

from __future__ import annotations

import argparse
import json
import time
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]

from support_agent.config.settings import Settings
from support_agent.facts import reading
from support_agent.facts.reading import ACTS, MARKS, inputs
from support_agent.facts.search import READER, CompanySearch
from support_agent.mail.message import Message, parse
from support_agent.mail.text.attachment_text import asked_text
from support_agent.models.embedders import load_embedders
from support_agent.models.progress import stderr_progress
from support_agent.planner import questions
from support_agent.planner.questions import asking_score, features_of, questions_of
from support_agent.planner.segments import segments_of
from support_agent.tools.base import Search
from tests.benchmarks.companies import COMPANIES, demo_settings, mails_of, read_mails, search_of
from tests.benchmarks.mails import MADE, raw_of
from tests.labelled import labels

DEVELOPMENT = ("tuning", "shop", "utility", "office", "qualifiers_development")
EML_SETS = ("tuning", "labelled")
SENTENCES = Path(__file__).parent / "sentences.toml"
ACT_WEIGHTS = Path(reading.__file__).with_name(reading.WEIGHTS_FILE)
QUESTION_WEIGHTS = Path(questions.__file__).with_name(questions.WEIGHTS_FILE)
INVERSE_RIDGE = 10.0
DIGITS = 3
BY_HAND: Mapping[tuple[str, str], tuple[bool, ...]] = {
    ("tuning", "042-two-doc-and-uncovered"): (True, False),
    ("shop", "050"): (False, True),
    ("utility", "039"): (True, False),
    ("tuning", "027-two-export-then-delete"): (False,),
    ("office", "013"): (False, True),
}
"""Mails of two questions in which more or fewer than two sentences ask: where the second question begins."""


class Cut(NamedTuple):
    """A mail and how many questions it has."""

    name: str
    language: str
    message: Message
    questions: int


def main() -> None:
    """Fit if told to; measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.cutting")
    parser.add_argument("sets", nargs="*", default=DEVELOPMENT)
    parser.add_argument("--fit", action="store_true", help="write the weights first")
    args = parser.parse_args()
    with demo_settings() as settings:
        if args.fit:
            fit_acts(settings)
            fit_questions({name: search_of(name, settings) for name in DEVELOPMENT})
        for name in args.sets:
            measure(name, search_of(name, settings))


def mails_in(name: str) -> Iterator[Cut]:
    """The mails of a set that a person wrote."""
    if name in EML_SETS:
        for label in labels(name):
            yield Cut(label.path.stem, label.language, parse(label.path.read_bytes()), len(label.expected))
        return
    for mail in mails_of(name) if (COMPANIES / name).is_dir() else read_mails(MADE / f"{name}.jsonl"):
        if mail.kind != "machine":
            yield Cut(mail.id, mail.language, parse(raw_of(mail)), len(mail.expected))


def measure(name: str, search: Search) -> None:
    """Cut and print; seconds are those of the processor."""
    right: dict[str, list[bool]] = defaultdict(list)
    seconds = []
    for cut in mails_in(name):
        started = time.process_time()
        found = questions_of(cut.message.subject, asked_text(cut.message), search.read)
        seconds.append(time.process_time() - started)
        is_right = len(found) == cut.questions
        for group in ("all", "one" if cut.questions == 1 else "several", cut.language):
            right[group].append(is_right)
        if not is_right:
            _print(f"  {name} {cut.name} {cut.language}: {len(found)} for {cut.questions}: {' || '.join(found)}")
    groups = ", ".join(f"{group} {sum(of)} of {len(of)}" for group, of in right.items())
    seconds.sort()
    median, most = seconds[len(seconds) // 2], seconds[int(len(seconds) * 0.95)]
    _print(f"{name}: {groups}; median {1000 * median:.0f} ms, 95th {1000 * most:.0f} ms")


def sentences() -> list[tuple[str, str]]:
    """Act and text; a question stands twice, with its mark and without."""
    read: Mapping[str, Mapping[str, Sequence[str]]] = tomllib.loads(SENTENCES.read_text(encoding="utf-8"))
    rows = [(act, text) for acts in read.values() for act in ACTS for text in acts[act]]
    return rows + [(act, text.strip(f"{MARKS}¿ ")) for act, text in rows if text.endswith("?")]


def fit_acts(settings: Settings) -> None:
    """Write the weights of the vote on what a piece of a mail does."""
    models = [model.value for model in settings.embedding.models]
    embedder = dict(zip(models, load_embedders(settings, stderr_progress()), strict=True))[READER]
    texts = [text for _, text in sentences()]
    right = [ACTS.index(act) for act, _ in sentences()]
    model = LogisticRegression(C=INVERSE_RIDGE, max_iter=5000, fit_intercept=False)
    model.fit(inputs(texts, embedder.embed(texts, "query")), right)
    weights = np.round(model.coef_, DIGITS).tolist()
    ACT_WEIGHTS.write_text(json.dumps({READER: weights}, separators=(",", ":")) + "\n", encoding="utf-8")
    reading.committed.cache_clear()


def fit_questions(searches: Mapping[str, CompanySearch]) -> None:
    """Write the weights of the vote on whether two sentences that ask are two questions."""
    rows, right = [], []
    for name, search in searches.items():
        for cut in mails_in(name):
            for features, are_two in _pairs(name, cut, search):
                rows.append(features)
                right.append(are_two)
    names = list(rows[0])
    model = LogisticRegression(C=INVERSE_RIDGE, max_iter=9000).fit(
        [[row[name] for name in names] for row in rows], right
    )
    fitted = dict(zip(names, map(float, model.coef_[0]), strict=True)) | {"bias": float(model.intercept_[0])}
    rounded = {name: round(value, DIGITS) for name, value in fitted.items()}
    QUESTION_WEIGHTS.write_text(json.dumps(rounded, indent=1) + "\n", encoding="utf-8")
    questions.committed.cache_clear()


def _pairs(name: str, cut: Cut, search: CompanySearch) -> Iterator[tuple[dict[str, float], bool]]:
    """Sentences that ask, the surest one before and the next one, and whether a question begins with the next."""
    asked = [piece for piece in segments_of(asked_text(cut.message), search.read) if piece.asks]
    known = BY_HAND.get((name, cut.name))
    if known is None:
        known = (cut.questions > 1,) * (len(asked) - 1) if cut.questions == 1 or len(asked) == cut.questions else ()
    before = asked[0] if asked else None
    for piece, are_two in zip(asked[1:], known, strict=False):
        assert before is not None
        if not piece.is_item:
            yield features_of(before, piece), are_two
        before = piece if are_two or piece.is_item else max(before, piece, key=asking_score)


def _print(line: str) -> None:
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
