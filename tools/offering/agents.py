"""Agents as functions of models: each agent that a run's agent lists among its tools is offered as `ask_SLUG`.

Such a function is only shown. A call of it is a call of subagent with that agent, before any gate sees it
(`tools.invocation.naming`), so that everything said of subagent holds for it.
"""

from collections.abc import Sequence
from typing import Any

from tools.gates.policy import Policy
from tools.interface import Tool
from tools.invocation import lookup
from tools.invocation.naming import FUNCTION, SUBAGENT


def functions(policy: Policy, allowed: Sequence[Tool]) -> list[Tool]:
    """What is offered of agents beside the tools that are allowed, of which subagent has to be one."""
    if not policy.agents:
        return []
    subagent = next((tool for tool in allowed if tool.name == SUBAGENT), None)
    if subagent is None:
        return []
    # A tool of that name is meant first.
    free = [slug for slug in sorted(policy.agents) if lookup.known(policy, f"{FUNCTION}{slug}") is None]
    return [_function(subagent, slug, policy.agents[slug]) for slug in free]


def _function(subagent: Tool, slug: str, name: str) -> Tool:
    function = Tool()
    properties: dict[str, Any] = subagent.parameters["properties"]
    without = {each: said for each, said in properties.items() if each != "agent"}
    what = (
        f"Give a task to the agent {name}, which works on it by itself and answers. It knows nothing of this "
        "conversation but the task and the context that you give it."
    )
    vars(function).update(
        name=f"{FUNCTION}{slug}",
        description=what,
        parameters=subagent.parameters | {"properties": without},
        tier=subagent.tier,
        labels=subagent.labels,
    )
    return function
