"""Setting the limits of a tenant's requests: the same for pages, REST, admin and commands. Each change is on record."""

import uuid
from typing import Any

from django.db import connections, router, transaction

from tenants.errors import Refused
from tenants.models import RequestLimits
from tenants.people import raising
from tenants.people.changes import Kind, record, revision

OWNERS = ("per_tenant", "per_person", "per_key")
LIMITS = Kind(
    target="request_limits",
    name="",
    id="tenant_id",
    fields=(*OWNERS, "ceiling"),
    raises=raising.limit_raised(*OWNERS),
)
MOST = RequestLimits.MOST
_SET = """
    INSERT INTO request_limits (tenant_id, per_tenant, per_person, per_key) VALUES (%s, %s, %s, %s)
    ON CONFLICT (tenant_id) DO UPDATE SET per_tenant = excluded.per_tenant, per_person = excluded.per_person,
        per_key = excluded.per_key, updated_at = now()"""


class InvalidLimit(Refused):
    """It cannot be a limit; `field` names which."""


def of(tenant_id: uuid.UUID) -> RequestLimits:
    """The limits as they are set, within the tenant's scope; all empty where nobody has set any."""
    return RequestLimits.objects.filter(pk=tenant_id).first() or RequestLimits(tenant_id=tenant_id)


def revision_of(limits: RequestLimits) -> str:
    """Names what the limits are; a change can be based on it."""
    return revision(request_limits=None if limits._state.adding else LIMITS.of(limits))


def set_limits(tenant_id: uuid.UUID, given: dict[str, Any]) -> RequestLimits:
    """Set what of OWNERS is given; None: no limit but the operator's. It holds from the next request on. Raises
    InvalidLimit."""
    for name, limit in given.items():
        _check(name, limit)
    with transaction.atomic(using=router.db_for_write(RequestLimits)):
        known = RequestLimits.objects.select_for_update().filter(pk=tenant_id).first()
        before = None if known is None else LIMITS.of(known)
        row = known or RequestLimits(tenant_id=tenant_id)
        for name, limit in given.items():
            if row.ceiling is not None and limit is not None and limit > row.ceiling:
                raise InvalidLimit(f"The operator allows your tenant {row.ceiling} at most.", name)
            setattr(row, name, limit)
        with connections[router.db_for_write(RequestLimits)].cursor() as cursor:
            # The ORM names every column, and the ceiling is the operator's.
            cursor.execute(_SET, [tenant_id, *(getattr(row, name) for name in OWNERS)])
        row._state.adding = False
        record(before, LIMITS.of(row))
    return row


def set_ceiling(tenant_id: uuid.UUID, ceiling: int | None) -> RequestLimits:
    """Set the highest limit that the tenant may have, on the operator's login. Raises InvalidLimit."""
    _check("ceiling", ceiling)
    with transaction.atomic(using=router.db_for_write(RequestLimits)):
        row, _ = RequestLimits.objects.select_for_update().get_or_create(tenant_id=tenant_id)
        before = LIMITS.of(row)
        row.ceiling = ceiling
        row.save(update_fields=["ceiling"])
        row._state.adding = False
        record(before, LIMITS.of(row))
    return row


def _check(name: str, limit: Any) -> None:
    if name not in (*OWNERS, "ceiling"):
        raise InvalidLimit(f"{name[:80]} is no limit of requests.", name[:80])
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST):
        raise InvalidLimit(f"A limit is a whole number from 1 to {MOST:,}, or nothing.", name)
