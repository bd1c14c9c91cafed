"""`python -m tests.benchmarks.sizes [SIZE ...]`: what it costs to choose among 20, 1,000 and 10,000 documents.

The documents are made by rules, each of one section and without example questions; the questions say the same in other
words. The language model is not asked: its list has the same few topics at any size. Printed are the seconds that the
first start embeds and fits, the median and the 95th percentile of the milliseconds of a choice with their ratio to the
first size, for how many questions the right document is the likeliest, and how many of those sure enough are right.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from support_agent.config.settings import PlannerSettings
from support_agent.facts.opening import open_topic_search
from support_agent.facts.topics import Topic
from support_agent.planner.combiner import Calibration, committed, features_of
from support_agent.tools.base import Search
from tests.benchmarks.companies import demo_settings
from tests.benchmarks.documents import Question, documents, in_other_words, topics

SIZES = (20, 1_000, 10_000)
ASKED = 100
SEED = 4
ROW = "{:>9} {:>9} {:>10} {:>8} {:>7} {:>13} {:>13}"


def main() -> None:
    """Measure each size and print a row."""
    sizes = tuple(map(int, sys.argv[1:])) or SIZES
    print(ROW.format("documents", "start s", "median ms", "95% ms", "ratio", "at the top", "right if sure"))  # noqa: T201
    first = 0.0
    with demo_settings() as settings:
        for size in sizes:
            search = open_topic_search(settings, in_memory=True, name=f"sizes-{size}")
            began = time.perf_counter()
            search.update(made(size))
            start_s = time.perf_counter() - began
            milliseconds, top, sure = asked(search, in_other_words(topics(size, SEED), ASKED, SEED))
            median, late = np.percentile(milliseconds, (50, 95))
            first = first or median
            cells = (f"{start_s:.1f}", f"{median:.0f}", f"{late:.0f}", f"{median / first:.1f}")
            shown = (f"{sum(top)} of {len(top)}", f"{sum(sure)} of {len(sure)}")
            print(ROW.format(size, *cells, *shown), flush=True)  # noqa: T201


def made(size: int) -> list[Topic]:
    """So many documents as topics."""
    sources = documents(topics(size, SEED), SEED, 1)
    return [
        Topic(key=source.key, title=source.title, sections=(" ".join(one.text for one in source.sentences),))
        for source in sources
    ]


def asked(search: Search, questions: list[Question]) -> tuple[list[float], list[bool], list[bool]]:
    """Milliseconds of each choice, whether the likeliest document is right, and of those that are sure whether."""
    combiner, least = committed(), PlannerSettings().threshold_answer
    milliseconds, top, sure = [], [], []
    search.nearest("How can I begin?")  # loads the models
    for question in questions:
        began = time.perf_counter()
        matches = search.nearest(question.text)
        chances = combiner.chances(*features_of(matches), None, Calibration())
        milliseconds.append(1_000 * (time.perf_counter() - began))
        best = int(np.argmax(chances[:-1]))
        top.append(matches[best].topic in question.keys)
        if chances[best] >= least:
            sure.append(top[-1])
    return milliseconds, top, sure


if __name__ == "__main__":
    main()
