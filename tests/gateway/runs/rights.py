"""What gives and takes rights in these tests."""

from datetime import UTC, datetime
from typing import Any

import psycopg
from django.conf import settings

from approvals.models import ApprovalRule
from gateway.models import Agent
from tests.people import Cast

LATER = datetime(2099, 1, 1, tzinfo=UTC)


def add_rule(cast: Cast, **more: Any) -> ApprovalRule:
    given = {"name": "mails", "tool_name": "send_email", "expires_at": LATER, "owner_id": cast.olga.scope.user_id}
    return ApprovalRule.objects.create(tenant_id=cast.id, **given | more)


def agent_of(cast: Cast) -> Any:
    return Agent.objects.filter(tenant_id=cast.id)


def as_owner(statement: str, *values: Any) -> None:
    """What no login of ours may do."""
    with psycopg.connect(settings.DATABASE_URLS["owner"], autocommit=True) as owner:
        owner.execute(statement.encode(), values)
