"""SQL functions called from asynchronous code: one round trip, one transaction, one tenant."""

import asyncio
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from django.conf import settings
from psycopg.types.json import Jsonb

from tenants.scope import functions, transactions
from tenants.scope.functions import Function
from tenants.scope.transactions import TenantScope, transaction
from tests.database import rows
from tests.people import Cast
from tests.wire import relay


@pytest.fixture
def _one_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "DATABASE_POOL_SIZE", 1)


_made: list[str] = []


@pytest.fixture(autouse=True)
def _dropped() -> Iterator[None]:
    """Leave no function behind."""
    yield
    with psycopg.connect(settings.DATABASE_URLS["owner"], autocommit=True) as owner:
        while _made:
            owner.execute(f"DROP FUNCTION {_made.pop()}")  # type: ignore[arg-type]


SCOPED = "PERFORM set_config('toolgate.tenant', tenant::text, true), set_config('toolgate.user', member::text, true);"


def _make(name: str, more: str, result: str, body: str) -> None:
    _made.append(name)
    with psycopg.connect(settings.DATABASE_URLS["owner"], autocommit=True) as owner:
        owner.execute(
            f"CREATE FUNCTION {name}(tenant uuid, member uuid{more}) {result} LANGUAGE plpgsql AS "  # type: ignore[arg-type]
            f"$$ BEGIN {SCOPED} {body} END $$; GRANT EXECUTE ON FUNCTION {name} TO toolgate_app"
        )


def _declare(make: Any, more: dict[str, str], result: str, body: str, *, writes: bool = False) -> Function[Any]:
    name = f"t_{uuid.uuid4().hex}"
    _make(name, "".join(f", {argument} {kind}" for argument, kind in more.items()), result, body)
    declared = Function(name, make, writes=writes, **more)
    del functions.declared[name]
    return declared


KINDS = "uuid text int2 int4 int8 float8 bool bytea timestamptz jsonb jsonb uuid[] text[] int4[] bytea[] jsonb[] text[]"
TYPES = dict(zip("abcdefghijklmnopq", KINDS.split(), strict=True))


async def test_values_of_every_type_come_back_as_they_were_given() -> None:
    echo = _declare(
        lambda *columns: columns,
        TYPES,
        f"RETURNS TABLE ({', '.join(f'o_{name} {kind}' for name, kind in TYPES.items())})",
        f"RETURN QUERY SELECT {', '.join(TYPES)};",
    )
    moment = datetime(2026, 1, 2, 3, 4, 5, 6, UTC)
    scalars: list[Any] = [uuid.uuid4(), "ä\n", 7, -70_000, 2**40, 1.5, True, b"\0\xff", moment, {"x": [1, None]}]
    arrays: list[Any] = [[uuid.uuid4()], ["a", None], [1, 70_000], [b"\0"], [{"y": 1}, None], []]
    given = dict(zip(TYPES, [*scalars, Jsonb(None), *arrays], strict=True))
    scope = TenantScope(uuid.uuid4(), uuid.uuid4())
    [back] = await echo.alone(scope, **given)
    assert dict(zip(TYPES, back, strict=True)) == given | {"k": None}
    nothing = dict.fromkeys(TYPES)
    assert await echo.alone(scope, **nothing) == [tuple(nothing.values())]
    async with transaction(scope) as connection:
        [back] = await echo.within(connection, scope, **given)
    assert dict(zip(TYPES, back, strict=True)) == given | {"k": None}


