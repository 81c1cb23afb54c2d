"""The gate `connection`, by itself: whom it asks about, and what it makes of what it knows."""

import time
import uuid
from dataclasses import replace

import pytest

from services.execution.tool import Declared, ServiceTool
from tools.gates import policy
from tools.gates.checks.connection import Connection
from tools.gates.interface import Caller, Candidate, GateContext, GateResult
from tools.gates.policy import ConnectionState

TOOL = ServiceTool(Declared("desk.get_order", "One order.", {"type": "object"}, "read_only", True, True, 20.0, ""))
CALLER = Caller(uuid.UUID(int=1), uuid.UUID(int=2))
GATE = Connection()


def context(**connections: ConnectionState) -> GateContext:
    """A member whose tenant has the tool, and who is connected so far."""
    known = replace(policy.from_row(None, "all"), service_tools={TOOL.name: TOOL}, connections=connections)
    return GateContext(known, CALLER)


def asked(state: ConnectionState) -> GateResult:
    """Its answer."""
    return GATE.check(Candidate(TOOL.name, TOOL, {}), context(desk=state))


def test_it_has_nothing_to_say_about_tools_that_are_not_called_in_the_users_name() -> None:
    assert GATE.concerns(Candidate(TOOL.name, TOOL, {}), context()) is False
    assert GATE.concerns(Candidate(TOOL.name, TOOL, {}), context(deskx=ConnectionState("none"))) is False
    assert GATE.concerns(Candidate("desk.unknown", None, {}), context(desk=ConnectionState("none"))) is False
    assert GATE.concerns(Candidate(TOOL.name, TOOL, {}), context(desk=ConnectionState("none"))) is True


@pytest.mark.parametrize("seconds", [None, 3600], ids=["for ever", "for an hour"])
def test_a_connection_that_is_there_lets_the_call_through(seconds: int | None) -> None:
    until = None if seconds is None else time.time() + seconds
    assert asked(ConnectionState("connected", until)) == GateResult("connection", True)


@pytest.mark.parametrize(
    ("state", "code", "why"),
    [
        (ConnectionState("none"), "permission_denied", "the user has not connected the service"),
        (ConnectionState("ended"), "permission_denied", "the user's connection has ended"),
        (ConnectionState("connected", 1.0), "permission_denied", "the user's connection has ended"),
        (ConnectionState("surprise"), "unavailable", "unknown state surprise"),
        (ConnectionState(""), "unavailable", "unknown state "),
    ],
)
def test_what_is_no_connection_or_cannot_be_told_is_refused(state: ConnectionState, code: str, why: str) -> None:
    answer = asked(state)
    assert (answer.ok, answer.code, answer.log, answer.holds) == (False, code, why, False)
    assert ("/settings/connections/" in answer.user) == (code == "permission_denied")
