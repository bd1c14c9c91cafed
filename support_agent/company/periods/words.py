"""The patterns of periods in English, German and Spanish, for lower-case text.

Invariant: data only; `periods` interprets the matches. Ambiguous patterns are among the ranges that the closed set
cannot express, because a period is never guessed. Checked by
tests/unit/company/periods/test_recognition.py.
"""

from __future__ import annotations

import re

from support_agent.company.periods.table import Table

_MONTHS = """
    january januar jänner enero / february februar febrero / march märz maerz marzo / april abril
    may mai mayo / june juni junio / july juli julio / august agosto / september septiembre setiembre
    october oktober octubre / november noviembre / december dezember diciembre
"""
_SHORT_MONTHS = """
    jan ene / feb / mar mrz / apr abr / may / jun / jul / aug ago / sep sept / oct okt / nov / dec dez dic
"""


def _numbered(months: str) -> dict[str, int]:
    """Each name with the number of its month; months are separated by a slash or a new line."""
    groups = re.split(r"[/\n]", months.strip())
    return {name: number for number, names in enumerate(groups, start=1) for name in names.split()}


MONTH_NUMBERS = _numbered(_MONTHS)
SHORT_MONTH_NUMBERS = _numbered(_SHORT_MONTHS)
"""Recognised next to a year ("Mar 2025") or after "in"; alone they may be names and words."""


def _any_of(*words: str) -> str:
    return "(?:" + "|".join(words) + ")"


MONTH = _any_of(*sorted(MONTH_NUMBERS, key=len, reverse=True)) + r"\b"
ANY_MONTH = rf"{_any_of(*sorted({**MONTH_NUMBERS, **SHORT_MONTH_NUMBERS}, key=len, reverse=True))}\b\.?"
YEAR = r"(?:19|20)\d\d(?!\d)"


def _inflected(stems: str) -> str:
    """Each German stem in every form: "diese|diesen|diesem|dieser|dieses"."""
    return "|".join(stem + ending for stem in stems.split() for ending in ("", "n", "m", "r", "s"))


# Lists with "|" are part of a pattern and of `UNIT_WORDS`.
_THIS_WORDS = f"this|current|{_inflected('diese laufende aktuelle')}|este|presente"
_LAST_WORDS = f"last|previous|preceding|prior|{_inflected('letzte vergangene vorige')}"
_BEFORE_LAST_WORDS = _inflected("vorletzte")
_ENGLISH_ORDINALS = "first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth"
_GERMAN_ORDINALS = _inflected("erste zweite dritte vierte fünfte sechste siebte achte neunte zehnte elfte zwölfte")
_THIS, _LAST, _BEFORE_LAST = _any_of(_THIS_WORDS), _any_of(_LAST_WORDS), _any_of(_BEFORE_LAST_WORDS)
LAST_YEAR = rf"(?:{_LAST}\s+(?:year|jahr(?:es)?)|vorjahr(?:es)?|año\s+(?:pasado|anterior)|(?:pasado|anterior)\s+año)\b"
THIS_YEAR = rf"(?:{_THIS}\s+(?:year|jahr(?:es)?|año)|año\s+(?:actual|en\s+curso)|year\s+to\s+date|ytd|heuer)\b"
YEAR_WORD = rf"(?:{YEAR}|{LAST_YEAR}|{THIS_YEAR})"
_OF = r"(?:of\s+|in\s+|im\s+|des\s+|de\s+|del\s+|the\s+|dem\s+)*"

