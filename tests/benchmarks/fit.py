"""`python -m tests.benchmarks.fit`: fits the weights of `support_agent/planner/combiner.json` to many companies.

The weights without the language model are fitted to the demo's tuning mails, to made-up companies, and, with
`--intents DIR`, to companies made of public labelled questions (training splits alone): topics drawn from them, with
few or many examples, and questions to topics that were left out. What the model's votes add is fitted where they were
recorded; `--ask` records what is missing. A company with documents counts as much as three of labels alone, since
mails are answered from documents. Printed is the leave-one-company-out result: each company weighed by the fit to the
others. Every set of embedders that the program offers has its weights.

What is minimised: the mean negative log-probability of the right options, plus ridges. Two of the made-up companies
(`tests/companies`: rail, insurer) and the labelled mails are never read here.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize  # type: ignore[import-untyped]

from support_agent.config.embedding import EmbeddingSettings, set_name
from support_agent.config.settings import PlannerSettings, Settings
from support_agent.core.frozen import Frozen
from support_agent.facts.opening import open_topic_search
from support_agent.facts.search import CompanySearch
from support_agent.facts.topics import Topic, topics_of
from support_agent.models.opening import open_model
from support_agent.models.progress import stderr_progress
from support_agent.ops.evals.intents import OUT_OF_SCOPE, Line, read_lines, topics_of_lines
from support_agent.planner.choice import LOWEST_PICK, MOST_JUDGED, NONE_KEY, NONE_TITLE, TOPIC_ASK, Chooser, Option
from support_agent.planner.combiner import (
    Calibration,
    Combiner,
    CombinerWeights,
    Features,
    HiddenUnits,
    ModelWeights,
    Votes,
    committed,
    features_of,
)
from support_agent.planner.topics import topic_option
from tests.benchmarks.companies import FITTED, Asked, company_questions, demo_questions, demo_settings, open_company
from tests.benchmarks.logit import TINY, Floats, Ridges, Shown, fitted_layer
from tests.benchmarks.weights_text import weights_text

SETS = (("minilm", "use", "e5"), ("minilm", "use"))
"""The embedders that weights are fitted to, those of the default first."""
WEIGHTS = Path(__file__).parents[2] / "support_agent" / "planner" / "combiner.json"
VOTES = Path(__file__).parents[1] / "companies"
VERSION = "topic-12"
"""Changes with the weights."""
WITH_DOCUMENTS = 3.0
"""What a company with documents counts, beside 1 of one made of labelled questions."""
RIDGES = Ridges(linear=0.03, inner=0.2, out=0.3)
UNITS, SEEDS = 16, 5
"""Hidden units of a fit, and how many fits from different starts are averaged."""
RIDGE_ASKED = 0.01
SHORTLIST = PlannerSettings().shortlist
SEED = 14
ABOUT = (
    "{}",
    "{}?",
    "I have a question about {}: how does it work?",
    "Please tell me about {}.",
    "Ich brauche Auskunft: {}",
    "{}, comment ça marche ?",
    "¿Cómo funciona {}?",
)
"""Asks for what a title promises."""
BESIDE = (
    "Who is the boss of {}?",
    "May a journalist quote you on {}?",
    "I dreamt of {} last night.",
    "Which of your competitors is best at {}?",
    "I saw your advertisement about {} on a bus. Who made it?",
    "My book has a chapter on {}: shall I send you a copy?",
    "Why did you choose the name {}?",
    "What does {} have to do with football?",
    "Wer von euch hat den Text über {} geschrieben?",
    "Wie viele Leute fragen im Monat nach {}?",
    "Quel est le salaire de ceux qui s'occupent de {} ?",
    "J'écris une thèse sur {}, puis-je visiter vos bureaux ?",
    "¿Desde qué año se habla de {} en vuestro sector?",
    "Un mio amico lavora con {}, lo conoscete?",
)
"""Names a title and asks for something that no page of a company says."""


class Question(NamedTuple):
    """One question of a company with its features; `votes` are those of the language model, by topic and `none`."""

    text: str
    keys: tuple[str, ...]
    topics: list[Features]
    none: Features
    right: tuple[bool, ...]
    """Of each topic and, last, of `none`."""
    votes: dict[str, Votes]


class Group(NamedTuple):
    """The questions of one company."""

    name: str
    questions: list[Question]
    weight: float = 1.0
    """What it counts in a fit."""


class Recorded(Frozen):
    """What the language model said of one question's short list."""

    question: str
    votes: dict[str, Votes]


