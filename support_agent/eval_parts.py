"""What the measurements run on: the same parts as the agent's, on what is measured instead of the documents.

Nothing here is measured. What takes a second to import is imported where it is opened. Checked by
tests/integration/facts/test_eval.py.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from support_agent.app import (
    close,
    count_tokens_of,
    open_decider,
    open_embedder,
    open_model,
    open_topic_search,
    open_writer,
    progress,
    utc_now,
)
from support_agent.errors import ConfigError, PermanentError
from support_agent.model import Prompt, Scores
from support_agent.settings import Settings
from support_agent.settings_facts import GradingSettings, Ways

if TYPE_CHECKING:
    from datetime import datetime

    from support_agent.company.company import Company
    from support_agent.embedding.port import Vectors
    from support_agent.evals.calibrating import Fit
    from support_agent.evals.dstc11_parts import Variant
    from support_agent.evals.evidence import FindEvidence
    from support_agent.evals.intents import Way
    from support_agent.evals.mail_labels import Label
    from support_agent.evals.retrieval import OpenSearch
    from support_agent.evals.web_search import Mode
    from support_agent.facts.chunks import Source
    from support_agent.facts.index import TextEmbedder
    from support_agent.facts.judge import Judge
    from support_agent.facts.material import Retriever
    from support_agent.facts.passages import PassageIndex
    from support_agent.facts.search import CompanySearch
    from support_agent.facts.topics import Topic
    from support_agent.facts.web.merged_search import MergedSearch
    from support_agent.mail.message import Message
    from support_agent.planner.calibration import CompanyCalibration
    from support_agent.planner.choice import Chooser, Option
    from support_agent.trial import Tried

WHOLE_CHARACTERS = 10_000
"""Of a sentence that is searched whole."""
NO_GRADING = {
    "threshold_router": 0.0,
    "threshold_document": 0.0,
    "threshold_hallucination": 0.0,
    "threshold_answer": 0.0,
}
NO_FEEDBACK = {"feedback": False}
NO_CYCLES = {"max_cycles": 0}
_NUMBERS = count(1)
"""Of the collections, as those in memory share one store."""


class KeptEmbedder:
    """A `TextEmbedder` that embeds no text twice; what it keeps is 1.5 kB a text."""

    def __init__(self, embedder: TextEmbedder) -> None:
        self.name = embedder.name
        self._embedder = embedder
        self._kept: dict[str, Vectors] = {}

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder.embed`."""
        if new := [text for text in dict.fromkeys(texts) if text not in self._kept]:
            self._kept.update(zip(new, self._embedder.embed(new), strict=True))
        return np.stack([self._kept[text] for text in texts]) if texts else self._embedder.embed([])


def sentence_search(embedder: TextEmbedder) -> OpenSearch:
    """Makes the room's retrieval over sentences, each searched whole, in memory; for the same sentences each time."""
    name = f"measured-{next(_NUMBERS)}"
    return lambda way, sources: _index(embedder, name, way, sources)


def retriever_among(
    embedder: TextEmbedder, sources: Sequence[Source]
) -> Callable[[AbstractSet[str] | None], Retriever]:
    """The room's retrieval over these sentences, by both ways: of all, or of some alone."""
    index = _index(embedder, f"measured-{next(_NUMBERS)}", Ways.BOTH, sources)
    return lambda allowed: index if allowed is None else index.among(allowed)


def _index(embedder: TextEmbedder, name: str, way: Ways, sources: Sequence[Source]) -> PassageIndex:
    from support_agent.facts.chunks import in_characters
    from support_agent.facts.index import Collection, memory_client
    from support_agent.facts.passages import PassageIndex

    index = PassageIndex(Collection(memory_client(), name), embedder, in_characters(WHOLE_CHARACTERS, 0), way)
    index.update(sources)
    return index


@contextmanager
def open_judge(settings: Settings) -> Iterator[Judge]:
    """The model that says yes or no; closed at the end.

    Raises:
        ConfigError: it cannot be used.
    """
    from support_agent.facts.judge import ModelJudge

    model = open_model(settings.model, progress())
    try:
        yield ModelJudge(model, prior=settings.grading.prior)
    finally:
        close(model)


