"""`python -m tests.benchmarks.forms [--folds] [--weights] [--fields]`: is the form that a question asks for voted for?

Prints for the questions of `forms_reported.toml`, by language, how often the right form of an answer is voted
likeliest, and how often a question that names no form is voted to name none. `--folds` votes on the examples
themselves, each subject and each language left out in turn: what the vote's settings are chosen by. `--weights` joins
that vote with the embedded model's picks of `forms_picks.jsonl`, which were asked with every form on the list, for some
weights of the vote and lengths of the list; a list is cut after the fact, so a pick among fewer is only approximated.
`--fields` prints which example questions of the fields of the companies that may be developed on are taken to ask for a
number of many values, each left out of its field's own; and how many reported questions that do are seen to.
"""

from __future__ import annotations

import argparse
import json
import time
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import log
from pathlib import Path
from typing import NamedTuple

import numpy as np

from support_agent.facts.opening import open_search
from support_agent.facts.phrasing import Phrasing
from support_agent.facts.search import READER
from support_agent.models.embedders import load_embedders
from support_agent.models.embedding.port import Embedder, Vectors
from support_agent.models.progress import stderr_progress
from support_agent.planner import forms
from support_agent.planner.choice import PICKED_WEIGHT
from support_agent.planner.combiner import softmax
from support_agent.planner.forms import (
    AGGREGATE_FORMS,
    EXAMPLES_FILE,
    LISTED,
    NO_FORM,
    SURE_FORM,
    aggregate_asked_for,
    examples,
)
from support_agent.tools.base import Examples
from tests.benchmarks.companies import demo_settings, open_company

HERE = Path(__file__).parent
REPORTED = HERE / "forms_reported.toml"
PICKS = HERE / "forms_picks.jsonl"
GIVEN = Path(forms.__file__).with_name(EXAMPLES_FILE)
SUBJECTS = ("payments", "energy", "orders", "visits")
"""Those that are left out in turn; the other tables of the examples are of many subjects."""
COMPANIES = ("demo", "shop", "utility", "office")
WEIGHTS = (0.0, 2.0, 4.0, 6.0, 8.0)


class Asked(NamedTuple):
    """A question and the form that it asks for."""

    subject: str
    language: str
    form: str
    text: str


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.forms")
    parser.add_argument("--folds", action="store_true")
    parser.add_argument("--weights", action="store_true")
    parser.add_argument("--fields", action="store_true")
    args = parser.parse_args()
    if args.fields:
        _check_fields()
        return
    embed = _kept(_reader())
    if args.folds or args.weights:
        given = list(given_examples())
        left_out = {"subject": SUBJECTS, "language": sorted({one.language for one in given})}
        folds = {name: votes_without(name, values, given, embed) for name, values in left_out.items()}
        for name, votes in folds.items():
            report(f"{name} left out", [one for one in given if one in votes], votes)
        if args.weights:
            weigh(folds["subject"])
        return
    started = time.process_time()
    vote = Phrasing(examples(), embed).chances
    taken = time.process_time() - started
    _print(f"{sum(len(texts) for _, texts in examples())} examples, {taken:.1f} s of the processor to learn them")
    reported = list(_reported())
    report("reported", reported, {one: vote(one.text) for one in reported})


def given_examples() -> Iterator[Asked]:
    """Each example that the vote is learnt from."""
    for subject, of_language in tomllib.loads(GIVEN.read_text("utf-8")).items():
        for language, of_form in of_language.items():
            for form, texts in of_form.items():
                yield from (Asked(subject, language, form, text) for text in texts)


def votes_without(
    name: str, values: Sequence[str], given: Sequence[Asked], embed: Callable[[Sequence[str]], Vectors]
) -> dict[Asked, Mapping[str, float]]:
    """The vote on each example, by what is learnt from those of other subjects, or languages."""
    found = {}
    for value in values:
        vote = Phrasing(_by_form(one for one in given if getattr(one, name) != value), embed).chances
        found.update({one: vote(one.text) for one in given if getattr(one, name) == value})
    return found


