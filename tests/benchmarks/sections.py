"""`python -m tests.benchmarks.sections [--fit]`: how often the right section is found, its document given.

The questions are those of labelled mails that a document answers: the demo's tuning mails and made-up companies, each
company weighed by the fit to the others; then, by the weights that ship, what is only reported: two more companies and
the demo's labelled mails. `--fit` writes the weights, `support_agent/facts/sections.json`. Printed is for how many
questions the likeliest section is right, for how many one of those that would be sent, how many these are, and how many
are right where they are sure enough.

The language model's pick by heading was tried beside the vote and changed nothing: where at most three were sent 160
of 183 were right with it and 158 without, of those only reported 91 of 102 and 92.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import softmax  # type: ignore[import-untyped]

from support_agent.company.documents import Document
from support_agent.config.settings import PlannerSettings, Settings
from support_agent.facts.search import CompanySearch
from support_agent.facts.sections import FEATURES, WEIGHTS_FILE, SectionWeights, committed
from support_agent.mail.message import parse
from support_agent.ops.evals.mail_labels import Sections
from support_agent.planner.questions import questions_of
from support_agent.tools.excerpts import ChosenSections, choose_sections, positions_of
from tests.benchmarks.companies import FITTED, demo_settings, mails_of, open_company, search_of
from tests.benchmarks.logit import Floats, Listed, fitted
from tests.labelled import labels

DEMO = {"tuning": "demo", "labelled": "demo"}
"""The company of the sets that are no company's."""
FITTED_TO = ("tuning", *FITTED)
REPORTED = ("labelled", "rail", "insurer")
WEIGHTS = Path(__file__).parents[2] / "support_agent" / "facts" / WEIGHTS_FILE
DEFAULT = "e5+minilm+use"
VERSIONS = {DEFAULT: "section-5", "minilm+use": "section-3"}
"""By the names of the embedders; changes with their weights."""
RIDGE = 0.1
LEAST = PlannerSettings().threshold_section


class Asked(NamedTuple):
    """A question, the document that answers it, and what speaks for which of its sections."""

    question: str
    document: Document
    features: Floats
    right: tuple[bool, ...]

    @property
    def listed(self) -> Listed:
        """As the fit wants it."""
        return self.features, np.array(self.right)


def main() -> None:
    """Fit if told to, measure each company by the fit to the others, and report."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.sections")
    parser.add_argument("--fit", action="store_true", help="write the weights")
    args = parser.parse_args()
    with demo_settings() as settings:
        known = {name: list(asked_of(name, settings)) for name in FITTED_TO}
        if args.fit:
            shipped = {names: fit(names, known).model_dump() for names in VERSIONS}
            WEIGHTS.write_text(json.dumps(shipped, indent=1) + "\n", encoding="utf-8")
            committed.cache_clear()
        for name, asked in known.items():
            others = [[one.listed for one in known[other]] for other in known if other != name]
            print(told(name, asked, fitted(others, RIDGE)))  # noqa: T201
        for name in REPORTED:
            print("reported", told(name, list(asked_of(name, settings)), tuple(committed()[DEFAULT].in_order)))  # noqa: T201


def fit(names: str, known: Mapping[str, Sequence[Asked]]) -> SectionWeights:
    """The weights where only these embedders are there: features of others are zero, and so are their weights."""
    there = np.array([name.partition(".")[0] in names for name in FEATURES])
    values = fitted([[(one.features * there, np.array(one.right)) for one in asked] for asked in known.values()], RIDGE)
    return SectionWeights(version=VERSIONS[names], weights=dict(zip(FEATURES, values, strict=True)))


def asked_of(name: str, settings: Settings) -> Iterator[Asked]:
    """The questions of a set that one document answers, as many as its mails' labels have."""
    search = search_of(name, settings)
    with open_company(DEMO.get(name, name), settings) as company:
        documents = company.by_number
        for questions, sections in _labelled(name, search):
            for question, right in zip(questions, sections, strict=True):
                for number, acceptable in right.items():
                    yield _asked(search, documents[number], question, acceptable)


def _labelled(name: str, search: CompanySearch) -> Iterator[tuple[Sequence[str], Sequence[Mapping[int, Sections]]]]:
    """The questions of each mail and, for each, the sections of the documents that answer it."""
    if name in DEMO:
        mails = [(parse(label.path.read_bytes()), label) for label in labels(name)]
        texts = [(message.subject, message.visible_text, label.sections) for message, label in mails]
    else:
        texts = [(mail.subject, mail.text, mail.sections) for mail in mails_of(name) if mail.kind != "machine"]
    for subject, text, sections in texts:
        questions = questions_of(subject, text, search.read)
        if len(sections) == 1:
            questions = (" ".join(questions),)
        if len(questions) == len(sections):
            yield questions, sections


def _asked(search: CompanySearch, document: Document, question: str, acceptable: Sections) -> Asked:
    right = tuple(section[0].heading in acceptable.any_of for section in document.sections)
    return Asked(question, document, search.section_features(question, document), right)


def told(name: str, asked: Sequence[Asked], weights: Sequence[float]) -> str:
    """What the weights are worth on a set; documents of one section are no choice."""
    asked = [one for one in asked if len(one.right) > 1 and any(one.right)]
    chances = [softmax(one.features @ np.array(weights)) for one in asked]
    first = sum(one.right[int(np.argmax(own))] for one, own in zip(asked, chances, strict=True))
    sent = [choose_sections(one.document, own, LEAST) for one, own in zip(asked, chances, strict=True)]
    hits = [_is_right(one, chosen) for one, chosen in zip(asked, sent, strict=True)]
    sure = [hit for hit, chosen in zip(hits, sent, strict=True) if chosen.probability >= LEAST]
    size = sum(len(chosen.places) for chosen in sent) / len(sent)
    return (
        f"{name:<9} {first} of {len(asked)} right at the top, {sum(hits)} among those that are sent ({size:.1f} each), "
        f"{sum(sure)} of the {len(sure)} that are sure"
    )


def _is_right(one: Asked, chosen: ChosenSections) -> bool:
    """Whether a right section is sent, be it one that another refers to."""
    sent = set(positions_of(one.document, chosen))
    sections = zip(one.right, one.document.sections, strict=True)
    return any(is_right and section[0].index in sent for is_right, section in sections)


if __name__ == "__main__":
    main()
