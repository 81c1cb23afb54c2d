"""Row-level security at work: through the ORM, the asynchronous pool, the worker and a stream."""

import asyncio
import uuid
from typing import Any

import psycopg
import pytest
from django.db import connections
from django.db import transaction as django_transaction

from audit.calls import proposing
from audit.models import LedgerEntry, ToolCall
from gateway.models import Agent, Conversation, Message, Run, Turn
from tenants.models import ApiKey, Membership, Tenant, User
from tenants.scope import transactions
from tenants.scope.transactions import TenantScope, transaction
from tests.audit.calls import new_call, place
from tests.database import rows
from tests.people import Cast, Person
from tests.rest import sse
from tests.stack import Stack
from tools.invocation.in_worker import execution
from tools.models import Grant, Note, Task, ToolSetting

TABLES = ["agents", "api_keys", "conversations", "grants", "ledger_entries", "memberships", "messages", "notes", "runs",
          "tasks", "tenants", "tool_calls", "tool_settings", "turns", "users"]  # fmt: skip
MODELS: list[Any] = [Agent, ApiKey, Conversation, Grant, LedgerEntry, Membership, Message, Note, Run, Task, Tenant,
                     ToolCall, ToolSetting, Turn, User]  # fmt: skip
WORK = 'call: save_note {"title": "a", "content": "b"}\ncall: add_task {"title": "c"}'


async def _counts(scope: TenantScope) -> dict[str, int]:
    async with transaction(scope) as connection:
        return {
            table: (await (await connection.execute(f"SELECT count(*) AS n FROM {table}".encode())).fetchone() or {})[
                "n"
            ]
            for table in TABLES
        }


async def test_no_tenant_set_is_no_rows(stack: Stack, tenant: Cast) -> None:
    await asyncio.to_thread(stack.chat, tenant.alice, WORK)
    for table in TABLES:
        assert await transactions.fetch(f"SELECT * FROM {table}") == []  # type: ignore[arg-type]


def test_no_tenant_set_is_no_rows_for_the_orm_either(stack: Stack, tenant: Cast) -> None:
    stack.chat(tenant.alice, WORK)
    for model in MODELS:
        assert list(model.objects.using("default")) == [], model


@pytest.mark.parametrize("value", ["", "not-a-uuid", "00000000-0000-0000-0000-000000000000", "' OR true --"])
async def test_a_setting_that_names_no_tenant_shows_nothing(stack: Stack, tenant: Cast, value: str) -> None:
    await asyncio.to_thread(stack.chat, tenant.alice, WORK)
    pool = await transactions.pool()
    async with pool.connection() as connection, connection.transaction():
        await connection.execute("SELECT set_config('toolgate.tenant', %s, true)", [value])
        for table in TABLES:
            try:
                async with connection.transaction():
                    found = await (await connection.execute(f"SELECT * FROM {table}".encode())).fetchall()
            except psycopg.errors.InvalidTextRepresentation:
                continue
            assert found == [], table


async def test_each_tenant_sees_its_own_and_nothing_else(stack: Stack, tenant: Cast, other_tenant: Cast) -> None:
    for person in (tenant.alice, other_tenant.alice, other_tenant.bob):
        await asyncio.to_thread(stack.chat, person, WORK)
    for cast, chats in ((tenant, 1), (other_tenant, 2)):
        counts = await _counts(cast.alice.scope)
        assert counts == {
            "agents": counts["agents"], "api_keys": 5, "conversations": 1, "grants": 0, "ledger_entries": 4 * chats,
            "memberships": 5, "messages": 2, "notes": 1, "runs": chats, "tasks": 1, "tenants": 1,
            "tool_calls": 2 * chats, "tool_settings": 0, "turns": 2, "users": 5,
        }  # fmt: skip


def test_the_orm_within_a_scope_sees_the_same(stack: Stack, tenant: Cast, other_tenant: Cast) -> None:
    for person in (tenant.alice, other_tenant.alice):
        stack.chat(person, WORK)
    with transactions.scope(*tenant.alice.scope):
        for model in (Note, Task, Conversation, Run):
            assert {row.tenant_id for row in model.objects.all()} == {tenant.id}
        assert {row.tenant_id for row in ToolCall.objects.all()} == {tenant.id}
        assert ToolCall.objects.filter(tenant_id=other_tenant.id).count() == 0
        assert Tenant.objects.count() == 1


