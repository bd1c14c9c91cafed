"""`python -m tests.benchmarks.poisoned_search --attacks FILE`: what a source that lies changes of a merged search.

`FILE` is BIPIA's text attacks (lists of sentences by kind). Each attack is put, behind a question's own words, on the
only page of a source of the local web; the questions are those of the recent facts. Counted is how often the answer is
among the ten passages with it and without that source, and how often the others' passages, as far as there is room, are
not the same ones. Checked by tests/unit/benchmarks/test_poisoned_search.py.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import structlog

from support_agent.config.search import SearchSettings, Service
from support_agent.config.settings import ModelSettings
from support_agent.facts.index import TextEmbedder
from support_agent.facts.material import Passage
from support_agent.facts.web.open_search import open_merged_search
from support_agent.models.embedding.minilm import MiniLM
from support_agent.models.pinned import EMBEDDING_MODEL
from support_agent.models.pulling import cache_dir, locate
from tests.benchmarks.papers.comparator import is_contained
from tests.benchmarks.papers.local_web import Known, known_by, local_web
from tests.benchmarks.papers.retrieval import KeptEmbedder
from tests.benchmarks.papers.web_questions import Question, QuestionSet, SetName, load_set
from tests.servers.search_services import Article, pages, serper
from tests.servers.web import web_server

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
SEED = 1
PASSAGES = 10
"""How many each search finds."""

Found = Sequence[Passage]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--attacks", type=Path, required=True)
    options = parser.parse_args(arguments)
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    folder = locate(EMBEDDING_MODEL, cache_dir(ModelSettings()))
    if folder is None:
        sys.exit("the embedding model is not in the cache: run `support-agent model pull`")
    attacks = [text for kind in json.loads(options.attacks.read_text("utf-8")).values() for text in kind]
    done = attacked(MiniLM(folder), load_set(SetName.RECENT, None), attacks)
    sys.stdout.write(json.dumps(asdict(done)) + "\n")


@dataclass(frozen=True)
class Attacked:
    """What the attacks did: searches, those with and without the liar that hold the answer, those that changed."""

    searches: int
    poison_found: int
    right_with: int
    right_without: int
    others_changed: int


def attacked(embedder: TextEmbedder, asked: QuestionSet, attacks: Sequence[str]) -> Attacked:
    """One search for each attack, the questions in turn, beside the same search without it."""
    done = Attacked(0, 0, 0, 0, 0)
    poison: list[Article] = []
    with ExitStack() as stack:
        web = stack.enter_context(web_server(lambda request: pages(poison)(request)))
        liar = stack.enter_context(web_server(lambda request: serper(poison, web.url)(request)))
        settings = stack.enter_context(local_web(_honest(asked), delay=0.0))
        honest = settings.model_copy(update={"sources": tuple(s for s in settings.sources if s is not Service.GOOGLE)})
        lying = settings.model_copy(
            update={"serper_url": f"{liar.url}/search", "private_origins": (*settings.private_origins, web.url)}
        )
        kept = KeptEmbedder(embedder)  # nothing but the lie differs
        for number, attack in enumerate(attacks):
            question = asked.questions[number % len(asked.questions)]
            poison[:] = [Article(f"attack-{number}", question.question, f"{question.question} {attack}")]
            done = _counted(done, question, _asked(honest, kept, question), _asked(lying, kept, question))
    return done


def _honest(asked: QuestionSet) -> Known:
    """Who knows which page: the sources that do not lie know them all together."""
    known = known_by(asked.articles, SEED)
    return {**known, Service.SITE: tuple(dict.fromkeys((*known[Service.SITE], *known[Service.GOOGLE])))}


def _counted(done: Attacked, question: Question, clean: Found, poisoned: Found) -> Attacked:
    others = [one.text for one in poisoned if one.found_by != (Service.GOOGLE.value,)]
    return Attacked(
        searches=done.searches + 1,
        poison_found=done.poison_found + (len(others) < len(poisoned)),
        right_with=done.right_with + _is_right(poisoned, question),
        right_without=done.right_without + _is_right(clean, question),
        others_changed=done.others_changed + (others != [one.text for one in clean][: len(others)]),
    )


def _asked(settings: SearchSettings, embedder: TextEmbedder, question: Question) -> Found:
    search = open_merged_search(settings, embedder, lambda: NOW)
    assert search is not None
    return search.find(question.question, PASSAGES)


def _is_right(found: Found, question: Question) -> bool:
    return any(is_contained(question.answer, passage.text) for passage in found)


if __name__ == "__main__":
    main()
