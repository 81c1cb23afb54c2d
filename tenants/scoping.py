"""Opens transactions inside one tenant's walls: the setting that row-level security reads lives no longer than they do.

Asynchronous service code takes `transaction(scope)`, over this process's own psycopg pool; synchronous
views take `scope(...)`, over Django's connection. Never keep either open across a provider or tool call.
"""

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import NamedTuple
from weakref import WeakKeyDictionary

import psycopg
from django.conf import settings
from django.db import connections, transaction as django_transaction
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

Connection = psycopg.AsyncConnection[dict[str, object]]
_pools: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, AsyncConnectionPool[Connection]]] = WeakKeyDictionary()
# How often a broken pooled connection is replaced before the database counts as away.
ATTEMPTS = 4


class Scope(NamedTuple):
    """The walls to stand within: a tenant, and a user for personal tables."""

    tenant_id: uuid.UUID
    user_id: uuid.UUID


async def _configure(connection: Connection) -> None:
    await connection.set_autocommit(True)


def pool(login: str = "default") -> AsyncConnectionPool[Connection]:
    """This event loop's pool on a database login; connections in it are in autocommit mode."""
    loop = asyncio.get_running_loop()
    pools = _pools.setdefault(loop, {})
    if login not in pools:
        pools[login] = AsyncConnectionPool(
            settings.DATABASE_URLS[login],
            kwargs={"row_factory": dict_row, "application_name": f"toolgate-{settings.TOOLGATE_PROCESS}-async"},
            min_size=0 if login != "default" else 1,
            max_size=settings.DATABASE_POOL_SIZE if login == "default" else 2,
            timeout=10,
            max_idle=300,
            configure=_configure,
            open=False,
        )
    return pools[login]


async def close_pools() -> None:
    """Close this event loop's pools."""
    for each in _pools.pop(asyncio.get_running_loop(), {}).values():
        await each.close()


@asynccontextmanager
async def pooled(login: str = "default") -> AsyncIterator[Connection]:
    """A connection in autocommit mode, outside every tenant: it sees what SECURITY DEFINER functions answer."""
    async with _begun("", login) as held:
        yield held


@asynccontextmanager
async def transaction(scope: Scope) -> AsyncIterator[Connection]:
    """A transaction inside the scope's walls; commits at the end, rolls back on any exception."""
    begin = f"BEGIN; SET LOCAL toolgate.tenant = '{scope.tenant_id}'; SET LOCAL toolgate.user = '{scope.user_id}'"
    async with _begun(begin, "default") as held:
        try:
            yield held
        except BaseException:
            if not held.closed:
                await held.execute("ROLLBACK")
            raise
        await held.execute("COMMIT")


@asynccontextmanager
async def _begun(first: str, login: str) -> AsyncIterator[Connection]:
    """A connection on which `first` has run: what a restart of PostgreSQL broke is found here, and replaced."""
    connections_of = pool(login)
    if connections_of.closed:
        await connections_of.open()
    for attempt in range(ATTEMPTS):
        held = await connections_of.getconn()
        try:
            await held.execute(first)
        except psycopg.OperationalError:
            await connections_of.putconn(held)
            if attempt == ATTEMPTS - 1:
                raise
            await asyncio.sleep(0.05 * 4**attempt)
            continue
        except BaseException:
            await connections_of.putconn(held)
            raise
        break
    try:
        yield held
    finally:
        await connections_of.putconn(held)


@contextmanager
def scope(tenant_id: uuid.UUID, user_id: uuid.UUID) -> Iterator[None]:
    """A transaction inside the walls on Django's own connection, for the ORM in synchronous code."""
    with django_transaction.atomic(using="default"):
        with connections["default"].cursor() as cursor:
            cursor.execute(
                "SELECT set_config('toolgate.tenant', %s, true), set_config('toolgate.user', %s, true)",
                [str(tenant_id), str(user_id)],
            )
        yield
