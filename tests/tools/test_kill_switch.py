"""The gate `kill_switch`, and that Python and SQL say the same of what a switch stops."""

import asyncio
import json
import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import psycopg
import pytest

from audit.calls import begun, proposing
from audit.calls.proposing import Place
from audit.calls.rows import ToolCall
from tenants.people import changes
from tenants.scope.routing import on_login
from tenants.scope.transactions import transaction
from tenants.switches import changes as switches
from tenants.switches.changes import NewSwitch
from tenants.switches.on import Subject, Switch, killed
from tests.audit.calls import new_call, place
from tests.database import rows
from tests.people import Cast
from tests.tools.test_refusals import NOTE, OPEN, asked
from tools.gates.checks.kill_switch import KillSwitches
from tools.gates.interface import GateResult

NOW = datetime.now(UTC)
# Longer than all tests take.
DAY = timedelta(days=1)


def switch(kind: str, target: str = "", **more: Any) -> Switch:
    """One that is on."""
    given: dict[str, Any] = {"reason": "Why", "since": NOW, "until": None, "by_operator": False, "set_by": "olga"}
    return Switch(id=uuid.uuid4(), kind=kind, target=target, **given | more)


def gate(*on: Switch) -> GateResult:
    """The gate's answer about a note."""
    return asked(KillSwitches(), replace(OPEN, switches=on), NOTE)


@pytest.mark.parametrize(
    ("on", "stopped"),
    [
        (switch("tool", "save_note"), "The tool save_note"),
        (switch("agent", "helper"), "The agent helper"),
        (switch("user", str(uuid.UUID(int=2))), "All that this person does"),
        (switch("tenant", "x"), "All that this tenant does"),
        (switch("everything"), "Everything on this Toolgate"),
        (switch("a kind of a later release", "x"), "This"),
    ],
    ids=lambda each: each.kind if isinstance(each, Switch) else "",
)
def test_each_kind_refuses_the_call(on: Switch, stopped: str) -> None:
    answer = gate(on)
    assert (answer.ok, answer.code, answer.log) == (False, "killed", f"stopped by the kill switch {on.id}")
    assert answer.user.startswith(f"{stopped} was stopped by olga at ")


@pytest.mark.parametrize(
    "on",
    [
        switch("tool", "save_notes"),
        switch("tool", "save"),
        switch("service", "save_note"),
        switch("agent", "default"),
        switch("user", str(uuid.UUID(int=1))),
        switch("model", "offline/demo"),
        switch("tool", "save_note", until=NOW - timedelta(seconds=1)),
    ],
    ids=lambda each: f"{each.kind} {each.target}",
)
def test_what_is_about_something_else_or_has_ended_refuses_nothing(on: Switch) -> None:
    assert gate(on).ok


def test_the_operators_switch_is_named_first_and_then_the_longest() -> None:
    short, long = switch("tool", "t", until=NOW + DAY), switch("tool", "t", until=NOW + 2 * DAY)
    forever, operators = switch("tool", "t"), switch("tool", "t", until=NOW + DAY, by_operator=True)
    assert killed([short, long], Subject(None, tool="t")) is long
    assert killed([forever, long], Subject(None, tool="t")) is forever
    assert killed([forever, operators], Subject(None, tool="t")) is operators


async def test_sql_and_python_say_the_same_of_each_target(tenant: Cast) -> None:
    me, other = str(tenant.alice.scope.user_id), str(tenant.bob.scope.user_id)
    targets = {
        "tool": ["crm.find", "crm", "crm.", ".find", "save_note"],
        "service": ["crm", "cr", "crm.find", "save_note"],
        "agent": ["default", "other"],
        "user": [me, other],
        "model": ["offline/demo", "offline/*", "offline/*x", "off/*", "offline/"],
    }
    subjects = [
        Subject(tenant.alice.scope.user_id, agent, model, tool)
        for agent, model, tool in product(
            ("default", ""), ("offline/demo", ""), ("crm.find", "crmfind", "crm.find.more", "save_note")
        )
    ]
    for kind, target in ((kind, target) for kind, listed in targets.items() for target in listed):
        made = rows(
            "INSERT INTO kill_switches (id, tenant_id, kind, target, reason, by_operator)"
            " VALUES (gen_random_uuid(), %(t)s, %(k)s, %(n)s, 'x', false) RETURNING id",
            t=tenant.id, k=kind, n=target,
        )  # fmt: skip
        async with transaction(tenant.alice.scope) as connection:
            [known] = await (await connection.execute("SELECT switches_on() AS found")).fetchall()
            [on] = [Switch.of(each) for each in known["found"]]
            for subject in subjects:
                given = [subject.user_id, subject.tool, subject.agent or None, subject.model or None]
                [sql] = await (await connection.execute("SELECT killed(%s, %s, %s, %s) AS it", given)).fetchall()
                assert (sql["it"] is not None) == on.stops(subject), (kind, target, subject)
                assert sql["it"] is None or Switch.of(sql["it"]) == on
        rows("DELETE FROM kill_switches WHERE id = %(i)s RETURNING id", i=made[0]["id"])


