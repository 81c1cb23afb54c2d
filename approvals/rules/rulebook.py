"""Reading rules, as REST, the pages and the admin show them."""

from datetime import UTC, datetime
from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery

from approvals.models import ApprovalRule
from services import queries
from tenants.models import Membership, User
from tenants.people.principal import SCOPES

IN_FORCE = "in_force"
# What each state means, for people.
STATES = {
    IN_FORCE: "In force",
    "off": "Switched off",
    "expired": "Expired",
    "used_up": "Used up",
    "ownerless": "Its owner may not approve any more",
    "outdated": "The tool has changed since it was made",
}


def visible() -> QuerySet[ApprovalRule]:
    """The rules within the scope, newest first, with all that `state_of` and `body` read.

    A name is None once its bearer has left the tenant.
    """
    membership = Membership.objects.filter(
        tenant_id=OuterRef("tenant_id"), user_id=OuterRef("owner_id"), user__is_active=True
    )
    return ApprovalRule.objects.annotate(
        username=Subquery(User.objects.filter(id=OuterRef("user_id")).order_by().values("username")),
        owner_name=Subquery(User.objects.filter(id=OuterRef("owner_id")).order_by().values("username")),
        owner_role=Subquery(membership.order_by().values("role")),
        present_binding=queries.present_binding(),
    ).order_by("-created_at", "-id")


def state_of(rule: Any) -> str:
    """One of STATES: why the rule does nothing, if so."""
    approves = rule.effect == ApprovalRule.Effect.APPROVE
    if not rule.enabled:
        return "off"
    if rule.expires_at is not None and rule.expires_at <= datetime.now(UTC):
        return "expired"
    if approves and rule.uses_left == 0:
        return "used_up"
    if approves and "approvals:decide" not in SCOPES.get(rule.owner_role or "", ()):
        return "ownerless"
    if rule.binding and rule.binding != rule.present_binding:
        return "outdated"
    return IN_FORCE


def body(rule: Any) -> dict[str, Any]:
    """One row of `visible` as everybody is shown it; ids are UUIDs and times datetimes."""
    return {
        "id": rule.id,
        "name": rule.name,
        "effect": rule.effect,
        "tool": rule.tool_name,
        "user": rule.user_id and {"id": rule.user_id, "username": rule.username},
        "role": rule.role or None,
        "agent": rule.agent or None,
        "condition": rule.condition,
        "uses_left": rule.uses_left,
        "expires_at": rule.expires_at,
        "enabled": rule.enabled,
        "state": state_of(rule),
        "owner": {"id": rule.owner_id, "username": rule.owner_name},
        "created_at": rule.created_at,
        "updated_at": rule.updated_at,
    }


def in_force(rules: QuerySet[ApprovalRule]) -> QuerySet[ApprovalRule]:
    """Those that are switched on and have neither expired nor been used up."""
    now = datetime.now(UTC)
    return rules.filter(enabled=True).exclude(expires_at__lte=now).exclude(uses_left=0)
