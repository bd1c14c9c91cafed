"""Where in an HTML mail a value may stand, and which elements and attributes its templates may use.

Invariant: a value stands in text, or is the whole of a quoted `href` (after `mailto:` for the support
address), so that no value can become markup; nothing remote is loaded. Checked by
tests/unit/answer/test_places.py.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser

from support_agent.answer.sources import DocumentSource, SettingsSource, Source, Span, TemplateSource
from support_agent.errors import GateRefused

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
_TAG = re.compile(
    r"""<!doctype html>|</?[a-zA-Z][a-zA-Z0-9]*(?:\s+[a-zA-Z-]+(?:="[^"]*")?)*\s*/?>""", re.IGNORECASE
)
_PLACEHOLDER = "\ue000"
"""Stands for a value while the markup is read; no template or value can hold it."""
_REMOTE_STYLE = re.compile(r"url\s*\(|@import|expression\s*\(|\\", re.IGNORECASE)


def check_places(spans: tuple[Span, ...]) -> None:
    """Refuse HTML in which a value stands where it could be more than text, or whose templates load anything.

    Raises:
        GateRefused: says which markup and why.
    """
    values = [span for span in spans if not isinstance(span.source, TemplateSource)]
    markup = "".join(span.text if isinstance(span.source, TemplateSource) else _PLACEHOLDER for span in spans)
    outside = _TAG.sub("", markup)
    if stray := re.search("[<>]", outside):
        near = outside[max(0, stray.start() - 20) : stray.start() + 40]
        raise _refused(near, "the markup is not plain tags with double-quoted attributes")
    for tag in _TAG.finditer(markup):
        before = markup.count(_PLACEHOLDER, 0, tag.start())
        inside = values[before : before + tag.group().count(_PLACEHOLDER)]
        _check_values(tag.group(), [span.source for span in inside])
    reader = _Reader()
    reader.feed("".join(span.text for span in spans))
    reader.close()


def _check_values(tag: str, sources: list[Source]) -> None:
    """A tag may hold one value: as the whole of its href."""
    if not sources:
        return
    match sources:
        case [DocumentSource(part="url")]:
            expected = f'href="{_PLACEHOLDER}"'
        case [SettingsSource(part="support_address")]:
            expected = f'href="mailto:{_PLACEHOLDER}"'
        case _:
            raise _refused(tag, 'a value may stand in a tag only as href="{{ item.url }}" or a mailto: link')
    if not re.search(rf"\s{re.escape(expected)}", tag):
        raise _refused(tag, f"write the value as {expected.replace(_PLACEHOLDER, '{{ ... }}')}")


class _Reader(HTMLParser):
    """Reads the finished mail as a mail program would, and refuses what it does not know."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ELEMENTS:
            raise _refused(
                f"<{tag}>", "this element is not allowed in a mail (nothing active, nothing remote)"
            )
        for name, value in attrs:
            text = (value or "").strip()
            if name not in ATTRIBUTES:
                raise _refused(f"<{tag} {name}=...>", "this attribute is not allowed in a mail")
            if name == "href" and not text.startswith(("https://", "mailto:")):
                raise _refused(f'href="{text[:80]}"', "links begin with https:// or mailto:")
            if name == "style" and _REMOTE_STYLE.search(text):
                raise _refused(f'style="{text[:80]}"', "a style may load nothing")

    def handle_comment(self, data: str) -> None:
        raise _refused(f"<!--{data[:60]}", "use {# comments #}, which are not sent")

    def handle_pi(self, data: str) -> None:
        raise _refused(f"<?{data[:60]}", "processing instructions are not allowed")


def _refused(what: str, why: str) -> GateRefused:
    shown = what.replace(_PLACEHOLDER, "{{ ... }}")
    return GateRefused(f"html: {shown!r}: {why}", code="markup")
