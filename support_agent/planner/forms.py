"""The forms of an answer about a dated series (total, average, list ...): each is a fixed sequence of calls.

A classifier votes for a form by the phrasing of the question. It is fitted on examples of each form (`forms.toml`, and
a form's own) and of questions without a form; there are no word lists, so a new form only needs a few examples. If the
vote is unsure, the model picks among the likeliest forms by title. `aggregate_asked_for` applies the same vote to
account fields. Checked by tests/unit/planner/test_forms.py and test_single_values.py; measured by `python -m
tests.benchmarks.forms`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import islice

from pydantic import TypeAdapter

from support_agent.company.words import visible
from support_agent.core.frozen import Frozen
from support_agent.planner.questions import asked_in
from support_agent.tools.base import Examples, Qualifier, Search

EXAMPLES_FILE = "forms.toml"
NO_FORM = "none"
"""The class of questions without a form."""
NAMED = 0.5
"""Least probability of a named form."""
SURE_SIDE = 0.8
"""Least probability of two named forms, one on each side of a short word."""
JOINING_LETTERS = 3
"""Most words that join two forms ("and", "und", "et", "y", "i") have no more letters."""
FEWEST_WORDS = 3
"""Least number of words on each side of a short word."""
MOST_PARTS = 24
"""At most this many parts of a question are classified; each takes some milliseconds."""
MOST_PLACES = 24
"""At most this many split points of all parts."""
SURE_FORM = 0.9
"""A form this likely is chosen without the model: such votes were right in 94 of 100 cases with the subject held out,
and in 99 with the language held out (`python -m tests.benchmarks.forms --folds`)."""
LISTED = 6
"""The model chooses among this many fitting forms, the likeliest by the vote. With all forms the list is three times as
long and the combined choice worse: a log loss of 0.61 instead of 0.46 (`--weights`)."""
SURE_AGGREGATE = 0.6
"""Least probability that a question, or a field's own words, ask for an aggregate."""
SURE_OF_TOTAL = 0.9
"""The same for a total in a question: many fields are totals without saying so, and "how big are all my files together"
asks for such a field."""
_PAUSE = re.compile(r"(?<=[,;:\uff0c\u3001\u060c])\s*(?=\S)")


class Form(Frozen):
    """One form: `calls` are (tool, arguments) in order, where "@" is the pointer of the previous call.

    `examples` are questions that ask for it in any language, in addition to `forms.toml`. `periods` is the number of
    periods it needs; with two, the calls are made for each and `operation` combines the results.
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
"""Forms that filter or sort a list."""
AGGREGATE_FORMS = frozenset(["total", "average", "highest", "lowest"])
"""Forms whose number is computed from many values."""


def forms_for(period_count: int) -> Sequence[Form]:
    """The forms that fit a question with this many periods (0, 1 or 2)."""
    return [form for form in FORMS if form.periods <= max(period_count, 1)]


def votes_for(question: str, search: Search) -> Mapping[str, float]:
    """Probabilities of each form and of none: those of the question's part that most surely asks for a form."""
    chances = (search.phrased(part, examples()) for part in _sentences(question, search))
    return min(chances, key=lambda chances: chances[NO_FORM])


def are_several(question: str, search: Search) -> bool:
    """Whether the sentences ask for several forms, so that one answer would not do.

    A filtered or sorted list also answers a request for a list.
    """
    found = {key for part in _sentences(question, search)[1:] if (key := _named(part, search, SURE_SIDE))}
    return len(found - {"list"} if found & TABLES else found) > 1


def named_in(question: str, search: Search) -> frozenset[str]:
    """The keys of the forms that a question or one of its parts names.

    Parts end at pauses (",", ":"), and at a short word ("and") if its two sides name different forms.
    """
    sentences = _sentences(question, search)
    pieces = dict.fromkeys(part for sentence in sentences for part in [sentence, *_PAUSE.split(sentence)])
    parts = list(pieces)[:MOST_PARTS]
    found = {key for part in parts if (key := _named(part, search, NAMED))}
    for sides in islice((sides for part in parts for sides in _sides(part.split())), MOST_PLACES):
        keys = {_named(side, search, SURE_SIDE) for side in sides} - {""}
        found |= keys if len(keys) > 1 else set()
    return frozenset(found)


def aggregate_asked_for(question: str, own: Iterable[str], search: Search) -> Qualifier | None:
    """The aggregate that a question asks for, if an account field is not that aggregate itself; else None.

    The latest invoice does not answer "my highest bill ever"; an open balance does answer a question about a total.

    Args:
        question: The customer's own words.
        own: The field's label, summary and example questions.
    """
    votes = votes_for(question, search)
    form = max(FORMS, key=lambda form: votes[form.key])
    least = SURE_OF_TOTAL if form.key == "total" else SURE_AGGREGATE
    if form.key not in AGGREGATE_FORMS or votes[form.key] < least:
        return None
    if any(votes_for(text, search)[form.key] >= SURE_AGGREGATE for text in own):
        return None
    return Qualifier(kind="form", text=form.title)


def _sentences(question: str, search: Search) -> list[str]:
    """The whole question and its sentences that ask, without invisible characters."""
    question = visible(question)
    return [question, *dict.fromkeys(asked_in(question, search.read))][:MOST_PARTS]


def _sides(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    for place in range(FEWEST_WORDS, len(words) - FEWEST_WORDS + 1):
        if len(words[place]) <= JOINING_LETTERS:
            yield " ".join(words[:place]), " ".join(words[place:])


def _named(text: str, search: Search, least: float) -> str:
    """The likeliest form if it has at least this probability, else ""."""
    key, chance = max(search.phrased(text, examples()).items(), key=lambda pair: pair[1])
    return key if key != NO_FORM and chance >= least else ""


def examples() -> Examples:
    """The examples of each form and of none."""
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
