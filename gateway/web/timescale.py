"""Where moments of a run stand in its picture: in proportion, but for long stretches in which nobody works."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

Moments = tuple[datetime, datetime]

# A stretch is cut short when it is at least this long, and longer than this part of all the work.
LEAST_SECONDS = 2.0
LEAST_SHARE = 0.5
# What it then takes of the picture, as a part of the work's width.
CUT_SHARE = 0.12
# Labels stand at least this far apart, in parts of the whole, also on a phone; the last one stands before its place.
APART = 0.16
APART_FROM_THE_END = 0.22
STEPS = (1, 2, 5)
MOST_TICKS = 6


@dataclass(frozen=True, slots=True)
class Tick:
    """A moment with a label: its place from 0 to 1, and the seconds since the beginning."""

    place: float
    seconds: float


class Timescale:
    """Places from 0 to 1; `cuts` are the stretches that were cut short, as places."""

    def __init__(self, begin: datetime, end: datetime, work: Iterable[Moments]):
        self.begin = begin
        self.seconds = max((end - begin).total_seconds(), 0.001)
        idle = _idle(self.seconds, [(self._since(start), self._since(stop)) for start, stop in work])
        worked = self.seconds - sum(stop - start for start, stop in idle)
        long = [(a, b) for a, b in idle if b - a >= LEAST_SECONDS and b - a > LEAST_SHARE * worked]
        shown = self.seconds - sum(stop - start for start, stop in long)
        cut_to = max(CUT_SHARE * shown, 0.001)
        self._pieces: list[tuple[float, float, float]] = []
        at = 0.0
        for start, stop in long:
            self._pieces += [(at, start, start - at), (start, stop, cut_to)]
            at = stop
        self._pieces.append((at, self.seconds, self.seconds - at))
        self._whole = sum(width for *_, width in self._pieces) or 1.0
        self.cuts = [(self._place(start), self._place(stop)) for start, stop in long]
        self._ends = [stop for _, stop in long]

    def place(self, moment: datetime) -> float:
        """Where a moment stands; what lies outside stands at the edge."""
        return self._place(self._since(moment))

    def ticks(self) -> list[Tick]:
        """Round times in the first piece, then the ends of what was cut short, and the end of all."""
        first = self._pieces[0][1]
        step = _step(first if self.cuts else self.seconds)
        rounds = [step * number for number in range(int(first / step) + 1)]
        kept = [Tick(1.0, self.seconds)]
        for seconds in [*self._ends, *rounds]:
            place = self._place(seconds)
            if place <= 1 - APART_FROM_THE_END and all(abs(place - tick.place) >= APART for tick in kept):
                kept.append(Tick(place, seconds))
        return sorted(kept, key=lambda tick: tick.place)

    def _since(self, moment: datetime) -> float:
        return min(max((moment - self.begin).total_seconds(), 0.0), self.seconds)

    def _place(self, seconds: float) -> float:
        before = 0.0
        for start, stop, width in self._pieces:
            if seconds <= stop and stop > start:
                return (before + width * (seconds - start) / (stop - start)) / self._whole
            before += width
        return 1.0


def _idle(seconds: float, work: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """What no stretch of work covers."""
    idle, at = [], 0.0
    for start, stop in sorted(work):
        if start > at:
            idle.append((at, start))
        at = max(at, stop)
    return [*idle, (at, seconds)] if at < seconds else idle


def _step(seconds: float) -> float:
    """The smallest round step of which there are few enough."""
    size = 0.001
    while True:
        for each in STEPS:
            if seconds / (each * size) <= MOST_TICKS:
                return each * size
        size *= 10
