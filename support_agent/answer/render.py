"""Renders a FinalAnswer with templates to texts as spans.

Jinja runs sandboxed and strict, limited to `grammar`. It prints literal text and values between private-use marks that
name their source; the marks are then read back into spans.
Invariant: text outside the marks is refused, so all rendered text has a source; `provenance` then checks that the
sources are true. Checked by tests/unit/answer/test_render.py.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from functools import lru_cache
from threading import Lock
from typing import overload

import jinja2
from jinja2 import nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from support_agent.answer.acknowledgement import Acknowledgement
from support_agent.answer.alarm import Alarm
from support_agent.answer.digest import Digest
from support_agent.answer.final_answer import FinalAnswer, Item
from support_agent.answer.grammar import GrammarProblem, TemplateRefused, problems
from support_agent.answer.mail_parts import MadeFrom
from support_agent.answer.packet import Packet
from support_agent.answer.sources import (
    Rendered,
    RenderedAnswer,
    RenderedPacket,
    Source,
    Span,
    Surface,
    TemplateSource,
)
from support_agent.answer.templates import Templates
from support_agent.answer.views import Sourced, Viewer
from support_agent.errors import GateRefused

OPEN, MIDDLE, CLOSE = "\ue000", "\ue001", "\ue002"
"""The marks of a span: OPEN, "t" (template) or "v" (value) and its number, MIDDLE, the text, CLOSE."""
SUFFIXES: Mapping[Surface, str] = {"subject": ".txt.j2", "text": ".txt.j2", "html": ".html.j2"}


@overload
def render(made_from: FinalAnswer | Acknowledgement, templates: Templates) -> RenderedAnswer: ...


@overload
def render(made_from: Packet | Digest | Alarm, templates: Templates) -> RenderedPacket: ...


def render(made_from: MadeFrom, templates: Templates) -> RenderedAnswer | RenderedPacket:
    """Subject and text of a whole mail, and the HTML of one to a customer.

    Raises:
        GateRefused: a template cannot be used (code `template`); says which one, where, and what to do.
    """
    viewer = _viewer(templates, made_from.locale)
    match made_from:
        case FinalAnswer():
            return _customer_mail("answer", viewer.answer(made_from), viewer)
        case Acknowledgement():
            return _customer_mail("acknowledgement", viewer.acknowledgement(made_from), viewer)
        case Packet():
            of_others = tuple(number for number, entry in enumerate(made_from.story) if not entry.is_known)
            return _desk_mail("escalation", viewer.packet(made_from), viewer, of_others)
        case Digest():
            return _desk_mail("digest", viewer.digest(made_from), viewer)
        case Alarm():
            return _desk_mail("alarm", viewer.alarm(made_from), viewer)


def render_item(item: Item, locale: str, templates: Templates, surface: Surface) -> Rendered:
    """One item through its partial alone, as template tests show it.

    Raises:
        GateRefused: as `render`.
    """
    viewer = _viewer(templates, locale)
    return _render(item.kind, surface, {"item": viewer.item(item)}, viewer)


def parse_template(full_name: str, source: str) -> list[GrammarProblem]:
    """The problems of a template that can be found without rendering."""
    try:
        return problems(source, jinja2.Environment(autoescape=True).parse(source, full_name))
    except jinja2.TemplateSyntaxError as error:
        return [_syntax_problem(error)]


def _viewer(templates: Templates, locale: str) -> Viewer:
    return Viewer(templates, templates.locale_for(locale))


def _customer_mail(name: str, context: Mapping[str, object], viewer: Viewer) -> RenderedAnswer:
    return RenderedAnswer(
        subject=_render("subject", "subject", context, viewer),
        text=_render(name, "text", context, viewer),
        html=_render(name, "html", context, viewer),
    )


def _desk_mail(
    name: str, context: Mapping[str, object], viewer: Viewer, story_of_others: tuple[int, ...] = ()
) -> RenderedPacket:
    return RenderedPacket(
        subject=_render(f"{name}_subject", "subject", context, viewer),
        text=_render(name, "text", context, viewer),
        story_of_others=story_of_others,
    )


def _render(name: str, surface: Surface, context: Mapping[str, object], viewer: Viewer) -> Rendered:
    """Render one template and read its marks; a subject loses the line end of its file."""
    file = f"{name}{SUFFIXES[surface]}"
    engine = _engine(viewer.templates, viewer.locale, surface == "html")
    try:
        marked = engine.get_template(file).render(context)
    except TemplateRefused:
        raise
    except jinja2.TemplateNotFound as error:
        what = f"there is no template {error.name!r} for locale {viewer.locale!r}: add it"
        raise GateRefused(what, code="template") from error
    except Exception as error:  # a template can fail in any way; every failure escalates
        raise _failed(error, file) from error
    spans = _read_marks(marked, engine.literals, viewer.sources)
    if surface == "subject" and spans and not spans[-1].text.rstrip("\n"):
        spans.pop()
    elif surface == "subject" and spans:
        spans[-1] = spans[-1].model_copy(update={"text": spans[-1].text.rstrip("\n")})
    return Rendered(spans=tuple(spans))


class _Environment(ImmutableSandboxedEnvironment):
    """A minimal Jinja: no globals, only the filter `length` and the test `none`."""

    def __init__(self, templates: Templates, locale: str, is_html: bool) -> None:
        super().__init__(
            loader=_Loader(templates, locale),
            undefined=jinja2.StrictUndefined,
            autoescape=is_html,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            auto_reload=False,
            finalize=_mark_value,
        )
        self.globals.clear()
        self.filters = {"length": len}
        self.tests = {"none": lambda value: value is None}
        self.literals: list[Source] = []
        self._counting = Lock()

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        """Parse, refuse what is outside the grammar, and put marks around the literal text."""
        full_name = filename or name or "?"
        try:
            tree = super()._parse(source, name, filename)
        except jinja2.TemplateSyntaxError as error:
            raise TemplateRefused(full_name, _syntax_problem(error)) from error
        for problem in problems(source, tree):
            raise TemplateRefused(full_name, problem)
        for literal in tree.find_all(nodes.TemplateData):
            literal.data = "".join(
                self._mark_literal(piece, full_name, line)
                for line, piece in enumerate(literal.data.splitlines(keepends=True), start=literal.lineno)
            )
        return tree

    def _mark_literal(self, text: str, full_name: str, line: int) -> str:
        with self._counting:  # several mails may be the first to use a template
            number = len(self.literals)
            self.literals.append(TemplateSource(name=full_name, line=line))
        return f"{OPEN}t{number}{MIDDLE}{text}{CLOSE}"


class _Loader(jinja2.BaseLoader):
    """Finds a template for a locale among the loaded ones; its file name is the full name."""

    def __init__(self, templates: Templates, locale: str) -> None:
        self._templates = templates
        self._locale = locale

    def get_source(self, environment: jinja2.Environment, template: str) -> tuple[str, str, None]:
        full_name = self._templates.resolve(template, self._locale)
        if full_name is None:
            raise jinja2.TemplateNotFound(template)
        return self._templates.source(full_name), full_name, None


@lru_cache(maxsize=16)
def _engine(templates: Templates, locale: str, is_html: bool) -> _Environment:
    return _Environment(templates, locale, is_html)


def _mark_value(value: object) -> str:
    """The text that Jinja prints for a value: between its marks. Only a `Sourced` is allowed."""
    if not isinstance(value, Sourced):
        raise GateRefused(
            f"a template prints {str(value)[:80]!r}, which has no source: print a value such as item.label",
            code="template",
        )
    return f"{OPEN}v{value.ref}{MIDDLE}{value.text}{CLOSE}"


def _read_marks(marked: str, literals: list[Source], values: list[Source]) -> list[Span]:
    """The spans of a marked text, without the empty ones."""
    spans: list[Span] = []
    position = 0
    while position < len(marked):
        middle = marked.find(MIDDLE, position)
        close = marked.find(CLOSE, position)
        if marked[position] != OPEN or not position < middle < close:
            raise GateRefused(f"rendered text without a source: {marked[position : position + 80]!r}")
        kind, number = marked[position + 1], int(marked[position + 2 : middle])
        text = marked[middle + 1 : close]
        if text:
            spans.append(Span(text=text, source=(literals if kind == "t" else values)[number]))
        position = close + 1
    return spans


def _failed(error: Exception, file: str) -> GateRefused:
    """The failure of a template, with its line from the traceback."""
    places = [
        (frame.filename, frame.lineno)
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename.endswith(".j2")
    ]
    if not places:
        return GateRefused(f"template {file!r} failed: {error}", code="template")
    name, line = places[-1]
    return TemplateRefused(name, GrammarProblem(line=line or 1, what=str(error), todo="correct the template"))


def _syntax_problem(error: jinja2.TemplateSyntaxError) -> GrammarProblem:
    return GrammarProblem(
        line=error.lineno,
        what=f"this is not a template ({error.message})",
        todo="correct the tag or expression",
    )
