"""The gate `connection`: a tool that is called in the user's own name elsewhere needs their account there connected."""

import time

from django.conf import settings

from tools.gates.interface import Candidate, Gate, GateContext, GateResult
from tools.gates.policy import ConnectionState, Policy
from tools.gates.refusals import DO_NOT_TRY, Words
from tools.interface import Tool

# Where people connect.
PAGE = "/settings/connections/"


class Connection(Gate):
    """A call that could only be made as nobody is refused before a human is asked about it.

    The tool is listed all the same: a model that is refused tells the user where to connect.
    """

    name = "connection"
    code = "permission_denied"
    passed = "This person's account there is connected, where it has to be"
    refused = "This person's account there is not connected"

    def concerns(self, candidate: Candidate, context: GateContext) -> bool:
        """Only with tools of services that each user connects to."""
        return _state(candidate.tool, context.policy) is not None

    def check(self, candidate: Candidate, context: GateContext) -> GateResult:
        """By what the member's rights hold of their connections."""
        tool = candidate.known_tool
        state = _state(tool, context.policy)
        found = None if state is None else _refusal(tool, state)
        if found is None:
            return self.passes()
        words, code = found
        return self.refuses(model=words.to_model(DO_NOT_TRY), user=words.to_user(), log=words.log, code=code)


def _state(tool: Tool | None, policy: Policy) -> ConnectionState | None:
    """How far the user has connected to the tool's service; None when it is not called in the user's name."""
    if tool is None or tool.name not in policy.service_tools:
        return None
    return policy.connections.get(tool.name.partition(".")[0])


def _refusal(tool: Tool, state: ConnectionState) -> tuple[Words, str | None] | None:
    """Why the tool cannot be called in the user's name, and the code of that where it is another; None when it can."""
    service = tool.name.partition(".")[0]
    if state.state == "connected" and not state.is_over(time.time()):
        return None
    where = f"Connect your account at {settings.PUBLIC_URL}{PAGE}, and ask again."
    if state.state == "none":
        what = f"{tool.name} is called with the user's own account at {service}, which is not connected."
        return Words(what, where, "the user has not connected the service"), None
    if state.state in ("ended", "connected"):
        what = f"{tool.name} is called with the user's own account at {service}, and the connection has ended."
        return Words(what, where, "the user's connection has ended"), None
    what = f"Toolgate cannot tell whether the user's account at {service} is connected, so {tool.name} was not called."
    return Words(what, "The operator finds more in the log.", f"unknown state {state.state:.40}"), "unavailable"