async def test_personal_rows_are_hidden_from_others_of_the_tenant(stack: Stack, tenant: Cast) -> None:
    await asyncio.to_thread(stack.chat, tenant.alice, WORK)
    for person in (tenant.bob, tenant.carol, tenant.dana, tenant.olga):
        counts = await _counts(person.scope)
        assert {name: counts[name] for name in ("notes", "tasks", "conversations", "messages", "turns")} == {
            "notes": 0, "tasks": 0, "conversations": 0, "messages": 0, "turns": 0
        }  # fmt: skip


async def test_a_row_cannot_be_written_into_another_tenant_or_for_another_user(
    tenant: Cast, other_tenant: Cast
) -> None:
    insert = "INSERT INTO notes (id, tenant_id, user_id, title, content, tags) VALUES (%s, %s, %s, 'a', 'b', '{}')"
    for victim in (other_tenant.alice, tenant.bob):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            async with transaction(tenant.alice.scope) as connection:
                await connection.execute(insert, [uuid.uuid4(), *victim.scope])
    async with transaction(tenant.alice.scope) as connection:
        await connection.execute(insert, [uuid.uuid4(), *tenant.alice.scope])
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        async with transaction(tenant.alice.scope) as connection:
            await connection.execute("UPDATE notes SET tenant_id = %s", [other_tenant.id])
    assert len(rows("SELECT id FROM notes WHERE tenant_id = ANY(%(t)s)", t=[tenant.id, other_tenant.id])) == 1


async def test_another_tenants_rows_cannot_be_changed_or_deleted(
    stack: Stack, tenant: Cast, other_tenant: Cast
) -> None:
    await asyncio.to_thread(stack.chat, other_tenant.alice, WORK)
    async with transaction(tenant.alice.scope) as connection:
        for statement in ("UPDATE notes SET title = 'x'", "DELETE FROM notes", "DELETE FROM conversations",
                          "UPDATE tool_calls SET display = 'x'", "UPDATE runs SET model = 'x'",
                          "UPDATE api_keys SET revoked_at = now() WHERE tenant_id <> %(t)s"):  # fmt: skip
            done = await connection.execute(f"{statement} RETURNING 1".encode(), {"t": tenant.id})
            assert await done.fetchall() == [], statement


async def test_a_foreign_key_cannot_reach_into_another_tenant(stack: Stack, tenant: Cast, other_tenant: Cast) -> None:
    theirs = (await asyncio.to_thread(stack.chat, other_tenant.alice, "hello")).json()
    insert = (
        "INSERT INTO messages (id, tenant_id, user_id, conversation_id, run_id, role, content)"
        " VALUES (%s, %s, %s, %s, %s, 'user', 'x')"
    )
    values = [uuid.uuid4(), *tenant.alice.scope, theirs["conversation_id"], theirs["run_id"]]
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        async with transaction(tenant.alice.scope) as connection:
            await connection.execute(insert, values)


SETTINGS = "SELECT current_setting('toolgate.tenant', true) AS t, current_setting('toolgate.user', true) AS u"


# --- nothing is left on a connection ---------------------------------------------------------------------------------
class _Oops(Exception):
    pass


async def _is_clean() -> None:
    """Every connection of the pool sees no tenant."""
    pool = await transactions.pool()
    async with asyncio.TaskGroup() as group:
        together = asyncio.Barrier(pool.get_stats()["pool_size"])

        async def look() -> None:
            async with pool.connection() as connection:
                await together.wait()
                row = await (await connection.execute(SETTINGS)).fetchone()
                assert row is not None
                assert not row["t"]
                assert not row["u"]
                assert connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE

        for _ in range(together.parties):
            group.create_task(look())


async def test_nothing_is_left_after_commit(tenant: Cast) -> None:
    for _ in range(3):
        async with transaction(tenant.alice.scope):
            pass
    await _is_clean()


async def test_nothing_is_left_after_an_exception(tenant: Cast) -> None:
    with pytest.raises(_Oops):
        async with transaction(tenant.alice.scope):
            raise _Oops
    await _is_clean()


async def test_nothing_is_left_after_a_database_error(tenant: Cast) -> None:
    with pytest.raises(psycopg.errors.DivisionByZero):
        async with transaction(tenant.alice.scope) as connection:
            await connection.execute("SELECT 1 / 0")
    await _is_clean()


