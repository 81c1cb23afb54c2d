"""Agents as rules name them, by slug.

They belong to a package above this one, which registers here how they are read, when Django starts.
"""

import uuid
from collections.abc import Callable
from dataclasses import dataclass

from django.db.models.expressions import Combinable


@dataclass(frozen=True, slots=True)
class AgentQueries:
    """How agents are read, on the login that the ORM uses at that moment."""

    # Whether the tenant has an agent of that slug.
    exists: Callable[[uuid.UUID, str], bool]
    # For a query of tool calls: the slug of the agent of the call's run, null once the run is deleted.
    of_call: Combinable


_registered: list[AgentQueries] = []


def register(queries: AgentQueries) -> None:
    """Say how agents are read, in place of what was said before."""
    _registered[:] = [queries]


def queries() -> AgentQueries:
    """How agents are read; raises LookupError when no package has said so: nothing is known then."""
    if not _registered:
        raise LookupError("no installed app has registered how agents are read (approvals.rules.agents)")
    return _registered[0]
