"""The positions of bars and lines in a picture: numbers for a template, in a box of WIDTH by HEIGHT."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from audit.history.charts import Charts, Counts
from audit.templatetags.audit_text import took

WIDTH, HEIGHT = 1000, 100
# The part of its place that a bar fills.
FILL = 0.72
# The kinds from the bottom up.
STACK = ("succeeded", "refused", "failed")


@dataclass(frozen=True, slots=True)
class Piece:
    """One colour of a bar."""

    kind: str
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class Bar:
    """One hour or day: its colours, and what it says in words."""

    x: float
    width: float
    words: str
    pieces: list[Piece]


@dataclass(frozen=True, slots=True)
class Line:
    """A line as SVG paths: its segments, and isolated points."""

    kind: str
    path: str
    dots: str


@dataclass(frozen=True, slots=True)
class Picture:
    """Bars or lines under a scale from 0 to `top`, at the picture's upper edge, and labels below."""

    top: str
    half: str
    labels: list[str]
    bars: list[Bar]
    lines: list[Line]


def calls(charts: Charts) -> Picture:
    """The calls over time, as bars."""
    top = _top(max(counts.calls for _, counts in charts.over_time))
    place = WIDTH / len(charts.over_time)
    bars = []
    for index, (start, counts) in enumerate(charts.over_time):
        pieces, at = [], float(HEIGHT)
        for kind in STACK:
            height = HEIGHT * getattr(counts, kind) / top
            if height:
                at -= height
                pieces.append(Piece(kind, round(at, 2), round(height, 2)))
        left = index * place + place * (1 - FILL) / 2
        bars.append(Bar(round(left, 2), round(place * FILL, 2), in_words(start, counts, charts.by_hour), pieces))
    return Picture(f"{top:,}", f"{top / 2:,g}", _labels(charts), bars, [])


def latency(charts: Charts) -> Picture | None:
    """How long calls took over time, as two lines; None when none was timed."""
    if not charts.total.timed:
        return None
    top = _top(max(max(counts.p95_ms or 0, counts.mean_ms or 0) for _, counts in charts.over_time))
    lines = [
        _line(kind, [getattr(counts, f"{kind}_ms") for _, counts in charts.over_time], top) for kind in ("p95", "mean")
    ]
    return Picture(took(top), took(top // 2), _labels(charts), [], lines)


def moment(start: datetime, by_hour: bool) -> str:
    """An hour or a day in words."""
    return f"{start:%-d %b, %H:00}" if by_hour else f"{start:%-d %b}"


def in_words(start: datetime, counts: Counts, by_hour: bool) -> str:
    """One bar, as a tooltip and for screen readers."""
    said = f"{moment(start, by_hour)}: {counts.calls:,} {'call' if counts.calls == 1 else 'calls'}"
    rest = [f"{getattr(counts, kind):,} {kind}" for kind in STACK[1:] if getattr(counts, kind)]
    return ", ".join([said, *rest])


def _labels(charts: Charts) -> list[str]:
    """The first, a middle and the last hour or day."""
    times = [start for start, _ in charts.over_time]
    return [moment(times[at], charts.by_hour) for at in (0, len(times) // 2, len(times) - 1)]


def _line(kind: str, values: Sequence[int | None], top: int) -> Line:
    """Through the middles of the places, with a gap where there is no value."""
    place = WIDTH / len(values)
    points = [
        None if value is None else f"{round((index + 0.5) * place, 2)} {round(HEIGHT - HEIGHT * value / top, 2)}"
        for index, value in enumerate(values)
    ]
    path, dots = "", ""
    for before, point, after in zip([None, *points], points, [*points[1:], None], strict=False):
        if point is not None:
            path += f"L{point}" if before is not None else f"M{point}"
            # A line of no length with round ends is a dot.
            dots += f"M{point}h0" if before is None and after is None else ""
    return Line(kind, path, dots)


def _top(most: int) -> int:
    """The least of 2, 4, 10, 20, 40, 100, … that is not less."""
    top = 2
    while top < most:
        top = top * 5 // 2 if str(top).startswith("4") else top * 2
    return top
