"""The tools that a call's user may use, for tools that find others: those of its run's agent, or the user's own."""

import uuid
from dataclasses import dataclass
from typing import Any

from approvals.requests import callers_rights
from approvals.requests.callers_rights import NO_AGENT
from tenants.scope.transactions import TenantScope, transaction
from tools.invocation import evaluation
from tools.offering import searching

_PROFILE = "SELECT profile FROM runs WHERE id = %s"


@dataclass(frozen=True, slots=True)
class RunTools:
    """See `tools.handles.CallersTools`; without a run there is no agent."""

    scope: TenantScope
    run_id: uuid.UUID | None

    async def search(self, query: str, limit: int) -> dict[str, Any]:
        """By the rights of this moment; one query, and nothing is asked of a service."""
        async with transaction(self.scope) as connection:
            run = None
            if self.run_id is not None:
                run = await (await connection.execute(_PROFILE, [self.run_id])).fetchone()
            profile = run["profile"] if run else NO_AGENT
            known = await callers_rights.load(connection, self.scope.user_id, profile)
        agent, origin = profile.get("slug", ""), profile.get("origin", "chat") if run else "api"
        return searching.search(evaluation.offered(known.policy, agent, origin), known.policy, query, limit)
