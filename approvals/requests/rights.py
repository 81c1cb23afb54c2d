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

LOAD = f"""SELECT {policy.COLUMNS}, {catalogue.COLUMN}, {prompting.COLUMN},
    {rules.COLUMN} FROM {policy.SOURCE}"""


def from_row(row: dict[str, Any] | None, agent: Mapping[str, Any]) -> Rights:
    """The rights out of a row of LOAD, under an agent's profile (`tools`, `max_tier`)."""
    known = policy.from_row(row, agent["tools"], agent.get("max_tier") or "")
    return Rights(replace(known, **catalogue.from_row(row), **prompting.from_row(row)), rules.from_row(row))


async def load(connection: Connection, user_id: uuid.UUID, agent: Mapping[str, Any]) -> Rights:
    """The rights as the database has them now, inside the tenant's walls."""
    return from_row(await (await connection.execute(LOAD.encode(), [user_id])).fetchone(), agent)