_MONTH_OR_YEAR_BEFORE_LAST = rf"(?:(?:month|year)\s+before\s+last|{_BEFORE_LAST}\s+(?:monat|jahr)(?:e?s)?)"
RELATIVE = re.compile(
    rf"\b(?:(?P<month_before_last>month\s+before\s+last|{_BEFORE_LAST}\s+monat(?:s|es)?)"
    rf"|(?P<year_before_last>year\s+before\s+last|{_BEFORE_LAST}\s+jahr(?:s|es)?)"
    rf"|(?P<this_month>{_THIS}\s+(?:month|monat(?:s|es)?|mes)|month\s+to\s+date|mes\s+(?:actual|en\s+curso))"
    rf"|(?P<last_month>{_LAST}\s+(?:month|monat(?:s|es)?)|vormonat(?:s|es)?|mes\s+(?:pasado|anterior)|(?:pasado|anterior)\s+mes)"
    rf"|(?P<this_quarter>{_THIS}\s+(?:quarter|quartals?|trimestre)|trimestre\s+(?:actual|en\s+curso))"
    rf"|(?P<last_quarter>{_LAST}\s+(?:quarter|quartals?)|vorquartals?|trimestre\s+(?:pasado|anterior)"
    rf"|(?:pasado|anterior)\s+trimestre)|(?P<this_year>{THIS_YEAR})|(?P<last_year>{LAST_YEAR}))\b"
)
"""The group that matched is the period's name."""
ALL_TIME = re.compile(
    r"\b(?:all[\s-]time|since\s+the\s+(?:very\s+)?(?:beginning|start)(?!\s+of)|since\s+joining"
    r"|since\s+(?:the\s+day\s+)?(?:i|we)\s+(?:have\s+)?(?:joined|signed\s+up|became)|ever\s+(?:paid|spent|used|made|had|sent)|seit\s+vertragsbeginn"
    r"|(?:have|has|did)\s+(?:i|we)\s+ever|jemals|alguna\s+vez"
    rf"|seit\s+(?:beginn|anfang)(?!\s+(?:de[rs]?\b|diese|letzte|im\b|{YEAR}|{MONTH}))"
    r"|(?:gesamten?|ganzen?)\s+(?:zeitraum|laufzeit)|desde\s+(?:el\s+)?(?:principio|inicio|comienzo)(?!\s+de)"
    r"|desde\s+siempre|todo\s+el\s+historial)\b"
)
"""Taken before the ranges, of which "since the beginning" would be one."""

MONTH_AND_YEAR = re.compile(rf"\b(?P<month>{ANY_MONTH}),?\s+{_OF}(?P<year>{YEAR_WORD})")
MONTH_JOINT = r"\s*(?:,|&|\+|/|\b(?:and|or|und|oder|y|e|o|vs)\b)\s*"
_MONTH_LIST = rf"(?P<first>{ANY_MONTH}(?:{MONTH_JOINT}{ANY_MONTH}){{0,10}}){MONTH_JOINT}(?P<last>{ANY_MONTH})"
MONTHS_AND_YEAR = re.compile(rf"\b{_MONTH_LIST},?\s+{_OF}(?P<year>{YEAR_WORD})")
"""Months that share a year: "March and April 2024"."""
MONTHS_AND_PREPOSITION = re.compile(rf"\b(?P<before>in|im|en|for)\s+{_MONTH_LIST}")
"""Months that share the word before them: "in Jan and Feb"."""
UNIT_WORDS = Table(
    this=f"{_THIS_WORDS} | this one | éste",
    this_behind="actual | en curso",
    last=_LAST_WORDS,
    last_behind="pasado | anterior",
    last_one="""one before | previous one | last one | prior one | der davor | dem davor | den davor | das davor
        | die davor""",
    ordinal=f"""{_ENGLISH_ORDINALS} | {_GERMAN_ORDINALS} | {_BEFORE_LAST_WORDS} | next | coming | upcoming | following
        | past | present | {_inflected("nächste kommende folgende vorherige jetzige")} | próximo | siguiente | primer
        | primero | segundo | tercer | tercero | cuarto | último""",
    joint="""and | or | as | as well as | than | versus | vs | compared to | compared with | against | und | oder
        | als | wie | sowie | bzw | beziehungsweise | gegenüber | verglichen mit | im vergleich zu | im vergleich zum
        | y | e | o | que | como | contra | comparado con | frente a | frente al""",
    inside="in | of | for | im | in | für | vom | en | de | del | para",
    article="the | that of | der | die | das | dem | den | des | el | al",
)
"""Words of the three languages around a unit that two periods share: "this and last year"."""
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
"""For text in its original case: in lower case and before another word it is the verb, not the month."""
BARE_MONTH = re.compile(
    rf"(?:\b(?:{_BEFORE_MONTH})|(?P<comma>,)|&)\s+(?P<month>{MONTH})"
    rf"|\b(?P<named>{MONTH})"
    r"(?=[\s-](?:invoices?|bills?|payments?|statements?|usage|rechnung|abrechnung|zahlung))"
    rf"|\b(?:in|im|en|for)\s+(?P<short>{_any_of(*sorted(SHORT_MONTH_NUMBERS, key=len, reverse=True))})\b"
)
"""A month without a year; it needs a word before or after it, because many months are also names or verbs."""

