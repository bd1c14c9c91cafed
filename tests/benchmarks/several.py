"""`python -m tests.benchmarks.several [SET ...]`: which questions are taken apart, and whether they ask for two things.

SET: `several` (84 questions to the demo company that ask for two things, or seem to), `tuning`, a company of
`tests/companies`, or a set of `tests/mails/made`; by default all that may be tuned on. Prints every question that is
taken apart, with the topics and how likely each is, then how many were so rightly. No language model is asked.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from support_agent.mail.message import parse
from support_agent.planner.choice import NONE_KEY
from support_agent.planner.combiner import Calibration, Combiner, committed, features_of
from support_agent.planner.questions import questions_of
from support_agent.planner.splitting import MailPart, split_question
from support_agent.tools.base import Search
from tests.benchmarks.companies import COMPANIES, TODAY, demo_settings, mails_of, read_mails, search_of, topics_in
from tests.benchmarks.mails import MADE
from tests.labelled import MAILS, labels

DEVELOPMENT = ("several", "tuning", "shop", "utility", "office", "qualifiers_development")
QUESTIONS = MAILS / "several.jsonl"
LEAST = 0.6


class Asking(NamedTuple):
    """Subject and text of a mail, and the topics that answer each of its questions."""

    name: str
    subject: str
    text: str
    topics: tuple[tuple[str, ...], ...]


def askings(name: str) -> Iterator[Asking]:
    """Everything that a set asks."""
    if name == "several":
        for number, row in enumerate(map(json.loads, QUESTIONS.read_text(encoding="utf-8").splitlines()), 1):
            yield Asking(f"{number:02d} {row['language']}", "", row["question"], tuple((one,) for one in row["topics"]))
    elif name == "tuning":
        for label in labels(name):
            message = parse(label.path.read_bytes())
            topics = tuple(topics_in(outcomes) for outcomes in label.expected)
            yield Asking(label.path.name, message.subject, message.visible_text, topics)
    else:
        for mail in mails_of(name) if (COMPANIES / name).is_dir() else read_mails(MADE / f"{name}.jsonl"):
            topics = tuple(topics_in(outcomes) for outcomes in mail.expected)
            yield Asking(f"{mail.id} {mail.language}", mail.subject, mail.text, topics)


def main() -> None:
    """Take every question of the sets apart, and print."""
    for name in sys.argv[1:] or DEVELOPMENT:
        with demo_settings() as settings:
            search = search_of(name, settings)
            measure(name, search, committed(tuple(model.value for model in settings.embedding.models)))


def measure(name: str, search: Search, combiner: Combiner) -> None:
    """Take the questions of a set apart, and print."""

    def nearest(text: str) -> tuple[str, float]:
        first = search.nearest(text)[0]
        return first.topic, first.score

    def chances(text: str) -> Mapping[str, float]:
        matches = search.nearest(text)
        found = combiner.chances(*features_of(matches), None, Calibration())
        return dict(zip([*(match.topic for match in matches), NONE_KEY], found, strict=True))

    count = twos = 0
    verdicts: Counter[str] = Counter()
    for asking in askings(name):
        questions = questions_of(asking.subject, asking.text, search.read)
        count += len(questions)
        twos += len(asking.topics) > 1 and len(questions) == 1
        for question in questions:
            parts = split_question(question, chances, search.read, LEAST, TODAY.date())
            if len(parts) > 1:
                found = [max(chances(part.text).items(), key=lambda entry: entry[1]) for part in parts]
                verdict = _verdict(asking, parts, [topic for topic, _ in found])
                verdicts[verdict] += 1
                _print(f"{verdict} {asking.name}: {_told(parts, found)}")
    _print(
        f"{name}: {count} questions, {twos} mails with two things in one of them; taken apart: "
        f"{verdicts['right']} rightly, {verdicts['open']} with one thing left to a person, {verdicts['WRONG']} wrongly"
    )


def _verdict(asking: Asking, parts: Sequence[MailPart], found: Sequence[str]) -> str:
    """right: the topics answer a question of the mail each; open: those do that are sure."""
    places = [
        {place for place, topics in enumerate(asking.topics) if topic in topics}
        for topic, part in zip(found, parts, strict=True)
        if part.is_sure
    ]
    if len(asking.topics) < 2 or not all(places):
        return "WRONG"
    if len(places) < len(parts):
        return "open"
    return "right" if len(set.union(*places)) > 1 else "WRONG"


def _told(parts: Sequence[MailPart], found: Sequence[tuple[str, float]]) -> str:
    return " | ".join(
        f"{part.text[-60:]!r} {topic} {chance:.2f}{'' if part.is_sure else ' doubtful'}"
        for part, (topic, chance) in zip(parts, found, strict=True)
    )


def _print(line: str) -> None:
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