def main() -> None:
    """Ask if told to, fit, write the weights and print what they are worth."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.fit", description="Fit the combiner's weights.")
    parser.add_argument("--intents", type=Path, metavar="DIR", help="folder of the public labelled questions")
    parser.add_argument("--ask", action="store_true", help="record the language model's missing votes, and stop")
    parser.add_argument("--models", help="fit these embedders alone, such as minilm,use")
    parser.add_argument("--dry", action="store_true", help="write nothing")
    args = parser.parse_args()
    kept = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    with demo_settings() as whole:
        sets = (tuple(args.models.split(",")),) if args.models else SETS
        for models in sets[:1] if args.ask else sets:
            settings = whole.model_copy(update={"embedding": EmbeddingSettings(models=models)})
            groups = [own_group(name, settings) for name in ("demo", *FITTED)]
            if args.ask:
                for group in groups:
                    record(group, settings, committed(models))
                return
            groups += [title_group(name, settings) for name in ("demo", *FITTED)]
            groups += intent_groups(args.intents, settings) if args.intents else []
            kept[set_name(models)] = fit_and_tell(set_name(models), groups).model_dump()
    if not args.dry:
        WEIGHTS.write_text(weights_text(kept), encoding="utf-8")


def fit_and_tell(name: str, groups: Sequence[Group]) -> Combiner:
    """The weights of one set of embedders; printed is what each company gets from the fit to the others."""
    left_out = {
        own: fit([other for other in groups if trade(other) != own]) for own in dict.fromkeys(map(trade, groups))
    }
    without = [left_out[trade(group)] for group in groups]
    combiner = Combiner(version=VERSION, silent=fit(groups), asked=fit_asked(groups, without))
    for is_asked in (False, True):
        _print(f"{name}, {'with' if is_asked else 'without'} the language model's votes, each company left out:")
        for group, weights in zip(groups, without, strict=True):
            if shown := told(group, combiner.model_copy(update={"silent": weights}), is_asked=is_asked):
                _print(f"  {group.name:<12} {shown}")
    return combiner


def trade(group: Group) -> str:
    """A company with the questions of its titles, and companies made of the same public questions, are left out
    together.
    """
    return group.name.partition("-")[0]


def own_group(name: str, settings: Settings) -> Group:
    """A company with documents: the demo's tuning questions, or those of a made-up one."""
    with open_company(name, settings) as company:
        search = _search(name, settings, topics_of(company))
        asked = demo_questions(search.read) if name == "demo" else company_questions(name, search.read)
        return with_votes(Group(name, [_question(search, one) for one in asked], WITH_DOCUMENTS))


def title_group(name: str, settings: Settings) -> Group:
    """Questions with the titles of a company in them."""
    with open_company(name, settings) as company:
        topics = topics_of(company)
    group = f"{name}-titles"
    return Group(group, _questions(group, settings, topics, title_questions(topics)))


def title_questions(topics: Sequence[Topic]) -> list[Asked]:
    """Of each title one question that it answers, and one that is beside it.

    Whoever writes to a company knows its words: that they stand in a question does not answer it.
    """
    rng = random.Random(SEED)
    return [
        Asked(question=rng.choice(asking).format(topic.title), topics=(key,), language="en")
        for topic in topics
        for asking, key in ((ABOUT, topic.key), (BESIDE, NONE_KEY))
    ]


def _questions(name: str, settings: Settings, topics: Sequence[Topic], asked: Sequence[Asked]) -> list[Question]:
    search = _search(name, settings, topics)
    return [_question(search, one) for one in asked]


def _search(name: str, settings: Settings, topics: Sequence[Topic]) -> CompanySearch:
    search = open_topic_search(settings, in_memory=True, name=f"fit-{name}")
    search.update(topics)
    return search


def _question(search: CompanySearch, asked: Asked) -> Question:
    matches = search.nearest(asked.question)
    topics, none = features_of(matches)
    keys = tuple(match.topic for match in matches)
    right = [key in asked.topics for key in keys]
    return Question(asked.question, keys, topics, none, (*right, NONE_KEY in asked.topics or not any(right)), {})


def intent_groups(folder: Path, settings: Settings) -> Iterator[Group]:
    """Companies made of public labelled questions; validation and test splits are not read."""
    rng = random.Random(SEED)
    clinc = read_lines(folder / "clinc150_train.jsonl")
    strange = read_lines(folder / "clinc150_oos_train.jsonl")
    for number, examples in enumerate((0, 2, 5, 10, 20)):
        yield _intent_company(
            f"clinc-{examples}", clinc, rng, settings, topics=15 + 10 * number, examples=examples, strange=strange
        )
    banking = read_lines(folder / "banking77_oos_inscope_train.jsonl")
    for examples in (3, 10, 40):
        yield _intent_company(f"banking-{examples}", banking, rng, settings, topics=36, examples=examples, strange=[])
    curekart = read_lines(folder / "hint3_curekart_train.jsonl")
    for examples in (5, 20):
        yield _intent_company(f"curekart-{examples}", curekart, rng, settings, topics=21, examples=examples, strange=[])


