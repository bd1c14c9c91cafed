"""Draws the pictures of the quality page as SVG: columns by day, rows with intervals, dots with intervals, histograms.

Colours come from classes of the style sheet, in light and dark; a picture has no style attribute and no script.
Invariant: no text becomes markup, and texts lose control and bidirectional characters; every picture has a title and a
description, and its links are also in the table below it, so the keyboard skips them here. Checked by
tests/unit/desk_page/test_pictures.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
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
Written = Callable[[float], str]


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


class Dot(NamedTuple):
    """A value with its interval; `said` is all of it in words."""

    x: float
    y: float
    low: float
    high: float
    href: str
    said: str


class Row(NamedTuple):
    """A named value; with `low` and `high` it is a dot with its interval, else a bar."""

    name: str
    value: float
    href: str
    said: str
    low: float | None = None
    high: float | None = None


def columns(words: Words, shown: Sequence[Column], written: Written) -> Markup:
    """Stacked columns, one beside the other."""
    most = _round_up(max((sum(part.value for part in column.parts) for column in shown), default=0.0))
    axes = _Axes(words, len(shown) or 1, most)
    step = axes.width / (len(shown) or 1)
    drawn = [axes.up_ticks(written)]
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
    words: Words,
    shown: Sequence[Dot],
    written: Written,
    line: Sequence[tuple[float, float]] = (),
    guide: Sequence[tuple[float, float]] = (),
    most: float = 1.0,
) -> Markup:
    """Dots with intervals over shares, 0..1 across and 0..`most` up, with a line through and a dashed guide."""
    axes = _Axes(words, 1.0, most)
    drawn = [axes.up_ticks(written), axes.across_ticks(written)]
    for points, look in ((guide, "guide"), (line, "line")):
        if points:
            path = " ".join(f"{axes.x(x):.1f},{axes.y(min(y, most)):.1f}" for x, y in points)
            drawn.append(Markup('<polyline class="{}" points="{}"/>').format(look, path))
    for dot in shown:
        x = axes.x(dot.x)
        whisker = Markup('<line class="whisker" x1="{0:.1f}" x2="{0:.1f}" y1="{1:.1f}" y2="{2:.1f}"/>').format(
            x, axes.y(min(dot.low, most)), axes.y(min(dot.high, most))
        )
        drawn.append(_link(dot.href, dot.said, whisker + _circle(x, axes.y(min(dot.y, most)))))
    return axes.picture(drawn)


def rows(words: Words, shown: Sequence[Row], written: Written, most: float | None = None) -> Markup:
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
            mark = _rect(RIGHT, middle - BAR / 2, row.value * long, BAR, "value")
        else:
            mark = Markup('<line class="whisker" x1="{0:.1f}" x2="{1:.1f}" y1="{2:.1f}" y2="{2:.1f}"/>').format(
                RIGHT + row.low * long, RIGHT + row.high * long, middle
            ) + _circle(RIGHT + row.value * long, middle)
        drawn.append(_link(row.href, row.said, mark + _text(RIGHT + 2, middle - BAR / 2 - 4, name, "start")))
    drawn.append(_text(RIGHT + width / 2, height - 6, words.across, "middle", "axis-word"))
    return _picture(words, height, drawn)


class _Axes(NamedTuple):
    """The axes of a picture with values from 0 to `widest` across, and from 0 to `most` up."""

    words: Words
    widest: float
    most: float

    @property
    def width(self) -> float:
        return WIDTH - LEFT - RIGHT

    def x(self, value: float) -> float:
        return LEFT + self.width * value / self.widest

    def y(self, value: float) -> float:
        return HEIGHT - BOTTOM - self.long(value)

    def long(self, value: float) -> float:
        return (HEIGHT - BOTTOM - TOP) * value / (self.most or 1.0)

    def up_ticks(self, written: Written) -> Markup:
        return Markup("").join(
            Markup('<line class="grid" x1="{0}" x2="{1}" y1="{2:.1f}" y2="{2:.1f}"/>').format(
                LEFT, WIDTH - RIGHT, self.y(self.most * tick / TICKS)
            )
            + _text(LEFT - 6, self.y(self.most * tick / TICKS) + 4, written(self.most * tick / TICKS), "end")
            for tick in range(TICKS + 1)
        )

    def across_ticks(self, written: Written) -> Markup:
        return Markup("").join(
            _text(
                self.x(self.widest * tick / TICKS), HEIGHT - BOTTOM + 16, written(self.widest * tick / TICKS), "middle"
            )
            for tick in range(TICKS + 1)
        )

    def picture(self, drawn: Iterable[Markup]) -> Markup:
        across = _text(LEFT + self.width / 2, HEIGHT - 6, self.words.across, "middle", "axis-word")
        middle = TOP + (HEIGHT - TOP - BOTTOM) / 2
        up = Markup('<g transform="rotate(-90 10 {0:.0f})">{1}</g>').format(
            middle, _text(10, middle, self.words.up, "middle", "axis-word")
        )
        return _picture(self.words, HEIGHT, [*drawn, across, up])


def _picture(words: Words, height: float, drawn: Iterable[Markup]) -> Markup:
    head = Markup('<svg class="picture" role="group" viewBox="0 0 {} {:.0f}" xmlns="http://www.w3.org/2000/svg">')
    return (
        head.format(WIDTH, height)
        + Markup("<title>{}</title><desc>{}</desc>").format(_plain(words.title), _plain(words.description))
        + Markup("").join(drawn)
        + Markup("</svg>")
    )


def _link(href: str, said: str, drawn: Markup) -> Markup:
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
