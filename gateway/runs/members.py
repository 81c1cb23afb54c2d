"""What a member may do under an agent, remembered by the process for as long as the tenant's rights do not change.

Nobody says so when they do: the version of what was read goes into the transactions that begin a run and commit its
turns, and they write nothing when the tenant has another one. Then it is forgotten here, and read again.
"""

import uuid
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from approvals.requests import rights
from gateway.runs import repository
from gateway.runs.errors import NoSuchAgent
from tenants.scope.transactions import TenantScope, transaction
from tools.gates.interface import Rights

# Members and agents that a process remembers, the last used ones.
MOST = 4096
_PROFILE = (
    *("slug", "instructions", "tools", "max_tier", "on_refused_approval", "on_disconnect"),
    *("max_turns", "max_seconds", "tool_seconds", "max_result_bytes"),
)
_rows: OrderedDict[tuple[TenantScope, str | None], dict[str, Any]] = OrderedDict()


@dataclass(frozen=True, slots=True)
class AgentMember:
    """A member under an agent: its id, its `profile` for runs, its `model` ("" for the operator's default), and the
    rights that the member has, which are those of the `version`. `remembered`: it was read for an earlier request."""

    agent_id: uuid.UUID
    profile: dict[str, Any]
    model: str
    rights: Rights
    version: uuid.UUID
    remembered: bool


async def under(scope: TenantScope, agent: str | None) -> AgentMember:
    """The member under the agent of that slug, or the default one. Raises NoSuchAgent."""
    row = _rows.get((scope, agent))
    remembered = row is not None and not _ended(row)
    if row is None or not remembered:
        async with transaction(scope) as connection:
            row = await repository.context(connection, scope.user_id, agent)
        if row is None or row["agent_id"] is None:
            raise NoSuchAgent(agent)
        _rows[scope, agent] = row
        if len(_rows) > MOST:
            _rows.popitem(last=False)
    _rows.move_to_end((scope, agent))
    # What the operator says is in no version, and is asked of the settings each time.
    known = rights.from_row(row, row)
    profile = {name: row[name] for name in _PROFILE}
    return AgentMember(row["agent_id"], profile, row["model"], known, row["rights_version"], remembered)


def _ended(row: dict[str, Any]) -> bool:
    """Whether a rule that was in force has expired since."""
    until = row["rights_valid_until"]
    return until is not None and until <= datetime.now(UTC)


def forget(scope: TenantScope, agent: str | None) -> None:
    """Read the member again next time."""
    _rows.pop((scope, agent), None)
