"""Reading a member's rights: the policy about tools, its services' among them, where the member's messages may go, and
the rules that decide in advance, in one query."""

import uuid
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.conf import settings

from approvals.rules import access_conditions
from approvals.rules import evaluation as rules
from notifications.destinations import facts
from services import catalogue
from services.credentials import state
from services.prompts import prompting
from tenants.scope.transactions import Connection, TenantScope
from tools.gates import policy
from tools.gates.interface import Rights

__all__ = ["LOAD", "NO_AGENT", "Rights", "from_row", "load", "own"]

# The limits of a call without an agent: whatever its user may.
NO_AGENT: Mapping[str, Any] = {"tools": "all", "max_tier": ""}
# Members whose own rights a process remembers, the last used ones, each with what the operator allowed then.
MOST = 4096
_own: OrderedDict[tuple[str, uuid.UUID], tuple[Any, Rights]] = OrderedDict()
_VERSION = """
    SELECT current_setting('toolgate.tenant', true) AS tenant, now() AS now,
        rights_version(nullif(current_setting('toolgate.tenant', true), '')::uuid) AS rights_version"""
LOAD = f"""SELECT {policy.COLUMNS}, {catalogue.COLUMN}, {prompting.COLUMN},
    {state.COLUMN}, {facts.COLUMN}, {rules.COLUMNS}, {access_conditions.COLUMNS}
    FROM {policy.SOURCE}"""


def from_row(row: dict[str, Any] | None, agent: Mapping[str, Any]) -> Rights:
    """The rights out of a row of LOAD, under an agent's profile (`tools`, `max_tier`), which in a run below another has
    `within`, the tools of those above it, and `channel`, the run that asks humans for it: null for nobody. `agents` are
    the names of the agents that its tools list, by slug."""
    known = policy.from_row(row, agent["tools"], agent.get("max_tier") or "", agent.get("within", ()))
    return Rights(
        replace(
            known,
            asks_humans=agent.get("channel", "") is not None,
            agents=agent.get("agents") or {},
            **catalogue.from_row(row),
            **prompting.from_row(row),
            **state.from_row(row),
            **facts.from_row(row, known.facts),
            **access_conditions.from_row(row),
        ),
        rules.from_row(row),
        row["rights_version"] if row else None,
        row["rights_valid_until"] if row else None,
    )


async def load(connection: Connection, user_id: uuid.UUID, agent: Mapping[str, Any]) -> Rights:
    """The rights as the database has them now, within the tenant's scope."""
    row = await (await connection.execute(LOAD.encode(), [user_id])).fetchone()
    if row is not None:
        return from_row(row, agent)
    # Who is no member may nothing, until that changes.
    version = await (await connection.execute(_VERSION)).fetchone()
    return replace(from_row(None, agent), version=version["rights_version"] if version else None)


def remembered(scope: TenantScope) -> Rights | None:
    """The rights of a user without an agent, as this process read them last; they may have changed since."""
    operators, known = _own.get((str(scope.tenant_id), scope.user_id), (None, None))
    return known if operators is settings.TOOLGATE_ALLOWED_TOOLS else None


async def own(connection: Connection, user_id: uuid.UUID) -> Rights:
    """As `load` without an agent; by what was read before, where the tenant's rights are still those."""
    now = await (await connection.execute(_VERSION)).fetchone()
    assert now is not None
    key, allowed = (now["tenant"], user_id), settings.TOOLGATE_ALLOWED_TOOLS
    operators, known = _own.get(key, (None, None))
    if known is not None and operators is allowed and _holds(known, now):
        _own.move_to_end(key)
        return known
    fresh = await load(connection, user_id, NO_AGENT)
    _own[key] = allowed, fresh
    if len(_own) > MOST:
        _own.popitem(last=False)
    return fresh


def _holds(known: Rights, now: Mapping[str, Any]) -> bool:
    """As the SQL function `rights_hold`, by the database's clock."""
    in_time = known.valid_until is None or known.valid_until > now["now"]
    return known.version is not None and known.version == now["rights_version"] and in_time
