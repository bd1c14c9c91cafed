"""Where in HTML a value may stand."""

from __future__ import annotations

import pytest

from support_agent.answer.allowed_html import check_places
from support_agent.answer.sources import DocumentSource, SettingsSource, Source, Span, TemplateSource
from support_agent.errors import GateRefused

URL = DocumentSource(answer=0, item=0, number=1, version="", part="url")
TITLE = DocumentSource(answer=0, item=0, number=1, version="", part="title")
ADDRESS = SettingsSource(part="support_address")


def spans(*parts: str | tuple[str, Source]) -> tuple[Span, ...]:
    literal = TemplateSource(name="en/x.html.j2", line=1)
    return tuple(
        Span(text=part, source=literal) if isinstance(part, str) else Span(text=part[0], source=part[1])
        for part in parts
    )


@pytest.mark.parametrize(
    "parts",
    [
        ("<p>", ("a", TITLE), "</p>"),
        (
            '<a href="',
            ("https://x.example/?a=1&amp;b", URL),
            '" style="color:#123456;">',
            ("x", TITLE),
            "</a>",
        ),
        ('<a style="color:red"\n href="mailto:', ("s@x.example", ADDRESS), '">write</a>'),
        ('<!doctype html><html lang="en"><body><br><hr/></body></html>',),
    ],
)
def test_text_and_links_are_allowed(parts: tuple[str | tuple[str, Source], ...]) -> None:
    """What templates need."""
    check_places(spans(*parts))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (("<a href=", ("https://x", URL), ">x</a>"), "not plain tags"),
        (("<a href='", ("https://x", URL), "'>x</a>"), "not plain tags"),
        (("<", ("p", TITLE), ">x"), "not plain tags"),
        (('<p style="', ("a", TITLE), '">'), "a value may stand in a tag only as href"),
        (('<a href="', ("https://x", TITLE), '">'), "a value may stand in a tag only as href"),
        (('<a href="https://evil.example/?', ("https://x", URL), '">'), "write the value as href"),
        (('<a title="', ("https://x", URL), '">'), "write the value as href"),
        (('<a href="', ("javascript:alert(1)", URL), '">'), "links begin with https://"),
        (('<a href="', ("http://x", URL), '">'), "links begin with https://"),
        (('<a href="javascript:alert(1)">x</a>',), "links begin with https://"),
        (('<img src="https://x.example/pixel.png">',), "this element is not allowed"),
        (("<script>", ("a", TITLE), "</script>"), "this element is not allowed"),
        (("<style>p{}</style>",), "this element is not allowed"),
        (('<p onclick="x">a</p>',), "this attribute is not allowed"),
        (('<meta http-equiv="refresh" content="0">',), "this attribute is not allowed"),
        (('<td background="https://x">a</td>',), "this attribute is not allowed"),
        (('<p style="background:url(https://x)">a</p>',), "a style may load nothing"),
        (("<!-- ", ("a", TITLE), " -->"), "not plain tags"),
        (("a < b",), "not plain tags"),
        (("<p", ("x", TITLE), ">"), "not plain tags"),
    ],
)
def test_anything_that_could_be_more_than_text_is_refused(
    parts: tuple[str | tuple[str, Source], ...], message: str
) -> None:
    """No value becomes markup, nothing is loaded, nothing runs."""
    with pytest.raises(GateRefused, match=message):
        check_places(spans(*parts))
