"""The figures of a period: each with a picture, a table of the same numbers, and a link from each number to its mails.

Invariant: a number and the list that it links to come from the same query with the same bounds. Checked by
tests/unit/desk_page/test_quality.py.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from statistics import fmean, median
from typing import NamedTuple
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from markupsafe import Markup

from support_agent.desk_page.visit import NONE
from support_agent.desk_page.wording import Wording
from support_agent.ops import pictures
from support_agent.ops.evals.measures import bounds
from support_agent.ops.pictures import Column, Dot, Part, PictureRow, Scale, Words
from support_agent.planner.plan_run import TOPIC_KINDS
from support_agent.store.quality import Judged, TimeSpan, Wait
from support_agent.store.records import MailStatus
from support_agent.store.store import Store

DAYS = (7, 28, 90)
"""The periods that can be chosen."""
MOST_DAYS = 28
"""More days than these are shown by weeks."""
MOST_LABELS, MOST_WAITS = 2_000, 1_000
"""The newest labels and answers of a period that are read."""
FEW_LABELS = 30
"""With fewer judged answers the page says that they are few."""
BINS = 10
"""Of probability, each equally wide."""
THRESHOLDS = (0.0, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
RISK_ENDS = (0.2, 0.4, 0.6, 0.8, 1.0)
"""Where the axis of the share of wrong answers may end."""
MOST_ROWS = 12
"""Rows of a picture; the table has all."""
GROUPS: Mapping[str, tuple[MailStatus, ...]] = {
    "answered": (MailStatus.ANSWERED,),
    "people": (MailStatus.ESCALATED, MailStatus.QUARANTINED),
    "filed": (MailStatus.FILED,),
    "new": (MailStatus.NEW,),
}
"""How mails ended, as the page counts them."""
MACHINE_S = (10.0, 30.0, 60.0, 300.0, 900.0, 3_600.0)
PERSON_S = (900.0, 3_600.0, 14_400.0, 28_800.0, 86_400.0, 172_800.0, 604_800.0)
PLANNING_S = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
"""Where one bin of seconds ends and the next begins."""


class Cell(NamedTuple):
    """A cell of a table: as it is shown, its link, and its value where it is a number."""

    text: str
    href: str = ""
    value: float | None = None


class Figure(NamedTuple):
    """One figure; `code` names its words on the page. `note` says what must be known to read it."""

    code: str
    said: str
    picture: Markup | None = None
    head: tuple[str, ...] = ()
    rows: tuple[tuple[Cell, ...], ...] = ()
    note: str = ""


class Span(NamedTuple):
    """The days that are shown, whole ones in the company's zone, one by one or by weeks, the oldest first."""

    days: int
    dates: tuple[date, ...]
    """The first day of each part."""
    each: tuple[TimeSpan, ...]

    @property
    def unit(self) -> str:
        """The code of the word for a part."""
        return "day" if len(self.dates) == self.days else "week"

    @property
    def whole(self) -> TimeSpan:
        """From the first day to the end of the last."""
        return TimeSpan(since=self.each[0].since, until=self.each[-1].until)

    def part(self, text: str) -> TimeSpan:
        """The part that begins on a day, named as in ISO 8601; else the whole."""
        return next((day for at, day in zip(self.dates, self.each, strict=True) if at.isoformat() == text), self.whole)


def span_of(days: int, now: datetime, zone: str) -> Span:
    """The last days, today included."""
    here = ZoneInfo(zone)
    tomorrow = now.astimezone(here).date() + timedelta(days=1)
    step = 1 if days <= MOST_DAYS else 7
    ends = [tomorrow - timedelta(days=back) for back in range(0, days, step)]
    begins = [max(end - timedelta(days=step), tomorrow - timedelta(days=days)) for end in ends]

    def start(day: date) -> datetime:
        return datetime.combine(day, time(), here).astimezone(UTC)

    parts = sorted(zip(begins, ends, strict=True))
    each = tuple(TimeSpan(since=start(begin), until=start(end)) for begin, end in parts)
    return Span(days, tuple(begin for begin, _ in parts), each)


