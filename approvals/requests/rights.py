"""Reading a member's rights: the policy about tools, its services' among them, and the rules that decide in advance,
in one query."""

import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from approvals.rules import evaluation as rules
from services import catalogue, prompting
from tenants.scope.transactions import Connection
from tools.gates import policy
from tools.gates.interface import Rights

__all__ = ["LOAD", "Rights", "from_row", "load"]

_VERSION = "SELECT rights_version(nullif(current_setting('toolgate.tenant', true), '')::uuid) AS rights_version"
LOAD = f"""SELECT {policy.COLUMNS}, {catalogue.COLUMN}, {prompting.COLUMN},
    {rules.COLUMNS} FROM {policy.SOURCE}"""


def from_row(row: dict[str, Any] | None, agent: Mapping[str, Any]) -> Rights:
    """The rights out of a row of LOAD, under an agent's profile (`tools`, `max_tier`)."""
    known = policy.from_row(row, agent["tools"], agent.get("max_tier") or "")
    return Rights(
        replace(known, **catalogue.from_row(row), **prompting.from_row(row)),
        rules.from_row(row),
        row["rights_version"] if row else None,
        row["rights_valid_until"] if row else None,
    )


async def load(connection: Connection, user_id: uuid.UUID, agent: Mapping[str, Any]) -> Rights:
    """The rights as the database has them now, inside the tenant's walls."""
    row = await (await connection.execute(LOAD.encode(), [user_id])).fetchone()
    if row is not None:
        return from_row(row, agent)
    # Who is no member may nothing, until that changes.
    version = await (await connection.execute(_VERSION)).fetchone()
    return replace(from_row(None, agent), version=version["rights_version"] if version else None)
