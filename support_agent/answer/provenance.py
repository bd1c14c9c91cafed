"""The gate: refuses a mail unless each of its characters has a source that is checked again here.

`verification` checks that the cited items are the company's own words.

Invariant: the gate trusts neither the renderer nor the templates. A literal span must be a whole piece of the cited
template line; every other span must cite a source that `expected_text` finds in the mail's data, and have its text;
nothing required (an item's parameters, the notice) may be missing. Checked by
tests/unit/answer/test_provenance.py.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping

from support_agent.answer.alarm import Alarm
from support_agent.answer.allowed_html import check_places
from support_agent.answer.digest import Digest
from support_agent.answer.expected_text import Expected, expected
from support_agent.answer.final_answer import FinalAnswer
from support_agent.answer.formatting import unsafe_in
from support_agent.answer.literals import stands_at
from support_agent.answer.mail_parts import MadeFrom
from support_agent.answer.order import check_order
from support_agent.answer.packet import Packet
from support_agent.answer.sources import (
    Rendered,
    RenderedAnswer,
    RenderedPacket,
    Span,
    Surface,
    TemplateSource,
    key_of,
)
from support_agent.answer.templates import Templates
from support_agent.errors import GateRefused

NOTICE = "notice"
MIN_NOTICE_WORDS = 5
"""Fewest words of the notice: a rule alone says nothing."""
MARKUP = re.compile(r"<[^>]*>?|[^<]*>")
MARKS = re.compile("[<>\"']")
WORD = re.compile(r"[^\W\d_]{2,}")
STAFF_TEMPLATES: Mapping[str, type[MadeFrom]] = {"escalation": Packet, "digest": Digest, "alarm": Alarm}
"""The beginnings of the names of templates that are for staff only, and what is made with them."""


def check(rendered: RenderedAnswer | RenderedPacket, made_from: MadeFrom, templates: Templates) -> None:
    """Refuse the mail unless every character of every part has a true source, and nothing required is missing.

    Raises:
        GateRefused: names the part and the text, and says why.
    """
    if isinstance(rendered, RenderedPacket) != isinstance(made_from, Packet | Digest | Alarm):
        raise GateRefused("a desk packet goes to staff and nothing else does: the mail was made from something else")
    if not rendered.subject.text.strip() or "\n" in rendered.subject.text:
        raise GateRefused(f"subject: {rendered.subject.text[:80]!r} is not one line of text")
    must = expected(made_from, templates)
    _check_surface("subject", rendered.subject, made_from, templates, must)
    text = _check_surface("text", rendered.text, made_from, templates, must)
    if isinstance(rendered, RenderedAnswer):
        markup = _check_surface("html", rendered.html, made_from, templates, must)
        if difference := text ^ markup:
            where = "html" if difference & text else "text"
            raise GateRefused(f"{where}: it does not say {sorted(difference)[0]}, which the other part says")


def check_surface(surface: Surface, rendered: Rendered, made_from: MadeFrom, templates: Templates) -> None:
    """Check one part of a mail.

    Raises:
        GateRefused: which text, and why.
    """
    _check_surface(surface, rendered, made_from, templates, expected(made_from, templates))


def _check_surface(
    surface: Surface, rendered: Rendered, made_from: MadeFrom, templates: Templates, must: Expected
) -> set[str]:
    """Check one part; return the keys of the sources of its values."""
    for span in rendered.spans:
        try:
            _check_span(surface, span, made_from, templates, must)
        except GateRefused as error:
            raise GateRefused(f"{surface}: {span.text[:80]!r} is refused: {error}", code=error.code) from error
    if surface == "html":
        check_places(rendered.spans)
    said = {key_of(span.source) for span in rendered.spans if not isinstance(span.source, TemplateSource)}
    if surface == "subject":
        return said
    if lacking := next((key for key in must.required if key not in said), None):
        raise GateRefused(f"{surface}: the mail does not say {lacking}", code="missing")
    if not isinstance(made_from, Packet | Digest | Alarm):
        is_at_top = isinstance(made_from, FinalAnswer) and made_from.notice == "top"
        _check_notice(surface, rendered, is_at_top)
    if isinstance(made_from, FinalAnswer):
        check_order(surface, rendered, made_from)
    return said


def _check_span(surface: Surface, span: Span, made_from: MadeFrom, templates: Templates, must: Expected) -> None:
    text = span.text
    if bad := next(unsafe_in(text.replace("\n", "").replace("\t", "")), None):
        raise GateRefused(f"it holds the character U+{ord(bad):04X}", code="character")
    source = span.source
    if isinstance(source, TemplateSource):
        its = (surface, text, source.name, source.line, type(made_from), templates.locale_for(made_from.locale))
        if its not in templates.passed:  # a literal of these templates that has passed passes again
            _check_literal(surface, text, source, made_from, templates)
            templates.passed.add(its)
        return
    said = must.text(source)
    if surface != "html":
        if text != said:
            raise GateRefused(f"its source says {said[:80]!r}")
        return
    if MARKS.search(text) or html.unescape(text) != said:
        raise GateRefused(f"its source says {said[:80]!r}, which would be escaped")


def _check_literal(
    surface: Surface, text: str, source: TemplateSource, made_from: MadeFrom, templates: Templates
) -> None:
    """Refuse a literal unless it is a whole piece of a template line for this locale and part of the mail."""
    name = source.name.partition("/")[2]
    suffix = ".html.j2" if surface == "html" else ".txt.j2"
    if not name.endswith(suffix):
        raise GateRefused(f"{source.name} is no template of this part of a mail ({suffix})")
    is_for = next((kind for begin, kind in STAFF_TEMPLATES.items() if name.startswith(begin)), None)
    if is_for is not next((kind for kind in STAFF_TEMPLATES.values() if isinstance(made_from, kind)), None):
        raise GateRefused(f"{source.name} is not for this kind of mail")
    if templates.resolve(name, templates.locale_for(made_from.locale)) != source.name:
        raise GateRefused(f"{source.name} is not the template of locale {made_from.locale!r}")
    if not stands_at(text, templates.source(source.name), source.line):
        raise GateRefused(f"it does not stand in {source.name} at line {source.line}")


def _check_notice(surface: Surface, rendered: Rendered, is_at_top: bool) -> None:
    """Refuse a mail without the automation notice from its own partial; if required, it is above the first item."""
    places = [place for place, span in enumerate(rendered.spans) if _is_of_notice(span) and WORD.search(_shown(span))]
    said = " ".join(_shown(rendered.spans[place]) for place in places)
    if len(WORD.findall(said)) < MIN_NOTICE_WORDS:
        raise GateRefused(f"{surface}: the automation notice is missing: include the notice partial", code="notice")
    items = (place for place, span in enumerate(rendered.spans) if getattr(span.source, "answer", None) is not None)
    if is_at_top and places[0] > next(items, places[0]):
        todo = "include the notice partial there {% if notice.is_at_top %}"
        raise GateRefused(f"{surface}: the automation notice is not above the first answer: {todo}", code="notice")


def _shown(span: Span) -> str:
    """The visible text of a literal, without markup."""
    return MARKUP.sub(" ", span.text)


def _is_of_notice(span: Span) -> bool:
    source = span.source
    return isinstance(source, TemplateSource) and source.name.partition("/")[2].startswith(f"{NOTICE}.")
