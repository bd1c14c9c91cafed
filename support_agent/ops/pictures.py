"""Draws pictures as SVG: columns by day, rows with intervals, dots with intervals, lines, histograms.

On a page colours come from classes of its style sheet, in light and dark; a picture has no style attribute and no
script. Invariant: no text becomes markup, and texts lose control and bidirectional characters; every picture has a
title and a description, and its links are also in the table below it, so the keyboard skips them here. Checked by
tests/unit/ops/test_pictures.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import ceil, floor, log10
from typing import NamedTuple

from markupsafe import Markup, escape

from support_agent.answer.formatting import clean_line

WIDTH, HEIGHT = 420, 240
LEFT, RIGHT, TOP, BOTTOM = 46, 22, 10, 44
"""Margins around the axes, in units of the picture, as all lengths here."""
ROW, BAR = 34, 12
"""The height of a row with its name, and of the bar below the name."""
LABEL_CHARACTERS = 60
"""Of a row's name; the table has it whole."""
TICKS = 4
MOST_NAMED = 8
"""Columns with a name below; of more, every second, third and so on has one."""
ROUND_STEPS = (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)
"""Between two ticks, times a power of ten."""
TITLE = 24
"""The height of the title above a picture in a file."""
FILE_STYLE = """
text { font: 11px sans-serif; fill: #222 } .title { font-size: 14px } .dot { fill: #1f5fa8 }
.grid { stroke: #ccc } .whisker { stroke: #999 }
.line, .guide { fill: none; stroke: #1f5fa8; stroke-width: 1.5 } .guide { stroke: #999; stroke-dasharray: 4 4 }
"""
Written = Callable[[float], str]
Point = tuple[float, float]


class Words(NamedTuple):
    """The title and the description of a picture for who does not see it, and the words along its axes."""

    title: str
    description: str
    across: str
    up: str


class Column(NamedTuple):
    """One column: its name, its parts from below with their style classes, and each part's link and words."""

    name: str
    parts: tuple[Part, ...]


class Part(NamedTuple):
    """A part of a column; its look is "answered", "people", "filed" or "new"."""

    look: str
    value: float
    href: str
    said: str


class Scale(NamedTuple):
    """An axis: its ends, and how a number is written beside it."""

    least: float
    most: float
    written: Written


class Dot(NamedTuple):
    """A value with its interval; `said` is all of it in words, `href` "" where there is no link."""

    x: float
    y: float
    low: float
    high: float
    href: str
    said: str


class PictureRow(NamedTuple):
    """A named value; with `low` and `high` it is a dot with its interval, else a bar, with a darker `part` of it."""

    name: str
    value: float
    href: str
    said: str
    low: float | None = None
    high: float | None = None
    part: float = 0.0


def columns(words: Words, shown: Sequence[Column], written: Written) -> Markup:
    """Stacked columns, one beside the other."""
    most = _round_up(max((sum(part.value for part in column.parts) for column in shown), default=0.0))
    axes = _Axes(words, Scale(0.0, len(shown) or 1, written), Scale(0.0, most, written))
    step = axes.width / (len(shown) or 1)
    drawn = [axes.up_ticks()]
    for place, column in enumerate(shown):
        left, height = LEFT + place * step, 0.0
        for part in column.parts:
            if part.value:
                box = _rect(
                    left + step * 0.1, axes.y(height + part.value), step * 0.8, axes.long(part.value), part.look
                )
                drawn.append(_link(part.href, part.said, box))
            height += part.value
        if place % ceil(len(shown) / MOST_NAMED) == 0:
            drawn.append(_text(left + step / 2, HEIGHT - BOTTOM + 16, column.name, "middle"))
    return axes.picture(drawn)


def dots(
    words: Words, shown: Sequence[Dot], across: Scale, up: Scale, lines: Mapping[str, Sequence[Point]] | None = None
) -> Markup:
    """Dots with intervals, and below them lines by their look: "line", or "guide", which is dashed."""
    axes = _Axes(words, across, up)
    drawn = [axes.up_ticks(), axes.across_ticks()]
    for look, points in (lines or {}).items():
        if points:
            path = " ".join(f"{axes.x(x):.1f},{axes.y(y):.1f}" for x, y in points)
            drawn.append(Markup('<polyline class="{}" points="{}"/>').format(look, path))
    for dot in shown:
        x = axes.x(dot.x)
        whisker = Markup('<line class="whisker" x1="{0:.1f}" x2="{0:.1f}" y1="{1:.1f}" y2="{2:.1f}"/>').format(
            x, axes.y(dot.low), axes.y(dot.high)
        )
        drawn.append(_link(dot.href, dot.said, whisker + _circle(x, axes.y(dot.y))))
    return axes.picture(drawn)


