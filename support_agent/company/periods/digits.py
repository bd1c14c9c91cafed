"""Patterns of periods and days written in digits only, for all languages.

Invariant: data only. Checked by tests/unit/company/periods/test_reader.py.
"""

from __future__ import annotations

import re

YEAR = (
    r"(?<![\d./:#€$£-])(?<![€$£]\s)(?<!eur\s)(?<!usd\s)(?P<year>(?:19|20)\d\d)"
    r"(?![\d/:]|[-\u2013]\d|[.,]\d|\s*[€$£%]|\s+(?:eur|usd|gbp|gb|mb|tb|kb)\b)"
)
_SPAN = (
    r"(?<![\d./:#-])(?:19|20)\d\d\s*[/\u2013\u2014]\s*(?:(?:19|20)\d\d|\d\d)(?![\d/])"
    r"|(?<![\d./:#-])(?:19|20)\d\d-(?:(?:19|20)\d\d|1[3-9]|[2-9]\d)(?![\d/-])"
)
_DAY = (
    r"(?<![\w./:-])(?:(?:19|20)\d\d([-/.])\d{1,2}\1\d{1,2}|\d{1,2}([-/.])\d{1,2}\2(?:\d{4}|\d\d)|\d{1,2}\.\d{1,2}\.)"
    r"(?!\d)"
)
_OTHER = (
    r"\b[qtk][1-4]\s*(?:['/-]\s*)?\d\d(?!\d)|\b[1-4]q\b|\b[qtk][1-4]\s*[-\u2013]|\b(?:\d{4}-?)?w\d\d\b"
    r"|\b[hs][12]\b|\bfy\s?\d|(?<!\w)'\s?\d\d\b"
)
NEVER_WHOLE = re.compile(f"{_SPAN}|{_DAY}|{_OTHER}")
"""Days, two years joined by a slash or dash, weeks, half-years, fiscal years: never a whole calendar period."""
MONTH = re.compile(
    r"(?<![\w./:-])(?:(?P<iso_year>(?:19|20)\d\d)-(?P<iso_month>0[1-9]|1[0-2])"
    r"|(?P<month>0?[1-9]|1[0-2])[./](?P<year>(?:19|20)\d\d))(?![\d/-]|\.\d)"
)
SLASHED_MONTH = re.compile(r"(?<![\d./:-])(?P<year>(?:19|20)\d\d)/(?P<month>0[1-9]|1[0-2])(?![\d/-])")
"""Year/month as in Japan and China; elsewhere it may be two years."""
