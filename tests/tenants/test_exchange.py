"""Statements and their rows in one round trip, over psycopg's connections."""

import asyncio
import uuid

import psycopg
import pytest
from django.conf import settings

from tenants.scope import transactions
from tenants.scope.exchange import BEGIN, COMMIT, Statement, _Replies, exchange
from tenants.scope.transactions import borrowed
from tests.wire import relay

PID = Statement(b"SELECT pg_backend_pid()", make=int)
NOTE = b"SELECT set_config('toolgate.test', $1, false)"
NOTED = Statement(b"SELECT current_setting('toolgate.test', true)", make=lambda noted: noted or "")


@pytest.fixture(autouse=True)
def _one_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "DATABASE_POOL_SIZE", 1)


async def _pid() -> int:
    async with borrowed() as connection:
        [[pid]] = await exchange(connection, PID)
    assert isinstance(pid, int)
    return pid


async def test_several_statements_are_one_round_trip_and_each_has_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    await transactions.close_pools()
    with relay(settings.DATABASE_URLS["default"]) as (url, applications):
        traffic = applications[f"toolgate-{settings.TOOLGATE_PROCESS}-async"]
        monkeypatch.setitem(settings.DATABASE_URLS, "default", url)
        async with borrowed() as connection:
            before = traffic.round_trips
            each = Statement(b"SELECT generate_series(1, $1::int4)", [2], int, prepared=True)
            for times in range(1, 4):
                assert await exchange(connection, BEGIN, each, COMMIT) == [[], [1, 2], []]
                assert traffic.round_trips == before + times
        await transactions.close_pools()


async def test_what_comes_after_a_failed_statement_is_not_executed_and_the_connection_is_used_again() -> None:
    pid, noted = await _pid(), uuid.uuid4().hex
    async with borrowed() as connection:
        with pytest.raises(psycopg.errors.DivisionByZero):
            await exchange(connection, Statement(b"SELECT 1 / $1", [0], int, prepared=True), Statement(NOTE, [noted]))
        assert await exchange(connection, PID, NOTED) == [[pid], [""]]


async def test_a_statement_that_cannot_be_prepared_is_prepared_once_it_can_be() -> None:
    async with borrowed() as connection:
        missing = Statement(b"SELECT number FROM exchange_numbers", make=int, prepared=True)
        with pytest.raises(psycopg.errors.UndefinedTable):
            await exchange(connection, missing)
        await exchange(connection, Statement(b"CREATE TEMP TABLE exchange_numbers (number int)"))
        assert await exchange(connection, missing) == [[]]
        await exchange(connection, Statement(b"ALTER TABLE exchange_numbers ALTER number TYPE bigint"))
        assert await exchange(connection, missing) == [[]]
        await exchange(connection, Statement(b"DROP TABLE exchange_numbers"))


async def test_what_was_deallocated_is_prepared_again_alone_and_an_error_in_a_transaction() -> None:
    version = Statement(b"SELECT rights_version($1)::text", [uuid.uuid4()], str, prepared=True)
    nothing = [["00000000-0000-0000-0000-000000000000"]]
    async with borrowed() as connection:
        assert await exchange(connection, version) == nothing
        await connection.execute("DEALLOCATE ALL")
        assert await exchange(connection, version) == nothing
        await connection.execute("DEALLOCATE ALL")
        await exchange(connection, BEGIN)
        with pytest.raises(psycopg.errors.InvalidSqlStatementName):
            await exchange(connection, version)
        await connection.rollback()
        assert await exchange(connection, version) == nothing


async def test_what_is_prepared_outlasts_a_rollback_that_deallocates_it() -> None:
    version = Statement(b"SELECT rights_version($1)::text", [uuid.uuid4()], str, prepared=True)
    async with borrowed() as connection:
        for _ in range(6):
            # psycopg prepares what it has executed five times, and deallocates everything when it rolls back.
            await connection.execute("SELECT 1")
        assert await exchange(connection, version) == [["00000000-0000-0000-0000-000000000000"]]
        await exchange(connection, BEGIN)
        await connection.rollback()
        assert await exchange(connection, version) == [["00000000-0000-0000-0000-000000000000"]]


