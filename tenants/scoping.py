"""Opens transactions inside one tenant's walls: the setting that row-level security reads lives no longer than they do.

Asynchronous service code takes `transaction(scope)`, over this process's own psycopg pool; synchronous
views take `scope(...)`, over Django's connection. Never keep either open across a provider or tool call.
"""

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, LiteralString, NamedTuple
from weakref import WeakKeyDictionary

import psycopg
from django.conf import settings
from django.db import connections
from django.db import transaction as django_transaction
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

Connection = psycopg.AsyncConnection[dict[str, Any]]
Pool = AsyncConnectionPool[Connection]
_pools: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, Pool]] = WeakKeyDictionary()
# How often a broken pooled connection is replaced before the database counts as away.
ATTEMPTS = 4


class Scope(NamedTuple):
    """The walls to stand within: a tenant, and a user for personal tables."""

    tenant_id: uuid.UUID
    user_id: uuid.UUID


async def _configure(connection: Connection) -> None:
    await connection.set_autocommit(True)


async def pool(login: str = "default") -> Pool:
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
        await pools[login].open()
    return pools[login]


async def close_pools() -> None:
    """Close this event loop's pools."""
    for each in _pools.pop(asyncio.get_running_loop(), {}).values():
        await each.close()


async def fetch(query: LiteralString, values: Sequence[object] = (), login: str = "default") -> list[dict[str, Any]]:
    """The rows of one statement outside every tenant; it may run twice, when a pooled connection turns out broken.

    On the app's login such a statement sees only what SECURITY DEFINER functions answer.
    """
    connections_of = await pool(login)
    for attempt in range(ATTEMPTS):
        try:
            async with connections_of.connection() as held:
                return await (await held.execute(query, values)).fetchall()
        except psycopg.OperationalError:
            if attempt == ATTEMPTS - 1:
                raise
            await asyncio.sleep(0.05 * 4**attempt)
    raise AssertionError("unreachable")


@asynccontextmanager
async def transaction(scope: Scope) -> AsyncIterator[Connection]:
    """A transaction inside the scope's walls; commits at the end, rolls back on any exception."""
    begin = (
        f"BEGIN; SELECT set_config('toolgate.tenant', '{scope.tenant_id}', true), "
        f"set_config('toolgate.user', '{scope.user_id}', true)"
    )
    connections_of = await pool()
    held = await _started(connections_of, begin)
    try:
        yield held
        await held.execute("COMMIT")
    except BaseException:
        with suppress(psycopg.OperationalError):
            await held.rollback()
        raise
    finally:
        # The pool replaces what broke.
        await connections_of.putconn(held)


async def _started(connections_of: Pool, first: str) -> Connection:
    """A connection on which `first` has run: one that a restart of PostgreSQL broke is found here, and replaced."""
    for attempt in range(ATTEMPTS):
        held = await connections_of.getconn()
        try:
            await held.execute(first.encode())
            return held
        except psycopg.OperationalError:
            await connections_of.putconn(held)
            if attempt == ATTEMPTS - 1:
                raise
            await asyncio.sleep(0.05 * 4**attempt)
        except BaseException:
            await connections_of.putconn(held)
            raise
    raise AssertionError("unreachable")


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
