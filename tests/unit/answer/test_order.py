"""A document's numbers and cells cannot leave their places: whatever a hostile renderer moves, the mail is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support_agent.answer.final_answer import DocumentItem, FinalAnswer
from support_agent.answer.provenance import check
from support_agent.answer.render import render
from support_agent.answer.sources import DocumentSource, Rendered, Span, TemplateSource
from support_agent.answer.templates import Templates
from support_agent.company.documents import Excerpt
from support_agent.company.text import collapse
from support_agent.errors import GateRefused
from support_agent.ops.template_samples import sample_items
from support_agent.ops.template_tests import around

LONG = "a cell that is so long that the table of which it is one does not fit"
Spans = list[Span]


def row(index: int, paragraph: int, *cells: str, is_header: bool = False) -> Excerpt:
    text = collapse(" | ".join(cells))
    return Excerpt(
        index=index, heading="", text=text, paragraph=paragraph, kind="row", cells=cells, is_header=is_header
    )


def step(index: int, number: int | None, depth: int = 0, paragraph: int = 0) -> Excerpt:
    text = f"Step at {index}."
    return Excerpt(index=index, heading="", text=text, paragraph=paragraph, kind="item", number=number, depth=depth)


def answer_of(*excerpts: Excerpt) -> FinalAnswer:
    item = next(item for item in sample_items() if isinstance(item, DocumentItem))
    return around(item.model_copy(update={"excerpts": excerpts}))


NARROW = answer_of(
    row(0, 0, "Who", "Plan", "Fee", is_header=True),
    row(1, 0, "Clubs", "", "5 EUR"),
    row(2, 0, "Others", "all", "9 EUR"),
)
WIDE = answer_of(
    row(0, 0, "Who", "Plan", "Fee", is_header=True), row(1, 0, "Clubs", "Pro", "5 EUR"), row(2, 0, LONG, "all", "9 EUR")
)
STEPS = answer_of(step(0, 1), step(1, 2), step(3, 4), step(4, None))


def refused(final: FinalAnswer, templates: Templates, part: str, change: Callable[[Spans], Spans], why: str) -> None:
    rendered = render(final, templates)
    check(rendered, final, templates)
    spans = list(getattr(rendered, part).spans)
    changed = change(list(spans))
    assert changed != spans, "the test changes nothing"
    with pytest.raises(GateRefused, match=why):
        check(rendered.model_copy(update={part: Rendered(spans=tuple(changed))}), final, templates)


def place_of(spans: Sequence[Span], part: str, sentence: int, column: int | None = None) -> int:
    """Where a part of the document stands for the last time."""
    wanted = part, sentence, column
    return max(
        place
        for place, span in enumerate(spans)
        if isinstance(span.source, DocumentSource)
        and (span.source.part, span.source.sentence, span.source.column) == wanted
    )


def swapped(one: tuple[str, int, int | None], other: tuple[str, int, int | None]) -> Callable[[Spans], Spans]:
    def swap(spans: Spans) -> Spans:
        first, second = place_of(spans, *one), place_of(spans, *other)
        spans[first], spans[second] = spans[second], spans[first]
        return spans

    return swap


def without(literals: str, after: tuple[str, int, int | None]) -> Callable[[Spans], Spans]:
    """The spans without the run of template text that follows a place, where it is these words."""

    def drop(spans: Spans) -> Spans:
        start = place_of(spans, *after) + 1
        end = start
        while isinstance(spans[end].source, TemplateSource):
            end += 1
        between = "".join(span.text for span in spans[start:end])
        assert literals in between
        kept = []
        left = literals
        for span in spans[start:end]:
            if left and span.text in left:
                left = left.replace(span.text, "", 1)
            else:
                kept.append(span)
        return [*spans[:start], *kept, *spans[end:]]

    return drop


@pytest.mark.parametrize(
    ("final", "part", "one", "other"),
    [
        (NARROW, "html", ("cell", 1, 2), ("cell", 2, 2)),
        (NARROW, "html", ("cell", 2, 0), ("cell", 2, 1)),
        (NARROW, "html", ("cell", 0, 1), ("cell", 2, 1)),
        (NARROW, "text", ("row", 1, None), ("row", 2, None)),
        (NARROW, "text", ("row", 0, None), ("rule", 0, None)),
        (WIDE, "text", ("cell", 1, 2), ("cell", 2, 2)),
        (WIDE, "text", ("cell", 2, 1), ("cell", 2, 2)),
        (WIDE, "text", ("cell", 0, 1), ("cell", 0, 2)),
        (STEPS, "text", ("step", 0, None), ("step", 1, None)),
        (STEPS, "html", ("step", 0, None), ("step", 3, None)),
        (STEPS, "html", ("sentence", 0, None), ("sentence", 1, None)),
    ],
)
def test_a_cell_row_or_number_that_is_moved_is_refused(
    templates: Templates,
    final: FinalAnswer,
    part: str,
    one: tuple[str, int, int | None],
    other: tuple[str, int, int | None],
) -> None:
    """To another row, to another column, to another step: each text is true, and says another thing there."""
    refused(final, templates, part, swapped(one, other), "not in their order")


@pytest.mark.parametrize(
    ("final", "part", "literals", "after"),
    [
        (NARROW, "text", "\n", ("row", 1, None)),
        (NARROW, "text", "\n", ("rule", 0, None)),
        (WIDE, "text", "\n", ("cell", 1, 0)),
        (WIDE, "text", "\n", ("cell", 1, 2)),
        (NARROW, "html", "</tr>\n<tr>\n", ("cell", 1, 2)),
        (NARROW, "html", "<tr>\n", ("cell", 0, 2)),
    ],
)
def test_rows_that_run_into_each_other_are_refused(
    templates: Templates, final: FinalAnswer, part: str, literals: str, after: tuple[str, int, int | None]
) -> None:
    """A renderer may leave out template text; not the text that keeps two rows apart."""
    refused(final, templates, part, without(literals, after), "has left its place")


def test_a_cell_that_slips_into_an_empty_one_is_refused(templates: Templates) -> None:
    """Without the empty cell before it the fee would stand in the column of the plans."""

    def slip(spans: Spans) -> Spans:
        start = place_of(spans, "cell", 1, 0) + 1
        opened = next(place for place in range(start, len(spans)) if spans[place].text.startswith("<td"))
        return [*spans[:opened], *spans[opened + 1 :]]

    refused(NARROW, templates, "html", slip, "has left its place")


def test_two_tables_cannot_become_one(templates: Templates) -> None:
    """A row of the second would read as one of the first."""
    final = answer_of(row(0, 0, "Who", "Fee", is_header=True), row(1, 0, "Clubs", "5"), row(2, 1, "Others", "9"))

    def join(spans: Spans) -> Spans:
        table = place_of(spans, "cell", 1, 1)
        return [
            span
            for place, span in enumerate(spans)
            if place < table or not (isinstance(span.source, TemplateSource) and "table" in span.text)
        ]

    refused(final, templates, "html", join, "has left its place")


@pytest.mark.parametrize(
    ("final", "part", "place", "text", "why"),
    [
        (STEPS, "text", ("step", 3, None), "3", "its source says '4'"),
        (STEPS, "html", ("step", 3, None), "5", "its source says '4'"),
        (NARROW, "text", ("row", 1, None), "Clubs.........5 EUR", "its source says 'Clubs         5 EUR'"),
        (NARROW, "text", ("row", 1, None), "Clubs\t\t5 EUR", "its source says"),
        (NARROW, "text", ("row", 1, None), "Clubs   5 EUR", "its source says"),
        (NARROW, "text", ("row", 1, None), "Clubs  5 EUR", "its source says"),
        (NARROW, "text", ("rule", 0, None), "======  ====  =====", "its source says '------  ----  -----'"),
        (NARROW, "html", ("cell", 1, 2), "0 EUR", "its source says '5 EUR'"),
        (WIDE, "text", ("cell", 0, 2), "Discount", "its source says 'Fee'"),
    ],
)
def test_a_wrong_number_cell_or_padding_is_refused(
    templates: Templates, final: FinalAnswer, part: str, place: tuple[str, int, int | None], text: str, why: str
) -> None:
    """Padding is white space of the length that the gate measures again, and nothing else."""

    def replace(spans: Spans) -> Spans:
        at = place_of(spans, *place)
        spans[at] = spans[at].model_copy(update={"text": text})
        return spans

    refused(final, templates, part, replace, why)


@pytest.mark.parametrize(
    ("final", "part", "place", "why"),
    [
        (STEPS, "text", ("step", 0, None), "does not say .*part=step"),
        (STEPS, "html", ("step", 0, None), "does not say .*part=step"),
        (NARROW, "text", ("row", 2, None), "does not say .*part=row"),
        (NARROW, "text", ("rule", 0, None), "not in their order"),
        (NARROW, "html", ("cell", 2, 1), "not in their order"),
        (WIDE, "text", ("cell", 2, 1), "not in their order"),
        (WIDE, "text", ("cell", 0, 2), "not in their order"),
    ],
)
def test_a_number_cell_or_rule_that_is_left_out_is_refused(
    templates: Templates, final: FinalAnswer, part: str, place: tuple[str, int, int | None], why: str
) -> None:
    """A step without its number or a row without one of its cells says less than the document."""

    def drop(spans: Spans) -> Spans:
        del spans[place_of(spans, *place)]
        return spans

    refused(final, templates, part, drop, why)


@pytest.mark.parametrize(
    ("final", "part", "sentence", "column"),
    [
        (STEPS, "step", 4, None),
        (STEPS, "cell", 0, 0),
        (STEPS, "row", 0, None),
        (NARROW, "step", 0, None),
        (NARROW, "cell", 1, 3),
        (NARROW, "cell", 1, None),
        (NARROW, "rule", 1, None),
        (NARROW, "row", 7, None),
        (WIDE, "row", 1, None),
        (WIDE, "rule", 0, None),
    ],
)
def test_there_is_no_number_cell_or_line_where_the_document_has_none(
    templates: Templates, final: FinalAnswer, part: str, sentence: int, column: int | None
) -> None:
    """A bullet has no number, a paragraph no cells, a row that is no header no rule, and a wide table no lines."""
    item = final.answers[0].items[0]
    assert isinstance(item, DocumentItem)
    source = DocumentSource.model_validate(
        {"answer": 0, "item": 0, "number": item.number, "version": item.version, "part": part}
        | {"sentence": sentence, "column": column}
    )
    span = Span(text="Of course!", source=source)
    refused(final, templates, "text", lambda spans: [*spans, span], "there is nothing at the source")


CELLS = st.text("abc |<&\u5b66\u0301\u200d\"'", max_size=9) | st.just(LONG)


@st.composite
def documents(draw: st.DrawFn) -> tuple[Excerpt, ...]:
    """Lists and tables in any order, some sentences left out."""
    found: list[Excerpt] = []
    for paragraph in range(draw(st.integers(1, 4))):
        if draw(st.booleans()):
            width = draw(st.integers(1, 4))
            for place in range(draw(st.integers(1, 4))):
                cells = draw(
                    st.lists(CELLS, min_size=width, max_size=width).filter(
                        lambda row: bool("".join(row).strip("\u200d "))
                    )
                )
                header = place == 0 and draw(st.booleans())
                found.append(row(len(found), paragraph, *cells, is_header=header))
        else:
            for _ in range(draw(st.integers(1, 4))):
                number, depth = draw(st.none() | st.integers(0, 99)), draw(st.integers(0, 3))
                found.append(step(len(found), number, depth, paragraph))
    kept = draw(st.lists(st.sampled_from(found), min_size=1, unique=True))
    return tuple(excerpt for excerpt in found if excerpt in kept)


@settings(max_examples=200, deadline=None)
@given(documents())
def test_whatever_stands_in_a_document_passes(templates: Templates, excerpts: tuple[Excerpt, ...]) -> None:
    """Empty cells, one column, no header, a header alone, wide and joined characters, numbers in any order."""
    final = answer_of(*excerpts)
    rendered = render(final, templates)
    check(rendered, final, templates)
    assert rendered.html.text.count("<th ") == sum(len(one.cells) for one in excerpts if one.is_header)


def before_place(part: str, sentence: int, column: int | None, piece: str, name: str) -> Callable[[Spans], Spans]:
    """Puts a template's own piece before a place, as a hostile renderer could: it has a source."""

    def change(spans: Spans) -> Spans:
        at = next(
            i
            for i, span in enumerate(spans)
            if isinstance(span.source, DocumentSource)
            and (span.source.part, span.source.sentence, span.source.column) == (part, sentence, column)
        )
        opening = next(i for i in range(at - 1, -1, -1) if isinstance(spans[i].source, TemplateSource))
        lines = Path(name.partition(":")[0]).read_text("utf-8").split("\n")
        line = next(n for n, text in enumerate(lines, 1) if piece.strip("\n") in text)
        source = TemplateSource(name=name.partition("templates/")[2], line=line)
        return [*spans[:opening], Span(text=piece, source=source), *spans[opening:]]

    return change


@pytest.mark.parametrize("piece", ["</tr>\n", "</table>\n"])
def test_no_cell_leaves_its_row_or_table(piece: str, templates: Templates) -> None:
    """The failure's story: a cell behind a row that was closed too early became the first of the next one."""
    change = before_place("cell", 1, 2, piece, "templates/en/document.html.j2")
    refused(NARROW, templates, "html", change, "has left its place|does not stand")
