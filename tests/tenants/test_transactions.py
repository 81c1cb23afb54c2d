"""The pool of an event loop."""

import asyncio
import os
import resource
import socket

import psycopg.waiting
import pytest
from psycopg.pq import TransactionStatus

from tenants.scope.exchange import PooledConnection, Statement, exchange
from tenants.scope.transactions import LastUsedFirst, TenantScope, borrowed, transaction
from tests.people import Cast
from tests.waiting import PATIENCE_SECONDS


def test_an_event_loop_ends_while_its_pool_is_connecting() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.setblocking(False)
        url = f"postgresql://nobody@127.0.0.1:{silent.getsockname()[1]}/none"

        async def connect() -> None:
            pool = LastUsedFirst(url, connection_class=PooledConnection, min_size=1, open=False)
            await pool.open()
            await asyncio.get_running_loop().sock_accept(silent)

        asyncio.run(connect())


async def test_the_connection_that_came_back_last_is_handed_out_next() -> None:
    async with borrowed() as first:
        async with borrowed() as second:
            pass
        async with borrowed() as again:
            assert again is second
    async with borrowed() as last:
        assert last is first


async def test_a_connection_that_came_back_in_a_transaction_is_out_of_it_for_the_next() -> None:
    async with borrowed() as left:
        await left.execute("BEGIN")
        assert left.info.transaction_status == TransactionStatus.INTRANS
    async with borrowed() as found:
        assert found is left
        assert found.info.transaction_status == TransactionStatus.IDLE


async def test_a_connection_is_replaced_once_its_time_is_over() -> None:
    async with borrowed() as old:
        old._expire_at = 0
    async with borrowed() as new:
        assert new is not old
    assert old.closed


async def test_a_connection_serves_in_a_process_that_has_more_than_a_thousand_descriptors_open() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert hard == resource.RLIM_INFINITY or hard > 4096, "this machine allows too few open files"
    with socket.create_server(("127.0.0.1", 0)) as held:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4096), hard))
        others: list[int] = []
        try:
            while not others or others[-1] < 1100:
                others.append(os.dup(held.fileno()))
            async with borrowed() as one, borrowed() as other:
                assert max(one.fileno(), other.fileno()) > 1023
            async with borrowed() as again:
                found = await (await again.execute("SELECT 1 AS one")).fetchall()
            assert found == [{"one": 1}]
        finally:
            for each in others:
                os.close(each)
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


_TENANT_OF = Statement(b"SELECT current_setting('toolgate.tenant', true)", make=lambda tenant: tenant)


@pytest.mark.parametrize("turns", range(16))
async def test_a_refused_transaction_that_is_cancelled_leaves_neither_itself_nor_its_pipeline_to_the_next(
    tenant: Cast, monkeypatch: pytest.MonkeyPatch, turns: int
) -> None:
    # Then psycopg lets others have a turn wherever it can.
    monkeypatch.setattr(psycopg.waiting, "MAX_BUSY_TIME", -1)
    scope = TenantScope(*tenant.olga.scope)

    async def refused() -> None:
        async with transaction(scope) as connection:
            assert await (await connection.execute("SELECT 1 AS one")).fetchone()
            raise LookupError

    async with borrowed():
        pass
    task = asyncio.ensure_future(refused())
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    async with asyncio.timeout(PATIENCE_SECONDS):
        async with borrowed() as connection:
            [[tenant_of]] = await exchange(connection, _TENANT_OF)
            assert not tenant_of
        async with transaction(scope) as again:
            assert await (await again.execute("SELECT 1 AS one")).fetchone() == {"one": 1}
