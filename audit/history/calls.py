"""The one place that lists calls, for the pages, the API and the admin: whose, which, newest first, a page at a time.

Nothing here counts: a page is read from where the one before it ended, however long the list. Ids grow with time, so a
time bounds the ids, and with them the partitions that are read.

Words are searched for by `look_up_tool_calls` in the database (audit/migrations/0004_search.py): a call is found when
it has all of them in its tool's name, its line for people, its error's message or the first 4096 characters of its
arguments. Letters and digits make words, whatever their case; a last word with a `*` behind it is the beginning of one.
"""

import json
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connections
from django.db.models import Q, QuerySet

from audit.identifiers import first_id_at, in_utc
from audit.models import FINAL, Status, ToolCall
from tenants.models import User
from tenants.people.principal import Principal

# Filters beside a call's own status: in progress and not waiting for a human; ended while it ran, and before it ran;
# without its payload.
IN_PROGRESS, FAILED, REFUSED, ERASED = "in_progress", "failed", "refused", "erased"
# An id is made a moment before its row, perhaps by another machine's clock.
SLACK = timedelta(minutes=1)
LONGEST_WORDS = 200
MOST_FOUND = 200
_LOWEST, _HIGHEST = uuid.UUID(int=0), uuid.UUID(int=(1 << 128) - 1)
_NO_TEXT = re.compile("[\x00\ud800-\udfff]")
_UNDER_WAY = [Status.PROPOSED.value, Status.QUEUED.value, Status.CLAIMED.value, Status.RUNNING.value]


@dataclass(frozen=True, slots=True)
class Filters:
    """A list's filters; None filters nothing.

    `status` is a call's status, IN_PROGRESS, FAILED, REFUSED or ERASED; `user` an id or a username; `since` and `until`
    (exclusive) are times of creation; `words` is free text.
    """

    tenant_id: uuid.UUID | None = None
    user: uuid.UUID | str | None = None
    tool: str | None = None
    status: str | None = None
    error_code: str | None = None
    conversation_id: uuid.UUID | None = None
    run_id: uuid.UUID | None = None
    since: datetime | None = None
    until: datetime | None = None
    words: str | None = None

    @property
    def is_possible(self) -> bool:
        """Whether PostgreSQL can store its texts."""
        texts = (self.tool, self.status, self.error_code, self.user, self.words)
        return not any(isinstance(text, str) and _NO_TEXT.search(text) for text in texts)


def visible(principal: Principal, calls: QuerySet[ToolCall] | None = None) -> QuerySet[ToolCall]:
    """The calls, of `calls` or of all, that this person may read: their own, or the whole tenant's."""
    calls = (ToolCall.objects.all() if calls is None else calls).filter(tenant_id=principal.tenant_id)
    return calls if principal.sees_whole_history else calls.filter(user_id=principal.user_id)


def page(
    principal: Principal | None,
    filters: Filters,
    *,
    limit: int,
    before: uuid.UUID | None = None,
    after: uuid.UUID | None = None,
    calls: QuerySet[ToolCall] | None = None,
) -> list[ToolCall]:
    """At most `limit` calls that the principal may read (None: an operator, on the operator's login), newest first.

    They are the newest, or the newest of those before the id `before`; or the oldest of those after the id `after`, and
    these oldest first. Ask for one more than is shown, to know whether there is more. `calls` says which columns are
    read: `ToolCall.objects.only(…)`, or `values_list("id", …)` for rows that are no objects.
    """
    calls = ToolCall.objects.all() if calls is None else calls
    if _is_searched_for(filters):
        ids = found(principal, filters, limit=limit, before=before, after=after)
        matching = (visible(principal, calls) if principal else calls).filter(id__in=ids)
        whole = {row.id if isinstance(row, ToolCall) else row[0]: row for row in matching}
        return [whole[each] for each in ids if each in whole]
    listed = narrowed(visible(principal, calls) if principal else calls, filters)
    if after is not None:
        return list(listed.filter(id__gt=after).order_by("id")[:limit])
    if before is not None:
        listed = listed.filter(id__lt=before)
    # Nearly every page is full before the month before last is read.
    recently = _recently(before)
    if filters.until is not None and first_id_at(_moved(filters.until, SLACK)) <= recently:
        return list(listed.order_by("-id")[:limit])
    rows = list(listed.filter(id__gte=recently).order_by("-id")[:limit])
    if len(rows) < limit and (filters.since is None or first_id_at(_moved(filters.since, -SLACK)) < recently):
        rows += listed.filter(id__lt=recently).order_by("-id")[: limit - len(rows)]
    return rows


def each(
    principal: Principal | None, filters: Filters, *, calls: QuerySet[ToolCall] | None = None, batch: int = 500
) -> Iterator[ToolCall]:
    """Every call of a list, newest first, read `batch` at a time, so that memory does not grow with the list."""
    before: uuid.UUID | None = None
    while rows := page(principal, filters, limit=batch, before=before, calls=calls):
        yield from rows
        if len(rows) < batch:
            return
        before = rows[-1].id


