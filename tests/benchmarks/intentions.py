"""`python -m tests.benchmarks.intentions [--folds | --alike]`: is what a reply in a case means told rightly?

Prints for the mails of `intentions_reported.toml`, by language, how many of those that close a case do close it, and
how many others are closed wrongly; the same of "that did not help" and "any news?". Each mail that is told wrongly
follows. `--alike` does so for `intentions_alike.toml`, whose other half looks as if it closed a case; `--folds` for
mails made from the examples themselves, whose language and whose sentences the vote has not seen: what its thresholds
were chosen by.
"""

from __future__ import annotations

import argparse
import random
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from support_agent.cases import intention_vote
from support_agent.cases.intention_vote import COURTESY, EXAMPLES_FILE, IntentionVote
from support_agent.cases.intentions import Intent, Intention
from support_agent.config.embedding import MULTILINGUAL, EmbeddingModel, EmbeddingSettings
from support_agent.config.intentions import IntentionSettings
from support_agent.config.settings import Settings
from support_agent.mail.text.quotation import split_quotation
from support_agent.models.embedders import load_embedders
from support_agent.models.embedding.port import Embedder
from support_agent.models.progress import stderr_progress
from support_agent.tools.base import Examples

REPORTED = Path(__file__).with_name("intentions_reported.toml")
ALIKE = Path(__file__).with_name("intentions_alike.toml")
GIVEN = Path(intention_vote.__file__).with_name(EXAMPLES_FILE)
SEED = 7
FOLDS = 2
ROUNDS = 6
"""Mails of each kind that are made of a language and a fold."""


class Reply(NamedTuple):
    """A mail and what it means."""

    language: str
    intent: str
    text: str


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.intentions")
    parser.add_argument("--folds", action="store_true")
    parser.add_argument("--alike", action="store_true")
    parser.add_argument("--embedder", choices=MULTILINGUAL, default=MULTILINGUAL[0])
    args = parser.parse_args(arguments)
    embedder = opened(args.embedder)
    if args.folds:
        found = folded(embedder, args.embedder)
    else:
        vote = IntentionVote(embedder, args.embedder, IntentionSettings())
        found = {reply: vote.of(reply.text) for reply in reported(ALIKE if args.alike else REPORTED)}
    for line in report("folds" if args.folds else "alike" if args.alike else "reported", found):
        print(line, flush=True)  # noqa: T201


def opened(name: str) -> Embedder:
    """The embedder of that name."""
    (embedder,) = load_embedders(
        Settings(embedding=EmbeddingSettings(models=(EmbeddingModel(name),))), stderr_progress()
    )
    return embedder


def reported(path: Path = REPORTED) -> Iterator[Reply]:
    """The mails that nothing is chosen by, without what they quote."""
    for language, of_intent in tomllib.loads(path.read_text("utf-8")).items():
        for intent, texts in of_intent.items():
            yield from (Reply(language, intent, split_quotation(text, None).visible) for text in texts)


def report(title: str, found: Mapping[Reply, Intention]) -> list[str]:
    """The lines to print."""
    by_language: dict[str, list[tuple[Reply, Intention]]] = defaultdict(list)
    for reply, intention in found.items():
        by_language["all"].append((reply, intention))
        by_language[reply.language].append((reply, intention))
    lines = [f"{title}, {language}: {_counts(rows)}" for language, rows in by_language.items()]
    for reply, told in by_language["all"]:
        if told.intent != reply.intent:
            lines.append(f"  {reply.language} {reply.intent} told {told.intent} {told.probability:.2f}: {reply.text!r}")
    return lines


def _counts(rows: Sequence[tuple[Reply, Intention]]) -> str:
    closing = [told for reply, told in rows if Intent(reply.intent).closes]
    others = [told for reply, told in rows if not Intent(reply.intent).closes]
    parts = [f"closed {_share(told.intent.closes for told in closing)}"]
    parts.append(f"wrongly closed {_share(told.intent.closes for told in others)}")
    for intent in (Intent.NOT_HELPED, Intent.ANY_NEWS):
        parts.append(f"{intent} {_share(told.intent is intent for reply, told in rows if reply.intent == intent)}")
        wrong = sum(told.intent is intent and reply.intent != intent for reply, told in rows)
        parts.append(f"wrongly {wrong}")
    return ", ".join(parts)


def _share(are_right: Iterator[bool]) -> str:
    found = list(are_right)
    return f"{sum(found)} of {len(found)}"


def folded(embedder: Embedder, name: str) -> dict[Reply, Intention]:
    """Mails made from the examples of one language and fold, told by a vote that saw neither."""
    given = tomllib.loads(GIVEN.read_text("utf-8"))
    chance = random.Random(SEED)
    found: dict[Reply, Intention] = {}
    for fold in range(FOLDS):
        for language, of_class in given.items():
            vote = IntentionVote(embedder, name, IntentionSettings(), _without(given, language, fold))
            held = {
                name: [text for at, text in enumerate(texts) if at % FOLDS == fold] for name, texts in of_class.items()
            }
            found |= {reply: vote.of(reply.text) for reply in _made(language, held, chance)}
    return found


def _without(given: Mapping[str, Mapping[str, Sequence[str]]], language: str, fold: int) -> Examples:
    texts: dict[str, list[str]] = defaultdict(list)
    for other, of_class in given.items():
        for name, examples in of_class.items():
            texts[name] += [text for at, text in enumerate(examples) if other != language and at % FOLDS != fold]
    return tuple((name, tuple(of_class)) for name, of_class in texts.items())


def _made(language: str, held: Mapping[str, Sequence[str]], chance: random.Random) -> Iterator[Reply]:
    """Mails that close or complain, with and without thanks and courtesies; and questions beside what would close."""
    a: Callable[[str], str] = lambda name: chance.choice(held[name])  # noqa: E731 - as short as what it makes
    for _ in range(ROUNDS):
        head, tail = chance.choice(["", f"{a(COURTESY)}\n\n"]), chance.choice(["", f"\n\n{a(COURTESY)}"])
        for intent in (Intent.THANKS, Intent.SOLVED, Intent.WITHDRAWN):
            yield Reply(language, intent, f"{head}{a(intent)}{tail}")
            yield Reply(language, intent, f"{head}{a(intent)} {a(Intent.THANKS)}{tail}")
        for intent in (Intent.NOT_HELPED, Intent.ANY_NEWS):
            yield Reply(language, intent, f"{head}{a(intent)}{tail}")
        closing = a(chance.choice([Intent.THANKS, Intent.SOLVED, Intent.WITHDRAWN]))
        asked, bare = a(Intent.NONE), closing.rstrip(".!")
        clause = asked[0].lower() + asked[1:]
        beside = [asked, f"{closing} {asked}", f"{asked} {a(Intent.THANKS)}", f"{bare}, {clause}"]
        for text in (*beside, f"{bare}, {clause.rstrip('?!.')}", f"{asked.rstrip('?!.')}, {a(Intent.THANKS).lower()}"):
            yield Reply(language, Intent.NONE, f"{head}{text}{tail}")


if __name__ == "__main__":
    main()
