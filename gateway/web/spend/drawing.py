"""What was spent by day, as bars in a box of WIDTH by HEIGHT."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal

from gateway.budgets.usage import Used

WIDTH, HEIGHT = 1000, 100
# The part of its place that a bar fills, and how many days there are bars for.
_FILL, MOST_DAYS = 0.72, 400


@dataclass(frozen=True, slots=True)
class Bar:
    """One day: its place, and what it says in words."""

    x: float
    width: float
    y: float
    height: float
    words: str


@dataclass(frozen=True, slots=True)
class Picture:
    """The bars under a scale from 0 to `top`, with the first and the last day."""

    top: str
    half: str
    bars: list[Bar]
    first: date
    last: date


def by_day(rows: Sequence[Used], first: date, last: date) -> Picture | None:
    """Of the rows by day; None where nothing was spent, or over more days than can be told apart."""
    costs = {date.fromisoformat(row.of["day"]): row.cost for row in rows}
    days = [first + timedelta(days=at) for at in range((last - first).days + 1)]
    top = _top(max(costs.values(), default=Decimal(0)))
    if not top or len(days) > MOST_DAYS:
        return None
    place = WIDTH / len(days)
    bars = []
    for at, day in enumerate(days):
        height = float(costs.get(day, Decimal(0)) / top) * HEIGHT
        words = f"{day:%-d %B %Y}: {dollars(costs.get(day, Decimal(0)))}"
        left = at * place + place * (1 - _FILL) / 2
        bars.append(Bar(round(left, 2), round(place * _FILL, 2), round(HEIGHT - height, 2), round(height, 2), words))
    return Picture(dollars(top), dollars(top / 2), bars, first, last)


def dollars(amount: Decimal) -> str:
    """As people read it: cents, and as many digits more as say something of less than a dollar."""
    if abs(amount) >= 1 or not amount:
        return f"US${amount:,.2f}"
    whole, _, places = f"{amount.quantize(Decimal('0.000001')):f}".partition(".")
    return f"US${whole}.{places.rstrip('0').ljust(2, '0')}"


def _top(most: Decimal) -> Decimal:
    """The least of 1, 2, 5 times a power of ten that is not below it."""
    if not most:
        return Decimal(0)
    power = Decimal(10) ** most.adjusted()
    return next(power * times for times in (1, 2, 5, 10) if power * times >= most)
