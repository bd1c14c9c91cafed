"""`python -m tests.benchmarks.sections [--fit] [--ask]`: how often the right section is found, its document given.

The questions are those of labelled mails that a document answers: the demo's tuning mails and three made-up companies,
each company weighed by the fit to the others; then, by the weights that ship, what is only reported: two more companies
and the demo's labelled mails. `--fit` writes the weights, `support_agent/facts/sections.json`, and prints those of the
language model's pick, which stand in `planner.sections`; the picks are those of `sections_picks.jsonl`, and `--ask`
records them anew. Printed is, without and with the pick, for how many questions the likeliest section is right, for how
many one of those that would be sent, and of how many that are sure enough.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import softmax  # type: ignore[import-untyped]

from support_agent.app import open_model, progress
from support_agent.company.documents import Document
from support_agent.evals.mail_labels import Sections
from support_agent.facts.search import CompanySearch
from support_agent.facts.sections import FEATURES, WEIGHTS_FILE, Weights, committed
from support_agent.frozen import Frozen
from support_agent.mail.message import parse
from support_agent.planner.choice import Chooser
from support_agent.planner.combiner import committed as planner_weights
from support_agent.planner.questions import questions_of
from support_agent.planner.sections import PICKED_SECTION, UNASKED_SECTION, signs_of
from support_agent.settings import PlannerSettings, Settings
from support_agent.tools.excerpts import SURE_SECTION, Chosen, choose_sections, positions_of
from tests.benchmarks.companies import FITTED, demo_settings, mails_of, open_company, search_of
from tests.benchmarks.logit import Floats, Listed, fitted
from tests.labelled import labels

DEMO = {"tuning": "demo", "labelled": "demo"}
"""The company of the sets that are no company's."""
FITTED_TO = ("tuning", *FITTED)
REPORTED = ("labelled", "rail", "insurer")
WEIGHTS = Path(__file__).parents[2] / "support_agent" / "facts" / WEIGHTS_FILE
VERSION = "section-2"
RIDGE, RIDGE_PICKED = 0.1, 0.01
PICKS = Path(__file__).with_name("sections_picks.jsonl")
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


class Picked(Frozen):
    """What the language model said of the sections of a document, those on its list."""

    question: str
    document: int
    picks: tuple[float | None, ...]


def main() -> None:
    """Ask and fit if told to, measure each company by the fit to the others, and report."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.sections")
    parser.add_argument("--fit", action="store_true", help="write the weights")
    parser.add_argument("--ask", action="store_true", help="record the language model's picks first")
    args = parser.parse_args()
    with demo_settings() as settings:
        known = {name: list(asked_of(name, settings)) for name in FITTED_TO}
        reported = {name: list(asked_of(name, settings)) for name in REPORTED}
        if args.ask:
            ask([one for asked in (*known.values(), *reported.values()) for one in asked], settings)
        if args.fit:
            weights = fitted([[one.listed for one in asked] for asked in known.values()], RIDGE)
            named = Weights(version=VERSION, weights=dict(zip(FEATURES, weights, strict=True)))
            WEIGHTS.write_text(named.model_dump_json(indent=1) + "\n", encoding="utf-8")
            committed.cache_clear()
        picks = recorded()
        apart = {
            name: fitted([[one.listed for one in known[other]] for other in known if other != name], RIDGE)
            for name in known
        }
        joined = {
            name: [one for asked in known[name] if (one := with_pick(asked, apart[name], picks)) is not None]
            for name in known
        }
        for name, asked in known.items():
            print(told(name, asked, apart[name]))  # noqa: T201
            others = fitted([joined[other] for other in known if other != name], RIDGE_PICKED)
            print(told(name, asked, apart[name], others, picks))  # noqa: T201
        print("weights of search and pick:", fitted(list(joined.values()), RIDGE_PICKED))  # noqa: T201
        shipped = tuple(committed().in_order)
        for name, asked in reported.items():
            print("reported", told(name, asked, shipped))  # noqa: T201
            print("reported", told(name, asked, shipped, (UNASKED_SECTION, PICKED_SECTION), picks))  # noqa: T201


def ask(asked: Sequence[Asked], settings: Settings) -> None:
    """Record what the embedded model picks of each question's document, with the prior taken off."""
    model = open_model(settings.model.model_copy(update={"timeout_s": 600.0}), progress())
    chooser = Chooser(model, planner_weights())
    with PICKS.open("w", encoding="utf-8") as file:
        for one in (one for one in asked if len(one.right) > 1):
            chances = softmax(one.features @ committed().in_order)
            picks = tuple(
                None if pick is None else round(pick, 4)
                for pick in chooser.heading_picks(one.question, one.document, list(chances))[0]
            )
            row = Picked(question=one.question, document=int(one.document.number), picks=picks)
            file.write(row.model_dump_json() + "\n")


def recorded() -> dict[tuple[str, int], tuple[float | None, ...]]:
    """The picks by question and document."""
    rows = map(Picked.model_validate_json, PICKS.read_text(encoding="utf-8").splitlines())
    return {(row.question, row.document): row.picks for row in rows}


def with_pick(
    one: Asked, weights: Sequence[float], picks: Mapping[tuple[str, int], tuple[float | None, ...]]
) -> Listed | None:
    """What search and model say of each section, as the fit wants it."""
    said = picks.get((one.question, int(one.document.number)))
    if said is None:
        return None
    return np.array(signs_of(list(softmax(one.features @ np.array(weights))), said)), np.array(one.right)


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


def told(
    name: str,
    asked: Sequence[Asked],
    weights: Sequence[float],
    joined: Sequence[float] = (),
    picks: Mapping[tuple[str, int], tuple[float | None, ...]] | None = None,
) -> str:
    """What the weights are worth on a set; documents of one section are no choice.

    Args:
        joined: What search and pick count, where the model is asked: if no section is sure without it.
    """
    asked = [one for one in asked if len(one.right) > 1 and any(one.right)]
    chances = [softmax(one.features @ np.array(weights)) for one in asked]
    listed = [with_pick(one, weights, picks or {}) for one in asked]
    chances = [
        own if said is None or max(own) >= SURE_SECTION else softmax(said[0] @ np.array(joined))
        for own, said in zip(chances, listed, strict=True)
    ]
    first = sum(one.right[int(np.argmax(own))] for one, own in zip(asked, chances, strict=True))
    sent = [choose_sections(one.document, own, LEAST) for one, own in zip(asked, chances, strict=True)]
    hits = [_is_right(one, chosen) for one, chosen in zip(asked, sent, strict=True)]
    sure = [hit for hit, chosen in zip(hits, sent, strict=True) if chosen.probability >= LEAST]
    return (
        f"{name:<9} {'with' if joined else 'without'} the model: {first} of {len(asked)} right at the top, "
        f"{sum(hits)} among those that are sent, {sum(sure)} of the {len(sure)} that are sure"
    )


def _is_right(one: Asked, chosen: Chosen) -> bool:
    """Whether a right section is sent, be it one that another refers to."""
    sent = set(positions_of(one.document, chosen))
    sections = zip(one.right, one.document.sections, strict=True)
    return any(is_right and section[0].index in sent for is_right, section in sections)


if __name__ == "__main__":
    main()
