"""Rules as they are saved, past every check of the services."""

from datetime import UTC, datetime, timedelta
from typing import Any

from approvals.models import ApprovalRule
from tenants.scope.routing import on_login
from tests.people import Cast

TO_BOB = {"properties": {"to": {"const": "bob@example.com"}}, "required": ["to"]}


def make_rule(cast: Cast, **more: Any) -> ApprovalRule:
    """A rule of olga's that approves every send_email for a day; `more` are its columns."""
    values = {
        "tenant_id": cast.id, "name": "Mail", "effect": "approve", "tool_name": "send_email",
        "owner_id": cast.olga.scope.user_id, "expires_at": datetime.now(UTC) + timedelta(days=1),
    }  # fmt: skip
    with on_login("operator"):
        return ApprovalRule.objects.create(**values | more)


def change(rule: ApprovalRule, **columns: Any) -> None:
    """Change a saved rule."""
    with on_login("operator"):
        ApprovalRule.objects.filter(id=rule.id).update(**columns)
