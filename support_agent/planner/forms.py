"""The forms an answer about a dated series can take: each is a fixed sequence of calls on pointers.

The model chooses the form by its words; the calls follow. `cue` is what customers write when they mean it;
it is one vote, not the choice. Checked by tests/unit/planner/test_forms.py.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from support_agent.frozen import Frozen


class Form(Frozen):
    """One way to answer: `calls` are (tool, arguments) in order, where "@" is the pointer of the call before.

    `periods` is how many periods it needs; with two, the calls are made for each and joined by `operation`.
    `only_on_cue`: it is on the list only where its cue stands in the question.
    """

    key: str
    title: str
    cue: str
    calls: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    periods: int = 1
    operation: str = ""
    only_on_cue: bool = False

    def is_mentioned_in(self, question: str) -> bool:
        """Whether the customer's words name this form."""
        return re.search(self.cue, question, re.IGNORECASE) is not None


def _aggregate(key: str, title: str, cue: str) -> Form:
    calls = (("aggregate", (("pointer", "@"), ("aggregation", key))), ("send_aggregate", (("pointer", "@"),)))
    return Form(key=key, title=title, cue=cue, calls=calls)


def _kept(key: str, title: str, cue: str) -> Form:
    calls = (("filter", (("pointer", "@"), ("keep", key))), ("send_table", (("pointer", "@"),)))
    return Form(key=key, title=title, cue=cue, calls=calls, only_on_cue=True)


def _sorted(key: str, title: str, cue: str) -> Form:
    calls = (("sort", (("pointer", "@"), ("order", key))), ("send_table", (("pointer", "@"),)))
    return Form(key=key, title=title, cue=cue, calls=calls, only_on_cue=True)


def _joined(operation: str, title: str, cue: str) -> Form:
    calls = (("aggregate", (("pointer", "@"), ("aggregation", "total"))),)
    return Form(key=operation, title=title, cue=cue, calls=calls, periods=2, operation=operation)


_MOST = (
    r"(most|biggest|largest|highest|greatest|priciest|höchste\w*|größte\w*|meisten|"
    r"más (alt|grand|car)\w*|mayor\w*)"
)
_LEAST = r"(least|lowest|smallest|fewest|cheapest|niedrigste\w*|kleinste\w*|geringste\w*|menor\w*|más baj\w*)"
_THREE = r"(3|three|drei|tres)"
_FIVE = r"(5|five|fünf|cinco)"
_LATEST = r"(last|latest|most recent|letzten?|neuesten?|últim[oa]s?)"

