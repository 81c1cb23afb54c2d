"""What a process remembers of a member's rights holds no longer than they do."""

import asyncio
import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from audit.calls.proposing import Place
from gateway.budgets.reservations import used
from gateway.providers.interface import Answer, Usage
from gateway.runs import preparation
from gateway.runs.agents import members
from gateway.runs.errors import NoSuchModel
from gateway.runs.lifecycle import driving, following
from gateway.runs.live_ports import LIVE_PORTS
from gateway.runs.preparation import ChatRequest
from gateway.runs.rows import TurnValues
from tenants.scope.routing import on_login
from tests.audit.calls import new_call
from tests.database import rows
from tests.gateway.runs.rights import add_rule, agent_of, as_owner
from tests.people import Cast
from tools.gates.interface import RightsChanged
from tools.invocation import recording
from tools.models import ToolSetting


# --- what a process remembers ----------------------------------------------------------------------------------------
async def test_a_run_begins_by_what_the_agent_is_now(tenant: Cast) -> None:
    first = await preparation.open(tenant.alice.scope, ChatRequest("hello"))
    assert first.view.run.profile["instructions"] == ""

    def change() -> None:
        with on_login("operator"):
            agent_of(tenant).update(instructions="Be brief.", model="offline/demo")

    await asyncio.to_thread(change)
    second = await preparation.open(tenant.alice.scope, ChatRequest("hello"))
    assert second.view.run.profile["instructions"] == "Be brief."
    assert second.view.run.model == "offline/demo"
    [found] = rows("SELECT count(*) AS runs FROM runs WHERE tenant_id = %(t)s", t=tenant.id)
    assert found["runs"] == 2


async def test_nobody_is_refused_by_what_has_changed_since(tenant: Cast) -> None:
    def model(name: str) -> None:
        with on_login("operator"):
            agent_of(tenant).update(model=name)

    await asyncio.to_thread(model, "offline/none")
    for _ in range(2):
        with pytest.raises(NoSuchModel):
            await preparation.open(tenant.alice.scope, ChatRequest("hello"))
    assert rows("SELECT 1 FROM runs WHERE tenant_id = %(t)s", t=tenant.id) == []
    await asyncio.to_thread(model, "offline/demo")
    assert (await preparation.open(tenant.alice.scope, ChatRequest("hello"))).view.run.model == "offline/demo"


async def test_calls_are_committed_by_the_rights_that_hold_then(tenant: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody takes a tool away after the model has been asked, and before its call is committed."""
    execution = await preparation.open(tenant.alice.scope, ChatRequest('call: add_task {"title": "x"}'))

    def change() -> None:
        with on_login("operator"):
            ToolSetting.objects.create(tenant_id=tenant.id, tool_name="add_task", enabled=False)

    await asyncio.to_thread(change)
    driving.start(execution)
    await following.until_rest(tenant.alice.scope, execution.view)
    [call] = rows("SELECT status, error_code, run_id FROM tool_calls WHERE tenant_id = %(t)s", t=tenant.id)
    assert (call["status"], call["error_code"]) == ("error", "not_allowed")
    assert rows("SELECT 1 FROM tasks WHERE tenant_id = %(t)s", t=tenant.id) == []
    turns = rows("SELECT number FROM turns WHERE tenant_id = %(t)s ORDER BY number", t=tenant.id)
    assert [turn["number"] for turn in turns] == [1, 2]


@pytest.mark.parametrize("old", ["another version", "an expired rule"])
@pytest.mark.parametrize("runs", [True, False])
async def test_nothing_is_recorded_by_rights_that_hold_no_more(tenant: Cast, old: str, runs: bool) -> None:
    execution = await preparation.open(tenant.alice.scope, ChatRequest("hello"))
    assert execution.known is not None
    stale = {"version": uuid.uuid4()} if old == "another version" else {"valid_until": datetime.now(UTC)}
    known, run = replace(execution.known, **stale), execution.view.run
    place = Place(*tenant.alice.scope, run.conversation_id, run.message_id, run.id, 1)

    async def record() -> None:
        if not runs:
            alone = Place(*tenant.alice.scope, origin="api")
            await recording.propose(None, alone, [new_call()], frozenset(), known)
            return
        async with LIVE_PORTS.step(execution, alone=True) as step:
            values = TurnValues.of(Answer("Hello."), 100, 5, used("offline/demo", None, Usage()))
            await step.commit_turn(values, place, [new_call()], frozenset(), known)

    with pytest.raises(RightsChanged):
        await record()
    for table in ("tool_calls", "ledger_entries", "turns"):
        assert rows(f"SELECT 1 FROM {table} WHERE tenant_id = %(t)s", t=tenant.id) == []
    assert rows("SELECT turns FROM runs WHERE tenant_id = %(t)s", t=tenant.id) == [{"turns": 0}]


async def test_a_rule_that_has_expired_is_not_remembered(tenant: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    def rule() -> None:
        with on_login("operator"):
            add_rule(tenant, expires_at=datetime.now(UTC) + timedelta(hours=1))

    await asyncio.to_thread(rule)
    member = await members.under(tenant.alice.scope, None)
    assert [each.name for each in member.rights.rules] == ["mails"]
    assert member.rights.valid_until is not None

    def expire() -> None:
        as_owner("UPDATE approval_rules SET expires_at = now() WHERE tenant_id = %s", tenant.id)

    await asyncio.to_thread(expire)
    row = members._rows[tenant.alice.scope, None]
    monkeypatch.setitem(row, "rights_valid_until", datetime.now(UTC))
    assert (await members.under(tenant.alice.scope, None)).rights.rules == ()


async def test_a_process_remembers_so_many_members_and_no_more(tenant: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members, "MOST", 2)
    members._rows.clear()
    people = [tenant.alice, tenant.bob, tenant.alice, tenant.carol]
    for person in people:
        await members.under(person.scope, None)
    assert list(members._rows) == [(tenant.alice.scope, None), (tenant.carol.scope, None)]
