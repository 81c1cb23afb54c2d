"""The access log: who was shown whose calls, and what was erased. Everybody reads what is about them; auditors and
owners the tenant's."""

import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from django.db.models import Exists, Model, OuterRef, Q, QuerySet

from audit.models import Erasure, HistoryRead, ToolCall
from tenants.models import User
from tenants.people.principal import Principal

Row = TypeVar("Row", bound=Model)

FORMER = "a former member"
OPERATOR = "An operator of this Toolgate"
COMMAND = "A command"


@dataclass(frozen=True, slots=True)
class Filters:
    """The log's filters, each a username; None filters nothing."""

    reader: str | None = None
    person: str | None = None


def readings(principal: Principal, filters: Filters) -> QuerySet[HistoryRead]:
    """The readings that the principal may see, newest first: those of their calls, and those of the whole tenant's."""
    found = HistoryRead.objects.defer("row_key").filter(tenant_id=principal.tenant_id).order_by("-id")
    if not principal.sees_whole_history:
        found = found.filter(Q(user_id=principal.user_id) | Q(user_id=None) & ~Q(reader_id=principal.user_id))
    if filters.reader is not None:
        found = found.filter(reader_id=_id_of(filters.reader))
    if filters.person is not None:
        found = found.filter(user_id=_id_of(filters.person))
    return found


def erasures(principal: Principal, filters: Filters) -> QuerySet[Erasure]:
    """The erasures that the principal may see, newest first: those of their own data."""
    found = Erasure.objects.defer("row_key").filter(tenant_id=principal.tenant_id).order_by("-id")
    if not principal.sees_whole_history:
        found = found.filter(_about(principal.tenant_id, principal.user_id))
    if filters.reader is not None:
        found = found.filter(actor_id=_id_of(filters.reader))
    if filters.person is not None:
        found = found.filter(_about(principal.tenant_id, _id_of(filters.person)))
    return found


def _about(tenant_id: uuid.UUID, user_id: uuid.UUID) -> Q:
    """The erasures of one person, their calls and conversations; retention is about nobody."""
    own = ToolCall.objects.filter(tenant_id=tenant_id, user_id=user_id)
    return (
        Q(scope=Erasure.Scope.USER, subject_id=user_id)
        | Q(scope=Erasure.Scope.CALL) & Q(Exists(own.filter(id=OuterRef("subject_id"))))
        | Q(scope=Erasure.Scope.CONVERSATION) & Q(Exists(own.filter(conversation_id=OuterRef("subject_id"))))
    )


def _id_of(username: str) -> uuid.UUID:
    """The id of a member; an id of nobody when none has that name."""
    if "\x00" in username:
        # PostgreSQL cannot store such text.
        return uuid.UUID(int=0)
    return User.objects.filter(username=username).values_list("id", flat=True).first() or uuid.UUID(int=0)


def page(found: QuerySet[Row], before: uuid.UUID | None, limit: int) -> tuple[list[Row], uuid.UUID | None]:
    """At most `limit` rows before an id, and the id that the next page ends before."""
    rows = list((found.filter(id__lt=before) if before else found)[: limit + 1])
    return rows[:limit], rows[limit - 1].pk if len(rows) > limit else None


def names(ids: set[uuid.UUID | None]) -> dict[uuid.UUID | None, str]:
    """Usernames by id; somebody who is not a member of the tenant has none."""
    return dict(User.objects.filter(id__in=[each for each in ids if each is not None]).values_list("id", "username"))


def reader(reading: Any, known: dict[uuid.UUID | None, str]) -> str:
    """Who read, to begin a sentence with: an operator need not be a member."""
    if reading.reader_id is None:
        return COMMAND
    return known.get(reading.reader_id) or (OPERATOR if reading.via == "admin" else FORMER.capitalize())


def month_of(low: uuid.UUID) -> datetime:
    """The month that begins with an id."""
    return datetime.fromtimestamp((low.int >> 80) / 1000, UTC)