def _by_form(given: Iterable[Asked]) -> Examples:
    texts: dict[str, list[str]] = defaultdict(list)
    for one in given:
        texts[one.form].append(one.text)
    return tuple((form, tuple(of_form)) for form, of_form in texts.items())


def report(title: str, asked: Sequence[Asked], votes: Mapping[Asked, Mapping[str, float]]) -> None:
    """Right forms, and questions without one that are voted to have none, by language; and right sure votes."""
    named: dict[str, list[bool]] = defaultdict(list)
    unnamed: dict[str, list[bool]] = defaultdict(list)
    sure: list[bool] = []
    for one in asked:
        voted = max(votes[one], key=votes[one].__getitem__)
        is_right = voted == one.form
        sure += [is_right] if voted != NO_FORM and votes[one][voted] >= SURE_FORM else []
        for group in ("all", one.language):
            (unnamed if one.form == NO_FORM else named)[group].append(is_right)
    for group in sorted(named):
        form, none = named[group], unnamed[group]
        _print(f"{title}, {group}: right form {sum(form)} of {len(form)}, no form {sum(none)} of {len(none)}")
    _print(f"{title}: {sum(sure)} of the {len(sure)} votes for a form that are sure enough without the model are right")


def weigh(votes: Mapping[Asked, Mapping[str, float]]) -> None:
    """Print what each weight of the vote, joined with the recorded picks, is worth; the votes are on the examples."""
    by_text = {(one.subject, one.text): chances for one, chances in votes.items()}
    rows = [json.loads(line) for line in PICKS.read_text("utf-8").splitlines()]
    rows = [row for row in rows if row["form"] != NO_FORM]
    for listed, weight in product((LISTED, len(forms.FORMS)), WEIGHTS):
        right, loss = 0, 0.0
        for row in rows:
            vote = by_text[row["subject"], row["question"]]
            keys = sorted(row["picks"], key=lambda key: -vote[key])[:listed]
            chances = softmax([weight * vote[key] + PICKED_WEIGHT * row["picks"][key] for key in keys])
            chance = dict(zip(keys, chances, strict=True)).get(row["form"], 0.0)
            right += chance == max(chances)
            loss -= log(chance + 0.001)
        _print(
            f"{listed} listed, vote times {weight}: right {right} of {len(rows)}, mean log loss {loss / len(rows):.3f}"
        )


def _check_fields() -> None:
    total, flagged = 0, 0
    for name in COMPANIES:
        with demo_settings() as settings, open_company(name, settings) as company:
            search = open_search(settings, company, in_memory=True)
            for field, spec in company.accounts.fields.items():
                own = [spec.label_for("en"), spec.summary, *spec.questions]
                for question in spec.questions:
                    total += 1
                    if aggregate_asked_for(question, [text for text in own if text != question], search):
                        flagged += 1
                        _print(f"  {name} {field}: {question}")
            if name == "demo":
                invoice = company.accounts.fields["latest_invoice"]
                own = [invoice.label_for("en"), invoice.summary, *invoice.questions]
                asked = [one.text for one in _reported() if one.form in AGGREGATE_FORMS]
                seen = sum(aggregate_asked_for(text, own, search) is not None for text in asked)
                _print(f"of many values: {seen} of {len(asked)} reported questions are seen to be")
    _print(f"of one value: {flagged} of {total} questions of fields are taken to be of many")


def _reported() -> Iterator[Asked]:
    for language, of_form in tomllib.loads(REPORTED.read_text("utf-8")).items():
        for form, texts in of_form.items():
            yield from (Asked("", language, form, text) for text in texts)


def _reader() -> Embedder:
    with demo_settings() as settings:
        models = [model.value for model in settings.embedding.models]
        return dict(zip(models, load_embedders(settings, stderr_progress()), strict=True))[READER]


def _kept(reader: Embedder) -> Callable[[Sequence[str]], Vectors]:
    """Each text is embedded once."""
    known: dict[str, Vectors] = {}

    def embed(texts: Sequence[str]) -> Vectors:
        new = [text for text in dict.fromkeys(texts) if text not in known]
        if new:
            known.update(zip(new, reader.embed(new, "query"), strict=True))
        return np.stack([known[text] for text in texts])

    return embed


def _print(line: str) -> None:
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
