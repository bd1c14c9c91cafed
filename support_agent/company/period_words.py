"""The words by which English, German and Spanish texts name periods, as patterns over lower-cased text.

Invariant: data only; what a match means is decided in `periods`. A pattern that could mean two things stands
with the ranges that the closed set cannot express, because a period is never guessed. Checked by
tests/unit/company/test_periods.py.
"""

from __future__ import annotations

import re

_MONTHS = """
    january januar jänner enero / february februar febrero / march märz maerz marzo / april abril
    may mai mayo / june juni junio / july juli julio / august agosto / september septiembre setiembre
    october oktober octubre / november noviembre / december dezember diciembre
"""
_SHORT_MONTHS = """
    jan ene / feb / mar mrz / apr abr / may / jun / jul / aug ago / sep sept / oct okt / nov / dec dez dic
"""


def _numbered(months: str) -> dict[str, int]:
    """Each name with the number of its month; months are parted by a stroke or a new line."""
    groups = re.split(r"[/\n]", months.strip())
    return {name: number for number, names in enumerate(groups, start=1) for name in names.split()}


MONTH_NUMBERS = _numbered(_MONTHS)
SHORT_MONTH_NUMBERS = _numbered(_SHORT_MONTHS)
"""Understood beside a year only ("Mar 2025"): alone they are also names and words."""


def _any_of(*words: str) -> str:
    return "(?:" + "|".join(words) + ")"


MONTH = _any_of(*sorted(MONTH_NUMBERS, key=len, reverse=True)) + r"\b"
ANY_MONTH = rf"{_any_of(*sorted({**MONTH_NUMBERS, **SHORT_MONTH_NUMBERS}, key=len, reverse=True))}\b\.?"
YEAR = r"(?:19|20)\d\d(?!\d)"

_THIS = _any_of("this", "current", "(?:diese|laufende|aktuelle)[nmrs]?", "este")
_LAST = _any_of("last", "previous", "preceding", "(?:letzte|vergangene|vorige)[nmrs]?")
LAST_YEAR = rf"(?:{_LAST}\s+(?:year|jahr(?:es)?)|vorjahr(?:es)?|año\s+(?:pasado|anterior))\b"
THIS_YEAR = (
    rf"(?:{_THIS}\s+(?:year|jahr(?:es)?|año)|año\s+(?:actual|en\s+curso)|year\s+to\s+date|ytd|heuer)\b"
)
YEAR_WORD = rf"(?:{YEAR}|{LAST_YEAR}|{THIS_YEAR})"
_OF = r"(?:of\s+|in\s+|im\s+|des\s+|de\s+|del\s+|the\s+|dem\s+)*"

RELATIVE = re.compile(
    rf"\b(?:(?P<month_before_last>month\s+before\s+last|vorletzte[nmrs]?\s+monat(?:s|es)?)"
    rf"|(?P<year_before_last>year\s+before\s+last|vorletzte[nmrs]?\s+jahr(?:s|es)?)"
    rf"|(?P<this_month>{_THIS}\s+(?:month|monat(?:s|es)?|mes)|month\s+to\s+date|mes\s+(?:actual|en\s+curso))"
    rf"|(?P<last_month>{_LAST}\s+(?:month|monat(?:s|es)?)|vormonat(?:s|es)?|mes\s+(?:pasado|anterior))"
    rf"|(?P<this_quarter>{_THIS}\s+(?:quarter|quartals?|trimestre)|trimestre\s+(?:actual|en\s+curso))"
    rf"|(?P<last_quarter>{_LAST}\s+(?:quarter|quartals?)|vorquartals?|trimestre\s+(?:pasado|anterior))"
    rf"|(?P<this_year>{THIS_YEAR})|(?P<last_year>{LAST_YEAR}))\b"
)
"""The group that matched is the period's name."""
ALL_TIME = re.compile(
    r"\b(?:all[\s-]time|since\s+the\s+(?:very\s+)?(?:beginning|start)(?!\s+of)|since\s+joining"
    r"|since\s+(?:i|we)\s+(?:have\s+)?(?:joined|signed\s+up)|ever\s+(?:paid|spent|used|made|had|sent)|seit\s+vertragsbeginn"
    r"|(?:have|has|did)\s+(?:i|we)\s+ever|jemals|alguna\s+vez"
    rf"|seit\s+(?:beginn|anfang)(?!\s+(?:de[rs]?\b|diese|letzte|im\b|{YEAR}|{MONTH}))"
    r"|(?:gesamten?|ganzen?)\s+(?:zeitraum|laufzeit)|desde\s+(?:el\s+)?(?:principio|inicio|comienzo)(?!\s+de)"
    r"|desde\s+siempre|todo\s+el\s+historial)\b"
)
"""Taken before the ranges, of which "since the beginning" would be one."""