async def test_values_that_do_not_fit_the_sockets_buffers_arrive() -> None:
    async with borrowed() as connection:
        text = "x" * 20_000_000
        assert await exchange(connection, Statement(b"SELECT $1::text", [text], lambda came: came == text)) == [[True]]


async def test_a_backend_that_ends_says_why_and_the_next_statement_has_another() -> None:
    pid = await _pid()
    async with borrowed() as connection:
        with pytest.raises(psycopg.errors.AdminShutdown):
            await exchange(connection, Statement(b"SELECT pg_terminate_backend(pg_backend_pid())", make=bool))
        assert connection.closed
    assert await _pid() != pid


@pytest.mark.parametrize("ends", ["before", "while"])
async def test_a_backend_that_ends_in_a_transaction_is_noticed(ends: str) -> None:
    wait = Statement(b"SELECT pg_sleep($1)", [600 if ends == "while" else 0], str)
    connecting = psycopg.AsyncConnection.connect(settings.DATABASE_URLS["default"], autocommit=True)
    async with await connecting as other, borrowed() as connection:
        _, [pid] = await exchange(connection, BEGIN, PID)
        gone = "SELECT 1 FROM pg_stat_activity WHERE pid = %s"
        if ends == "before":
            await other.execute("SELECT pg_terminate_backend(%s)", [pid])
            while await (await other.execute(gone, [pid])).fetchone() is not None:
                await asyncio.sleep(0.01)
        waits = asyncio.create_task(exchange(connection, wait, COMMIT))
        if ends == "while":
            while await (await other.execute(f"{gone} AND wait_event = 'PgSleep'", [pid])).fetchone() is None:
                await asyncio.sleep(0.01)
            await other.execute("SELECT pg_terminate_backend(%s)", [pid])
        with pytest.raises(psycopg.errors.AdminShutdown):
            await waits
        assert connection.closed


async def test_a_caller_who_is_cancelled_as_the_answer_comes_waits_for_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pid, asking = await _pid(), asyncio.current_task()
    read = _Replies._read

    def cancelled_then(self: _Replies) -> None:
        read(self)
        if self._done.done():
            assert asking is not None
            asking.cancel()

    async def cancel_safe(self: object, *, timeout: float) -> None:
        raise AssertionError("PostgreSQL is asked to cancel what it has answered")

    async with borrowed() as connection:
        with monkeypatch.context() as patched:
            patched.setattr(_Replies, "_read", cancelled_then)
            patched.setattr(type(connection), "cancel_safe", cancel_safe)
            with pytest.raises(asyncio.CancelledError):
                await exchange(connection, BEGIN, PID)
        assert asking is not None
        asking.uncancel()
        # Its locks are let go of at once, and the connection goes on.
        assert await exchange(connection, COMMIT, PID) == [[], [pid]]


async def test_a_caller_who_is_cancelled_twice_leaves_no_connection_to_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    pid = await _pid()
    cancelling = asyncio.Event()

    async def cancel_safe(self: object, *, timeout: float) -> None:
        cancelling.set()
        await asyncio.Event().wait()

    async def wait() -> None:
        async with borrowed() as connection:
            monkeypatch.setattr(type(connection), "cancel_safe", cancel_safe)
            await exchange(connection, Statement(b"SELECT pg_sleep(600)", make=str))

    waits = asyncio.create_task(wait())
    await asyncio.sleep(0)
    async with await psycopg.AsyncConnection.connect(settings.DATABASE_URLS["default"], autocommit=True) as watcher:
        asleep = "SELECT 1 FROM pg_stat_activity WHERE pid = %s AND wait_event = 'PgSleep'"
        while await (await watcher.execute(asleep, [pid])).fetchone() is None:
            await asyncio.sleep(0.01)
        waits.cancel()
        await cancelling.wait()
        waits.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waits
        monkeypatch.undo()
        await watcher.execute("SELECT pg_cancel_backend(%s)", [pid])
    assert await _pid() != pid