FORMS: tuple[Form, ...] = (
    _aggregate(
        "total",
        "the total",
        r"\b(total\w*|altogether|in all|sum|overall|all in all|how much (did|have|has|do|were|was|money)|"
        r"spent|spend|cost|"
        r"insgesamt|gesamt\w*|summe|wie ?viel\b|cuánto|suma|gastado)\b",
    ),
    _aggregate(
        "average",
        "the average",
        r"\b(average|averaged|mean|typical\w*|on average|durchschnitt\w*|im schnitt|"
        r"promedio|media|de media)\b",
    ),
    _aggregate("highest", "the highest", rf"\b({_MOST}|peak|max(imum|imal\w*)?|máximo|record|busiest)\b"),
    _aggregate("lowest", "the lowest", rf"\b({_LEAST}|min(imum|imal\w*)?|mínimo|quietest|slowest)\b"),
    _aggregate(
        "count",
        "how many there are",
        r"\b(how many (times|payments|invoices|charges|bills)|number of (payments|invoices|"
        r"charges|bills|times)|how often|wie viele (zahlungen|rechnungen)|wie oft|cuánt[oa]s (pagos|"
        r"facturas|veces))\b",
    ),
    _aggregate(
        "latest",
        "the latest one",
        r"\b((most recent|latest|last) (payment|charge|bill|invoice|amount|value|one)|"
        r"(letzte|neueste|jüngste)\w* (zahlung|abbuchung|rechnung|wert)|últim[oa] (pago|cargo|factura))\b",
    ),
    Form(
        key="list",
        title="a list of every one",
        cue=r"\b(list\w*|every|each|all (my|our|the|of)|overview|statement|breakdown|history|month by month|"
        r"per month|monthly|"
        r"table|itemi[sz]ed|individual|liste\w*|auflist\w*|übersicht|jede\w*|alle\w*|aufstellung|lista\w*|"
        r"todos|todas|"
        r"cada|resumen|historial|detalle)\b",
        calls=(("send_table", (("pointer", "@"),)),),
    ),
    _kept("highest_3", "only the three highest", rf"\b({_THREE} {_MOST}|{_MOST} {_THREE}|top {_THREE})\b"),
    _kept("highest_5", "only the five highest", rf"\b({_FIVE} {_MOST}|{_MOST} {_FIVE}|top {_FIVE})\b"),
    _kept("lowest_3", "only the three lowest", rf"\b({_THREE} {_LEAST}|{_LEAST} {_THREE})\b"),
    _kept("latest_3", "only the three latest", rf"\b({_THREE} {_LATEST}|{_LATEST} {_THREE})\b"),
    _kept("latest_5", "only the five latest", rf"\b({_FIVE} {_LATEST}|{_LATEST} {_FIVE})\b"),
    _kept(
        "above_average",
        "only those above the average",
        r"\babove (the )?average|über dem durchschnitt|encima de la media",
    ),
    _kept(
        "below_average",
        "only those below the average",
        r"\bbelow (the )?average|unter dem durchschnitt|debajo de la media",
    ),
    _sorted(
        "highest_first",
        "a list, the highest first",
        r"\b(sort\w*|order\w*|rank\w*|sortier\w*|orden\w*).*"
        rf"({_MOST}|amount|size|betrag|importe)|{_MOST} first",
    ),
    _sorted("lowest_first", "a list, the lowest first", rf"\b{_LEAST} (first|zuerst|primero)\b"),
    _sorted("newest_first", "a list, the newest first", r"\b(newest|latest|most recent) first|neueste zuerst"),
    _joined(
        "subtract",
        "the difference between the two periods",
        r"\b(difference|compare\w*|more than|less than|increase\w*|decrease\w*|change\w*|went up|gone up|"
        r"versus|vs|than in|"
        r"unterschied|differenz|vergleich\w*|mehr als|weniger als|diferencia|compar\w*|más que|menos que)\b",
    ),
    _joined("add", "the two periods together", r"\b(together|combined|sum of|both|zusammen|juntos|en conjunto)\b"),
    _joined(
        "ratio",
        "how many times the one is the other",
        r"\b(ratio|how many times (more|as|higher)|times as (much|many)|factor|proportion|verhältnis|"
        r"faktor|proporción)\b",
    ),
)


def forms_for(question: str, period_count: int) -> Sequence[Form]:
    """The forms that are on the list for a question that names so many periods (0, 1 or 2)."""
    return [
        form
        for form in FORMS
        if form.periods <= max(period_count, 1) and (not form.only_on_cue or form.is_mentioned_in(question))
    ]


_AMOUNT = re.compile(r"how much|spent|spend|cost|wie ?viel|cuánto|gastado", re.IGNORECASE)
_NUMBERS = frozenset(["average", "highest", "lowest", "count", "latest"])


def named_in(question: str) -> frozenset[str]:
    """The keys of the forms that a question names.

    Words within those of another form do not count: "above average" names no average, "highest first" no highest. And
    "how much" names no total where another number is named: "how much was the highest?".
    """
    spans = {form.key: [match.span() for match in re.finditer(form.cue, question, re.IGNORECASE)] for form in FORMS}
    every = [span for found in spans.values() for span in found]
    named = {key for key, found in spans.items() if any(not _is_inside(span, every) for span in found)}
    is_amount = all(_AMOUNT.match(question[start:end]) for start, end in spans["total"])
    return frozenset(named - {"total"} if is_amount and named & _NUMBERS else named)


def _is_inside(span: tuple[int, int], spans: Sequence[tuple[int, int]]) -> bool:
    return any(start <= span[0] and span[1] <= end and (start, end) != span for start, end in spans)
