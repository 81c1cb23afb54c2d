"""Which tool a call is of, before any gate sees it: one through tools_call is a call of the tool that it names, and one
of an agent's function a call of subagent with that agent."""

import json

from tools.errors import ToolValidationError
from tools.gates.policy import Policy
from tools.invocation import lookup
from tools.schemas import arguments

SEARCH, CALL = "tools_search", "tools_call"
SUBAGENT, FUNCTION = "subagent", "ask_"
_FIELDS = {"name", "arguments"}


def named(name: str, text: str) -> tuple[str, str] | None:
    """The name and the argument text of the tool that a call of tools_call names; None for any other call, and for one
    that names no tool: that one is told by the gates what is wrong with it."""
    if name != CALL:
        return None
    try:
        given = arguments.read(text)
    except ToolValidationError:
        return None
    if not isinstance(given, dict) or set(given) != _FIELDS:
        return None
    called, inner = given["name"], given["arguments"]
    if not isinstance(called, str) or not 0 < len(called) <= 200 or called == CALL or not isinstance(inner, dict):
        return None
    return called, json.dumps(inner)


def real(policy: Policy, name: str) -> str:
    """The tool's own name where a model says the one that providers are told (`service__tool`)."""
    if lookup.known(policy, name) is not None or name in policy.closed_tools:
        return name
    other = name.replace("__", ".", 1)
    return other if "." not in name and lookup.known(policy, other) is not None else name


def of_agent(policy: Policy, name: str, text: str) -> tuple[str, str] | None:
    """The name and the argument text of the call of subagent that a call of an agent's function is; None for any other
    call. The agent is always the function's."""
    slug = name.removeprefix(FUNCTION)
    if slug == name or slug not in policy.agents or lookup.known(policy, name) is not None:
        return None
    try:
        given = arguments.read(text)
    except ToolValidationError:
        # The gates say what is wrong with it.
        return SUBAGENT, text
    return SUBAGENT, json.dumps(given | {"agent": slug}) if isinstance(given, dict) else text


def wrapped(name: str, text: str) -> tuple[str, str]:
    """A call as the model made it through tools_call: the other way round."""
    return CALL, f'{{"name": {json.dumps(name)}, "arguments": {text}}}'