class Figures(NamedTuple):
    """Makes the figures of a span in the reader's words.

    `titles` are those of topics, by key; `reason` gives a reason's words for its code, "-" for none.
    """

    store: Store
    span: Span
    w: Wording
    titles: Mapping[str, str]
    reason: Callable[[str], str]

    def link(self, of: str, **more: object) -> str:
        """The address of the mails behind a number."""
        given = {"of": of, "days": self.span.days, **{name: value for name, value in more.items() if value is not None}}
        return f"/quality/mails?{urlencode(given)}"

    def all(self) -> Iterator[Figure]:
        """Each figure, in the order of the page."""
        yield self.volume()
        yield self.reasons()
        labels = self.store.quality.judged(self.span.whole, tuple(TOPIC_KINDS), MOST_LABELS)
        yield self.precision(labels)
        yield self.calibration(labels)
        yield self.risk(labels)
        yield self.waits("machine_wait", MACHINE_S)
        yield self.waits("person_wait", PERSON_S)
        yield self.planning()

    def volume(self) -> Figure:
        """How many mails came in on each day, and how they ended."""
        by_day = self.store.quality.by_day(self.span.each)
        counted = [{name: sum(day[one] for one in GROUPS[name]) for name in GROUPS} for day in by_day]
        totals = {name: sum(day[name] for day in counted) for name in GROUPS}
        shown = []
        for at, day in zip(self.span.dates, counted, strict=True):
            named = self.w.short_day(at)
            parts = tuple(
                Part(
                    name,
                    count,
                    self.link("mails", group=name, day=at.isoformat()),
                    self.w("quality.day_said", day=named, what=self.w(f"quality.group_{name}"), n=count),
                )
                for name, count in day.items()
            )
            shown.append(Column(named, parts))
        total = self._number(sum(totals.values()), self.link("mails"))
        sums = tuple(self._number(count, self.link("mails", group=name)) for name, count in totals.items())
        rows = [(Cell(self.w("quality.all_days")), total, *sums)]
        for at, day in zip(reversed(self.span.dates), reversed(counted), strict=True):
            named = at.isoformat()
            cells = (self._number(count, self.link("mails", group=name, day=named)) for name, count in day.items())
            rows.append(
                (Cell(self.w.short_day(at)), self._number(sum(day.values()), self.link("mails", day=named)), *cells)
            )
        head = (f"quality.{self.span.unit}", "quality.mails", *(f"quality.group_{name}" for name in GROUPS))
        said = self.w(
            "quality.volume_said", n=sum(totals.values()), answered=totals["answered"], people=totals["people"]
        )
        words = self._words("volume", said, f"quality.{self.span.unit}", "quality.mails")
        picture = pictures.columns(words, shown, self.w.number) if sum(totals.values()) else None
        return Figure("volume", said, picture, self._head(*head), tuple(rows))

    def reasons(self) -> Figure:
        """Why mails went to people."""
        counted = Counter[str]()
        for end in self.store.quality.ends(self.span.whole, GROUPS["people"]):
            counted[end.reason or NONE] += end.mails
        ranked = sorted(counted.items(), key=lambda entry: (-entry[1], entry[0]))
        total = sum(counted.values())
        found = [(self.reason(code), count, self.link("mails", group="people", reason=code)) for code, count in ranked]
        said = self.w("quality.reasons_said", n=total)
        shown = [
            PictureRow(name, count, href, self.w("quality.row_said", name=name, n=count))
            for name, count, href in found[:MOST_ROWS]
        ]
        rows = tuple((Cell(name), self._number(count, href), self._share(count / total)) for name, count, href in found)
        words = self._words("reasons", said, "quality.mails", "quality.reason")
        picture = pictures.rows(words, shown, self.w.number) if shown else None
        return Figure("reasons", said, picture, self._head("quality.reason", "quality.mails", "quality.share"), rows)

    def precision(self, labels: Sequence[Judged]) -> Figure:
        """What share of the judged answers about each topic was right."""
        found = []
        for key in sorted({key for one in labels for key in one.keys}):
            own = [one.is_right for one in labels if key in one.keys]
            found.append((key, sum(own), len(own)))
        found.sort(key=lambda one: (-one[2], one[0]))
        shown, rows = [], []
        for key, right, judged in found:
            low, high = _interval(right, judged)
            name, href = self.titles.get(key, key), self.link("judged", topic=key)
            said = self._said_share(name, right, judged)
            shown.append(PictureRow(name, right / judged, href, said, low, high))
            rows.append((Cell(name), *self._shares(right, judged, topic=key)))
        said = self._labelled(labels, len(labels))
        words = self._words("precision", said, "quality.share_right", "quality.topic")
        picture = pictures.rows(words, shown[:MOST_ROWS], self.w.percent, 1.0) if shown else None
        return Figure(
            "precision", said, picture, self._share_head("quality.topic"), tuple(rows), self._note(len(labels))
        )

    def calibration(self, labels: Sequence[Judged]) -> Figure:
        """Whether answers that were 80 % likely to be right were right in 80 % of the cases."""
        sure = [one for one in labels if one.confidence is not None]
        shown, rows = [], []
        for place in range(BINS):
            low, high = place / BINS, (place + 1) / BINS
            own = [one for one in sure if in_bin(one.confidence or 0.0, low, high)]
            if not own:
                continue
            right, mean = sum(one.is_right for one in own), fmean(one.confidence or 0.0 for one in own)
            name = self.w("quality.between", low=self.w.percent(low), high=self.w.percent(high))
            href = self.link("judged", low=low, high=high)
            least, most = _interval(right, len(own))
            shown.append(Dot(mean, right / len(own), least, most, href, self._said_share(name, right, len(own))))
            rows.append((Cell(name), *self._shares(right, len(own), low=low, high=high)))
        said = self._labelled(labels, len(sure))
        words = self._words("calibration", said, "quality.probability", "quality.share_right")
        guide, axis = ((0.0, 0.0), (1.0, 1.0)), Scale(0.0, 1.0, self.w.percent)
        picture = pictures.dots(words, shown, axis, axis, {"guide": guide}) if shown else None
        head = self._share_head("quality.probability")
        return Figure("calibration", said, picture, head, tuple(rows), self._note(len(sure)))

    def risk(self, labels: Sequence[Judged]) -> Figure:
        """What share would be answered, and what share of it wrongly, with other thresholds."""
        ranked = sorted((one for one in labels if one.confidence is not None), key=lambda one: -(one.confidence or 0.0))
        shown, rows, line, wrong = [], [], [], 0
        every = max(1, len(ranked) // 100)
        for place, one in enumerate(ranked, start=1):
            wrong += not one.is_right
            is_last_alike = place == len(ranked) or ranked[place].confidence != one.confidence
            if is_last_alike and (place % every == 0 or place == len(ranked) or len(ranked) < 200):
                line.append((place / len(ranked), wrong / place))
        for threshold in THRESHOLDS:
            own = [one for one in ranked if (one.confidence or 0.0) >= threshold]
            if not own:
                continue
            missed = sum(not one.is_right for one in own)
            low, high = _interval(missed, len(own))
            share, name = len(own) / len(ranked), self.w("quality.at_least", share=self.w.percent(threshold))
            href, wrong_href = (self.link("judged", low=threshold, right=right) for right in (None, 0))
            said = self.w("quality.risk_dot", name=name, share=self.w.percent(share), n=missed, of=len(own))
            shown.append(Dot(share, missed / len(own), low, high, href, said))
            cells = (self._number(len(own), href), self._share(share), self._number(missed, wrong_href))
            rows.append((Cell(name), *cells, self._share(missed / len(own)), self._range(low, high)))
        said = self._labelled(labels, len(ranked))
        most = next(end for end in RISK_ENDS if end >= max([0.0, *(dot.high for dot in shown)]))
        words = self._words("risk", said, "quality.share_answered", "quality.share_wrong")
        across, up = Scale(0.0, 1.0, self.w.percent), Scale(0.0, most, self.w.percent)
        picture = pictures.dots(words, shown, across, up, {"line": line}) if shown else None
        columns = ("threshold", "judged", "share_answered", "wrong", "share_wrong", "interval")
        head = self._head(*(f"quality.{name}" for name in columns))
        return Figure("risk", said, picture, head, tuple(rows), self._note(len(ranked)))

    def waits(self, code: str, edges: Sequence[float]) -> Figure:
        """How long senders waited for the machine, or for people."""
        found = waits_of(self.store, code, self.span.whole)
        known = [one.waited.total_seconds() for one in found if one.waited is not None]
        open_ones = len(found) - len(known)
        counts = _counts(known, edges)
        named = {"n": len(known), "half": self.w.span(timedelta(seconds=median(known)))} if known else {}
        said = self.w(f"quality.{code}_said", **named) if known else self.w("quality.no_answers")
        note = self.w("quality.newest", n=MOST_WAITS) if len(found) == MOST_WAITS else ""
        figure = self._bins(code, said, edges, counts, note)
        if open_ones:
            waiting = (Cell(self.w("quality.not_yet")), self._number(open_ones, self.link(code, open=1)), Cell(""))
            figure = figure._replace(rows=(*figure.rows, waiting))
        return figure

    def planning(self) -> Figure:
        """How long the machine thought about a mail."""
        times = self.store.quality.plan_times(self.span.whole, PLANNING_S)
        mean = times.seconds / times.mails if times.mails else 0.0
        said = self.w("quality.planning_said", n=times.mails, mean=round(mean, 2), hours=round(times.seconds / 3600, 1))
        return self._bins("planning", said, PLANNING_S, times.bins)

    def _bins(self, code: str, said: str, edges: Sequence[float], counts: Sequence[int], note: str = "") -> Figure:
        """A histogram over seconds."""
        shown, rows, total = [], [], sum(counts)
        for low, high, count in zip([None, *edges], [*edges, None], counts, strict=True):
            name, href = self._seconds(low, high), self.link(code, low=low, high=high)
            shown.append(PictureRow(name, count, href, self.w("quality.row_said", name=name, n=count)))
            rows.append((Cell(name), self._number(count, href), self._share(count / total if total else 0.0)))
        words = self._words(code, said, "quality.mails", "quality.time")
        picture = pictures.rows(words, shown, self.w.number) if total else None
        head = self._head("quality.time", "quality.mails", "quality.share")
        return Figure(code, said, picture, head, tuple(rows) if total else (), note)

    def _seconds(self, low: float | None, high: float | None) -> str:
        if high is None:
            return self.w("quality.longer", time=self._time(low or 0.0))
        if low is None:
            return self.w("quality.up_to", time=self._time(high))
        return self.w("quality.between", low=self._time(low), high=self._time(high))

    def _time(self, seconds: float) -> str:
        is_short = seconds < 2
        return self.w("quality.seconds", n=seconds) if is_short else self.w.span(timedelta(seconds=seconds))

    def _words(self, code: str, said: str, across: str, up: str) -> Words:
        return Words(self.w(f"quality.{code}"), said, self.w(across), self.w(up))

    def _head(self, *codes: str) -> tuple[str, ...]:
        return tuple(map(self.w, codes))

    def _share_head(self, first: str) -> tuple[str, ...]:
        return self._head(first, "quality.judged", "quality.right", "quality.share_right", "quality.interval")

    def _shares(self, right: int, judged: int, **where: object) -> tuple[Cell, ...]:
        all_of, right_ones = self.link("judged", **where), self.link("judged", **where, right=1)
        return (
            self._number(judged, all_of),
            self._number(right, right_ones),
            self._share(right / judged),
            self._range(*_interval(right, judged)),
        )

    def _said_share(self, name: str, right: int, judged: int) -> str:
        low, high = map(self.w.percent, _interval(right, judged))
        return self.w("quality.share_said", name=name, right=right, n=judged, low=low, high=high)

    def _labelled(self, labels: Sequence[Judged], used: int) -> str:
        if not labels:
            return self.w("quality.no_labels")
        right = sum(one.is_right for one in labels)
        return self.w("quality.labels_said", n=len(labels), right=right, used=used)

    def _note(self, count: int) -> str:
        if count == 0:
            return ""
        if count < FEW_LABELS:
            return self.w("quality.few_labels", n=count)
        return self.w("quality.newest", n=MOST_LABELS) if count == MOST_LABELS else ""

    def _number(self, value: int, href: str) -> Cell:
        return Cell(self.w.number(value), href if value else "", value)

    def _share(self, value: float) -> Cell:
        return Cell(self.w.percent(value), value=round(value, 4))

    def _range(self, low: float, high: float) -> Cell:
        return Cell(self.w("quality.between", low=self.w.percent(low), high=self.w.percent(high)))


def waits_of(store: Store, code: str, period: TimeSpan) -> tuple[Wait, ...]:
    """The waits behind "machine_wait" or "person_wait"."""
    read = store.quality.machine_waits if code == "machine_wait" else store.quality.person_waits
    return read(period, MOST_WAITS)


def in_bin(confidence: float, low: float, high: float) -> bool:
    """Whether a probability is in a bin; 1 is in the last one."""
    return low <= confidence < high or (confidence == high == 1.0)


def _counts(known: Sequence[float], edges: Sequence[float]) -> list[int]:
    counts = [0] * (len(edges) + 1)
    for one in known:
        counts[bisect_right(edges, one)] += 1
    return counts


@lru_cache(maxsize=10_000)
def _interval(hits: int, count: int) -> tuple[float, float]:
    """The share of hits is above the first and below the second with 95 % certainty each."""
    return bounds(hits, count)