MONTH_AND_YEAR = re.compile(rf"\b(?P<month>{ANY_MONTH}),?\s+{_OF}(?P<year>{YEAR_WORD})")
MONTHS_AND_YEAR = re.compile(
    rf"\b(?P<first>{ANY_MONTH})(?P<and>\s*(?:,|&|\+|\b(?:and|or|und|oder|y|e|o|vs)\b)\s*)"
    rf"(?P<second>{ANY_MONTH},?\s+{_OF}(?P<year>{YEAR_WORD}))"
)
"""Two months that share a year: "March and April 2024"."""
NUMERIC_MONTH = re.compile(
    rf"(?<![\w./:-])(?:(?P<iso_year>{YEAR})-(?P<iso_month>0[1-9]|1[0-2])"
    rf"|(?P<month>0?[1-9]|1[0-2])[./](?P<year>{YEAR}))(?![\w/-]|\.\d)"
)
_BEFORE_MONTH = (
    r"in|for|of|during|from|this|last|my|our|the|and|or|vs"
    r"|im|für|fuer|vom|letzten|diesen|des|den|dem|monat|und|oder"
    r"|en|de|del|durante|para|mes\s+de|este|pasado|y|o"
)
MAY_THE_VERB = re.compile(r"\bmay\b(?!\s*(?:[.,;:?!)&]|$|and\b|or\b|to\b|(?:of\s+)?(?:last|this|19|20)))")
"""Of the text as written: in small letters and before another word it is the verb, not the month."""
BARE_MONTH = re.compile(
    rf"(?:\b(?:{_BEFORE_MONTH})|(?P<comma>,)|&)\s+(?P<month>{MONTH})"
    rf"|\b(?P<named>{MONTH})"
    r"(?=[\s-](?:invoices?|bills?|payments?|statements?|usage|rechnung|abrechnung|zahlung))"
)
"""A month without a year; it needs a word before or behind it, because many months are names or verbs."""

_NOT_A_YEAR_BEFORE = (
    r"(?<![\w./:#€$£-])(?<!€\s)(?<!\$\s)(?<!eur\s)(?<!usd\s)(?<!gbp\s)(?<!server\s)(?<!office\s)(?<!windows\s)"
    r"(?<!error\s)(?<!code\s)(?<!fehler\s)(?<!port\s)(?<!version\s)(?<!exchange\s)(?<!studio\s)"
)
BARE_YEAR = re.compile(
    rf"{_NOT_A_YEAR_BEFORE}(?P<year>{YEAR})(?![\w/:-]|[.,]\d|\s*(?:€|\$|£|%)|\s+(?:eur|usd|gbp|euros?|dollars?|gb|mb"
    r"|tb|kb|files?|folders?|calls?|requests?|users?|seats?|times|dateien|aufrufe|archivos|llamadas)\b)"
)

_QUARTER = r"\s+(?:quarter|quartals?|trimestre)\b"
QUARTER = re.compile(
    rf"(?<![\w.])(?:(?P<q1>q1\b|(?:first|1st|erste[snm]?|1\.|primer){_QUARTER})"
    rf"|(?P<q2>q2\b|(?:second|2nd|zweite[snm]?|2\.|segundo){_QUARTER})"
    rf"|(?P<q3>q3\b|(?:third|3rd|dritte[snm]?|3\.|tercer){_QUARTER})"
    rf"|(?P<q4>q4\b|(?:fourth|4th|vierte[snm]?|4\.|cuarto){_QUARTER}))"
    rf"(?:[\s/,-]+{_OF}(?P<year>{YEAR_WORD}))?"
)
"""The group q1 to q4 that matched is the quarter."""

_NUMBER = (
    r"(?:\d+|a\s+couple\s+of|couple\s+of|few|several|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
    r"|eighteen|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|paar|beiden|dos|tres|cuatro|cinco|seis"
    r"|siete|ocho|nueve|diez|once|doce)"
)
_UNITS = (
    r"(?:hours?|days?|weeks?|months?|quarters?|years?|stunden?|tage?n?|wochen?|monate?n?|quartale?n?|jahre?n?"
    r"|horas?|d[ií]as?|semanas?|mes(?:es)?|trimestres?|años?)"
)
_PLURALS = r"(?:hours|days|weeks|months|quarters|years|tagen?|wochen|monaten?|quartalen?|jahren?)"
DAY = (
    rf"(?:\d{{4}}-\d\d-\d\d|\d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}|\d{{1,2}}(?:st|nd|rd|th|\.)?\s+(?:of\s+|de\s+)?"
    rf"{ANY_MONTH}(?:,?\s+(?:de\s+)?{YEAR})?|{ANY_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?(?!\d)(?:,?\s+{YEAR})?)"
)
_POINT = (
    rf"(?:{DAY}|{ANY_MONTH}(?:,?\s+{_OF}{YEAR_WORD})?|{YEAR_WORD}"
    rf"|(?:{_THIS}|{_LAST})\s+(?:week|month|quarter|woche|monat|quartal|mes|trimestre)|(?:mes|semana)\s+pasad[oa])"
)
_PART = (
    r"(?:(?:the\s+)?(?:beginning|start|end|middle|first\s+half|second\s+half|early|late|mid)(?:\s+of)?[\s-]+"
    r"|(?:dem\s+|der\s+|den\s+|zum\s+)?(?:anfang|ende|mitte|beginn)\s+"
    r"|(?:el\s+|la\s+)?(?:principios?|inicios?|finales|fin|mediados)\s+del?\s+)"
)
_TO = r"(?:to|through|until|till|and|bis|und|a|hasta|y)"