@contextmanager
def open_variants(
    settings: Settings, embedder: TextEmbedder, sources: Sequence[Source]
) -> Iterator[tuple[Variant, ...]]:
    """The grading workflow of the configuration, without the web, and with its parts switched off in turn.

    Args:
        settings: Its thresholds and bounds; drafts are written whatever they say.
        embedder: Of the steps and sentences that the graph's evidence is chosen by.
        sources: What is searched, and what the graph is made of.
    Raises:
        ConfigError: a model cannot be used.
    """
    from support_agent.evals.dstc11_parts import Finder, Variant
    from support_agent.facts.graph.open_evidence import Chaining, open_chaining
    from support_agent.facts.inquiry.workflow import Workflow
    from support_agent.facts.judge import ModelJudge

    model = open_model(settings.model, progress())
    writer = open_writer(settings, model)

    def workflow(changes: Mapping[str, float], chaining: Chaining | None) -> Callable[[Retriever], Finder]:
        changed: GradingSettings = settings.grading.model_copy(update={"drafts": True, **changes})
        return lambda retriever: Workflow(
            judge=ModelJudge(model, prior=changed.prior),
            writer=writer,
            retriever=retriever,
            web=None,
            settings=changed,
            clock=time.monotonic,
            chaining=chaining,
            count_tokens=count_tokens_of(model),
        )

    try:
        chaining = open_chaining(settings.evidence, sources, writer, Cosines(embedder), seed=settings.grading.seed)
        yield (
            Variant("Workflow", workflow({}, chaining)),
            Variant("Workflow without grading", workflow(NO_GRADING, chaining)),
            Variant("Workflow without feedback", workflow(NO_FEEDBACK, chaining)),
            Variant("Workflow without cycles", workflow(NO_CYCLES, chaining)),
            Variant("Workflow without graph", workflow({}, None)),
            Variant("Workflow without entity linking", workflow({}, chaining), is_linked=False),
        )
    finally:
        close(writer, model)


class _Unasked:
    """Stands in for the language model where it has no vote."""

    name = "none"

    def score(self, prompt: Prompt, options: Sequence[str]) -> Scores:
        raise PermanentError("the language model has no vote here")


@contextmanager
def open_chooser(settings: Settings) -> Iterator[Chooser]:
    """What chooses topics, without a calibration; the language model is loaded only where it may vote."""
    from support_agent.planner.choice import Chooser
    from support_agent.planner.combiner import committed

    votes = settings.planner.model_votes
    model = _Unasked() if votes == "never" else open_model(settings.model, progress())
    try:
        yield Chooser(model, committed(tuple(settings.embedding.models)), model_votes=votes)
    finally:
        close(model)


@contextmanager
def open_intents(settings: Settings, topics: Sequence[Topic]) -> Iterator[tuple[CompanySearch, Way]]:
    """A search in these topics, in memory, and the way their questions are decided.

    Raises:
        ConfigError: a model cannot be used.
    """
    from support_agent.evals.intents import Way
    from support_agent.planner.choice import Option

    search = open_topic_search(settings, in_memory=True, name=f"measured-{next(_NUMBERS)}")
    search.update(topics)
    options = {topic.key: Option(key=topic.key, title=topic.title) for topic in topics}
    with open_chooser(settings) as chooser:
        yield search, Way(chooser, options, settings.planner.threshold_answer, settings.planner.shortlist)


def open_mail_trial(settings: Settings) -> Callable[[Label], Tried]:
    """Tries a labelled mail as the product decides it, on the day it is dated.

    Raises:
        ConfigError: a file of the company or a model cannot be used; when a mail is tried, it cannot be read.
    """
    from support_agent.mail.message import parse
    from support_agent.trial import read_mail, try_mail

    decider = open_decider(settings, progress(), in_memory=True)

    def tried(label: Label) -> Tried:
        raw = read_mail(label.path, settings.imap.max_message_bytes)
        return try_mail(
            label.path.name,
            raw,
            lambda: decider,
            decider.company.accounts,
            settings,
            parse(raw).sent_at or utc_now(),
            as_level=label.level,
            as_customer=label.customer,
        )

    return tried


