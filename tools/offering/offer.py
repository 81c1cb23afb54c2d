"""What a model is offered of the tools that its user may call: each of them, or above a number tools_search, tools_call
and the agent's pinned ones."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson
from django.conf import settings

from tools.gates.policy import Policy, names_of
from tools.interface import Tool, ToolSpec
from tools.invocation import evaluation, lookup
from tools.invocation.naming import CALL, SEARCH, real
from tools.offering import agents
from tools.registry import registry

# What pinned tools may take of a prompt where there are too many to show each: fewer than 2,700 tokens.
MOST_BYTES = 8_000
_FINDERS = (CALL, SEARCH)
ADVICE = (
    "You have more tools than are shown here. Find them with tools_search, and call what you found with tools_call, "
    "which is decided about like any other call."
)


@dataclass(frozen=True, slots=True)
class Offer:
    """The tools that a model is shown; `searches`: there are more, which it can find and call."""

    tools: tuple[Tool, ...]
    searches: bool = False

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools' declarations; the same tuple for the same tools."""
        return _specs(self.tools)


@lru_cache(maxsize=256)
def _specs(tools: tuple[Tool, ...]) -> tuple[ToolSpec, ...]:
    return tuple(tool.spec for tool in tools)


def of_agent(policy: Policy, profile: Mapping[str, Any], *, demanded: Collection[str] = ()) -> Offer:
    """What a run of the agent with this profile (`max_offered_tools`, `pinned_tools`) offers its model.

    `demanded` are tools that the model has been told to call; they are offered in any case.
    """
    most = profile.get("max_offered_tools")
    most = settings.TOOLGATE_MAX_OFFERED_TOOLS if most is None else most
    agent, origin = profile.get("slug", ""), profile.get("origin", "chat")
    allowed = evaluation.offered(policy, agent, origin)
    functions = lookup.once(policy, (agents.functions, agent, origin), lambda: agents.functions(policy, allowed))
    if len(allowed) + len(functions) <= most:
        return Offer((*allowed, *functions))
    finders = tuple(
        tool for name in _FINDERS if (tool := registry().get(name)) and evaluation.offers(policy, tool, agent, origin)
    )
    pinned = list(_pinned(allowed, profile.get("pinned_tools") or (), most - len(finders)))
    meant = {real(policy, name) for name in demanded}
    pinned += [tool for tool in allowed if tool.name in meant and tool not in pinned]
    return Offer((*finders, *pinned), searches=len(finders) == len(_FINDERS))


def _pinned(allowed: Iterable[Tool], wanted: Iterable[str], most: int) -> Iterable[Tool]:
    """The agent's pinned tools that may be called, in the order of its list, as far as there is room."""
    tools = list(allowed)
    chosen = dict.fromkeys(tool for name in wanted for tool in tools if name in names_of(tool))
    room = MOST_BYTES
    for tool in list(chosen)[: max(most, 0)]:
        room -= size(tool)
        if room >= 0:
            yield tool


def size(tool: Tool) -> int:
    """About how many bytes the tool's definition takes of a prompt."""
    return len(f"{tool.name}{tool.description}".encode()) + len(orjson.dumps(tool.parameters))