def _intent_company(
    name: str,
    lines: Sequence[Line],
    rng: random.Random,
    settings: Settings,
    *,
    topics: int,
    examples: int,
    strange: Sequence[Line],
) -> Group:
    """Some of the labels as topics with so many examples each; questions to them, and to labels that are left out."""
    by_label: dict[str, list[Line]] = {}
    for line in lines:
        if line.label != OUT_OF_SCOPE:
            by_label.setdefault(line.label, []).append(line)
    labels = rng.sample(sorted(by_label), topics)
    known, asked = [], []
    for label in labels:
        shuffled = rng.sample(by_label[label], len(by_label[label]))
        known += shuffled[:examples]
        asked += shuffled[examples:]
    left = [line for label in sorted(by_label) if label not in labels for line in by_label[label]]
    outside = [*rng.sample(left, min(60, len(left))), *rng.sample(list(strange), min(30, len(strange)))]
    made = (
        topics_of_lines(known)
        if examples
        else tuple(Topic(key=f"document:{label}", title=label.replace("_", " ")) for label in sorted(labels))
    )
    questions = [
        *(
            Asked(question=line.text, topics=(f"document:{line.label}",), language="en")
            for line in rng.sample(asked, min(150, len(asked)))
        ),
        *(Asked(question=line.text, topics=(NONE_KEY,), language="en") for line in outside),
    ]
    return Group(name, _questions(name, settings, made, questions))


def record(group: Group, settings: Settings, combiner: Combiner) -> None:
    """Ask the embedded model about the short list of each question, and write its votes beside the company's mails."""
    patient = settings.model.model_copy(update={"timeout_s": 600.0})
    model = open_model(settings.model_copy(update={"model": patient}), stderr_progress())
    chooser = Chooser(model, combiner, model_votes="always")
    path = votes_file(group.name)
    kept = {one.question for one in read_votes(group.name)}
    with open_company(group.name, settings) as company, path.open("a", encoding="utf-8") as file:
        documents = company.by_number
        shown = {key: topic_option(key, documents, company.accounts) for key in group.questions[0].keys}
        for question in group.questions:
            if question.text in kept:
                continue
            votes = _asked(chooser, question, shown)
            file.write(Recorded(question=question.text, votes=votes).model_dump_json(exclude_none=True) + "\n")
            file.flush()
            print(f"{group.name}  {question.text[:80]}", file=sys.stderr)  # noqa: T201


def _asked(chooser: Chooser, question: Question, shown: Mapping[str, Option]) -> dict[str, Votes]:
    """Every vote on the short list, also where the product would not have asked."""
    chances = chooser.combiner.chances(question.topics, question.none, None, Calibration())
    order = sorted(range(len(question.keys)), key=lambda place: -chances[place])[:SHORTLIST]
    listed = [shown[question.keys[place]] for place in order]
    whole = [*listed, Option(key=NONE_KEY, title=NONE_TITLE)]
    picks = chooser._pick(question.text, TOPIC_ASK, whole)
    judged = chooser._judgements(question.text, whole, [1.0] * MOST_JUDGED + [0.0] * (len(whole) - MOST_JUDGED))
    return {
        option.key: Votes(picked=round(max(pick, LOWEST_PICK), 4), judged=None if said is None else round(said, 4))
        for option, pick, said in zip(whole, picks.scores, judged.said, strict=True)
    }


def votes_file(name: str) -> Path:
    """Where the votes on a company's questions are kept."""
    return VOTES / f"{name}-votes.jsonl"


def read_votes(name: str) -> list[Recorded]:
    """The recorded votes of a company; none where nothing was recorded."""
    path = votes_file(name)
    rows = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return [Recorded.model_validate_json(row) for row in rows]


def with_votes(group: Group) -> Group:
    """The same questions with what was recorded."""
    kept = {one.question: one.votes for one in read_votes(group.name)}
    return group._replace(questions=[one._replace(votes=kept.get(one.text, {})) for one in group.questions])


