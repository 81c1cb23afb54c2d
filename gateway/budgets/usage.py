"""What was used: the one place that the API, its CSV and the page ask."""

import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from django.db import connection

from gateway.budgets.errors import InvalidUsage
from gateway.budgets.models import TurnUsage
from tenants.models import ApiKey, User
from tenants.people.principal import Principal

# More rows than these are no table for anybody.
MOST_ROWS = 10_000
_TOO_MANY = f"These are more than {MOST_ROWS:,} rows. Ask for a shorter time, or for less."
LONGEST = timedelta(days=1830)
USUAL = timedelta(days=30)
# The day after it can be named still.
LATEST = datetime(9999, 12, 31, tzinfo=UTC)
_MICRO = Decimal("0.000001")
_COLUMNS = {
    "day": "(u.at AT TIME ZONE 'UTC')::date",
    "user": "u.user_id",
    "agent": "u.agent_id",
    "model": "u.model",
    "tool": "t.name",
    "key": "u.key_id",
}
BY = tuple(_COLUMNS)
_SUMS = """count(*) AS requests, sum(u.input_tokens) AS input, sum(u.output_tokens) AS output,
    sum(u.cached_tokens) AS cached, coalesce(sum(u.cost), 0) AS cost,
    count(*) FILTER (WHERE u.cost IS NULL) AS unpriced, count(*) FILTER (WHERE u.estimated) AS estimated"""
# A turn's tokens and cost are shared equally among its calls.
_SHARES = """count(*), round(sum(u.input_tokens::numeric / t.calls)), round(sum(u.output_tokens::numeric / t.calls)),
    round(sum(u.cached_tokens::numeric / t.calls)), coalesce(sum(u.cost / t.calls), 0),
    count(*) FILTER (WHERE u.cost IS NULL), count(*) FILTER (WHERE u.estimated)"""
_TOOLS = """CROSS JOIN LATERAL (
    SELECT jsonb_array_elements_text(u.tools) AS name, jsonb_array_length(u.tools) AS calls) t"""
_NAMES: dict[str, Callable[[Any], dict[uuid.UUID, str]]] = {
    "user": lambda ids: dict(User.objects.filter(pk__in=ids).values_list("pk", "username")),
    "agent": lambda ids: dict(_agents().filter(pk__in=ids).values_list("pk", "slug")),
    "key": lambda ids: {each.pk: str(each) for each in ApiKey.objects.filter(pk__in=ids)},
}


@dataclass(frozen=True, slots=True)
class Asked:
    """Whose usage, between which moments, added up by what; `by` are names of BY, in order."""

    by: tuple[str, ...]
    since: datetime
    until: datetime

    @classmethod
    def read(cls, by: Iterable[str], since: str, until: str, now: datetime | None = None) -> "Asked":
        """Out of a query; a day stands for its beginning in UTC, and nothing for the last 30 days. Raises
        InvalidUsage."""
        now = now or datetime.now(UTC)
        names = tuple(dict.fromkeys(by))
        for name in names:
            if name not in BY:
                raise InvalidUsage(f"by must be {', '.join(BY[:-1])} or {BY[-1]}.", "by")
        tomorrow = datetime.combine(now.date() + timedelta(days=1), time(), UTC)
        end = _moment(until, "until") if until else tomorrow
        if end > LATEST:
            raise InvalidUsage("until is too late.", "until")
        try:
            begin = _moment(since, "since") if since else end - USUAL
        except OverflowError:
            raise InvalidUsage("until is too early.", "until") from None
        if not begin < end or end - begin > LONGEST:
            raise InvalidUsage(f"since must be before until, by {LONGEST.days:,} days at the most.", "since")
        return cls(names, begin, end)


@dataclass(frozen=True, slots=True)
class Used:
    """What was used by one of a kind. `of` are the values of `by`, `names` what people call them.

    `requests` counts turns, and by tool calls; `unpriced` are those of them that no price is known of, `estimated`
    those whose usage nobody knows.
    """

    of: dict[str, Any]
    names: dict[str, str]
    requests: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost: Decimal
    unpriced: int
    estimated: int

    @property
    def dollars(self) -> str:
        """The cost to a millionth."""
        return f"{self.cost.quantize(_MICRO):f}"


@dataclass(frozen=True, slots=True)
class Usage:
    """The rows, and their sum; the sum is of all turns, whether they called a tool or not."""

    rows: list[Used]
    whole: Used


