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
from approvals.requests import callers_rights
from approvals.rules import evaluation
from gateway.models import Agent
from gateway.runs import preparation
from gateway.runs.agents import members
from gateway.runs.preparation import ChatRequest
from services.models import Service, ServiceTool
from tenants.models import ApiKey, Membership, RightsVersion, Tenant, User
from tenants.scope.routing import on_login
from tenants.scope.transactions import Connection, TenantScope, transaction
from tests.database import rows
from tests.gateway.runs.rights import LATER, add_rule, agent_of, as_owner
from tests.people import Cast
from tools.gates.interface import Rights
from tools.models import Grant, ToolSetting

Change = Callable[[Cast], Any]


def _version(cast: Cast) -> uuid.UUID | None:
    found = rows("SELECT version FROM rights_versions WHERE tenant_id = %(t)s", t=cast.id)
    return found[0]["version"] if found else None


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
    "a rule comes": (_nothing, lambda cast, _: add_rule(cast)),
    **{
        f"a rule has another {name}": (
            lambda cast, name=name: add_rule(cast, uses_left=3 if name == "uses_left" else None),
            lambda cast, each, name=name, value=value: as_owner(
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
        lambda cast: add_rule(cast, uses_left=1),
        lambda cast, each: ApprovalRule.objects.filter(id=each.id).update(uses_left=0),
    ),
    "a rule has any number of uses": (
        lambda cast: add_rule(cast, uses_left=3),
        lambda cast, each: ApprovalRule.objects.filter(id=each.id).update(uses_left=None),
    ),
    "a rule goes": (add_rule, lambda cast, each: as_owner("DELETE FROM approval_rules WHERE id = %s", each.id)),
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
    "an agent changes": (_nothing, lambda cast, _: agent_of(cast).update(instructions="Be brief.")),
    **{
        f"a key has another {name}": (
            _key, lambda cast, each, name=name, value=value: ApiKey.objects.filter(id=each.id).update(**{name: value})
        )
        for name, value in {
            "scopes": ["chat"], "expires_at": LATER, "revoked_at": datetime(2026, 1, 1, tzinfo=UTC),
            "key_hash": uuid.uuid4().bytes,
        }.items()
    },
    "a key goes": (_key, lambda cast, each: as_owner("DELETE FROM api_keys WHERE id = %s", each.id)),
    "an agent goes": (
        lambda cast: Agent.objects.create(tenant_id=cast.id, slug="second", name="b"),
        lambda cast, each: as_owner("DELETE FROM agents WHERE id = %s", each.id),
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
            made = add_rule(tenant, uses_left=3)
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


async def test_a_member_is_made_once_for_as_long_as_its_row_is_remembered(tenant: Cast) -> None:
    read = await members.under(tenant.alice.scope, None)
    made = await members.under(tenant.alice.scope, None)
    assert (read.remembered, made.remembered) == (False, True)
    assert made.rights is read.rights
    assert await members.under(tenant.alice.scope, None) is made
    members.forget(tenant.alice.scope, None)
    again = await members.under(tenant.alice.scope, None)
    assert again.rights is not read.rights


async def test_no_run_begins_by_rights_of_no_version(tenant: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    member = await members.under(tenant.alice.scope, None)
    monkeypatch.setitem(members._rows[tenant.alice.scope, None], "rights_version", None)
    del members._members[tenant.alice.scope, None]
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
            return await callers_rights.own(connection, scope.user_id)

    async def change(work: Callable[[], Any]) -> None:
        def on_operator() -> None:
            with on_login("operator"):
                work()

        await asyncio.to_thread(on_operator)

    loaded = callers_rights.load
    monkeypatch.setattr(callers_rights, "load", load)
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
            add_rule(tenant, expires_at=datetime.now(UTC) + timedelta(hours=1))

    await asyncio.to_thread(rule)
    scope = tenant.alice.scope
    async with transaction(scope) as connection:
        known = await callers_rights.own(connection, scope.user_id)
    assert [each.name for each in known.rules] == ["mails"]
    # As it is an hour later.
    key = str(scope.tenant_id), scope.user_id
    callers_rights._own[key] = callers_rights._own[key][0], replace(known, valid_until=datetime.now(UTC))
    async with transaction(scope) as connection:
        again = await callers_rights.own(connection, scope.user_id)
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
    as_owner("DELETE FROM tenants WHERE id = %s", gone.id)
    assert rows("SELECT 1 FROM rights_versions WHERE tenant_id = %(t)s", t=gone.id) == []
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        as_owner("DELETE FROM tenants WHERE id = %s", tenant.id)