RANGES: tuple[re.Pattern[str], ...] = tuple(
    re.compile(pattern)
    for pattern in (
        # rolling: "last 90 days", "die letzten drei Monate", "en los últimos 6 meses", "3 months ago"
        rf"\b(?:last|past|previous|next|coming|trailing|letzten?|vergangenen|vorigen|nächsten|kommenden"
        rf"|[úu]ltim[oa]s?|pasad[oa]s|próxim[oa]s)\s+{_NUMBER}\s+{_UNITS}\b",
        rf"\b(?:last|past|recent|previous|next|letzten?|vergangenen|nächsten)\s+{_PLURALS}\b",
        r"\b(?:[úu]ltim[oa]s?|próxim[oa]s?)\s+(?:horas|d[ií]as?|semanas?|mes(?:es)?|trimestres?|años?)\b",
        rf"\b(?:{_NUMBER}|a|an|one)\s+{_UNITS}\s+ago\b",
        rf"\b(?:vor|hace)\s+(?:{_NUMBER}|einem|einer|un|una)\s+{_UNITS}\b",
        # could be calendar or rolling: "over the last year", "in the past month"
        r"\bthe\s+last\s+(?:month|year)\b(?!['\u2019]s)|\bpast\s+(?:week|month|quarter|year)\b",
        # future
        rf"\b(?:next|coming|upcoming|(?:nächste|kommende)[nmrs]?)\s+(?:{_UNITS}|{MONTH})",
        r"\bpróxim[oa]\s+\w+|\b(?:mes|año|semana|trimestre)\s+que\s+viene\b",
        # weeks, weekends, days
        r"\b(?:this|last|current|previous|(?:diese|letzte|vorige|vergangene|aktuelle)[nmrs]?|esta)\s+"
        r"(?:weekend|week|fortnight|night|(?:mon|tues|wednes|thurs|fri|satur|sun)day|wochenende|woche|semana)\b"
        r"|\bsemana\s+(?:pasada|anterior)\b",
        # seasons, halves, business years, part of another period, the same time in another year
        r"\b(?:h[12]|halbjahr(?:e?s)?|semestre|half[\s-]year|(?:fiscal|financial|tax)\s+year|geschäftsjahr(?:e?s)?"
        r"|año\s+fiscal)\b|\b(?:this|last|(?:diese|letzte)[nmrs]?|in|im)\s+(?:the\s+)?(?:summer|winter|spring|autumn"
        r"|sommer|frühling|herbst)\b",
        rf"\b(?:first|last)\s+(?:day|week|month|quarter)\s+of\s+(?:the\s+year|{_POINT})",
        rf"\bletzte[nmrs]?\s+(?:tag|woche|monat|quartal)\s+(?:{YEAR}|des\s+jahres|im\s+jahr)",
        r"\b(?:same|this)\s+(?:time|period|month|quarter)\s+(?:in\s+|of\s+)?last\s+year\b",
        # from here to there
        rf"\b{_POINT}\s*(?:-|\u2013|\u2014|\b(?:to|through|until|till|bis|a|hasta)\b)\s*{_POINT}",
        rf"\b(?:between|from|zwischen|von|vom|entre|de|desde)\s+{_PART}?{_POINT}\s+{_TO}\s+{_PART}?{_POINT}",
        # since, before, after, a part of
        rf"\b(?:since|until|till|through|before|after|up\s+to|as\s+of|seit|ab|bis|vor|nach|desde|hasta|antes\s+de"
        rf"|después\s+de|a\s+partir\s+de)\s+(?:the\s+|dem\s+|der\s+|zum\s+|el\s+)?{_PART}?{_POINT}",
        rf"\b{_PART}{_POINT}",
        r"\b(?:beginning|start|end)\s+of\s+(?:the|this|last)\s+(?:week|month|quarter|year)\b"
        r"|\b(?:jahres|monats|quartals)(?:anfang|beginn|ende)\b",
        # a day
        rf"(?<![\w./-]){DAY}",
    )
)
"""What the closed set cannot express: each match is taken out of the text before mentions are read."""
WEAK_DAYS = re.compile(r"\b(?:today|yesterday|heute|gestern|vorgestern|hoy|ayer|anteayer)\b")
"""Days that count as a period only where no other period is mentioned: mails say "today" about much else."""