def rows(words: Words, shown: Sequence[PictureRow], written: Written, most: float | None = None) -> Markup:
    """Named bars, or dots with intervals, one below the other; `most`: the end of the axis, else the longest bar's."""
    longest = _round_up(max((row.value for row in shown), default=0.0)) if most is None else most
    height, width = TOP + ROW * len(shown) + BOTTOM, WIDTH - 2 * RIGHT
    drawn = [
        Markup('<line class="grid" x1="{0:.1f}" x2="{0:.1f}" y1="{1}" y2="{2}"/>').format(
            RIGHT + width * tick / TICKS, TOP, height - BOTTOM
        )
        + _text(RIGHT + width * tick / TICKS, height - BOTTOM + 16, written(longest * tick / TICKS), "middle")
        for tick in range(TICKS + 1)
    ]
    for place, row in enumerate(shown):
        middle, long = TOP + ROW * (place + 1) - BAR, width / (longest or 1.0)
        name = row.name if len(row.name) <= LABEL_CHARACTERS else f"{row.name[: LABEL_CHARACTERS - 1]}…"
        if row.low is None or row.high is None:
            bars = ((row.value, "value"), (row.part, "answered"))
            mark = Markup("").join(_rect(RIGHT, middle - BAR / 2, end * long, BAR, look) for end, look in bars if end)
        else:
            mark = Markup('<line class="whisker" x1="{0:.1f}" x2="{1:.1f}" y1="{2:.1f}" y2="{2:.1f}"/>').format(
                RIGHT + row.low * long, RIGHT + row.high * long, middle
            ) + _circle(RIGHT + row.value * long, middle)
        drawn.append(_link(row.href, row.said, mark + _text(RIGHT + 2, middle - BAR / 2 - 4, name, "start")))
    drawn.append(_text(RIGHT + width / 2, height - 6, words.across, "middle", "axis-word"))
    return _picture(words, height, drawn)


class _Axes(NamedTuple):
    """The axes of a picture."""

    words: Words
    across: Scale
    up: Scale

    @property
    def width(self) -> float:
        return WIDTH - LEFT - RIGHT

    def x(self, value: float) -> float:
        return LEFT + self.width * (value - self.across.least) / (self.across.most - self.across.least)

    def y(self, value: float) -> float:
        """The height of a value; one above the axis is at its end."""
        return HEIGHT - BOTTOM - self.long(min(value, self.up.most) - self.up.least)

    def long(self, value: float) -> float:
        return (HEIGHT - BOTTOM - TOP) * value / ((self.up.most - self.up.least) or 1.0)

    def up_ticks(self) -> Markup:
        return Markup("").join(
            Markup('<line class="grid" x1="{0}" x2="{1}" y1="{2:.1f}" y2="{2:.1f}"/>').format(
                LEFT, WIDTH - RIGHT, self.y(value)
            )
            + _text(LEFT - 6, self.y(value) + 4, self.up.written(value), "end")
            for value in _ticks(self.up)
        )

    def across_ticks(self) -> Markup:
        return Markup("").join(
            _text(self.x(value), HEIGHT - BOTTOM + 16, self.across.written(value), "middle")
            for value in _ticks(self.across)
        )

    def picture(self, drawn: Iterable[Markup]) -> Markup:
        across = _text(LEFT + self.width / 2, HEIGHT - 6, self.words.across, "middle", "axis-word")
        middle = TOP + (HEIGHT - TOP - BOTTOM) / 2
        up = Markup('<g transform="rotate(-90 10 {0:.0f})">{1}</g>').format(
            middle, _text(10, middle, self.words.up, "middle", "axis-word")
        )
        return _picture(self.words, HEIGHT, [*drawn, across, up])


def file_of(pictures: Mapping[str, Markup]) -> str:
    """A file of SVG with pictures beside each other, by title; they must be as high as columns and dots are."""
    head = '<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}"><style>{2}</style>'
    drawn = Markup(head + '<rect width="{0}" height="{1}" fill="white"/>').format(
        WIDTH * len(pictures), TITLE + HEIGHT, FILE_STYLE
    )
    for place, (title, picture) in enumerate(pictures.items()):
        drawn += _text(WIDTH * (place + 0.5), TITLE - 6, title, "middle", "title")
        drawn += Markup('<svg x="{}" y="{}" width="{}" height="{}">{}</svg>').format(
            WIDTH * place, TITLE, WIDTH, HEIGHT, picture
        )
    return drawn + Markup("</svg>\n")


def _ticks(scale: Scale) -> list[float]:
    return [scale.least + (scale.most - scale.least) * tick / TICKS for tick in range(TICKS + 1)]


def _picture(words: Words, height: float, drawn: Iterable[Markup]) -> Markup:
    head = Markup('<svg class="picture" role="group" viewBox="0 0 {} {:.0f}" xmlns="http://www.w3.org/2000/svg">')
    return (
        head.format(WIDTH, height)
        + Markup("<title>{}</title><desc>{}</desc>").format(_plain(words.title), _plain(words.description))
        + Markup("").join(drawn)
        + Markup("</svg>")
    )


def _link(href: str, said: str, drawn: Markup) -> Markup:
    if not href:
        return Markup("<g><title>{}</title>{}</g>").format(_plain(said), drawn)
    return Markup('<a href="{}" tabindex="-1"><title>{}</title>{}</a>').format(_plain(href), _plain(said), drawn)


def _rect(left: float, top: float, width: float, height: float, look: str) -> Markup:
    box = Markup('<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>')
    return box.format(look, left, top, max(0.0, width), max(0.0, height))


def _circle(x: float, y: float) -> Markup:
    return Markup('<circle class="dot" cx="{:.1f}" cy="{:.1f}" r="4.5"/>').format(x, y)


def _text(x: float, y: float, words: str, anchor: str, look: str = "tick") -> Markup:
    text = Markup('<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>')
    return text.format(look, x, y, anchor, _plain(words))


def _plain(text: str) -> Markup:
    return escape(clean_line(text))


def _round_up(most: float) -> float:
    """The next number that the ticks divide into whole, round ones: 4, 8, 12, 16, 20, 24, 32, 40, 60 and so on."""
    if most <= TICKS:
        return float(TICKS)
    unit = 10.0 ** floor(log10(most / TICKS))
    steps = (step * unit for step in ROUND_STEPS)
    return next(TICKS * step for step in steps if TICKS * step >= most and step.is_integer())