def narrowed(calls: QuerySet[ToolCall], filters: Filters) -> QuerySet[ToolCall]:
    """The calls that match the filters; of a search, the newest MOST_FOUND."""
    if not filters.is_possible:
        return calls.none()
    if _is_searched_for(filters):
        calls = calls.filter(id__in=found(None, filters, limit=MOST_FOUND))
    equal = {
        "tenant_id": filters.tenant_id,
        "tool_name": filters.tool,
        "error_code": filters.error_code,
        "conversation_id": filters.conversation_id,
        "run_id": filters.run_id,
    }
    calls = calls.filter(**{column: value for column, value in equal.items() if value is not None})
    if filters.status is not None:
        calls = calls.filter(_of_status(filters.status))
    if filters.since is not None:
        calls = calls.filter(created_at__gte=in_utc(filters.since), id__gte=first_id_at(_moved(filters.since, -SLACK)))
    if filters.until is not None:
        calls = calls.filter(created_at__lt=in_utc(filters.until), id__lt=first_id_at(_moved(filters.until, SLACK)))
    if filters.user is not None:
        user_id = _user_id(filters.user)
        calls = calls.filter(user_id=user_id) if user_id else calls.none()
    return calls


def found(
    principal: Principal | None,
    filters: Filters,
    *,
    limit: int,
    before: uuid.UUID | None = None,
    after: uuid.UUID | None = None,
) -> list[uuid.UUID]:
    """The ids of the calls of a page, in its order, by the index of words.

    At least one of words, tenant, user, tool and error code is given; words without a letter or digit find nothing.
    """
    user_id = _user_id(filters.user) if filters.user is not None else None
    tenant_id = filters.tenant_id
    if not filters.is_possible or (filters.user is not None and user_id is None):
        return []
    if principal is not None:
        if tenant_id not in (None, principal.tenant_id):
            return []
        if not principal.sees_whole_history:
            if user_id not in (None, principal.user_id):
                return []
            user_id = principal.user_id
        tenant_id = principal.tenant_id
    low, high = _LOWEST if after is None else uuid.UUID(int=after.int + 1), before or _HIGHEST
    given: dict[str, Any] = {
        "words": None if filters.words is None else filters.words[:LONGEST_WORDS],
        "tenant_id": tenant_id,
        "user_id": user_id,
        "tool_name": filters.tool,
        "error_code": filters.error_code,
        "conversation_id": filters.conversation_id,
        "run_id": filters.run_id,
    }
    if filters.status is not None:
        given |= _STATUSES.get(filters.status, {"statuses": [filters.status]})
    if filters.since is not None:
        given["since"] = in_utc(filters.since).isoformat()
        low = max(low, first_id_at(_moved(filters.since, -SLACK)))
    if filters.until is not None:
        given["until"] = in_utc(filters.until).isoformat()
        high = min(high, first_id_at(_moved(filters.until, SLACK)))
    text = json.dumps({name: value for name, value in given.items() if value is not None}, default=str)
    # Only the operator's login may read beyond the tenant that the transaction has set.
    function = "search_tool_calls" if _beyond_tenants() else "find_tool_calls"
    with connections[ToolCall.objects.db].cursor() as cursor:
        cursor.execute(f"SELECT * FROM {function}(%s, %s, %s, %s, %s)", [text, low, high, after is None, limit])
        return [row[0] for row in cursor.fetchall()]


_STATUSES: dict[str, dict[str, Any]] = {
    IN_PROGRESS: {"statuses": _UNDER_WAY},
    FAILED: {"statuses": [Status.ERROR.value], "ran": True},
    REFUSED: {"statuses": [Status.ERROR.value], "ran": False},
    ERASED: {"statuses": sorted(FINAL), "erased": True},
}


def _of_status(status: str) -> Q:
    asked = _STATUSES.get(status)
    if asked is None:
        return Q(status=status)
    wanted = Q(status__in=asked["statuses"]) if len(asked["statuses"]) > 1 else Q(status=asked["statuses"][0])
    if "ran" in asked:
        wanted &= Q(started_at__isnull=not asked["ran"])
    return wanted & Q(row_key__isnull=True) if "erased" in asked else wanted


def _is_searched_for(filters: Filters) -> bool:
    """Whether no other index serves the list: words, or a tool or an error in the calls of every tenant."""
    everywhere = _beyond_tenants() and filters.tenant_id is None and filters.run_id is None
    return filters.words is not None or (everywhere and (filters.tool is not None or filters.error_code is not None))


def _beyond_tenants() -> bool:
    return ToolCall.objects.db == "operator"


def _recently(before: uuid.UUID | None) -> uuid.UUID:
    """The first id of the month before the one where a page begins."""
    moment = datetime.now(UTC)
    if before is not None and before < first_id_at(moment):
        moment = datetime.fromtimestamp((before.int >> 80) / 1000, UTC)
    last_of_previous = moment.replace(day=1, hour=0, minute=0, second=0, microsecond=0) - timedelta(days=1)
    return first_id_at(last_of_previous.replace(day=1))


def _user_id(user: uuid.UUID | str) -> uuid.UUID | None:
    """The id, looked up where it is a name; somebody who has left the tenant has only the id."""
    try:
        return user if isinstance(user, uuid.UUID) else uuid.UUID(user)
    except ValueError:
        return User.objects.filter(username=user).values_list("id", flat=True).first()


def _moved(moment: datetime, by: timedelta) -> datetime:
    try:
        return in_utc(moment) + by
    except OverflowError:
        return in_utc(moment)
