"""How a worker runs a call: in which transactions, and what becomes of one that is sent again."""

import uuid
from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest
from django.conf import settings

from audit.calls import begun, ledger, proposing, recorder
from gateway.operations import sweeper
from tenants.scope import transactions
from tenants.scope.transactions import transaction
from tests.audit.calls import as_call, new_call, place
from tests.database import rows
from tests.people import Cast, Person
from tests.tools.test_circuit import NONE
from tests.wire import Traffic, relay
from tools.errors import ToolError, ToolExecutionError, ToolTimeout
from tools.interface import Tier, Tool, ToolContext, ToolResult, held
from tools.invocation import dispatch, lookup
from tools.invocation.in_worker import execution
from tools.invocation.live.circuit import Circuits
from tools.network import messages


class Noting(Tool):
    """Saves a note, in the worker's transaction or not, and does what the test says."""

    name = "noting"
    description = "Saves a note."
    tier = Tier.WORKSPACE
    parameters: dict[str, Any] = {"type": "object", "properties": {}}
    handles = frozenset({"notes"})
    transactional = True

    def __init__(self, *raises: Exception | None, transactional: bool = True, sleeps: float = 0):
        self.raises, self.sleeps, self.ran = list(raises), sleeps, 0
        type(self).transactional = transactional

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        self.ran += 1
        if self.transactional:
            await held(ctx.notes, "notes").save(title="a", content="b", tags=[])
        if self.sleeps:
            await held(ctx.notes, "notes")._connection.execute("SELECT pg_sleep(%s)", [self.sleeps])
        if self.raises and (error := self.raises.pop(0)):
            raise error
        return ToolResult({"saved": True}, "saved")


class _Registry:
    def __init__(self, tool: Tool | None):
        self._tool = tool

    def get(self, name: str) -> Tool | None:
        return self._tool

    def settings(self, name: str) -> Any:
        return NONE


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Make a tool the only one of this process."""

    def install(tool: Tool | None) -> None:
        for module in (execution, dispatch, lookup):
            monkeypatch.setattr(module, "registry", lambda: _Registry(tool))
        monkeypatch.setattr(execution, "circuits", Circuits())
        monkeypatch.setattr(execution, "BACK_OFF", 0.001)

    return install


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[str]]]:
    """The messages that would have been sent to workers."""
    found: list[tuple[str, list[str]]] = []

    async def send(more: Any) -> None:
        found.extend(more)

    monkeypatch.setattr(messages, "send", send)
    return found


@pytest.fixture
async def traffic(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Traffic]:
    """What this process says to PostgreSQL, over one connection that has been made ready."""
    with relay(settings.DATABASE_URLS["default"]) as (url, applications):
        monkeypatch.setitem(settings.DATABASE_URLS, "default", url)
        monkeypatch.setattr(settings, "DATABASE_POOL_SIZE", 1)
        await transactions.close_pools()
        yield applications[f"toolgate-{settings.TOOLGATE_PROCESS}-async"]
        await transactions.close_pools()


async def _queued(person: Person, **more: Any) -> uuid.UUID:
    call = new_call(tool_name="noting", input={}, **more)
    async with transaction(person.scope) as connection:
        await proposing.propose(connection, place(person), [call], frozenset([call.id]))
    return call.id


def _row(call_id: uuid.UUID) -> dict[str, Any]:
    return rows("SELECT * FROM tool_calls WHERE id = %(id)s", id=call_id)[0]


def _notes(person: Person) -> int:
    return len(rows("SELECT id FROM notes WHERE user_id = %(u)s", u=person.scope.user_id))


def _assert_in_the_ledger(call_id: uuid.UUID) -> None:
    """The call's last entry vouches for its row."""
    entries = rows("SELECT kind, commitment FROM ledger_entries WHERE call_id = %(id)s ORDER BY seq", id=call_id)
    assert [entry["kind"] for entry in entries] == ["proposed", "settled"]
    row = _row(call_id)
    made = ledger.commitment(bytes(row["row_key"]), ledger.settled(row))
    assert bytes(entries[1]["commitment"]) == made
    assert as_call(row).final


async def _overdue(call_id: uuid.UUID) -> None:
    rows("UPDATE tool_calls SET queued_at = queued_at - interval '1 hour' WHERE id = %(id)s RETURNING id", id=call_id)


