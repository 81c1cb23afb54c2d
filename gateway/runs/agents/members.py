"""What a member may do under an agent, remembered by the process for as long as the tenant's rights do not change.

Nobody says so when they do: the version of what was read goes into the transactions that begin a run and commit its
turns, and they write nothing when the tenant has another one. Then it is forgotten here, and read again.
"""

import uuid
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from django.conf import settings

from approvals.requests import callers_rights
from gateway.providers.routing import resolution
from gateway.providers.routing.resolution import Routing
from gateway.runs import reading
from gateway.runs.errors import NoSuchAgent
from tenants.people.changes import plain
from tenants.scope.transactions import Connection, TenantScope, transaction
from tools.gates.interface import Rights

# Members and agents that a process remembers, the last used ones.
MOST = 4096
_PROFILE = (
    *("slug", "version", "instructions", "tools", "max_tier", "on_refused_approval", "on_disconnect"),
    *("max_turns", "max_seconds", "max_run_tokens", "max_run_usd", "tool_seconds", "max_result_bytes"),
    *("max_offered_tools", "pinned_tools"),
)
_Key = tuple[TenantScope, str | None]
_rows: OrderedDict[_Key, dict[str, Any]] = OrderedDict()
# What was made out of a remembered row, and what the operator allowed then.
_members: "dict[_Key, tuple[dict[str, Any], Any, AgentMember]]" = {}


@dataclass(frozen=True, slots=True)
class AgentMember:
    """A member under an agent: its id, its `profile` for runs, its `model` ("" for the operator's default), and the
    rights that the member has, which are those of the `version`, as is the tenant's `routing`. `remembered`: it was
    read for an earlier request. Requests share it, and so nobody changes what it holds."""

    agent_id: uuid.UUID
    profile: dict[str, Any]
    model: str
    rights: Rights
    version: uuid.UUID
    remembered: bool
    routing: Routing


async def under(scope: TenantScope, agent: str | None, draft: Mapping[str, Any] | None = None) -> AgentMember:
    """The member under the agent of that slug, or the default one. Raises NoSuchAgent.

    With a `draft`, as if the agent had its fields, which are checked already.
    """
    row = _rows.get((scope, agent))
    remembered = row is not None and not _ended(row)
    if row is None or not remembered:
        async with transaction(scope) as connection:
            row = await _read(connection, scope, agent)
        _rows[scope, agent] = row
        if len(_rows) > MOST:
            _members.pop(_rows.popitem(last=False)[0], None)
    _rows.move_to_end((scope, agent))
    if draft is not None:
        return _member(scope, row, remembered, draft)
    known = _known((scope, agent), row)
    return known if remembered else replace(known, remembered=False)


async def now(connection: Connection, scope: TenantScope, agent: str | None) -> AgentMember:
    """As `under`, as the transaction has it, and nothing is remembered. Raises NoSuchAgent."""
    return _member(scope, await _read(connection, scope, agent), False, None)


async def _read(connection: Connection, scope: TenantScope, agent: str | None) -> dict[str, Any]:
    row = await reading.context(connection, scope.user_id, agent)
    if row is None or row["agent_id"] is None:
        raise NoSuchAgent(agent)
    return row


def _known(key: _Key, row: dict[str, Any]) -> AgentMember:
    """The member in a remembered row, made once for as long as it is remembered."""
    # What the operator says is in no version, and is asked of the settings each time.
    allowed = settings.TOOLGATE_ALLOWED_TOOLS
    made = _members.get(key)
    if made is None or made[0] is not row or made[1] is not allowed:
        made = _members[key] = row, allowed, _member(key[0], row, True, None)
    return made[2]


def _member(
    scope: TenantScope,
    row: dict[str, Any],
    remembered: bool,
    draft: Mapping[str, Any] | None,
) -> AgentMember:
    if draft is not None:
        row = row | {name: value for name, value in draft.items() if name in (*_PROFILE, "model")}
    known = callers_rights.from_row(row, row)
    profile = profile_of(row) | ({} if draft is None else {"draft": True})
    version = row["rights_version"]
    routing = resolution.remembered(scope.tenant_id, version, row["model_routing"])
    return AgentMember(row["agent_id"], profile, row["model"], known, version, remembered, routing)


def profile_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """What a run stores of its agent, out of a row of `reading.context`."""
    profile = {name: row[name] for name in _PROFILE}
    if profile["max_run_usd"] is not None:
        profile["max_run_usd"] = plain(profile["max_run_usd"])
    # Of a draft without those that it does not list.
    agents = {slug: name for slug, name in (row["agents"] or {}).items() if slug in row["tools"]}
    return profile | ({"agents": agents} if agents else {})


def _ended(row: dict[str, Any]) -> bool:
    """Whether a rule that was in force has expired since."""
    until = row["rights_valid_until"]
    return until is not None and until <= datetime.now(UTC)


def forget(scope: TenantScope, agent: str | None) -> None:
    """Read the member again next time."""
    _rows.pop((scope, agent), None)
    _members.pop((scope, agent), None)
