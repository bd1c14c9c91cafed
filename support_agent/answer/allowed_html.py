"""Checks HTML mails: the allowed elements and attributes, and the allowed places of values.

Invariant: a value is in text, or is a whole quoted `href` (after `mailto:` for the support address), so no value can
become markup; nothing remote is loaded. Checked by
tests/unit/answer/test_allowed_html.py.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from html.parser import HTMLParser
from itertools import accumulate

from support_agent.answer.grammar import GrammarProblem, TemplateRefused
from support_agent.answer.sources import DocumentSource, SettingsSource, Source, Span, TemplateSource

ELEMENTS = frozenset(
    {
        "a", "b", "blockquote", "body", "br", "code", "dd", "div", "dl", "dt", "em", "h1", "h2", "h3", "h4",
        "head", "hr", "html", "i", "li", "meta", "ol", "p", "pre", "small", "span", "strong", "table",
        "tbody", "td", "tfoot", "th", "thead", "title", "tr", "u", "ul",
    }
)  # fmt: skip
ATTRIBUTES = frozenset(
    {
        "align", "border", "cellpadding", "cellspacing", "charset", "colspan", "content", "dir", "href",
        "lang", "name", "role", "rowspan", "style", "title", "valign", "width",
    }
)  # fmt: skip
_TAG = re.compile(r"""<!doctype html>|</?[a-zA-Z][a-zA-Z0-9]*(?:\s+[a-zA-Z-]+(?:="[^"]*")?)*\s*/?>""", re.IGNORECASE)
_PLACEHOLDER = "\ue000"
"""Placeholder for a value while the markup is read; no template or value can contain it."""
_REMOTE_STYLE = re.compile(r"url\s*\(|@import|expression\s*\(|\\", re.IGNORECASE)


def check_places(spans: tuple[Span, ...]) -> None:
    """Refuse HTML in which a value could be more than text, or whose templates load anything.

    Raises:
        TemplateRefused: names the markup, the line and the template, and says why.
    """
    markup = "".join(
        span.text if isinstance(span.source, TemplateSource) else _PLACEHOLDER * len(span.text) for span in spans
    )
    tags = list(_TAG.finditer(markup))
    outside = _TAG.sub(lambda tag: " " * len(tag.group()), markup)
    if stray := re.search("[<>]", outside):
        near = outside[stray.start() : stray.start() + 60]
        raise _refused(spans, stray.start(), near, "the markup is not plain tags with double-quoted attributes")
    starts = list(accumulate((len(span.text) for span in spans), initial=0))
    for tag in tags:
        first, end = bisect_right(starts, tag.start()), bisect_left(starts, tag.end())
        inside = [span.source for span in spans[first:end] if not isinstance(span.source, TemplateSource)]
        if inside and (why := _misplaced(tag.group(), inside)):
            raise _refused(spans, tag.start(), tag.group(), why)
    reader = _Reader(spans)
    reader.feed(reader.text)
    reader.close()


def _misplaced(tag: str, sources: Sequence[Source]) -> str:
    """Why values may not be in this tag; "" if one value is a whole link."""
    match sources:
        case [DocumentSource(part="url")]:
            before, written = "", 'href="{{ ... }}"'
        case [SettingsSource(part="support_address")]:
            before, written = "mailto:", 'href="mailto:{{ ... }}"'
        case _:
            return 'a value may stand in a tag only as href="{{ item.url }}" or a mailto: link'
    if re.search(rf'\shref="{before}{_PLACEHOLDER}+"', tag):
        return ""
    return f"write the value as {written}"


class _Reader(HTMLParser):
    """Reads the finished mail like a mail program, and refuses unknown markup."""

    def __init__(self, spans: tuple[Span, ...]) -> None:
        super().__init__(convert_charrefs=True)
        self.spans = spans
        self.text = "".join(span.text for span in spans)
        self._line_starts = [0, *(match.end() for match in re.finditer("\n", self.text))]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ELEMENTS:
            raise self._refused(f"<{tag}>", "this element is not allowed: nothing active, nothing remote")
        for name, value in attrs:
            text = (value or "").strip()
            if name not in ATTRIBUTES:
                raise self._refused(f"<{tag} {name}=...>", "this attribute is not allowed in a mail")
            if name == "href" and not text.startswith(("https://", "mailto:")):
                raise self._refused(f'href="{text[:80]}"', "links begin with https:// or mailto:")
            if name == "style" and _REMOTE_STYLE.search(text):
                raise self._refused(f'style="{text[:80]}"', "a style may load nothing")

    def handle_comment(self, data: str) -> None:
        raise self._refused(f"<!--{data[:60]}", "use {# comments #}, which are not sent")

    def handle_pi(self, data: str) -> None:
        raise self._refused(f"<?{data[:60]}", "processing instructions are not allowed")

    def _refused(self, what: str, why: str) -> TemplateRefused:
        line, column = self.getpos()
        return _refused(self.spans, self._line_starts[line - 1] + column, what, why)


def _refused(spans: tuple[Span, ...], offset: int, what: str, why: str) -> TemplateRefused:
    """The refusal, located at the last literal up to the offset."""
    place = TemplateSource(name="?", line=1)
    start = 0
    for span in spans:
        if start > offset:
            break
        if isinstance(span.source, TemplateSource):
            place = span.source
        start += len(span.text)
    shown = re.sub(f"{_PLACEHOLDER}+", "{{ ... }}", what)
    return TemplateRefused(place.name, GrammarProblem(line=place.line, what=f"html: {shown!r}", todo=why))