def calibrate(
    settings: Settings, risk: float, labels: Sequence[Label], made_at: datetime
) -> tuple[CompanyCalibration, Fit]:
    """Adjust the choice to the company of the configuration.

    Args:
        risk: The share of wrong answers that is allowed, 0..1.
        labels: Of mails of its own that add to its example questions.
    Raises:
        ConfigError: a file of the company or a model cannot be used.
    """
    from support_agent.company.company import Company
    from support_agent.evals.calibrating import fit, thresholds
    from support_agent.evals.intents import Way
    from support_agent.evals.leaving_out import examples_of, left_out, of_mails, without_topic
    from support_agent.facts.topics import topics_of, version_of_topics
    from support_agent.planner.calibration import CompanyCalibration, MadeFrom, made_for

    company, planner = Company.load(settings.company), settings.planner
    topics = topics_of(company)
    examples = examples_of(company, topics)
    search = open_topic_search(settings, in_memory=True, name=f"measured-{next(_NUMBERS)}")
    groups = [list(left_out(topics, examples, search)), list(without_topic(topics, examples, search))]
    search.update(topics)
    groups.append(list(of_mails(labels, search, partial(_is_for_a_machine, settings, company))))
    options = _options_of(company, topics)
    with open_chooser(settings) as chooser:
        found = fit(
            [one for group in groups for one in group],
            Way(chooser, options, planner.threshold_answer, planner.shortlist),
        )
    origin = MadeFrom(
        examples=len(groups[0]),
        without_topic=len(groups[1]),
        mails=len(groups[2]),
        topics=version_of_topics(topics),
        threshold_answer=planner.threshold_answer,
    )
    made = CompanyCalibration(
        made_at=made_at,
        risk=risk,
        made_for=made_for(settings),
        made_from=origin,
        sharpness=found.calibration.sharpness,
        none_shift=found.calibration.none_shift,
        thresholds=thresholds(found.after, risk, planner.threshold_answer, planner.threshold_floor),
    )
    return made, found


def _is_for_a_machine(settings: Settings, company: Company, message: Message) -> bool:
    from support_agent.mail.screening import Verdict, screen

    accounts = company.accounts
    found = screen(message, settings.agent, settings.desk, lambda address: accounts.customer(address) is not None)
    return found.verdict is Verdict.ANSWER


def _options_of(company: Company, topics: Sequence[Topic]) -> dict[str, Option]:
    """The topics as the planner shows them to the language model."""
    from support_agent.planner.topics import topic_option

    documents = company.by_number
    return {topic.key: topic_option(topic.key, documents, company.accounts) for topic in topics}


def web_searches(settings: Settings, opened_embedder: Callable[[], TextEmbedder]) -> Callable[[Mode], MergedSearch]:
    """The merged search of the configuration in either mode, each time one that remembers nothing.

    Raises:
        ConfigError: no source is configured.
    """
    from support_agent.facts.web.merged_search import MergedSearch
    from support_agent.facts.web.open_search import open_sources

    if not settings.search.sources:
        raise ConfigError(
            "search.sources names no source: set [search] in the configuration, and name it with --config"
        )
    embedder = opened_embedder()

    def opened(mode: Mode) -> MergedSearch:
        changed = settings.search.model_copy(update={"mode": mode})
        return MergedSearch(open_sources(changed, utc_now), embedder, changed, utc_now)

    return opened


def evidence_ways(settings: Settings, judge: Judge | None) -> dict[str, FindEvidence]:
    """The ways to find evidence that are compared, by name; with a judge also the one that asks the model."""
    from support_agent.evals.evidence import nearest_by_graph, nearest_by_meaning, nearest_by_words
    from support_agent.facts.graph.entailment import JudgedEntailment, SimilarEntailment

    cosines = Cosines(KeptEmbedder(open_embedder(settings)))
    similar = SimilarEntailment(cosines)
    ways = {
        "Nearest by words": nearest_by_words,
        "Nearest by meaning": nearest_by_meaning(cosines),
        "Graph": nearest_by_graph(cosines, lambda: similar, settings.evidence),
    }
    if judge is not None:
        judged = partial(JudgedEntailment, judge, similar)
        ways["Graph and model"] = nearest_by_graph(cosines, judged, settings.evidence)
    return ways


class Cosines:
    """A `Similarity` of texts by an embedding model."""

    def __init__(self, embedder: TextEmbedder) -> None:
        self._embedder = embedder

    def similarities(self, text: str, others: Sequence[str]) -> list[float]:
        vectors = self._embedder.embed([text, *others])
        return [float(score) for score in vectors[1:] @ vectors[0]]