def _stop(tenant_id: uuid.UUID | None, kind: str, target: str, **more: Any) -> uuid.UUID:
    with on_login("operator"), changes.acting(None, "command"):
        return switches.put_on(tenant_id, NewSwitch(kind, target, "Why", **more), by_operator=True).pk


async def _queued(tenant: Cast, where: Place) -> ToolCall:
    """A call that waits in the queue."""
    call = new_call()
    async with transaction(tenant.alice.scope) as connection:
        [made] = await proposing.propose(connection, where, [call], frozenset({call.id}))
    return made


@pytest.mark.parametrize(
    ("kind", "target"),
    [("tool", "save_note"), ("agent", "default"), ("user", "alice"), ("model", "offline/*"), ("tenant", "")],
)
async def test_a_queued_call_is_not_claimed_once_it_is_stopped(tenant: Cast, kind: str, target: str) -> None:
    call = await _queued(tenant, replace(place(tenant.alice), agent="default", model="offline/demo"))
    named = {"user": tenant.alice.username, "tenant": tenant.slug}.get(kind, target)
    made = await asyncio.to_thread(_stop, tenant.id, kind, named)
    refused = await begun.claim(None, tenant.alice.scope, call.id, 15)
    assert refused is not None
    assert (refused.error_code, refused.status, refused.fence) == ("killed", "queued", 1)
    assert Switch.of(json.loads(refused.error_message or "")).id == made
    async with begun.locked(tenant.alice.scope, call.id, None, 15) as held:
        assert held is not None
        assert (held.call.error_code, held.call.attempt, held.call.started_at) == ("killed", 0, None)
    [row] = rows("SELECT status, fence, error_code FROM tool_calls WHERE id = %(i)s", i=call.id)
    assert row == {"status": "queued", "fence": 0, "error_code": None}
    await asyncio.to_thread(_end, made)
    claimed = await begun.claim(None, tenant.alice.scope, call.id, 15)
    assert claimed is not None
    assert (claimed.error_code, claimed.status, claimed.fence) == (None, "running", 1)


def _end(switch_id: uuid.UUID) -> None:
    with on_login("operator"):
        switches.end_any(switch_id)


async def test_a_call_without_a_run_has_no_agent_and_no_model_that_could_be_stopped(tenant: Cast) -> None:
    call = await _queued(tenant, Place(*tenant.alice.scope, origin="api"))
    for kind, target in (("agent", "default"), ("model", "offline/demo")):
        await asyncio.to_thread(_stop, tenant.id, kind, target)
    claimed = await begun.claim(None, tenant.alice.scope, call.id, 15)
    assert claimed is not None
    assert claimed.error_code is None


def test_a_switch_about_all_tenants_is_on_record_in_each_and_changes_everybodys_rights(
    tenant: Cast, other_tenant: Cast
) -> None:
    # Of a model that no other test asks.
    before = _versions(tenant, other_tenant)
    made = _stop(None, "model", "offline/none-such")
    try:
        between = _versions(tenant, other_tenant)
        assert all(now not in before for now in between)
        for each in (tenant, other_tenant):
            found = rows("SELECT action, target_id FROM setting_changes WHERE tenant_id = %(t)s", t=each.id)
            assert found == [{"action": "created", "target_id": made}]
    finally:
        _end(made)
    assert all(now not in between for now in _versions(tenant, other_tenant))


def _versions(*tenants: Cast) -> list[Any]:
    return [rows("SELECT rights_version(%(t)s) AS v", t=each.id)[0]["v"] for each in tenants]


async def test_the_app_can_neither_end_nor_change_nor_make_a_switch_of_the_operators(tenant: Cast) -> None:
    made = await asyncio.to_thread(_stop, tenant.id, "tool", "save_note")
    async with transaction(tenant.olga.scope) as connection:
        found = await connection.execute("DELETE FROM kill_switches WHERE id = %s RETURNING id", [made])
        assert await found.fetchall() == []
    for statement in (
        "UPDATE kill_switches SET reason = 'x'",
        "INSERT INTO kill_switches (id, tenant_id, kind, target, reason, by_operator)"
        " VALUES (gen_random_uuid(), NULL, 'everything', '', 'x', true)",
        f"INSERT INTO kill_switches (id, tenant_id, kind, target, reason, by_operator)"
        f" VALUES (gen_random_uuid(), '{tenant.id}', 'tool', 'x', 'x', true)",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            async with transaction(tenant.olga.scope) as connection:
                await connection.execute(statement.encode())
    assert [row["id"] for row in rows("SELECT id FROM kill_switches WHERE tenant_id = %(t)s", t=tenant.id)] == [made]
