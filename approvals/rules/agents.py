"""Agents as rules name them, by slug; as they belong to the gateway, above this app, they are read by SQL."""

import uuid

from django.db import connections, router
from django.db.models import TextField
from django.db.models.expressions import RawSQL

from approvals.models import ApprovalRule

_EXISTS = "SELECT true FROM agents WHERE tenant_id = %s AND slug = %s"
# For a query of tool calls: the agent of the call's run, null once the run is deleted.
OF_CALL = RawSQL(
    "(SELECT runs.profile ->> 'slug' FROM runs WHERE runs.id = tool_calls.run_id)", [], output_field=TextField()
)


def exists(tenant_id: uuid.UUID, slug: str) -> bool:
    """Whether the tenant has an agent of that slug."""
    with connections[router.db_for_read(ApprovalRule)].cursor() as cursor:
        # The operator's login sees every tenant.
        cursor.execute(_EXISTS, [tenant_id, slug])
        return cursor.fetchone() is not None
