"""The version of a tenant's rights: everything that rights are read from changes it, and nothing goes by an old one."""

import asyncio
import threading
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.db import transaction as django_transaction
from psycopg.types.json import Jsonb

from approvals.models import ApprovalRule
from approvals.requests import rights
from approvals.rules import evaluation
from audit.calls.recorder import Place
from gateway.budgets.reservations import used
from gateway.models import Agent
from gateway.providers.interface import Answer, Usage
from gateway.runs import lifecycle, preparation
from gateway.runs.agents import members
from gateway.runs.errors import NoSuchModel
from gateway.runs.live_ports import LIVE_PORTS
from gateway.runs.preparation import ChatRequest
from gateway.runs.rows import TurnValues
from services.models import Service, ServiceTool
from tenants.models import ApiKey, Membership, RightsVersion, Tenant, User
from tenants.scope.routing import on_login
from tenants.scope.transactions import Connection, TenantScope, transaction
from tests.audit.calls import new_call
from tests.database import rows
from tests.people import Cast
from tools.gates.interface import Rights, RightsChanged
from tools.invocation import recording
from tools.models import Grant, ToolSetting

Change = Callable[[Cast], Any]
LATER = datetime(2099, 1, 1, tzinfo=UTC)


def _version(cast: Cast) -> uuid.UUID | None:
    found = rows("SELECT version FROM rights_versions WHERE tenant_id = %(t)s", t=cast.id)
    return found[0]["version"] if found else None


def _rule(cast: Cast, **more: Any) -> ApprovalRule:
    given = {"name": "mails", "tool_name": "send_email", "expires_at": LATER, "owner_id": cast.olga.scope.user_id}
    return ApprovalRule.objects.create(tenant_id=cast.id, **given | more)


def _agent(cast: Cast) -> Any:
    return Agent.objects.filter(tenant_id=cast.id)


def _membership(cast: Cast) -> Any:
    return Membership.objects.filter(tenant_id=cast.id, user_id=cast.bob.scope.user_id)


def _setting(cast: Cast) -> ToolSetting:
    return ToolSetting.objects.create(tenant_id=cast.id, tool_name="save_note")


def _grant(cast: Cast) -> Grant:
    return Grant.objects.create(tenant_id=cast.id, tool_name="save_note")


def _service(cast: Cast) -> Service:
    return Service.objects.create(tenant_id=cast.id, slug="desk", kind="http", url="https://desk.example.com")


def _service_tool(cast: Cast, service: Service) -> ServiceTool:
    named = {"name": "find", "tool_name": "desk.find", "alias": "desk__find"}
    return ServiceTool.objects.create(
        tenant_id=cast.id, service=service, definition={}, parameters={}, accepted_hash="a", hash="a", **named
    )


def _key(cast: Cast) -> ApiKey:
    given = {"prefix": "tg_x", "key_hash": uuid.uuid4().bytes}
    return ApiKey.objects.create(tenant_id=cast.id, user_id=cast.bob.scope.user_id, **given)


def _nothing(cast: Cast) -> None:
    return None


def _owner(statement: str, *values: Any) -> None:
    """What no login of ours may do."""
    with psycopg.connect(settings.DATABASE_URLS["owner"], autocommit=True) as owner:
        owner.execute(statement.encode(), values)


