"""The forms an answer about a dated series can take: each is a fixed sequence of calls on pointers.

A classifier votes for a form by how the question is phrased. It is fitted to the examples of all forms (`forms.toml`,
and those that a form brings along) and of questions that name none, so no words are listed, and a form that is added
needs a few examples. Where the vote is not sure, the model picks among the likeliest forms by their titles. Checked by
tests/unit/planner/test_forms.py; measured by `python -m tests.benchmarks.forms`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import islice

from pydantic import TypeAdapter

from support_agent.company.words import visible
from support_agent.core.frozen import Frozen
from support_agent.planner.questions import asked_in
from support_agent.tools.base import Examples, Search

EXAMPLES_FILE = "forms.toml"
NO_FORM = "none"
"""The class of questions that name no form."""
NAMED = 0.5
"""A form so likely is named."""
SURE_SIDE = 0.8
"""Two forms so likely, one on each side of a short word, are named both."""
JOINING_LETTERS = 3
"""Most words that join two forms ("and", "und", "et", "y", "i") have no more letters."""
FEWEST_WORDS = 3
"""A side of a short word has so many words at least."""
MOST_PARTS = 24
"""So many parts of a question are looked at; each takes some milliseconds."""
MOST_PLACES = 24
"""So many places of all parts."""
SURE_FORM = 0.9
"""A form that the vote is so sure of is chosen without the model: with its subject left out of the examples such votes
were right 94 times of 100, with its language left out 99 (`python -m tests.benchmarks.forms --folds`)."""
LISTED = 6
"""So many of the forms that fit stand on the model's list, the likeliest by the vote. With all of them the model is
asked about three times as many, and the joined choice is less sure: a log loss of 0.61, not 0.46 (`--weights`)."""
_PAUSE = re.compile(r"(?<=[,;:\uff0c\u3001\u060c])\s*(?=\S)")


class Form(Frozen):
    """One way to answer: `calls` are (tool, arguments) in order, where "@" is the pointer of the call before.

    `examples` are questions that ask for it, beside those of `forms.toml`, in any language. `periods` is how many
    periods it needs; with two, the calls are made for each and joined by `operation`.
    """

    key: str
    title: str
    calls: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    examples: tuple[str, ...] = ()
    periods: int = 1
    operation: str = ""


def _aggregate(key: str, title: str) -> Form:
    calls = (("aggregate", (("pointer", "@"), ("aggregation", key))), ("send_aggregate", (("pointer", "@"),)))
    return Form(key=key, title=title, calls=calls)


def _kept(key: str, title: str) -> Form:
    calls = (("filter", (("pointer", "@"), ("keep", key))), ("send_table", (("pointer", "@"),)))
    return Form(key=key, title=title, calls=calls)


def _sorted(key: str, title: str) -> Form:
    calls = (("sort", (("pointer", "@"), ("order", key))), ("send_table", (("pointer", "@"),)))
    return Form(key=key, title=title, calls=calls)


def _joined(operation: str, title: str) -> Form:
    calls = (("aggregate", (("pointer", "@"), ("aggregation", "total"))),)
    return Form(key=operation, title=title, calls=calls, periods=2, operation=operation)


FORMS: tuple[Form, ...] = (
    _aggregate("total", "the total"),
    _aggregate("average", "the average"),
    _aggregate("highest", "the highest"),
    _aggregate("lowest", "the lowest"),
    _aggregate("count", "how many there are"),
    _aggregate("latest", "the latest one"),
    Form(key="list", title="a list of every one", calls=(("send_table", (("pointer", "@"),)),)),
    _kept("highest_3", "only the three highest"),
    _kept("highest_5", "only the five highest"),
    _kept("lowest_3", "only the three lowest"),
    _kept("latest_3", "only the three latest"),
    _kept("latest_5", "only the five latest"),
    _kept("above_average", "only those above the average"),
    _kept("below_average", "only those below the average"),
    _sorted("highest_first", "a list, the highest first"),
    _sorted("lowest_first", "a list, the lowest first"),
    _sorted("newest_first", "a list, the newest first"),
    _joined("subtract", "the difference between the two periods"),
    _joined("add", "the two periods together"),
    _joined("ratio", "how many times the one is the other"),
)
TABLES = frozenset(form.key for form in FORMS if form.calls[-1][0] == "send_table" and form.key != "list")
"""What cuts or sorts a list."""
AGGREGATE_FORMS = frozenset(["total", "average", "highest", "lowest"])
"""Forms whose number is made of many values, so that no single value tells it."""


def forms_for(period_count: int) -> Sequence[Form]:
    """The forms that fit a question that names so many periods (0, 1 or 2)."""
    return [form for form in FORMS if form.periods <= max(period_count, 1)]


def votes_for(question: str, search: Search) -> Mapping[str, float]:
    """How likely a question asks for each form, and for none, together 1: as its part that is surest of a form."""
    chances = (search.phrased(part, examples()) for part in _sentences(question, search))
    return min(chances, key=lambda chances: chances[NO_FORM])


def are_several(question: str, search: Search) -> bool:
    """Whether its sentences surely ask for several forms, of which one would not answer the others.

    A list that is cut or sorted answers who asks for a list, too.
    """
    found = {key for part in _sentences(question, search)[1:] if (key := _named(part, search, SURE_SIDE))}
    return len(found - {"list"} if found & TABLES else found) > 1


def named_in(question: str, search: Search) -> frozenset[str]:
    """The keys of the forms that a question names, whole or in a part of it.

    Parts end at pauses (",", ":"). A short word ("and") divides a part, too, where its two sides name different forms.
    """
    sentences = _sentences(question, search)
    pieces = dict.fromkeys(part for sentence in sentences for part in [sentence, *_PAUSE.split(sentence)])
    parts = list(pieces)[:MOST_PARTS]
    found = {key for part in parts if (key := _named(part, search, NAMED))}
    for sides in islice((sides for part in parts for sides in _sides(part.split())), MOST_PLACES):
        keys = {_named(side, search, SURE_SIDE) for side in sides} - {""}
        found |= keys if len(keys) > 1 else set()
    return frozenset(found)


def _sentences(question: str, search: Search) -> list[str]:
    """A question as it is seen, whole and by the sentences that ask."""
    question = visible(question)
    return [question, *dict.fromkeys(asked_in(question, search.read))][:MOST_PARTS]


def _sides(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    for place in range(FEWEST_WORDS, len(words) - FEWEST_WORDS + 1):
        if len(words[place]) <= JOINING_LETTERS:
            yield " ".join(words[:place]), " ".join(words[place:])


def _named(text: str, search: Search, least: float) -> str:
    """The form that is at least so likely; "" where none is."""
    key, chance = max(search.phrased(text, examples()).items(), key=lambda pair: pair[1])
    return key if key != NO_FORM and chance >= least else ""


def examples() -> Examples:
    """The examples of every form, and of none."""
    given = _packaged()
    own = {form.key: form.examples for form in FORMS}
    return tuple((key, given.get(key, ()) + own.get(key, ())) for key in dict.fromkeys([*given, *own]))


@cache
def _packaged() -> Mapping[str, tuple[str, ...]]:
    given = tomllib.loads(files(__package__).joinpath(EXAMPLES_FILE).read_text(encoding="utf-8"))
    read = TypeAdapter(dict[str, dict[str, dict[str, tuple[str, ...]]]]).validate_python(given)
    found: dict[str, tuple[str, ...]] = {}
    for of_subject in read.values():
        for of_language in of_subject.values():
            for key, texts in of_language.items():
                found[key] = (*found.get(key, ()), *texts)
    return found