_NOT_A_YEAR_BEFORE = (
    r"(?<![\w./:#€$£-])(?<!€\s)(?<!\$\s)(?<!eur\s)(?<!usd\s)(?<!gbp\s)(?<!server\s)(?<!office\s)(?<!windows\s)"
    r"(?<!error\s)(?<!code\s)(?<!fehler\s)(?<!port\s)(?<!version\s)(?<!exchange\s)(?<!studio\s)(?<!room\s)(?<!raum\s)(?<!sala\s)"
)
BARE_YEAR = re.compile(
    rf"{_NOT_A_YEAR_BEFORE}(?P<year>{YEAR})(?![\w/:-]|[.,]\d|\s*(?:€|\$|£|%)|\s+(?:eur|usd|gbp|euros?|dollars?|gb|mb"
    r"|tb|kb|files?|folders?|calls?|requests?|users?|seats?|times|dateien|aufrufe|archivos|llamadas)\b)"
)
IN_NUMBER = re.compile(
    rf"(?:^|\b(?:in|im|for|of|during|year|für|jahr|en|de|del|durante|año|payments?|total)\s+){YEAR}|^\W*\d\d?[./-]\d",
    re.IGNORECASE,
)
"""A year or month in digits after a word that makes it whole; used if the text may be in another language."""

_QUARTER = r"\s+(?:quarter|quartals?|trimestre)\b"
QUARTER = re.compile(
    rf"(?<![\w.])(?:(?P<q1>q1\b|t1(?=\s+(?:del?\s+)?{YEAR})|(?:first|1st|erste[snm]?|1\.|primer){_QUARTER})"
    rf"|(?P<q2>q2\b|t2(?=\s+(?:del?\s+)?{YEAR})|(?:second|2nd|zweite[snm]?|2\.|segundo){_QUARTER})"
    rf"|(?P<q3>q3\b|t3(?=\s+(?:del?\s+)?{YEAR})|(?:third|3rd|dritte[snm]?|3\.|tercer){_QUARTER})"
    rf"|(?P<q4>q4\b|t4(?=\s+(?:del?\s+)?{YEAR})|(?:fourth|4th|vierte[snm]?|4\.|cuarto){_QUARTER}))"
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
    rf"(?:\d{{4}}[-/.]\d\d?[-/.]\d\d?|\d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}|\d{{1,2}}(?:st|nd|rd|th|\.)?\s+(?:of\s+|de\s+)?"
    rf"{ANY_MONTH}(?:,?\s+(?:de\s+)?{YEAR})?|{ANY_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?(?!\d)(?:,?\s+{YEAR})?)"
)
_POINT = (
    rf"(?:{DAY}|{ANY_MONTH}(?:,?\s+{_OF}{YEAR_WORD})?|{YEAR_WORD}"
    rf"|(?:{_THIS}|{_LAST})\s+(?:week|month|quarter|woche|monat|quartal|mes|trimestre)"
    r"|(?:mes|semana|trimestre)\s+(?:pasad[oa]|anterior)|vormonat|vorquartal)"
)
_ORDINAL = (
    rf"(?:\d{{1,2}}(?:st|nd|rd|th|[ºª])|{_ENGLISH_ORDINALS}|{_GERMAN_ORDINALS}"
    r"|primer[oa]?s?|segund[oa]s?|tercer[oa]?s?|cuart[oa]s?|quint[oa]s?|sext[oa]s?)"
)
_TIME = rf"(?:{_POINT}|q[1-4]\b|{_ORDINAL}{_QUARTER}|{_MONTH_OR_YEAR_BEFORE_LAST})"
"""A point or a whole quarter, which a text can exclude or count from."""
_PART = (
    r"(?:(?:the\s+)?(?:beginning|start|end|middle|rest|remainder|part|half|early|late|mid)(?:\s+of)?[\s-]+"
    r"|(?:dem\s+|der\s+|den\s+|zum\s+)?(?:anfang|ende|mitte|beginn|rest|hälfte)\s+(?:von\s+|des\s+)?"
    r"|(?:el\s+|la\s+)?(?:principios?|inicios?|finales|fin|mediados|resto|mitad)\s+del?\s+)"
)
_SPAN = r"(?:to|through|until|till|bis|a|hasta)"
_TO = r"(?:to|through|until|till|and|bis|und|a|hasta|y)"
_FILL = (
    r"(?:(?:for|in|of|during|the|year|month|im|für|von|vom|den|dem|des|der|das|jahr|monat|en|de|del|el|la|año|mes"
    r"|durante)\s+){0,4}"
)
_EXCEPT = (
    r"(?:except(?:ing)?|exclud(?:e|es|ed|ing)|excl\.?|without|other\s+than|apart\s+from|aside\s+from|besides|outside"
    r"|(?:skip|omit)(?:ping|ting)?|ignor(?:e|ing)|leav(?:e|ing)\s+out|not(?:\s+counting|\s+including)?"
    r"|außer|ausser|ohne|ausgenommen|ausschließlich|exklusive|außerhalb|abgesehen|mit\s+ausnahme|bis\s+auf|nicht"
    r"|excepto|exceptuando|excluyendo|excluido|salvo|sin(?:\s+contar|\s+incluir)?|a\s+excepción|aparte|fuera"
    r"|no(?:\s+(?:en|el|la|del?|durante))+)"
)
_HOLIDAY = (
    r"(?:christmas|xmas|easter|black\s+friday|cyber\s+monday|new\s+year(?:['\u2019]?s)?|halloween|thanksgiving"
    r"|whitsun|ramadan|holidays|weihnachten|ostern|pfingsten|silvester|neujahr|fasching|karneval|feiertagen?"
    r"|\w{0,12}ferien|navidad(?:es)?|nochebuena|nochevieja|pascuas?|semana\s+santa|año\s+nuevo|vacaciones)"
)
_SEASON = r"(?:summer|winter|spring|autumn|fall|sommer|frühling|frühjahr|herbst|verano|invierno|primavera|otoño)"
_WEEKDAY = (
    r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|(?:mon|diens|donners|frei|sams|sonn)tags?|mittwochs?"
    r"|lunes|martes|miércoles|jueves|viernes|sábados?|domingos?)"
)
_JOINED = (
    r"(?:joined|signed|started|subscribed|upgraded|downgraded|switched|bought|registered|became|moved|cancelled"
    r"|canceled|changed|opened|beigetreten|angefangen|begonnen|gestartet|angemeldet|registriert|gewechselt|gekündigt"
    r"|abonniert|beitrat|anfing|uní|unimos|registré|registramos|empecé|empezamos|suscribí|contraté|contratamos"
    r"|cambié|di\s+de\s+alta)"
)