# What is there before, and what changes then.
CHANGES: dict[str, tuple[Change, Callable[[Cast, Any], Any]]] = {
    "a member comes": (
        lambda cast: User.objects.create(username=f"new-{uuid.uuid4().hex}"),
        lambda cast, user: Membership.objects.create(tenant_id=cast.id, user=user),
    ),
    "a member gets another role": (_nothing, lambda cast, _: _membership(cast).update(role="auditor")),
    "a member goes": (_nothing, lambda cast, _: _membership(cast).delete()),
    "a user is switched off": (
        _nothing,
        lambda cast, _: User.objects.filter(id=cast.carol.scope.user_id).update(is_active=False),
    ),
    "roles get ceilings": (
        _nothing,
        lambda cast, _: Tenant.objects.filter(id=cast.id).update(role_ceilings={"member": "read_only"}),
    ),
    "the default tools change": (
        _nothing,
        lambda cast, _: Tenant.objects.filter(id=cast.id).update(default_tools=["list_tasks"]),
    ),
    "a setting comes": (_nothing, lambda cast, _: _setting(cast)),
    "a setting changes": (_setting, lambda cast, each: ToolSetting.objects.filter(id=each.id).update(rate="1/m")),
    "a setting goes": (_setting, lambda cast, each: each.delete()),
    "a grant comes": (_nothing, lambda cast, _: _grant(cast)),
    "a grant changes": (_grant, lambda cast, each: Grant.objects.filter(id=each.id).update(effect="deny")),
    "a grant goes": (_grant, lambda cast, each: each.delete()),
    "a rule comes": (_nothing, lambda cast, _: _rule(cast)),
    **{
        f"a rule has another {name}": (
            lambda cast, name=name: _rule(cast, uses_left=3 if name == "uses_left" else None),
            lambda cast, each, name=name, value=value: _owner(
                f"UPDATE approval_rules SET {name} = %s WHERE id = %s",
                value(cast) if callable(value) else value, each.id,
            ),
        )
        for name, value in {
            "name": "other", "effect": "deny", "tool_name": "save_note", "role": "member", "agent": "default",
            "user_id": lambda cast: cast.bob.scope.user_id, "condition": Jsonb({"type": "object"}), "enabled": False,
            "expires_at": datetime(2100, 1, 1, tzinfo=UTC), "owner_id": lambda cast: cast.carol.scope.user_id,
            "uses_left": 4, "binding": "another definition",
        }.items()
    },
    "a rule is used up": (
        lambda cast: _rule(cast, uses_left=1),
        lambda cast, each: ApprovalRule.objects.filter(id=each.id).update(uses_left=0),
    ),
    "a rule has any number of uses": (
        lambda cast: _rule(cast, uses_left=3),
        lambda cast, each: ApprovalRule.objects.filter(id=each.id).update(uses_left=None),
    ),
    "a rule goes": (_rule, lambda cast, each: _owner("DELETE FROM approval_rules WHERE id = %s", each.id)),
    "a service comes": (_nothing, lambda cast, _: _service(cast)),
    "a service changes": (_service, lambda cast, each: Service.objects.filter(id=each.id).update(enabled=False)),
    "a service goes": (_service, lambda cast, each: each.delete()),
    "a service's tool comes": (_service, lambda cast, each: _service_tool(cast, each)),
    "a service's tool changes": (
        lambda cast: _service_tool(cast, _service(cast)),
        lambda cast, each: ServiceTool.objects.filter(id=each.id).update(enabled=True),
    ),
    "a service's tool goes": (
        lambda cast: _service_tool(cast, _service(cast)),
        lambda cast, each: each.delete(),
    ),
    "an agent comes": (_nothing, lambda cast, _: Agent.objects.create(tenant_id=cast.id, slug="second", name="b")),
    "an agent changes": (_nothing, lambda cast, _: _agent(cast).update(instructions="Be brief.")),
    **{
        f"a key has another {name}": (
            _key, lambda cast, each, name=name, value=value: ApiKey.objects.filter(id=each.id).update(**{name: value})
        )
        for name, value in {
            "scopes": ["chat"], "expires_at": LATER, "revoked_at": datetime(2026, 1, 1, tzinfo=UTC),
            "key_hash": uuid.uuid4().bytes,
        }.items()
    },
    "a key goes": (_key, lambda cast, each: _owner("DELETE FROM api_keys WHERE id = %s", each.id)),
    "an agent goes": (
        lambda cast: Agent.objects.create(tenant_id=cast.id, slug="second", name="b"),
        lambda cast, each: _owner("DELETE FROM agents WHERE id = %s", each.id),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_what_rights_are_read_from_changes_their_version(tenant: Cast, other_tenant: Cast, name: str) -> None:
    before, change = CHANGES[name]
    with on_login("operator"):
        there = before(tenant)
        old, other = _version(tenant), _version(other_tenant)
        change(tenant, there)
    assert _version(tenant) not in (None, old)
    assert _version(other_tenant) == other


async def test_what_counts_and_what_says_nothing_of_rights_leaves_the_version_alone(tenant: Cast) -> None:
    def rule() -> ApprovalRule:
        with on_login("operator"):
            made = _rule(tenant, uses_left=3)
            User.objects.filter(id=tenant.alice.scope.user_id).update(email="alice@example.com")
            return made

    made = await asyncio.to_thread(rule)
    before = await asyncio.to_thread(_version, tenant)
    async with transaction(tenant.alice.scope) as connection:
        await evaluation.use(connection, [str(made.id)])
    await asyncio.to_thread(_touch, tenant)
    assert await asyncio.to_thread(_version, tenant) == before
    [left] = await asyncio.to_thread(rows, "SELECT uses_left FROM approval_rules WHERE id = %(id)s", id=made.id)
    assert left["uses_left"] == 2


def _touch(cast: Cast) -> None:
    with on_login("operator"):
        Tenant.objects.filter(id=cast.id).update(name="Another name", retention_days=30)
        ApiKey.objects.filter(tenant_id=cast.id).update(last_used_at=datetime.now(UTC), name="Another name")


@pytest.mark.parametrize("version", [None, uuid.uuid4()])
async def test_rights_of_an_unknown_version_hold_for_nothing(tenant: Cast, version: uuid.UUID | None) -> None:
    async with transaction(tenant.alice.scope) as connection:
        asked = await connection.execute("SELECT rights_hold(%s, %s::uuid, NULL) AS hold", [tenant.id, version])
        assert await asked.fetchone() == {"hold": False}


async def test_no_run_begins_by_rights_of_no_version(tenant: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    member = await members.under(tenant.alice.scope, None)
    monkeypatch.setitem(members._rows[tenant.alice.scope, None], "rights_version", None)
    await preparation.open(tenant.alice.scope, ChatRequest("hello"))
    # What is remembered without a version is read again.
    assert members._rows[tenant.alice.scope, None]["rights_version"] == member.version


async def test_a_chat_is_offered_what_holds_when_it_begins(tenant: Cast) -> None:
    scope = tenant.alice.scope
    before, same = [await preparation.open(scope, ChatRequest("hello")) for _ in range(2)]
    assert same.known is before.known and same.offered(frozenset()).specs is before.offered(frozenset()).specs

    def switch_off() -> None:
        with on_login("operator"):
            ToolSetting.objects.create(tenant_id=tenant.id, tool_name="save_note", enabled=False)

    await asyncio.to_thread(switch_off)
    after = await preparation.open(scope, ChatRequest("hello"))
    left = {spec.name for spec in before.offered(frozenset()).specs} - {
        spec.name for spec in after.offered(frozenset()).specs
    }
    assert left == {"save_note"}


async def test_a_members_own_rights_are_read_once_and_again_after_each_change(
    tenant: Cast, other_tenant: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[uuid.UUID] = []

    async def load(connection: Connection, user_id: uuid.UUID, agent: Any) -> Rights:
        reads.append(user_id)
        return await loaded(connection, user_id, agent)

    async def own(scope: TenantScope) -> Rights:
        async with transaction(scope) as connection:
            return await rights.own(connection, scope.user_id)

    async def change(work: Callable[[], Any]) -> None:
        def on_operator() -> None:
            with on_login("operator"):
                work()

        await asyncio.to_thread(on_operator)

    loaded = rights.load
    monkeypatch.setattr(rights, "load", load)
    alice = tenant.alice.scope
    before = await own(alice)
    assert await own(alice) is before and reads == [alice.user_id]
    assert (await own(other_tenant.alice.scope)) is not before
    # Somebody of one tenant asks within another one, of which they are no member.
    assert (await own(TenantScope(other_tenant.id, alice.user_id))).policy.role is None
    await change(lambda: ToolSetting.objects.create(tenant_id=tenant.id, tool_name="save_note", enabled=False))
    after = await own(alice)
    assert (before.policy.settings, after.policy.settings["save_note"].enabled) == ({}, False)
    await change(lambda: Membership.objects.filter(user_id=alice.user_id).delete())
    assert (await own(alice)).policy.role is None


async def test_own_rights_that_a_rule_ends_are_read_again(tenant: Cast) -> None:
    def rule() -> None:
        with on_login("operator"):
            _rule(tenant, expires_at=datetime.now(UTC) + timedelta(hours=1))

    await asyncio.to_thread(rule)
    scope = tenant.alice.scope
    async with transaction(scope) as connection:
        known = await rights.own(connection, scope.user_id)
    assert [each.name for each in known.rules] == ["mails"]
    # As it is an hour later.
    key = str(scope.tenant_id), scope.user_id
    rights._own[key] = rights._own[key][0], replace(known, valid_until=datetime.now(UTC))
    async with transaction(scope) as connection:
        again = await rights.own(connection, scope.user_id)
    assert again.valid_until == known.valid_until


async def test_nobody_but_the_triggers_writes_versions(tenant: Cast) -> None:
    for statement in (
        "UPDATE rights_versions SET version = gen_random_uuid()",
        "INSERT INTO rights_versions (tenant_id, version) VALUES (gen_random_uuid(), gen_random_uuid())",
        "DELETE FROM rights_versions",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            async with transaction(tenant.alice.scope) as connection:
                await connection.execute(statement)


def test_many_changes_in_one_transaction_are_one_version_and_one_that_is_rolled_back_is_none(tenant: Cast) -> None:
    with on_login("operator"):
        old = _version(tenant)
        with suppress(LookupError), django_transaction.atomic(using="operator"):
            _grant(tenant)
            raise LookupError
        assert _version(tenant) == old
        with django_transaction.atomic(using="operator"):
            for _ in range(50):
                _grant(tenant)
    dead = "SELECT count(*) AS kept FROM rights_versions WHERE tenant_id = %(t)s"
    assert rows(dead, t=tenant.id) == [{"kept": 1}]
    assert _version(tenant) != old


def test_two_administrators_who_change_the_same_things_in_another_order_do_not_wait_for_the_version(
    tenant: Cast,
) -> None:
    with on_login("operator"):
        one, two = _setting(tenant), ToolSetting.objects.create(tenant_id=tenant.id, tool_name="list_tasks")
    change = "UPDATE tool_settings SET rate = %s WHERE id = %s"
    url = settings.DATABASE_URLS["operator"]
    with psycopg.connect(url) as first, psycopg.connect(url) as second:
        first.execute(change, ["1/m", one.id])
        second.execute(change, ["2/m", two.id])
        # The version is locked at the end only: the second ends at once, and the first may go on to what it changed.
        ending = threading.Thread(target=second.commit)
        ending.start()
        first.execute(change, ["3/m", two.id])
        ending.join()
        first.commit()
    found = rows("SELECT rate FROM tool_settings WHERE tenant_id = %(t)s ORDER BY tool_name", t=tenant.id)
    assert [each["rate"] for each in found] == ["3/m", "1/m"]


def test_a_tenant_that_goes_takes_its_version_along(tenant: Cast) -> None:
    with on_login("operator"):
        gone = Tenant.objects.create(slug=f"t{uuid.uuid4().hex[:12]}", name="gone")
        setting = ToolSetting.objects.create(tenant=gone, tool_name="save_note")
        assert RightsVersion.objects.filter(tenant=gone).exists()
        setting.delete()
        RightsVersion.objects.filter(tenant=gone).delete()
    _owner("DELETE FROM tenants WHERE id = %s", gone.id)
    assert rows("SELECT 1 FROM rights_versions WHERE tenant_id = %(t)s", t=gone.id) == []
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        _owner("DELETE FROM tenants WHERE id = %s", tenant.id)


# --- what a process remembers ----------------------------------------------------------------------------------------
async def test_a_run_begins_by_what_the_agent_is_now(tenant: Cast) -> None:
    first = await preparation.open(tenant.alice.scope, ChatRequest("hello"))
    assert first.view.run.profile["instructions"] == ""

    def change() -> None:
        with on_login("operator"):
            _agent(tenant).update(instructions="Be brief.", model="offline/demo")

    await asyncio.to_thread(change)
    second = await preparation.open(tenant.alice.scope, ChatRequest("hello"))
    assert second.view.run.profile["instructions"] == "Be brief."
    assert second.view.run.model == "offline/demo"
    [found] = rows("SELECT count(*) AS runs FROM runs WHERE tenant_id = %(t)s", t=tenant.id)
    assert found["runs"] == 2


async def test_nobody_is_refused_by_what_has_changed_since(tenant: Cast) -> None:
    def model(name: str) -> None:
        with on_login("operator"):
            _agent(tenant).update(model=name)

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
    lifecycle._start(execution)
    await lifecycle.until_rest(tenant.alice.scope, execution.view)
    [call] = rows("SELECT status, error_code, run_id FROM tool_calls WHERE tenant_id = %(t)s", t=tenant.id)
    assert (call["status"], call["error_code"]) == ("error", "not_allowed")
    assert rows("SELECT 1 FROM tasks WHERE tenant_id = %(t)s", t=tenant.id) == []
    assert [turn["number"] for turn in rows("SELECT number FROM turns WHERE tenant_id = %(t)s", t=tenant.id)] == [1, 2]


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
            _rule(tenant, expires_at=datetime.now(UTC) + timedelta(hours=1))

    await asyncio.to_thread(rule)
    member = await members.under(tenant.alice.scope, None)
    assert [each.name for each in member.rights.rules] == ["mails"]
    assert member.rights.valid_until is not None

    def expire() -> None:
        _owner("UPDATE approval_rules SET expires_at = now() WHERE tenant_id = %s", tenant.id)

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
