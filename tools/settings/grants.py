"""Grants: who may, or may not, use a tool whatever their role allows."""

import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from django.db.models import Q, QuerySet

from tenants.models import Membership, Role
from tenants.people.changes import record
from tools.models import Grant
from tools.settings.errors import InvalidGrant, NoSuchGrant
from tools.settings.recorded import GRANT

EVERY_TOOL = "*"
MAX_GRANTS = 5000


def of(tenant_id: uuid.UUID) -> QuerySet[Grant]:
    """The tenant's grants, with their people."""
    return Grant.objects.filter(tenant_id=tenant_id).select_related("user").order_by("tool_name", "created_at", "id")


def found(tenant_id: uuid.UUID, grant_id: uuid.UUID) -> Grant:
    """One grant; raises NoSuchGrant."""
    grant = of(tenant_id).filter(id=grant_id).first()
    if grant is None:
        raise NoSuchGrant
    return grant


def read(tenant_id: uuid.UUID, given: Mapping[str, Any], exists: Callable[[str], bool]) -> Grant:
    """The grant that is meant, and not saved. Raises InvalidGrant.

    `given` has `tool` (a name, "service.*", or "*"), `effect`, and `user` (a username or id), `role`, both or neither:
    then everybody. `exists` says whether the tenant has the tool.
    """
    for name in given:
        if name not in ("tool", "effect", "user", "role"):
            raise InvalidGrant(f"{name:.80} is not known here.", name[:80])
    tool, effect, role = given.get("tool"), given.get("effect"), given.get("role") or ""
    if not isinstance(tool, str) or not (tool == EVERY_TOOL or exists(tool)):
        raise InvalidGrant('tool must be the name of one of the tenant\'s tools, "service.*", or "*" for all.', "tool")
    if effect not in Grant.Effect.values:
        raise InvalidGrant("effect must be allow or deny.", "effect")
    if role and role not in Role.values:
        raise InvalidGrant(f"role must be one of {', '.join(Role.values)}; null: every role.", "role")
    user_id = None if given.get("user") in (None, "") else member(tenant_id, given["user"])
    return Grant(tenant_id=tenant_id, tool_name=tool, effect=effect, user_id=user_id, role=role)


def alike(wanted: Grant) -> QuerySet[Grant]:
    """The grants of the same tool to the same people, whatever their effect."""
    rows = of(wanted.tenant_id).filter(tool_name=wanted.tool_name, role=wanted.role)
    return rows.filter(user_id=wanted.user_id) if wanted.user_id else rows.filter(user=None)


def add(wanted: Grant) -> Grant:
    """Give a grant that `read` made, in the caller's transaction; the same once more is the one that there is."""
    there = alike(wanted).filter(effect=wanted.effect).first()
    if there is not None:
        return there
    if of(wanted.tenant_id).count() >= MAX_GRANTS:
        raise InvalidGrant(f"A tenant can have {MAX_GRANTS:,} grants, and has them. Remove one first.")
    wanted.save(force_insert=True)
    record(None, GRANT.of(wanted))
    return wanted


def remove(grant: Grant) -> None:
    """Take a grant away, in the caller's transaction."""
    record(GRANT.of(grant), None)
    grant.delete()


def member(tenant_id: uuid.UUID, named: Any) -> uuid.UUID:
    """The id of the tenant's member of that username or id; raises InvalidGrant."""
    row = None
    if isinstance(named, str) and "\x00" not in named:
        by = Q(user__username=named)
        with suppress(ValueError):
            by |= Q(user_id=uuid.UUID(named))
        row = Membership.objects.filter(by, tenant_id=tenant_id).first()
    if row is None:
        raise InvalidGrant(f"{str(named)[:100]!a} is no member of this tenant.", "user")
    return row.user_id