RANGES: tuple[re.Pattern[str], ...] = tuple(
    re.compile(pattern)
    for pattern in (
        # all but a point in time: "except in 2024", "every month but March", "2024 excluded"
        rf"\b{_EXCEPT}\s+{_FILL}{_TIME}",
        r"\b(?:every|each|all|any|everything|anything|jede[nmrs]?|alle[ns]?|cada|tod[oa]s?)\s+(?:\w+\s+){0,4}"
        rf"(?:but|bar|save|minus|menos)\s+{_FILL}{_TIME}",
        rf"\b{_TIME}\s+(?:excluded|excepted|aside|ausgenommen|ausgeschlossen|excluid[oa]|exceptuad[oa])\b",
        # two years as one span, a quarter or year of two digits
        rf"(?<![\w./#-]){YEAR}\s*/\s*(?:{YEAR}|\d{{1,2}})(?![\w/-]|\.\d)"
        rf"|(?<![\w./#-]){YEAR}[-\u2013](?:1[3-9]|[2-9]\d)(?![\w/-]|\.\d)",
        r"\bq[1-4][\s/'\u2019-]*\d\d(?!\d)|\b[1-4]q(?![a-z])|(?<!\w)['\u2019]\d\d\b",
        rf"\bq[1-4]\s*(?:-|\u2013|\u2014|\b{_SPAN}\b)\s*q[1-4]\b",
        # two months in one word: "März- und Aprilrechnung"
        rf"\b{_any_of(*MONTH_NUMBERS)}-\s+(?:and|or|und|oder)\b",
        # rolling: "last 90 days", "die letzten drei Monate", "en los últimos 6 meses", "3 months ago"
        rf"\b(?:last|past|previous|next|coming|trailing|letzten?|vergangenen|vorigen|nächsten|kommenden"
        rf"|[úu]ltim[oa]s?|pasad[oa]s|próxim[oa]s)\s+{_NUMBER}\s+{_UNITS}\b",
        rf"\b(?:last|past|recent|previous|next|letzten?|vergangenen|nächsten)\s+{_PLURALS}\b",
        r"\b(?:[úu]ltim[oa]s?|próxim[oa]s?)\s+(?:horas|d[ií]as?|semanas?|mes(?:es)?|trimestres?|años?)\b",
        rf"\b(?:{_NUMBER}|a|an|one)\s+{_UNITS}\s+ago\b",
        rf"\b{_NUMBER}\s+{_any_of(*MONTH_NUMBERS)}s?\s+ago\b|\b(?:{_BEFORE_LAST}|penúltimo)\s+{MONTH}",
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
        rf"\b(?:every|each|jeden|cada|los)\s+{_WEEKDAY}|\b{_WEEKDAY}\s+{_OF}{_POINT}"
        r"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days\b|\b(?:mon|diens|donners|frei|sams|sonn)tags\b",
        r"\b(?:\d{4}-?)?w\d\d\b|\b(?:kw|cw|wk)\.?\s*\d{1,2}\b",
        # seasons and feasts, halves, business years, part of another period, the same time in another year
        r"\b(?:[12]h|s[12]|h[12](?:[\s/]*\d\d)?|halbjahr(?:e?s|en?)?|(?:cuatri|bi|se)mestres?|half[\s-]year"
        r"|fy\s*\d\d(?:\d\d)?|(?:fiscal|financial|tax|business)\s+year|(?:geschäfts|wirtschafts|steuer|fiskal)jahr(?:e?s)?"
        r"|año\s+(?:fiscal|contable)|ejercicio|decade|jahrzehnt|década)\b",
        rf"\b(?:{_ORDINAL}|last|latter|letzten?|última)\s+(?:half|hälfte|mitad|jahreshälfte)\b",
        rf"\b(?:this|last|in|over|during|for|of|since|diese[nmrs]?|letzte[nmrs]?|im|über|seit|des|este|en|durante|del?)"
        rf"\s+(?:the\s+|den\s+|el\s+|la\s+)?{_SEASON}\b|\b{_SEASON}\s+{_OF}{_POINT}",
        rf"(?<!merry\s)(?<!happy\s)(?<!frohe\s)(?<!feliz\s)\b{_HOLIDAY}\b",
        rf"\b(?:week|quarter)\s+before\s+last\b|\b{_BEFORE_LAST}\s+(?:woche|quartal)|\b(?:ante)?pen[úu]ltim[oa]\s"
        r"|\b(?:año|mes|trimestre|semana)\s+antepasad[oa]\b",
        r"\b(?:year|months?|quarter|weeks?|jahr|monate?|quartal|año|mes(?:es)?|trimestre)\s+(?:that\s+|que\s+)?(?:ending|endend"
        rf"|ended|ends|beginning|starting|to(?=\s+{_POINT})|terminad[oa]s?|termina|finalizad[oa]s?)\b",
        rf"\b(?:first|last)\s+(?:day|week|month|quarter)\s+of\s+(?:the\s+year|{_POINT})",
        rf"\bletzte[nmrs]?\s+(?:tag|woche|monat|quartal)\s+(?:{YEAR}|des\s+jahres|im\s+jahr)",
        r"\b(?:same|this)\s+(?:time|period|month|quarter)\s+(?:in\s+|of\s+)?last\s+year\b",
        # from here to there
        rf"\b{_POINT}\s*(?:-|\u2013|\u2014|\b{_SPAN}\b)\s*{_POINT}",
        rf"\b(?:between|from|zwischen|von|vom|entre|de|desde)\s+{_PART}?{_POINT}\s+{_TO}\s+{_PART}?{_POINT}",
        # since, before, after, a part of
        rf"\b(?:since|until|till|through|before|after|up\s+to|as\s+of|seit|ab|bis|vor|nach|desde|hasta|antes\s+del?"
        rf"|después\s+del?|a\s+partir\s+del?)\s+(?:the\s+|dem\s+|der\s+|zum\s+|el\s+)?{_PART}?{_TIME}",
        rf"\b{_TIME}\s+(?:onwards?|forward|(?:and|or)\s+(?:later|earlier|before|after|since)|en\s+adelante"
        r"|(?:und|oder)\s+(?:später|früher|davor|danach)|[yo]\s+(?:antes|después))\b",
        rf"\b(?:from|von|vom)\s+{_TIME}\s+(?:on|an)\b",
        rf"\b{_PART}{_POINT}",
        r"\b(?:beginning|start|end)\s+of\s+(?:the|this|last)\s+(?:week|month|quarter|year)\b"
        r"|\b(?:jahres|monats|quartals)(?:anfang|beginn|ende)\b",
        # a day
        rf"(?<![\w./-]){DAY}|\b{_ORDINAL}\s+(?:of\s+|de\s+)?{MONTH}",
        r"\b(?:on|since|until)\s+the\s+\d{1,2}(?:st|nd|rd|th)\b",
        # a time that only the customer knows
        r"\b(?:back\s+then|(?:at|in)\s+(?:that|those)\s+(?:time|days)|damals|zu\s+(?:jener|dieser|der)\s+zeit"
        r"|(?:en|por)\s+aquel(?:la)?\s+(?:entonces|época|tiempo)|en\s+(?:ese|aquel)\s+momento)\b",
        r"\b(?:the|my|our|im|der|dem|den|das|el|la)\s+(?:year|month|quarter|week|day|jahr|monat|quartal|woche|tag|año|mes"
        r"|trimestre|semana|día),?\s+(?:(?:when|that"
        r"|in\s+which|in\s+de[mr]|als|en\s+(?:el\s+)?que|cuando)\s+)?(?:i|we|ich|wir|me|nos)?\s*"
        rf"(?:(?!during|this|last|\d)\w+\s+){{0,4}}{_JOINED}\b",
    )
)
"""What the closed set cannot express: each match is taken out of the text before mentions are read."""
_UNIT = (
    r"(?:days?|weeks?|weekend|months?|quarters?|years?|tag(?:e[ns]?|s)?|wochen?|wochenende|monat(?:en?|s)?"
    r"|quartal(?:en?|s)?|jahr(?:en?|es)?|d[ií]as?|semanas?|mes(?:es)?|trimestres?|años?)"
)
_DATE_LIKE = rf"(?:{_UNIT}|{MONTH}|{_WEEKDAY}|{_SEASON})\b"
_BETWEEN = r"(?:(?!each\b|every\b|per\b|jede|cada\b)\w+\s+)"
REMAINS = re.compile(
    # "the first year", "los tres primeros meses", "2. Monat"
    rf"\b{_ORDINAL}\s+(?:{_NUMBER}\s+)?{_UNIT}\b|(?<![\w.])\d{{1,2}}\.\s+(?:tag|woche|monat|jahr)"
    # "week 12", "months 3 to 6"
    rf"|\b{_UNIT}\s+(?:no\.?\s+|nr\.?\s+)?\d{{1,2}}(?![\w%€$])"
    # "in 3 months" is a range, "a 12 month contract" is none
    rf"|\b(?:in|over|during|across|for|über|für|während|en|durante)\s+(?:the\s+|den\s+|die\s+|los\s+|las\s+)?"
    rf"{_NUMBER}\s+{_UNIT}\b(?!\s+(?:now|already))"
    rf"|\b{_NUMBER}[\s-]{_UNIT}\s+(?:total|sum|average|usage|spend)\b"
    rf"|\b(?:before|after|until|till|since|between|bis|seit|zwischen|antes|después|desde|hasta|entre)\s+"
    rf"{_BETWEEN}{{0,2}}{_DATE_LIKE}|\b(?:vor|nach|ab)\s+{_BETWEEN}{{1,2}}{_DATE_LIKE}"
    r"|\b(?:the|das|im|el)\s+(?:year|month|quarter|week|jahr|monat|quartal|woche|año|mes|trimestre)\s+"
    r"(?:before|after|earlier|prior|davor|danach|zuvor|siguiente)\b"
    r"|\bfollowing\s+(?:year|month|quarter|week)\b"
)
"""Words about time that no reader took: they say something that the closed set cannot express."""
WEAK_DAYS = re.compile(
    rf"\b(?:today|yesterday|tomorrow|tonight|this\s+(?:morning|evening|afternoon)|the\s+other\s+day|recently|lately"
    r"|heute|gestern|vorgestern|(?<!guten\s)morgen|neulich|kürzlich|hoy|ayer|anteayer|anoche|recientemente|últimamente|entonces"
    r"|that\s+(?:day|week|month|quarter|year)|jene[nmrs]?\s+(?:tag|woche|monat|quartal|jahr)"
    r"|(?:ese|aquel)\s+(?:día|mes|trimestre|año)|(?:the|on|this|am|el)\s+(?:weekend|wochenende|fin\s+de\s+semana)"
    rf"|{_WEEKDAY}|(?:the|der|el|la)\s+{_SEASON}|(?:when|als|cuando)\s+(?:\w+\s+){{0,3}}{_JOINED})\b"
)
"""Times that count as a period only where no other period is mentioned: mails say "today" about much else."""
