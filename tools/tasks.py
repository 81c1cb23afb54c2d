"""What a worker is told to do with calls: messages carry ids and nothing else."""

import uuid

from tools.invocation.in_worker.execution import execute
from tools.worker import background
from tools.worker.background import Lane


@background.task("tools.execute_local", Lane.LOCAL)
async def execute_local(tenant_id: str, user_id: str, call_id: str) -> None:
    """Run a call of a transactional tool."""
    await execute(uuid.UUID(tenant_id), uuid.UUID(user_id), uuid.UUID(call_id), claims=False)


@background.task("tools.execute_again", Lane.LOCAL)
async def execute_again(tenant_id: str, user_id: str, call_id: str) -> None:
    """Run a call of a transactional tool whose message was sent before: nobody knows whether it ended its worker."""
    await execute(uuid.UUID(tenant_id), uuid.UUID(user_id), uuid.UUID(call_id))


@background.task("tools.execute_remote", Lane.REMOTE)
async def execute_remote(tenant_id: str, user_id: str, call_id: str) -> None:
    """Run a call of a remote-bound tool."""
    await execute(uuid.UUID(tenant_id), uuid.UUID(user_id), uuid.UUID(call_id))