async def test_a_call_of_a_transactional_tool_that_is_sent_again_is_claimed_and_runs_once(
    tenant: Cast, installed: Any, sent: list[tuple[str, list[str]]]
) -> None:
    tool = Noting()
    installed(tool)
    call_id = await _queued(tenant.alice)
    await _overdue(call_id)
    await sweeper.sweep()
    ours = [(task, ids) for task, ids in sent if str(call_id) in ids]
    assert ours == [("tools.execute_again", [*map(str, tenant.alice.scope), str(call_id)])]
    await execution.execute(*tenant.alice.scope, call_id)
    await execution.execute(*tenant.alice.scope, call_id, claims=False)
    row = _row(call_id)
    assert (row["status"], row["attempt"], row["fence"], tool.ran, _notes(tenant.alice)) == ("success", 1, 1, 1, 1)
    _assert_in_the_ledger(call_id)


# --- round trips and commits -----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("transactional", "claims", "error", "expected"),
    [
        (True, False, None, (3, 1)),
        # The effect is rolled back first.
        (True, False, ToolExecutionError("No."), (4, 1)),
        (True, True, None, (4, 2)),
        (False, True, None, (2, 2)),
        (False, True, ToolExecutionError("No."), (2, 2)),
    ],
)
async def test_what_a_call_costs_in_round_trips_and_commits(
    tenant: Cast,
    installed: Any,
    traffic: Traffic,
    transactional: bool,
    claims: bool,
    error: ToolError | None,
    expected: tuple[int, int],
) -> None:
    installed(Noting(None, error, transactional=transactional))
    first, second = [await _queued(tenant.alice) for _ in range(2)]
    await execution.execute(*tenant.alice.scope, first, claims=claims)
    traffic.statements.clear()
    traffic.round_trips = 0
    await execution.execute(*tenant.alice.scope, second, claims=claims)
    assert (traffic.round_trips, traffic.commits) == expected, traffic.statements
    assert _row(second)["status"] == ("error" if error else "success")
    _assert_in_the_ledger(second)


# --- what goes wrong -------------------------------------------------------------------------------------------------
async def test_time_outs_of_a_transactional_tool_count_and_leave_nothing(tenant: Cast, installed: Any) -> None:
    tool = Noting(*(ToolTimeout("Late.", 1) for _ in range(5)))
    installed(tool)
    call_id = await _queued(tenant.alice)
    await execution.execute(*tenant.alice.scope, call_id, claims=False)
    row = _row(call_id)
    assert (row["status"], row["error_code"], row["attempt"], row["fence"]) == ("error", "timeout", 3, 3)
    assert (tool.ran, _notes(tenant.alice)) == (3, 0)
    _assert_in_the_ledger(call_id)


async def test_a_transactional_tool_that_is_late_once_succeeds_at_its_second_attempt(
    tenant: Cast, installed: Any
) -> None:
    installed(Noting(ToolTimeout("Late.", 1)))
    call_id = await _queued(tenant.alice)
    await execution.execute(*tenant.alice.scope, call_id, claims=False)
    row = _row(call_id)
    assert (row["status"], row["attempt"], row["fence"], _notes(tenant.alice)) == ("success", 2, 2, 1)
    _assert_in_the_ledger(call_id)


