"""Tenants and users that calls name stay, without foreign keys that would lock their rows at each call."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import psycopg
import pytest
from django.conf import settings

from audit.calls import proposing, reported
from audit.calls.proposing import Place
from audit.calls.reported import Reported
from tenants.models import User
from tenants.scope.routing import on_login
from tenants.scope.transactions import TenantScope, transaction
from tests.audit.calls import new_call
from tests.database import rows
from tests.people import Cast
from tests.waiting import eventually

# What each governed call, and each turn, writes.
WRITTEN = ("tool_calls", "ledger_entries", "taint_sources", "runs", "turns", "messages", "run_requests",
           "continuations", "turn_usage")  # fmt: skip


def _delete(table: str, row_id: Any) -> None:
    with psycopg.connect(settings.DATABASE_URLS["owner"]) as owner:
        owner.execute(f"DELETE FROM {table} WHERE id = %s".encode(), [row_id])


def _user_who_went(username: str) -> uuid.UUID:
    with on_login("operator"):
        user_id = User.objects.create(username=username).id
    _delete("users", user_id)
    return user_id


def _deletes_waiting() -> int:
    query = "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'DELETE FROM users%%' AND wait_event_type = 'Lock'"
    return len(rows(query))


async def _propose(scope: TenantScope) -> None:
    async with transaction(scope) as connection:
        await proposing.propose(connection, Place(*scope, origin="api"), [new_call()], frozenset())


def test_what_each_call_writes_locks_no_row_of_its_tenant_or_user() -> None:
    found = rows(
        "SELECT conrelid::regclass::text AS name FROM pg_constraint"
        " WHERE contype = 'f' AND confrelid IN ('tenants'::regclass, 'users'::regclass)"
    )
    assert {each["name"] for each in found} & set(WRITTEN) == set()


async def test_nobody_deletes_a_tenant_or_a_user_of_whom_there_are_calls(tenant: Cast) -> None:
    await _propose(tenant.alice.scope)
    for table, row_id in (("tenants", tenant.id), ("users", tenant.alice.scope.user_id)):
        with pytest.raises(psycopg.errors.ForeignKeyViolation, match="is named by tool_calls"):
            await asyncio.to_thread(_delete, table, row_id)


async def test_a_tenant_stays_of_which_there_are_only_entries(tenant: Cast) -> None:
    with psycopg.connect(settings.DATABASE_URLS["owner"]) as owner:
        owner.execute(
            "INSERT INTO ledger_entries (tenant_id, kind, version, commitment) VALUES (%s, 'read', 1, '\\x00')",
            [tenant.id],
        )
        with pytest.raises(psycopg.errors.ForeignKeyViolation, match="is named by ledger_entries"):
            owner.execute("DELETE FROM tenants WHERE id = %s", [tenant.id])


async def test_tenants_and_users_stay_of_whose_turns_something_is_known(tenant: Cast) -> None:
    with psycopg.connect(settings.DATABASE_URLS["owner"], autocommit=True) as owner:
        owner.execute(
            "INSERT INTO turn_usage (tenant_id, user_id, turn, model, input_tokens, output_tokens)"
            " VALUES (%s, %s, 1, 'demo/demo', 1, 1)",
            [tenant.id, tenant.alice.scope.user_id],
        )
    for table, row_id in (("tenants", tenant.id), ("users", tenant.alice.scope.user_id)):
        with pytest.raises(psycopg.errors.ForeignKeyViolation, match="is named by turn_usage"):
            await asyncio.to_thread(_delete, table, row_id)


async def test_whoever_deletes_a_user_waits_for_a_call_without_a_run_and_finds_it(tenant: Cast) -> None:
    scope = tenant.alice.scope
    async with transaction(scope) as connection:
        await proposing.propose(connection, Place(*scope, origin="api"), [new_call()], frozenset())
        await (await connection.execute("SELECT 1")).fetchall()
        deleting = asyncio.create_task(asyncio.to_thread(_delete, "users", tenant.alice.scope.user_id))
        await eventually(lambda: _deletes_waiting() > 0)
    with pytest.raises(psycopg.errors.ForeignKeyViolation, match="is named by tool_calls"):
        await deleting


async def _report(scope: TenantScope) -> None:
    async with transaction(scope) as connection:
        await reported.record(connection, scope, [Reported("notes", None, {}, "")])


@pytest.mark.parametrize("write", [_propose, _report])
async def test_a_call_without_a_run_is_not_written_for_a_user_who_went(
    tenant: Cast, write: Callable[[TenantScope], Awaitable[None]]
) -> None:
    gone = await asyncio.to_thread(_user_who_went, f"gone-{tenant.slug}")
    with pytest.raises(psycopg.errors.ForeignKeyViolation, match="is gone"):
        await write(TenantScope(tenant.id, gone))
    assert rows("SELECT 1 FROM tool_calls WHERE user_id = %(u)s", u=gone) == []