@pytest.mark.usefixtures("_one_connection")
async def test_a_function_alone_is_one_round_trip_in_its_tenant_and_leaves_no_tenant_behind(
    tenant: Cast, other_tenant: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_tenant = _declare(
        lambda user_id: user_id, {}, "RETURNS SETOF uuid", "RETURN QUERY SELECT user_id FROM memberships;"
    )
    with relay(settings.DATABASE_URLS["default"]) as (url, applications):
        traffic = applications[f"toolgate-{settings.TOOLGATE_PROCESS}-async"]
        monkeypatch.setitem(settings.DATABASE_URLS, "default", url)
        for cast in (tenant, other_tenant):
            members = await of_tenant.alone(cast.alice.scope)
            assert set(members) == {each["user_id"] for each in _members(cast)}
        before = traffic.round_trips
        await of_tenant.alone(tenant.alice.scope)
        assert traffic.round_trips == before + 1
        assert await transactions.fetch("SELECT user_id FROM memberships") == []
        await transactions.close_pools()


def _members(cast: Cast) -> list[dict[str, Any]]:
    return rows("SELECT user_id FROM memberships WHERE tenant_id = %(id)s", id=cast.alice.scope.tenant_id)


@pytest.mark.usefixtures("_one_connection")
async def test_a_function_that_raises_has_written_nothing_and_its_connection_is_used_again(tenant: Cast) -> None:
    title = uuid.uuid4().hex
    body = "INSERT INTO conversations (id, tenant_id, user_id, title) VALUES (gen_random_uuid(), tenant, member, said);"
    writes = _declare(lambda: None, {"said": "text"}, "RETURNS SETOF text", body, writes=True)
    fails = _declare(lambda: None, {"said": "text"}, "RETURNS SETOF text", f"{body} PERFORM 1 / 0;", writes=True)
    with pytest.raises(psycopg.errors.DivisionByZero):
        await fails.alone(tenant.alice.scope, said=title)
    assert rows("SELECT 1 FROM conversations WHERE title = %(title)s", title=title) == []
    await writes.alone(tenant.alice.scope, said=title)
    assert len(rows("SELECT 1 FROM conversations WHERE title = %(title)s", title=title)) == 1
    connections = await transactions.pool()
    assert connections.get_stats()["connections_num"] == 1


@pytest.mark.usefixtures("_one_connection")
async def test_a_function_whose_caller_is_cancelled_is_cancelled_and_its_connection_is_used_again(tenant: Cast) -> None:
    waits = _declare(
        lambda pid: pid, {}, "RETURNS SETOF integer", "PERFORM pg_sleep(600); RETURN NEXT pg_backend_pid();"
    )
    answers = _declare(lambda pid: pid, {}, "RETURNS SETOF integer", "RETURN NEXT pg_backend_pid();")
    [before] = await answers.alone(tenant.alice.scope)
    held = asyncio.create_task(waits.alone(tenant.alice.scope))
    # A role sees what its own connections wait for.
    async with await psycopg.AsyncConnection.connect(settings.DATABASE_URLS["default"], autocommit=True) as watcher:
        asleep = "SELECT 1 FROM pg_stat_activity WHERE pid = %s AND wait_event = 'PgSleep'"
        while await (await watcher.execute(asleep, [before])).fetchone() is None:
            await asyncio.sleep(0.01)
        held.cancel()
        with pytest.raises(asyncio.CancelledError):
            await held
        assert await (await watcher.execute(asleep, [before])).fetchone() is None
    assert await answers.alone(tenant.alice.scope) == [before]


@pytest.mark.usefixtures("_one_connection")
@pytest.mark.parametrize("prepared", [True, False])
async def test_statements_are_prepared_where_that_is_allowed(
    tenant: Cast, monkeypatch: pytest.MonkeyPatch, prepared: bool
) -> None:
    monkeypatch.setattr(settings, "DATABASE_PREPARED_STATEMENTS", prepared)
    answers = _declare(lambda number: number, {"given": "int4"}, "RETURNS SETOF integer", "RETURN NEXT given;")
    for number in (1, 2**20, 3, 2**20, 5, 6, 7, 8):
        assert await answers.alone(tenant.alice.scope, given=number) == [number]
    names = await transactions.fetch("SELECT statement FROM pg_prepared_statements")
    assert [answers.name in row["statement"] for row in names] == ([True] if prepared else [])
    [mode] = await transactions.fetch("SHOW plan_cache_mode")
    assert mode["plan_cache_mode"] == ("force_generic_plan" if prepared else "auto")


async def test_the_connection_that_came_back_last_is_taken_first(tenant: Cast) -> None:
    connections = await transactions.pool()
    taken = [await connections.getconn() for _ in range(4)]
    for each in taken:
        await connections.putconn(each)
    for _ in range(3):
        last = await connections.getconn()
        assert last is taken[3]
        await connections.putconn(last)
    again = [await connections.getconn() for _ in range(4)]
    assert again == taken[::-1]
    for each in again:
        await connections.putconn(each)


TYPE_NAMES = {
    "integer": "int4",
    "smallint": "int2",
    "bigint": "int8",
    "double precision": "float8",
    "boolean": "bool",
    "timestamp with time zone": "timestamptz",
}


def test_what_is_declared_is_what_the_database_has() -> None:
    assert {"begin_run", "commit_turn", "commit_last_turn", "calls_by_id", "propose_calls"} <= functions.declared.keys()
    for name, each in functions.declared.items():
        [found] = rows(
            "SELECT p.proargnames[1:p.pronargs] AS names, array(SELECT format_type(t, NULL) FROM unnest(p.proargtypes)"
            " AS t) AS types FROM pg_proc p WHERE p.proname = %(name)s",
            name=name,
        )
        types = [TYPE_NAMES.get(kind, kind) for kind in (text.removesuffix("[]") for text in found["types"])]
        arrays = ["[]" if text.endswith("[]") else "" for text in found["types"]]
        given = dict(zip(found["names"] or [], map("".join, zip(types, arrays, strict=True)), strict=True))
        assert list(given.items()) == list(each.arguments.items()), name
