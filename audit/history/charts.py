"""How many calls there were, how they ended and how long they took, over time and by tool.

Read from `tool_call_counts` alone, which the sealer fills: a few rows an hour, however many calls.
"""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Sum
from django.db.models.functions import TruncDay, TruncHour

from audit.models import CallCount

COUNTED = ("calls", "succeeded", "refused", "failed", "timed", "total_ms")
# The histogram's columns, with the milliseconds that bound each.
BOUNDS = {
    "ms_10": 10, "ms_30": 30, "ms_100": 100, "ms_300": 300, "ms_1000": 1000, "ms_3000": 3000, "ms_10000": 10_000,
    "ms_30000": 30_000,
}  # fmt: skip
LONGER = "ms_more"
SHARE = 0.95
RANGES = {
    "day": ("24 hours", timedelta(hours=1), 24),
    "week": ("7 days", timedelta(days=1), 7),
    "month": ("30 days", timedelta(days=1), 30),
}


@dataclass(slots=True)
class Counts:
    """Sums over some calls."""

    sums: dict[str, int] = field(default_factory=dict)

    def add(self, row: dict[str, Any]) -> None:
        """Add a row's sums."""
        for name in (*COUNTED, *BOUNDS, LONGER):
            self.sums[name] = self.sums.get(name, 0) + row[name]

    def __getattr__(self, name: str) -> int:
        if name in COUNTED:
            return self.sums.get(name, 0)
        raise AttributeError(name)

    def share(self, name: str) -> float | None:
        """The part of the calls that ended so; None without calls."""
        return self.sums.get(name, 0) / self.calls if self.calls else None

    @property
    def mean_ms(self) -> int | None:
        """How long a call took on average; None when none was timed."""
        return round(self.total_ms / self.timed) if self.timed else None

    @property
    def p95_ms(self) -> int | None:
        """About how long 95 of 100 calls took at most, from the histogram; None when none was timed.

        Between two bounds it is estimated; beyond the last it is that bound.
        """
        wanted, passed, below = SHARE * self.timed, 0, 0
        if not self.timed:
            return None
        for name, bound in BOUNDS.items():
            within = self.sums.get(name, 0)
            if within and passed + within >= wanted:
                return round(below + (bound - below) * (wanted - passed) / within)
            passed, below = passed + within, bound
        return below


@dataclass(frozen=True, slots=True)
class Charts:
    """The counts of a range: of all, for each hour or day from the oldest, and for each tool, the most called first."""

    of: str
    by_hour: bool
    total: Counts
    over_time: list[tuple[datetime, Counts]]
    by_tool: list[tuple[str, Counts]]


def counted(*, tenant_id: uuid.UUID, user_id: uuid.UUID | None, of: str, tool: str | None = None) -> Charts:
    """The counts of one person, or (None) of the whole tenant, in one query; `of` is a key of RANGES."""
    _, each, many = RANGES[of]
    by_hour = each < timedelta(days=1)
    now = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    last = now if by_hour else now.replace(hour=0)
    starts = [last - each * back for back in reversed(range(many))]
    counts = CallCount.objects.filter(tenant_id=tenant_id, user_id=user_id, hour__gte=starts[0])
    if tool is not None:
        counts = counts.filter(tool_name=tool)
    start = (TruncHour if by_hour else TruncDay)("hour", tzinfo=UTC)
    sums = {name: Sum(name) for name in (*COUNTED, *BOUNDS, LONGER)}
    rows: list[Any] = list(counts.annotate(start=start).values("start", "tool_name").annotate(**sums))
    times = dict(_summed(rows, "start"))
    tools = _summed(rows, "tool_name")
    total = Counts()
    for row in rows:
        total.add(row)
    return Charts(
        of,
        by_hour,
        total,
        [(start, times.get(start, Counts())) for start in starts],
        sorted(tools, key=lambda found: (-found[1].calls, found[0])),
    )


def _summed(rows: Iterable[dict[str, Any]], key: str) -> list[tuple[Any, Counts]]:
    found: dict[Any, Counts] = {}
    for row in rows:
        found.setdefault(row[key], Counts()).add(row)
    return list(found.items())
