"""What a worker is asked to do with approvals: messages carry ids and nothing else."""

import uuid

from approvals.questions import resumption as answers
from approvals.requests import resumption
from tenants.scope.transactions import TenantScope
from tools.worker import background
from tools.worker.background import Lane


@background.task("approvals.go_on", Lane.RUNS)
async def go_on(tenant_id: str, user_id: str, request_id: str) -> None:
    """Let an approved call without a run go on."""
    await resumption.go_on(TenantScope(uuid.UUID(tenant_id), uuid.UUID(user_id)), uuid.UUID(request_id))


@background.task("approvals.answered", Lane.RUNS)
async def answered(tenant_id: str, user_id: str, call_id: str) -> None:
    """Let a call without a run go on whose user has answered."""
    await answers.go_on(TenantScope(uuid.UUID(tenant_id), uuid.UUID(user_id)), uuid.UUID(call_id))
