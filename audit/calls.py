"""The one place that lists calls, for the pages, the API and the admin: whose, which, newest first, a page at a time.

Nothing here counts: a page is read from where the one before it ended, however long the list. Ids grow with time, so a
time bounds the ids, and with them the partitions that are read.
"""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db.models import Q, QuerySet

from audit.models import FINAL, Status, ToolCall
from tenants.models import User
from tenants.principal import Principal

# The status that a list may be narrowed by beside a call's own: under way, and not waiting for a human.
IN_PROGRESS = "in_progress"
# An id is made a moment before its row, perhaps by another machine's clock.
SLACK = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Filters:
    """What a list is narrowed by; what is None narrows nothing.

    `status` is a call's status or IN_PROGRESS, `user` an id or a username, `since` and `until` (exclusive) are times of
    creation, `words` is free text.
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


def visible(principal: Principal, calls: QuerySet[ToolCall] | None = None) -> QuerySet[ToolCall]:
    """The calls, of `calls` or of all, that this person may read: their own, or the whole tenant's."""
    calls = (ToolCall.objects.all() if calls is None else calls).filter(tenant_id=principal.tenant_id)
    return calls if principal.sees_whole_history else calls.filter(user_id=principal.user_id)


def first_id_at(moment: datetime) -> uuid.UUID:
    """The smallest UUIDv7 of a moment; comparing ids with it reads only the partitions after it."""
    milliseconds = min(max(0, int(_in_utc(moment).timestamp() * 1000)), (1 << 48) - 1)
    return uuid.UUID(int=(milliseconds << 80) | (0x7 << 76) | (0x8 << 60))


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
    these oldest first. Ask for one more than is shown, to know whether there is more. `calls` says what is read of
    each: `ToolCall.objects.only(…)`.
    """
    readable = visible(principal, calls) if principal else ToolCall.objects.all() if calls is None else calls
    found = narrowed(readable, filters).order_by("id" if after is not None else "-id")
    if before is not None:
        found = found.filter(id__lt=before)
    if after is not None:
        found = found.filter(id__gt=after)
    return list(found[:limit])


def each(
    principal: Principal | None, filters: Filters, *, calls: QuerySet[ToolCall] | None = None, batch: int = 500
) -> Iterator[ToolCall]:
    """Every call of a list, newest first, read `batch` at a time, so that memory does not grow with the list."""
    before: uuid.UUID | None = None
    while found := page(principal, filters, limit=batch, before=before, calls=calls):
        yield from found
        if len(found) < batch:
            return
        before = found[-1].id


def narrowed(calls: QuerySet[ToolCall], filters: Filters) -> QuerySet[ToolCall]:
    """The calls that the filters leave over."""
    texts = (filters.tool, filters.status, filters.error_code, filters.user, filters.words)
    if any(isinstance(text, str) and "\x00" in text for text in texts):
        # PostgreSQL has no such text.
        return calls.none()
    equal = {
        "tenant_id": filters.tenant_id,
        "tool_name": filters.tool,
        "error_code": filters.error_code,
        "conversation_id": filters.conversation_id,
        "run_id": filters.run_id,
    }
    calls = calls.filter(**{column: value for column, value in equal.items() if value is not None})
    if filters.status == IN_PROGRESS:
        calls = calls.exclude(status__in=[*FINAL, Status.AWAITING_APPROVAL])
    elif filters.status is not None:
        calls = calls.filter(status=filters.status)
    if filters.since is not None:
        calls = calls.filter(created_at__gte=_in_utc(filters.since), id__gte=first_id_at(_moved(filters.since, -SLACK)))
    if filters.until is not None:
        calls = calls.filter(created_at__lt=_in_utc(filters.until), id__lt=first_id_at(_moved(filters.until, SLACK)))
    if filters.user is not None:
        user_id = _user_id(filters.user)
        calls = calls.filter(user_id=user_id) if user_id else calls.none()
    if filters.words is not None:
        words = filters.words
        calls = calls.filter(
            Q(tool_name__icontains=words) | Q(display__icontains=words) | Q(error_message__icontains=words)
        )
    return calls


def _user_id(user: uuid.UUID | str) -> uuid.UUID | None:
    """The id, looked up where it is a name; someone who has left the tenant is known by the id alone."""
    try:
        return user if isinstance(user, uuid.UUID) else uuid.UUID(user)
    except ValueError:
        return User.objects.filter(username=user).values_list("id", flat=True).first()


def _in_utc(moment: datetime) -> datetime:
    """The moment without its offset, which may be one that PostgreSQL does not take."""
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        # Within a day of the first or last moment that Python knows, where no call is.
        return moment.replace(tzinfo=UTC)


def _moved(moment: datetime, by: timedelta) -> datetime:
    try:
        return _in_utc(moment) + by
    except OverflowError:
        return _in_utc(moment)