def used(principal: Principal, asked: Asked) -> Usage:
    """What the tenant used; of who is neither owner nor auditor, what they used themselves. In the caller's scope.

    One statement, by tool two, and one for each kind of name. Raises InvalidUsage.
    """
    where, values = _where(principal, asked)
    with connection.cursor() as cursor:
        found: list[Any] = []
        whole: tuple[Any, ...] = ()
        if not asked.by or "tool" in asked.by:
            # Not every turn has called a tool.
            cursor.execute(f"SELECT {_SUMS} FROM turn_usage u {where}", values)
            [whole] = cursor.fetchall()
        if asked.by:
            columns = ", ".join(_COLUMNS[name] for name in asked.by)
            places = ", ".join(map(str, range(1, len(asked.by) + 1)))
            sums, tools = (_SHARES, _TOOLS) if "tool" in asked.by else (_SUMS, "")
            # Days in order, all else by what it cost.
            order = places if asked.by == ("day",) else f"{'1, ' if asked.by[0] == 'day' else ''}{_cost(asked)} DESC"
            cursor.execute(
                f"SELECT {columns}, {sums} FROM turn_usage u {tools} {where} GROUP BY {places} "
                f"ORDER BY {order}, {places} LIMIT %s",
                [*values, MOST_ROWS + 1],
            )
            found = cursor.fetchall()
        if len(found) > MOST_ROWS:
            raise InvalidUsage(_TOO_MANY, "by")
    return _usage(found, asked.by, whole)


def by_day_and(principal: Principal, by: str, asked: Asked) -> tuple[Usage, Usage]:
    """What `used` says by day, and by one thing more, over the time of `asked`. Every row is read once.

    Raises InvalidUsage.
    """
    days = Asked(("day",), asked.since, asked.until)
    if by in ("day", "tool"):
        # A call has a part of its turn: those sums are others.
        found = used(principal, days)
        return found, found if by == "day" else used(principal, Asked((by,), asked.since, asked.until))
    where, values = _where(principal, asked)
    with connection.cursor() as cursor:
        # PostgreSQL shares out the first of the two among processes, which it cannot do with grouping sets.
        cursor.execute(
            f"""
            WITH fine AS (
                SELECT {_COLUMNS["day"]} AS day, {_COLUMNS[by]} AS one, {_SUMS} FROM turn_usage u {where} GROUP BY 1, 2)
            SELECT grouping(day), CASE WHEN grouping(day) = 0 THEN day::text ELSE one::text END, sum(requests)::bigint,
                sum(input), sum(output), sum(cached), sum(cost), sum(unpriced)::bigint, sum(estimated)::bigint
            FROM fine GROUP BY GROUPING SETS ((day), (one))
            ORDER BY 1, CASE WHEN grouping(day) = 0 THEN day END, 7 DESC, 2 LIMIT %s""",
            [*values, MOST_ROWS + LONGEST.days + 2],
        )
        rows = cursor.fetchall()
    each = [_typed(by, row[1:]) for row in rows if row[0]]
    if len(each) > MOST_ROWS:
        raise InvalidUsage(_TOO_MANY, "by")
    return _usage([row[1:] for row in rows if not row[0]], ("day",)), _usage(each, (by,))


def _typed(by: str, row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A row whose first value is the text of a column."""
    return (uuid.UUID(row[0]), *row[1:]) if by in _NAMES and row[0] is not None else row


def _where(principal: Principal, asked: Asked) -> tuple[str, list[Any]]:
    """Whose usage is seen, and when: a condition and its values."""
    where = "WHERE u.tenant_id = %s AND u.at >= %s AND u.at < %s"
    values: list[Any] = [principal.tenant_id, asked.since, asked.until]
    if not principal.sees_whole_history:
        where += " AND u.user_id = %s"
        values.append(principal.user_id)
    return where, values


def _usage(found: list[Any], by: tuple[str, ...], whole: tuple[Any, ...] = ()) -> Usage:
    """The rows with names for what they are of; without `whole` their sum, which is exact."""
    named = {
        name: _NAMES[name]({row[at] for row in found if row[at] is not None})
        for at, name in enumerate(by)
        if name in _NAMES
    }
    rows = [_used(row, by, named) for row in found]
    whole = whole or tuple(sum(column) for column in zip(*(row[len(by) :] for row in found), strict=True))
    return Usage(rows, _used(whole or (0,) * 7, (), {}))


def _cost(asked: Asked) -> str:
    """The place of the cost among the columns."""
    return str(len(asked.by) + 5)


def _agents() -> Any:
    return TurnUsage._meta.apps.get_model("gateway", "Agent")._default_manager


def _used(row: Any, by: tuple[str, ...], named: Mapping[str, Mapping[uuid.UUID, str]]) -> Used:
    keys, (requests, fresh, output, cached, cost, unpriced, estimated) = row[: len(by)], row[len(by) :]
    of = {name: _plain(value) for name, value in zip(by, keys, strict=True)}
    names = {name: named.get(name, {}).get(value, "") for name, value in zip(by, keys, strict=True) if name in _NAMES}
    return Used(
        of, names, requests, int(fresh or 0), int(output or 0), int(cached or 0), Decimal(cost), unpriced, estimated
    )


def _plain(value: Any) -> Any:
    if isinstance(value, date):
        return value.isoformat()
    return None if value is None else str(value)


def _moment(given: str, name: str) -> datetime:
    """ISO 8601; a day is its beginning in UTC."""
    try:
        if len(given) == len("2026-11-22"):
            return datetime.combine(date.fromisoformat(given), time(), UTC)
        moment = datetime.fromisoformat(given)
    except ValueError:
        words = f"{name} must be a day or a moment, such as 2026-11-22 or 2026-11-22T18:00:00Z."
        raise InvalidUsage(words, name) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
