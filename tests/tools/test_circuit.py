"""The circuit breakers: what a tenant's failures stop, for how long, and for whom."""

import uuid
from typing import Any

import pytest
from redis.exceptions import ConnectionError as RedisAway

from audit.calls import proposing
from tenants.scope.transactions import transaction
from tests.audit.calls import new_call, place
from tests.database import rows
from tests.people import Cast, Person
from tools.configuration import NONE, Values
from tools.errors import ToolError, ToolExecutionError, ToolPermissionDenied, ToolTimeout, ToolValidationError
from tools.interface import Tier, Tool, ToolResult
from tools.invocation import lookup
from tools.invocation.in_worker import execution
from tools.invocation.live import circuit
from tools.invocation.live.circuit import FAILURES, OPEN_SECONDS, Circuits
from tools.network import redis

ONE, OTHER = uuid.uuid4(), uuid.uuid4()


class Clock:
    """Time that passes when the test says so."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def circuits(clock: Clock) -> Circuits:
    return Circuits(clock)


def _fail(circuits: Circuits, tenant: uuid.UUID, tool: str = "web_search", times: int = FAILURES) -> None:
    for _ in range(times):
        circuits.failed(tenant, tool)


# --- one circuit -----------------------------------------------------------------------------------------------------
def test_failures_in_a_row_open_it_and_one_call_tries_after_the_pause(circuits: Circuits, clock: Clock) -> None:
    _fail(circuits, ONE, times=FAILURES - 1)
    assert circuits.lets_through(ONE, "web_search")
    circuits.failed(ONE, "web_search")
    assert not circuits.lets_through(ONE, "web_search")
    clock.now = OPEN_SECONDS
    assert [circuits.lets_through(ONE, "web_search") for _ in range(3)] == [True, False, False]
    circuits.succeeded(ONE, "web_search")
    assert circuits.lets_through(ONE, "web_search")


def test_a_trial_that_fails_opens_it_again(circuits: Circuits, clock: Clock) -> None:
    _fail(circuits, ONE)
    clock.now = OPEN_SECONDS
    assert circuits.lets_through(ONE, "web_search")
    circuits.failed(ONE, "web_search")
    clock.now = 2 * OPEN_SECONDS - 1
    assert not circuits.lets_through(ONE, "web_search")


def test_a_success_between_failures_begins_the_count_anew(circuits: Circuits) -> None:
    for _ in range(3):
        _fail(circuits, ONE, times=FAILURES - 1)
        circuits.succeeded(ONE, "web_search")
    assert circuits.lets_through(ONE, "web_search")
    assert len(circuits) == 0


# --- whose -----------------------------------------------------------------------------------------------------------
def test_a_circuit_is_of_one_tenant_and_one_tool(circuits: Circuits) -> None:
    _fail(circuits, ONE)
    assert not circuits.lets_through(ONE, "web_search")
    assert circuits.lets_through(OTHER, "web_search")
    assert circuits.lets_through(ONE, "web_fetch")
    # Another tenant's success does not close it either.
    circuits.succeeded(OTHER, "web_search")
    assert not circuits.lets_through(ONE, "web_search")


def test_the_circuits_that_are_remembered_are_bounded(circuits: Circuits, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(circuit, "MOST", 10)
    for number in range(100):
        _fail(circuits, uuid.UUID(int=number))
        assert circuits.lets_through(uuid.UUID(int=number), "other")
    assert len(circuits) == 10
    assert not circuits.lets_through(uuid.UUID(int=99), "web_search")


# --- in the worker ---------------------------------------------------------------------------------------------------
class Failing(Tool):
    """A tool whose remote fails for one tenant."""

    name = "failing"
    description = "Fails for one tenant."
    tier = Tier.READ_ONLY
    parameters: dict[str, Any] = {"type": "object", "properties": {}}

    def __init__(self, tenant_id: uuid.UUID, error: ToolError):
        self.fails_for, self.error = tenant_id, error
        self.asked: list[uuid.UUID] = []

    async def execute(self, params: dict[str, Any], context: Any) -> ToolResult:
        self.asked.append(context.tenant_id)
        if context.tenant_id == self.fails_for:
            raise self.error
        return ToolResult(output={}, display="Done.")


class _Registry:
    def __init__(self, tool: Tool):
        self._tool = tool

    def get(self, name: str) -> Tool | None:
        return self._tool if name == self._tool.name else None

    def settings(self, name: str) -> Values:
        return NONE


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Make a tool the only one of this process, whose circuits are all closed."""

    def install(tool: Tool) -> None:
        for module in (execution, lookup):
            monkeypatch.setattr(module, "registry", lambda: _Registry(tool))
        monkeypatch.setattr(execution, "circuits", Circuits())

    return install


async def _called(person: Person) -> tuple[str, str | None]:
    call = new_call(tool_name="failing", input={})
    async with transaction(person.scope) as connection:
        await proposing.propose(connection, place(person), [call], frozenset([call.id]))
    await execution.execute(*person.scope, call.id)
    [row] = rows("SELECT status, error_code FROM tool_calls WHERE id = %(id)s", id=call.id)
    return row["status"], row["error_code"]


@pytest.mark.parametrize("redis_away", [False, True])
@pytest.mark.parametrize("error", [ToolExecutionError("It failed."), ToolTimeout("It hung.", 1)])
async def test_a_tenants_failures_stop_its_own_calls_and_no_other_tenants(
    tenant: Cast,
    other_tenant: Cast,
    installed: Any,
    monkeypatch: pytest.MonkeyPatch,
    error: ToolError,
    redis_away: bool,
) -> None:
    tool = Failing(tenant.id, error)
    installed(tool)
    if redis_away:

        def away() -> Any:
            raise RedisAway("away")

        monkeypatch.setattr(redis, "client", away)
    for _ in range(FAILURES):
        assert await _called(tenant.alice) == ("error", error.code)
    # Nobody of the tenant gets through, and the tool is not called.
    assert await _called(tenant.bob) == ("error", "unavailable")
    assert tool.asked == [tenant.id] * FAILURES
    assert await _called(other_tenant.alice) == ("success", None)
    assert await _called(tenant.alice) == ("error", "unavailable")
    assert tool.asked == [*[tenant.id] * FAILURES, other_tenant.id]


@pytest.mark.parametrize("error", [ToolValidationError("Wrong."), ToolPermissionDenied("Not this.")])
async def test_what_is_wrong_with_a_call_is_no_failure_of_its_tool(
    tenant: Cast, installed: Any, error: ToolError
) -> None:
    tool = Failing(tenant.id, error)
    installed(tool)
    for _ in range(FAILURES + 1):
        assert await _called(tenant.alice) == ("error", error.code)
    assert len(tool.asked) == FAILURES + 1