def _shown(question: Question, names: Sequence[str], nones: Sequence[str]) -> Shown:
    """A row an option and a last one for `none`; the columns of `none` follow those of the topics.

    The hidden units of every option see those of `none`, and last whether it is `none`.
    """
    summed = np.zeros((len(question.keys) + 1, len(names) + len(nones)))
    for row, features in enumerate(question.topics):
        summed[row, : len(names)] = [features.get(name, 0.0) for name in names]
    summed[-1, len(names) :] = [question.none.get(name, 0.0) for name in nones]
    hidden = np.hstack([summed, np.zeros((len(summed), 1))])
    hidden[:, len(names) : -1], hidden[-1, -1] = summed[-1, len(names) :], 1.0
    return Shown(summed, hidden, np.array(question.right))


def fit(groups: Sequence[Group]) -> CombinerWeights:
    """The weights that make the right options likeliest without the language model."""
    names = sorted(
        {name for group in groups for one in group.questions for features in one.topics for name in features}
    )
    nones = sorted({name for group in groups for one in group.questions for name in one.none})
    lists = [[_shown(one, names, nones) for one in group.questions] for group in groups]
    layer = fitted_layer(lists, RIDGES, UNITS, SEEDS, [group.weight for group in groups])
    linear, inner = _rounded(layer.linear), [_rounded(row) for row in layer.inner]
    return CombinerWeights(
        topic=dict(zip(names, linear, strict=False)),
        none=dict(zip(nones, linear[len(names) :], strict=True)),
        hidden=HiddenUnits(
            topic=dict(zip(names, inner, strict=False)),
            none=dict(zip(nones, inner[len(names) : -1], strict=True)),
            is_none=inner[-1],
            bias=_rounded(layer.bias),
            out=_rounded(layer.out),
        ),
    )


def _rounded(values: Floats) -> tuple[float, ...]:
    return tuple(round(float(value), 4) for value in values)


def fit_asked(groups: Sequence[Group], silent: Sequence[CombinerWeights]) -> ModelWeights:
    """What the language model's votes add to a fit without them.

    Args:
        silent: For each group, weights that were fitted without it.
    """
    start = ModelWeights()
    names = tuple(ModelWeights.model_fields)

    def loss(values: Floats) -> float:
        asked = ModelWeights(**dict(zip(names, map(float, values), strict=True)))
        total = RIDGE_ASKED * float(((values - np.array(list(start.model_dump().values()))) ** 2).sum())
        for group, weights in zip(groups, silent, strict=True):
            combiner = Combiner(version="tried", silent=weights, asked=asked)
            hits = [_hit(one, combiner) for one in group.questions if one.votes]
            total += -float(np.mean(np.log(np.maximum(hits, TINY)))) if hits else 0.0
        return total

    found = minimize(loss, np.array(list(start.model_dump().values())), method="Powell", options={"maxiter": 20})
    return ModelWeights(**{name: round(float(value), 4) for name, value in zip(names, found.x, strict=True)})


def _hit(question: Question, combiner: Combiner) -> float:
    chances, right = _asked_chances(question, combiner)
    return sum(chance for chance, is_right in zip(chances, right, strict=True) if is_right)


def _asked_chances(question: Question, combiner: Combiner) -> tuple[list[float], list[bool]]:
    """Of the short list that the model was asked about."""
    places = [place for place, key in enumerate(question.keys) if key in question.votes]
    right = [question.right[place] for place in places]
    votes = [question.votes[question.keys[place]] for place in places]
    topics = [question.topics[place] for place in places]
    chances = combiner.chances(topics, question.none, [*votes, question.votes.get(NONE_KEY, Votes())], Calibration())
    return chances, [*right, question.right[-1] or not any(right)]


def told(group: Group, combiner: Combiner, *, is_asked: bool) -> str:
    """What the weights are worth on a company: right at the top, and right above some probabilities."""
    tops = []
    for one in group.questions:
        if one.votes or not is_asked:
            if is_asked:
                chances, right = _asked_chances(one, combiner)
            else:
                chances, right = combiner.chances(one.topics, one.none, None, Calibration()), list(one.right)
            best = int(np.argmax(chances[:-1]))
            tops.append(
                (chances[best], right[best], not one.right[-1], np.log(max(TINY, float(np.dot(chances, right)))))
            )
    if not tops:
        return ""
    shown = [f"{sum(top[1] for top in tops)} of {sum(top[2] for top in tops)} right at the top"]
    for least in (0.6, 0.7, 0.8, 0.9):
        above = [top[1] for top in tops if top[0] >= least]
        shown.append(f"above {least}: {sum(above)} of {len(above)}")
    return ", ".join([*shown, f"loss {-np.mean([top[3] for top in tops]):.3f}"])


def _print(line: str) -> None:
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
