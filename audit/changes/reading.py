"""Who changed what: a tenant's changes of settings, for its auditors and owners."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from django.db.models import QuerySet

from audit.identifiers import first_id_at
from audit.models import SettingChange
from tenants.models import User
from tenants.people.principal import Principal


@dataclass(frozen=True, slots=True)
class Filters:
    """What the list is narrowed to; None filters nothing. `by` is a username."""

    target: str | None = None
    name: str | None = None
    by: str | None = None
    since: datetime | None = None
    until: datetime | None = None


def day(given: date | None, *, after: bool = False) -> datetime | None:
    """The moment at which a day begins in UTC, or is over."""
    return None if given is None else datetime.combine(given, time(), UTC) + timedelta(days=int(after))


def found(principal: Principal, filters: Filters) -> QuerySet[SettingChange]:
    """The tenant's changes, newest first; whoever may not read the tenant's history finds none."""
    rows = SettingChange.objects.defer("row_key").filter(tenant_id=principal.tenant_id).order_by("-id")
    if not principal.sees_whole_history:
        return rows.none()
    if filters.target is not None:
        rows = rows.filter(target=filters.target)
    if filters.name is not None:
        rows = rows.filter(name=filters.name)
    if filters.by is not None:
        rows = rows.filter(actor_id__in=User.objects.filter(username=filters.by).values("id"))
    if filters.since is not None:
        rows = rows.filter(id__gte=first_id_at(filters.since))
    return rows if filters.until is None else rows.filter(id__lt=first_id_at(filters.until))
