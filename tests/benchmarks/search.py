"""`python -m tests.benchmarks.search [--json] [--attacks FILE]`: merged against sequential search, on local servers.

Five services on loopback answer as the real ones document it, each after a time of its own, and know different pages of
a little web (`search_set.py`). Every question is asked in both modes and of each source alone, with nothing kept from
before. Right means: the words of the answer stand in the first passage, or in one of the ten.
Waiting is what is compared: the seconds of a mode beside those of its slowest source and the sum of all; the seconds
of the embedding are this machine's.
With `--attacks` (BIPIA's text attacks: lists of sentences by kind) each attack is put, behind a question's own words,
on the only page of a source that lies: what is counted is how often the answer is among the ten passages with it and
without that source, and how often the others' passages, as far as there is room, are not the same ones.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import structlog

from support_agent.embedding.minilm import MiniLM
from support_agent.embedding.port import Vectors
from support_agent.facts.index import TextEmbedder
from support_agent.facts.web.merged_search import Merged
from support_agent.facts.web.open_search import open_merged_search
from support_agent.planner.models import cache_dir, locate
from support_agent.planner.pinned import EMBEDDING_MODEL
from support_agent.settings import ModelSettings
from support_agent.settings_search import SearchSettings, Service
from tests.benchmarks.search_set import ARTICLES, KNOWN_BY, QUESTIONS, Question
from tests.servers.search_services import KEY, Article, duckduckgo, pages, searxng, serper, site, wikipedia
from tests.servers.web import Answering, web_server

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
DELAYS_S = {"google": 0.4, "duckduckgo": 0.8, "searxng": 1.0, "wikipedia": 0.3, "site": 0.1}
"""Before each answer of a service; Wikipedia is asked twice, the site up to four times."""
PAGE_DELAY_S = 0.1


@dataclass(frozen=True)
class Row:
    """One way to ask: means over the questions in seconds, and how many answers were right."""

    name: str
    seconds: float
    slowest_source: float
    sum_of_sources: float
    right_first: int
    right_in_ten: int
    questions: int


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--attacks", type=Path)
    options = parser.parse_args(arguments)
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    folder = locate(EMBEDDING_MODEL, cache_dir(ModelSettings()))
    if folder is None:
        sys.exit("the embedding model is not in the cache: run `support-agent model pull`")
    embedder = MiniLM(folder)
    if options.attacks is not None:
        attacks = [text for kind in json.loads(options.attacks.read_text("utf-8")).values() for text in kind]
        sys.stdout.write(json.dumps(asdict(attacked(embedder, QUESTIONS, attacks))) + "\n")
        return
    rows = measured(embedder, QUESTIONS)
    if options.json:
        sys.stdout.write(json.dumps([asdict(row) for row in rows], indent=2) + "\n")
        return
    sys.stdout.write(f"{'way':<18}{'s':>7}{'slowest':>9}{'sum':>7}{'first':>7}{'in 10':>7}   of {len(QUESTIONS)}\n")
    for row in rows:
        times = f"{row.seconds:>7.2f}{row.slowest_source:>9.2f}{row.sum_of_sources:>7.2f}"
        sys.stdout.write(f"{row.name:<18}{times}{row.right_first:>7}{row.right_in_ten:>7}\n")


def measured(embedder: TextEmbedder, questions: Sequence[Question], *, delay: float = 1.0) -> list[Row]:
    """Both modes, then each source alone; `delay` scales what the servers wait."""
    with world(delay) as settings:
        rows = [
            row("merged", settings, embedder, questions),
            row("sequential", settings.model_copy(update={"mode": "sequential"}), embedder, questions),
        ]
        for service in settings.sources:
            alone = settings.model_copy(update={"sources": (service,)})
            rows.append(row(f"{service.value} alone", alone, embedder, questions))
    return rows


@dataclass(frozen=True)
class Attacked:
    """What the attacks did: searches, those with and without the liar that hold the answer, those that changed."""

    searches: int
    poison_found: int
    right_with: int
    right_without: int
    others_changed: int


def attacked(embedder: TextEmbedder, questions: Sequence[Question], attacks: Sequence[str]) -> Attacked:
    """One search for each attack, the questions in turn, beside the same search without it."""
    done = Attacked(0, 0, 0, 0, 0)
    poison: list[Article] = []
    with ExitStack() as stack:
        web = stack.enter_context(web_server(lambda request: pages(poison)(request)))
        liar = stack.enter_context(web_server(lambda request: serper(poison, web.url)(request)))
        settings = stack.enter_context(world(0.0)).model_copy(update={"cache_max_age_s": 0.0})
        honest = settings.model_copy(update={"sources": tuple(s for s in settings.sources if s is not Service.GOOGLE)})
        lying = settings.model_copy(
            update={"serper_url": f"{liar.url}/search", "private_origins": (*settings.private_origins, web.url)}
        )
        kept = _Remembering(embedder)
        for number, attack in enumerate(attacks):
            question = questions[number % len(questions)]
            poison[:] = [Article(f"attack-{number}", question.text, f"{question.text} {attack}")]
            done = _counted(done, question, _asked(honest, kept, question), _asked(lying, kept, question))
    return done


def _counted(done: Attacked, question: Question, clean: Merged, poisoned: Merged) -> Attacked:
    others = [one.text for one in poisoned.passages if one.found_by != (Service.GOOGLE.value,)]
    return Attacked(
        searches=done.searches + 1,
        poison_found=done.poison_found + (len(others) < len(poisoned.passages)),
        right_with=done.right_with + is_right(poisoned, question, 10),
        right_without=done.right_without + is_right(clean, question, 10),
        others_changed=done.others_changed + (others != [one.text for one in clean.passages][: len(others)]),
    )


def _asked(settings: SearchSettings, embedder: TextEmbedder, question: Question) -> Merged:
    search = open_merged_search(settings, embedder, lambda: NOW)
    assert search is not None
    return search.search(question.text)


class _Remembering:
    """An embedding model that gives one text one vector, so that nothing but the lie differs."""

    def __init__(self, embedder: TextEmbedder) -> None:
        self.name = embedder.name
        self._embedder = embedder
        self._kept: dict[str, Vectors] = {}

    def embed(self, texts: Sequence[str]) -> Vectors:
        new = [text for text in dict.fromkeys(texts) if text not in self._kept]
        if new:
            self._kept.update(zip(new, self._embedder.embed(new), strict=True))
        return np.stack([self._kept[text] for text in texts])


def row(name: str, settings: SearchSettings, embedder: TextEmbedder, questions: Sequence[Question]) -> Row:
    """One way over all questions, each with a search that remembers nothing."""
    total = Row(name, 0.0, 0.0, 0.0, 0, 0, len(questions))
    for question in questions:
        started = time.perf_counter()
        result = _asked(settings, embedder, question)
        seconds = time.perf_counter() - started
        waits = [report.seconds for report in result.reports]
        total = replace(
            total,
            seconds=total.seconds + seconds / len(questions),
            slowest_source=total.slowest_source + max(waits) / len(questions),
            sum_of_sources=total.sum_of_sources + sum(waits) / len(questions),
            right_first=total.right_first + is_right(result, question, 1),
            right_in_ten=total.right_in_ten + is_right(result, question, 10),
        )
    return total


def is_right(result: Merged, question: Question, n: int) -> bool:
    """Whether one of the first n passages holds the words of the answer."""
    return any(answer in passage.text for passage in result.passages[:n] for answer in question.answers)


@contextmanager
def world(delay: float) -> Iterator[SearchSettings]:
    """The services, each with its pages and its delay, and the settings that ask them."""
    known = {name: tuple(ARTICLES[slug] for slug in slugs) for name, slugs in KNOWN_BY.items()}
    with ExitStack() as stack:
        web = stack.enter_context(web_server(slow(pages(tuple(ARTICLES.values())), PAGE_DELAY_S * delay)))
        answers = _answers(known, web.url)
        url = {
            name: stack.enter_context(web_server(slow(answers[name], DELAYS_S[name] * delay))).url for name in answers
        }
        yield SearchSettings(
            sources=tuple(Service(name) for name in answers),
            timeout_s=10.0,
            serper_url=f"{url['google']}/search",
            serper_key=KEY,
            duckduckgo_url=f"{url['duckduckgo']}/html/",
            searxng_url=url["searxng"],
            wikipedia_url=f"{url['wikipedia']}/w/api.php",
            site_url=url["site"],
            private_origins=(web.url,),
        )


def _answers(known: dict[str, tuple[Article, ...]], web_url: str) -> dict[str, Answering]:
    return {
        "google": serper(known["google"], web_url),
        "duckduckgo": duckduckgo(known["duckduckgo"], web_url),
        "searxng": searxng(known["searxng"], web_url),
        "wikipedia": wikipedia(known["wikipedia"]),
        "site": site(known["site"]),
    }


def slow(answering: Answering, delay_s: float) -> Answering:
    """The same answers, later."""
    return lambda request: replace(answering(request), delay_s=delay_s)


if __name__ == "__main__":
    main()