async def test_nothing_is_left_after_a_statement_was_cancelled(tenant: Cast) -> None:
    async def work() -> None:
        async with transaction(tenant.alice.scope) as connection:
            started.set()
            await connection.execute("SELECT pg_sleep(30)")

    started = asyncio.Event()
    task = asyncio.create_task(work())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await _is_clean()


async def test_nothing_is_left_after_cancellations_at_any_moment(tenant: Cast) -> None:
    async def work() -> None:
        async with transaction(tenant.alice.scope) as connection:
            await connection.execute("SELECT 1")
            await connection.execute("SELECT 2")

    for switches in range(40):
        task = asyncio.create_task(work())
        for _ in range(switches):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
    await _is_clean()


async def test_side_by_side_transactions_of_two_tenants_do_not_mix(tenant: Cast, other_tenant: Cast) -> None:
    async def count(person: Person) -> set[uuid.UUID]:
        found = set()
        for _ in range(20):
            async with transaction(person.scope) as connection:
                for row in await (await connection.execute("SELECT tenant_id FROM memberships")).fetchall():
                    found.add(row["tenant_id"])
        return found

    people = [tenant.alice, other_tenant.alice] * 8
    found = await asyncio.gather(*map(count, people))
    assert found == [{person.scope.tenant_id} for person in people]


@pytest.mark.parametrize("fails", [False, True])
def test_nothing_is_left_on_djangos_connection(tenant: Cast, fails: bool) -> None:
    try:
        with transactions.scope(*tenant.alice.scope):
            assert Membership.objects.count() == 5
            if fails:
                raise _Oops
    except _Oops:
        pass
    assert Membership.objects.count() == 0
    with django_transaction.atomic(), connections["default"].cursor() as cursor:
        cursor.execute("SELECT current_setting('toolgate.tenant', true)")
        assert not cursor.fetchone()[0]


# --- the worker and the stream ---------------------------------------------------------------------------------------
def test_what_the_worker_does_is_done_within_the_callers_scope(stack: Stack, tenant: Cast, other_tenant: Cast) -> None:
    stack.chat(tenant.alice, 'call: add_task {"title": "mine"}')
    for person in (tenant.bob, other_tenant.alice):
        body = stack.chat(person, "call: list_tasks {}").json()
        assert body["tool_calls"][0]["output"] == {"tasks": []}
    body = stack.chat(tenant.alice, "call: list_tasks {}").json()
    assert [task["title"] for task in body["tool_calls"][0]["output"]["tasks"]] == ["mine"]


@pytest.mark.parametrize("user", ["the message's tenant's", "the call's own", "nobody"])
async def test_a_call_is_not_run_for_a_message_that_names_another_tenant(
    tenant: Cast, other_tenant: Cast, user: str
) -> None:
    call = new_call()
    async with transaction(tenant.alice.scope) as connection:
        await proposing.propose(connection, place(tenant.alice), [call], frozenset([call.id]))
    of_call = "SELECT * FROM tool_calls WHERE id = %(id)s"
    of_tenants = "SELECT title FROM notes WHERE tenant_id = ANY(%(t)s)"
    tenants = [tenant.id, other_tenant.id]
    before = rows(of_call, id=call.id)
    assert before[0]["status"] == "queued"
    user_id = {
        "the message's tenant's": other_tenant.alice.scope.user_id,
        "the call's own": tenant.alice.scope.user_id,
        "nobody": uuid.uuid4(),
    }[user]
    # What a worker does with a message, to its end.
    await execution.execute(other_tenant.id, user_id, call.id)
    assert rows(of_call, id=call.id) == before
    assert rows(of_tenants, t=tenants) == []
    # The same message with the right tenant runs the call: nothing else was in its way.
    await execution.execute(*tenant.alice.scope, call.id)
    [after] = rows(of_call, id=call.id)
    assert (after["status"], after["attempt"]) == ("success", 1)
    assert rows(of_tenants, t=tenants) == [{"title": "Milk"}]


def test_a_stream_shows_its_own_run_only(stack: Stack, tenant: Cast, other_tenant: Cast) -> None:
    mine = sse.parse(stack.chat(tenant.alice, WORK, stream=True).text)
    run = mine[0].data["run_id"]
    for person in (tenant.bob, tenant.dana, tenant.olga, other_tenant.alice):
        answer = stack.get(person, f"/api/v1/runs/{run}/events")
        assert answer.status_code == 404
        assert answer.headers["content-type"] == "application/problem+json"