async def test_a_query_that_outlasts_its_call_is_cancelled_and_its_connection_goes_on(
    tenant: Cast, installed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(Noting(sleeps=3600))
    monkeypatch.setattr(settings, "DATABASE_POOL_SIZE", 1)
    call_id = await _queued(tenant.alice, time_limit_ms=200)
    await execution.execute(*tenant.alice.scope, call_id, claims=False)
    row = _row(call_id)
    assert (row["status"], row["error_code"], row["attempt"], _notes(tenant.alice)) == ("error", "timeout", 1, 0)
    _assert_in_the_ledger(call_id)
    async with transaction(tenant.alice.scope) as connection:
        setting = await (await connection.execute("SHOW idle_in_transaction_session_timeout")).fetchone()
    assert setting == {"idle_in_transaction_session_timeout": "0"}


@pytest.mark.parametrize("claims", [True, False])
async def test_a_crash_of_a_transactional_tool_is_recorded_and_leaves_nothing(
    tenant: Cast, installed: Any, claims: bool
) -> None:
    installed(Noting(ZeroDivisionError("secret")))
    call_id = await _queued(tenant.alice)
    await execution.execute(*tenant.alice.scope, call_id, claims=claims)
    row = _row(call_id)
    assert (row["status"], row["error_code"], row["attempt"], _notes(tenant.alice)) == (
        "error",
        "execution_error",
        1,
        0,
    )
    assert row["error_message"] == "noting failed unexpectedly; the operator finds why in the log."
    _assert_in_the_ledger(call_id)


@pytest.mark.parametrize("claims", [True, False])
async def test_a_call_of_a_tool_that_is_gone_ends(tenant: Cast, installed: Any, claims: bool) -> None:
    installed(None)
    call_id = await _queued(tenant.alice)
    await execution.execute(*tenant.alice.scope, call_id, claims=claims)
    row = _row(call_id)
    assert (row["status"], row["error_code"], row["attempt"]) == ("error", "unavailable", 1)
    _assert_in_the_ledger(call_id)


async def test_a_tool_that_is_not_transactional_is_claimed_whatever_its_message_says(
    tenant: Cast, installed: Any
) -> None:
    tool = Noting(transactional=False)
    installed(tool)
    call_id = await _queued(tenant.alice)
    await execution.execute(*tenant.alice.scope, call_id, claims=False)
    row = _row(call_id)
    assert (row["status"], row["attempt"], row["fence"], tool.ran) == ("success", 1, 1, 1)
    _assert_in_the_ledger(call_id)


async def test_a_call_that_lost_its_worker_three_times_ends_without_effect(
    tenant: Cast, installed: Any, sent: list[tuple[str, list[str]]]
) -> None:
    installed(Noting())
    call_id = await _queued(tenant.alice)
    for attempt in range(1, 4):
        claimed = await begun.claim(None, tenant.alice.scope, call_id, 15)
        assert claimed is not None and claimed.attempt == attempt
        rows("UPDATE tool_calls SET lease_until = now() - interval '1 s' WHERE id = %(id)s RETURNING id", id=call_id)
        await sweeper.sweep()
    assert [task for task, ids in sent if str(call_id) in ids] == ["tools.execute_again"] * 2
    row = _row(call_id)
    assert (row["status"], row["error_code"], row["attempt"]) == ("error", "execution_error", 3)
    assert row["error_message"] == "noting lost its worker 3 times; it had no effect."
    _assert_in_the_ledger(call_id)


async def test_a_call_that_is_being_run_is_not_cancelled_and_not_waited_for(tenant: Cast, installed: Any) -> None:
    installed(Noting())
    call_id = await _queued(tenant.alice)
    before = _row(call_id)
    async with begun.locked(tenant.alice.scope, call_id, None, 60) as locked:
        assert locked is not None
        async with transaction(tenant.alice.scope) as connection:
            cancelled = recorder.Failure("cancelled", "Cancelled.", display="Cancelled.")
            assert await recorder.withdraw(connection, before["run_id"], cancelled) == []
        assert _row(call_id) == before


async def test_a_call_that_is_being_run_is_not_sent_again(
    tenant: Cast, installed: Any, sent: list[tuple[str, list[str]]]
) -> None:
    installed(Noting())
    call_id = await _queued(tenant.alice)
    await _overdue(call_id)
    before = _row(call_id)
    async with begun.locked(tenant.alice.scope, call_id, None, 15) as locked:
        assert locked is not None
        await sweeper.sweep()
    assert [ids for _, ids in sent if str(call_id) in ids] == []
    assert _row(call_id) == before


@pytest.mark.parametrize(
    "fault", [AssertionError("what nobody has thought of"), psycopg.errors.DeadlockDetected("deadlock detected")]
)
async def test_a_row_that_cannot_be_swept_keeps_no_other_from_its_turn(
    tenant: Cast,
    installed: Any,
    sent: list[tuple[str, list[str]]],
    monkeypatch: pytest.MonkeyPatch,
    fault: Exception,
) -> None:
    installed(Noting())
    broken, whole = sorted([await _queued(tenant.alice) for _ in range(2)])
    for call_id in (broken, whole):
        await _overdue(call_id)
    resend = recorder.resend

    async def failing(connection: Any, call_id: uuid.UUID) -> bool:
        if call_id == broken:
            raise fault
        return await resend(connection, call_id)

    monkeypatch.setattr(recorder, "resend", failing)
    await sweeper.sweep()
    sent_again = {ids[-1] for _, ids in sent}
    assert str(whole) in sent_again
    assert str(broken) not in sent_again
    assert _row(broken)["status"] == "queued"
