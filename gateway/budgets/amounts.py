"""What of budgets is spent and reserved in the windows that hold now."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from gateway.budgets.models import Budget, BudgetWindow

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Amounts:
    """Of one budget, in its unit; `ends_at` is when the next window begins, None of a budget for ever."""

    spent: Decimal
    reserved: Decimal
    ends_at: datetime | None


def of(budgets: Sequence[Budget], now: datetime | None = None) -> dict[uuid.UUID, Amounts]:
    """By the budgets' ids."""
    now = now or datetime.now(UTC)
    starts = {each.id: window(each.window, now) for each in budgets}
    rows = BudgetWindow.objects.filter(budget_id__in=starts, starts_at__in={start for start, _ in starts.values()})
    held = {(row.budget_id, row.starts_at): row for row in rows}
    found = {}
    for budget_id, (start, end) in starts.items():
        row = held.get((budget_id, start))
        found[budget_id] = Amounts(row.spent if row else Decimal(0), row.reserved if row else Decimal(0), end)
    return found


def window(name: str, now: datetime) -> tuple[datetime, datetime | None]:
    """When the window that holds now began and ends, in UTC."""
    day = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    if name == "day":
        return day, day + timedelta(days=1)
    if name == "month":
        first = day.replace(day=1)
        return first, (first + timedelta(days=32)).replace(day=1)
    return _EPOCH, None
