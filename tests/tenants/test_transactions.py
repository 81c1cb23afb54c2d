"""The pool of an event loop."""

import asyncio
import socket

import pytest

from tenants.scope.exchange import PooledConnection
from tenants.scope.transactions import LastUsedFirst


@pytest.mark.timeout(60)
def test_an_event_loop_ends_while_its_pool_is_connecting() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.setblocking(False)
        url = f"postgresql://nobody@127.0.0.1:{silent.getsockname()[1]}/none"

        async def connect() -> None:
            pool = LastUsedFirst(url, connection_class=PooledConnection, min_size=1, open=False)
            await pool.open()
            await asyncio.get_running_loop().sock_accept(silent)

        asyncio.run(connect())
