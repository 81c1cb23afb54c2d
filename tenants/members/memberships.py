"""Members of a tenant: who they are, their roles, and removing them.

Within the tenant's scope these are an owner's doing, on the operator's login the operator's.
"""

import uuid
from collections.abc import Collection

from django.db import connections, router, transaction
from django.db.models import Q, QuerySet

from tenants.members.errors import LastOwner, NoSuchMember, NotAnOwnerNow
from tenants.models import Membership, Role, User
from tenants.people import recorded
from tenants.people.changes import record
from tenants.people.principal import Principal

_REFUSALS = {"no_member": NoSuchMember, "last_owner": LastOwner, "not_an_owner": NotAnOwnerNow}


def seen_by(principal: Principal) -> QuerySet[Membership]:
    """The caller's own membership, for owners every one of the tenant, newest first. Within the tenant's scope."""
    own = Q() if "admin" in principal.scopes else Q(user_id=principal.user_id)
    found = Membership.objects.filter(own, tenant_id=principal.tenant_id).select_related("user")
    return found.order_by("-created_at", "-id")


def change_role(tenant_id: uuid.UUID, user_id: uuid.UUID, role: str) -> Membership:
    """Give a member another role; it holds for their next request. Raises NoSuchMember, LastOwner, NotAnOwnerNow."""
    using = router.db_for_write(Membership)
    with transaction.atomic(using=using):
        was = _changed(using, tenant_id, user_id, role)
        row = Membership.objects.using(using).select_related("user").get(tenant_id=tenant_id, user_id=user_id)
        after = recorded.member(row)
        row.role = was
        record(recorded.member(row), after)
        row.role = role
    return row


def put(tenant_id: uuid.UUID, user: User, role: str) -> Membership:
    """Make somebody a member, or give the member that role; on the operator's login. Raises LastOwner."""
    if Membership.objects.filter(tenant_id=tenant_id, user=user).exists():
        return change_role(tenant_id, user.pk, role)
    made = Membership.objects.create(tenant_id=tenant_id, user=user, role=role)
    record(None, recorded.member(made))
    return made


def remove(tenant_id: uuid.UUID, user_id: uuid.UUID) -> None:
    """End a membership, and with it the member's keys, sessions in the tenant, and what applications may do for them.

    Their open runs and waiting calls end with the next sweep; what they did stays on record. Raises NoSuchMember,
    LastOwner, NotAnOwnerNow.
    """
    using = router.db_for_write(Membership)
    with transaction.atomic(using=using):
        row = (
            Membership.objects.using(using).select_related("user").filter(tenant_id=tenant_id, user_id=user_id).first()
        )
        if row is None:
            raise NoSuchMember
        row.role = _changed(using, tenant_id, user_id, None)
        record(recorded.member(row), None)


def owners(tenant_id: uuid.UUID, *, besides: Collection[uuid.UUID]) -> int:
    """How many active owners a tenant has without these memberships, which wait for nobody: they are locked."""
    using = router.db_for_write(Membership)
    found = Membership.objects.using(using).filter(tenant_id=tenant_id, role=Role.OWNER, user__is_active=True)
    return len(found.exclude(pk__in=besides).order_by("user_id").select_for_update(of=("self",)))


def _changed(using: str, tenant_id: uuid.UUID, user_id: uuid.UUID, role: str | None) -> str:
    """The role that the member had."""
    with connections[using].cursor() as cursor:
        cursor.execute("SELECT outcome, was FROM change_member(%s, %s, %s)", [tenant_id, user_id, role])
        outcome, was = cursor.fetchone()
    if outcome != "done":
        raise _REFUSALS[outcome]
    return str(was)
