"""Opens transactions of one tenant: the setting that row-level security reads is local to them.

Asynchronous service code uses `transaction(scope)`, over this process's psycopg pool; synchronous
views use `scope(...)`, over Django's connection. Never hold either open across a provider or tool call.
"""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, LiteralString, NamedTuple, cast
from weakref import WeakKeyDictionary

import psycopg
from django.conf import settings
from django.db import connections
from django.db import transaction as django_transaction
from psycopg.pq import PipelineStatus, TransactionStatus
from psycopg.rows import dict_row
from psycopg.types.json import set_json_loads
from psycopg_pool import AsyncConnectionPool

from tenants.scope import jsonb
from tenants.scope.exchange import PooledConnection, Statement, exchange
from tenants.scope.turns import Turns

if TYPE_CHECKING:
    from psycopg_pool._acompat import AQueue
    from psycopg_pool.pool_async import MaintenanceTask

Connection = psycopg.AsyncConnection[dict[str, Any]]
_pools: "WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, LastUsedFirst]]" = WeakKeyDictionary()
# That of the app's login in the loop that asked last.
_own: "tuple[asyncio.AbstractEventLoop, LastUsedFirst] | None" = None
_BEGIN_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ"
SET_SCOPE = "SELECT set_config('toolgate.tenant', %s, true), set_config('toolgate.user', %s, true)"
_ENTER = b"SELECT set_config('toolgate.tenant', $1, true), set_config('toolgate.user', $2, true)"
# How often a broken pooled connection is replaced before the database counts as unavailable.
ATTEMPTS = 4


class TenantScope(NamedTuple):
    """What row-level security restricts to: a tenant, and a user for personal tables."""

    tenant_id: uuid.UUID
    user_id: uuid.UUID


class LastUsedFirst(AsyncConnectionPool[PooledConnection]):
    """A pool that hands out the connection that came back last: its backend's memory is still in the caches.

    Those that nobody needs stay at the left, where psycopg_pool closes what is unused for `max_idle`. Of those that are
    handed out, few work at a time (`tenants.scope.turns`).
    """

    def __init__(self, *given: Any, at_once: int | None = None, **options: Any):
        super().__init__(*given, **options)
        self._turns = Turns(at_once or self.max_size)

    async def getconn(self, timeout: float | None = None) -> PooledConnection:
        """As psycopg_pool's, once it is the caller's turn."""
        began = monotonic()
        turn = self._turns.at_once() or await self._turns.take()
        try:
            if self._pool and not self._closed:
                # Nothing can come between here: what psycopg_pool does under its lock, it does without waiting.
                connection = self._pool.pop()
                if len(self._pool) < self._nconns_min:
                    self._nconns_min = len(self._pool)
                connection._pool = self
            else:
                left = (self.timeout if timeout is None else timeout) - (monotonic() - began)
                connection = await super().getconn(left)
        except BaseException:
            self._turns.end(turn)
            raise
        connection.turn = turn
        return connection

    async def putconn(self, conn: PooledConnection) -> None:
        """As psycopg_pool's; then it is the turn of another."""
        turn = conn.turn
        try:
            if self._closed or self._waiting or not self._is_fresh(conn):
                await super().putconn(conn)
            else:
                conn._pool = None
                self._pool.append(conn)
        finally:
            self._turns.end(turn)

    def _is_fresh(self, connection: PooledConnection) -> bool:
        """Whether it needs neither to be rolled back nor replaced."""
        idle = connection.pgconn.transaction_status == TransactionStatus.IDLE
        return idle and connection._created_at > self._drained_at and connection._expire_at > monotonic()

    @classmethod
    async def worker(cls, q: "AQueue[MaintenanceTask]") -> None:
        """As psycopg_pool's, which survives being cancelled while it connects: its loop would wait for ever."""
        await super().worker(cast("AQueue[MaintenanceTask]", _UntilCancelled(q)))


class _UntilCancelled:
    """A queue that gives a task that was cancelled nothing more."""

    def __init__(self, queue: "AQueue[MaintenanceTask]") -> None:
        self.queue = queue

    async def get(self) -> "MaintenanceTask":
        current = asyncio.current_task()
        if current and current.cancelling():
            raise asyncio.CancelledError
        return await self.queue.get()


def prepares() -> bool:
    """Whether statements are prepared on connections; not behind a pooler that gives each transaction another one."""
    return bool(settings.DATABASE_PREPARED_STATEMENTS)


async def _configure(connection: PooledConnection) -> None:
    await connection.set_autocommit(True)
    if prepares():
        # A prepared statement on a partitioned table would be planned anew, over every partition, at each execution.
        await connection.execute("SET plan_cache_mode = force_generic_plan")
    else:
        connection.prepare_threshold = None
    set_json_loads(jsonb.loads, connection)
    connection.settle()


async def own_pool() -> LastUsedFirst:
    """This event loop's pool on the app's login, as `pool` has it; every step of a chat asks for it."""
    global _own
    own, loop = _own, asyncio.get_running_loop()
    if own is None or own[0] is not loop:
        own = _own = loop, await pool()
    return own[1]


async def pool(login: str = "default") -> LastUsedFirst:
    """This event loop's pool on a database login; connections in it are in autocommit mode."""
    pools = _pools.setdefault(asyncio.get_running_loop(), {})
    if login not in pools:
        fresh = LastUsedFirst(
            settings.DATABASE_URLS[login],
            connection_class=PooledConnection,
            kwargs={"row_factory": dict_row, "application_name": f"toolgate-{settings.TOOLGATE_PROCESS}-async"},
            min_size=0 if login != "default" else 1,
            max_size=settings.DATABASE_POOL_SIZE if login == "default" else 2,
            at_once=settings.DATABASE_AT_ONCE,
            timeout=settings.DATABASE_POOL_SECONDS,
            max_idle=300,
            configure=_configure,
            open=False,
        )
        await fresh.open()
        if pools.setdefault(login, fresh) is not fresh:
            # Another task made it while this one waited.
            await fresh.close()
    return pools[login]


async def close_pools() -> None:
    """Close this event loop's pools."""
    global _own
    _own = None
    for each in _pools.pop(asyncio.get_running_loop(), {}).values():
        await each.close()


async def fetch(query: LiteralString, values: Sequence[object] = (), login: str = "default") -> list[dict[str, Any]]:
    """The rows of one statement outside every tenant; it may run twice, when a pooled connection turns out broken.

    On the app's login such a statement sees only what SECURITY DEFINER functions answer.
    """
    connections_of = await pool(login)
    for attempt in range(ATTEMPTS):
        held = await whole(connections_of)
        try:
            return await (await held.execute(query, values)).fetchall()
        except psycopg.OperationalError:
            if attempt == ATTEMPTS - 1:
                raise
        finally:
            await connections_of.putconn(held)
        await asyncio.sleep(0.05 * 4**attempt)
    raise AssertionError("unreachable")


@asynccontextmanager
async def borrowed() -> AsyncIterator[PooledConnection]:
    """A connection of this event loop's pool on the app's login, in autocommit mode and in no tenant."""
    connections_of = await own_pool()
    held = await whole(connections_of)
    try:
        yield held
    finally:
        # The pool replaces a broken one.
        await connections_of.putconn(held)


async def read(scope: TenantScope, text: bytes, values: Sequence[Any], make: Callable[..., Any]) -> list[Any]:
    """The rows of one statement in the scope, in a transaction of its own and one round trip; its values are at $1,
    $2, …, and `make` makes a row of its columns. Raises psycopg.Error."""
    entering = Statement(_ENTER, [str(scope.tenant_id), str(scope.user_id)], None, prepares())
    async with borrowed() as connection:
        _, found = await exchange(connection, entering, Statement(text, values, make, prepares()))
    return found


@asynccontextmanager
async def transaction(scope: TenantScope, *, snapshot: bool = False) -> AsyncIterator[Connection]:
    """A transaction in the scope; commits at the end, rolls back on any exception.

    With `snapshot` all its statements see the same moment.

    Its statements are pipelined: one whose rows nobody fetches costs no round trip of its own, and its error shows at
    the next fetch or at the end.
    """
    async with borrowed() as held:
        pipeline = None
        try:
            async with held.pipeline() as pipeline:
                await held.execute(_BEGIN_SNAPSHOT if snapshot else "BEGIN")
                await held.execute(SET_SCOPE, [str(scope.tenant_id), str(scope.user_id)])
                yield held
                await held.execute("COMMIT")
        except BaseException:
            if held.pgconn.pipeline_status != PipelineStatus.OFF or (pipeline and pipeline.result_queue):
                # Who is cancelled as the pipeline begins leaves it open, and as it ends the transaction, of which
                # psycopg knows nothing: the next user would be in it. The pool replaces the connection.
                await held.close()
            with suppress(psycopg.Error):
                await held.rollback()
            raise


async def whole(connections_of: LastUsedFirst) -> PooledConnection:
    """A connection that PostgreSQL has not closed; connections that a restart broke are replaced here."""
    while True:
        held = await connections_of.getconn()
        # An idle connection has no query, so anything readable is its end.
        if not held.readable.poll(0):
            return held
        await held.close()
        await connections_of.putconn(held)


@contextmanager
def of_user(user_id: uuid.UUID) -> Iterator[None]:
    """A transaction of one user in no tenant, for the ORM: before a log-in is complete, for what is theirs alone."""
    with django_transaction.atomic(), connections["default"].cursor() as cursor:
        cursor.execute(SET_SCOPE, ["", str(user_id)])
        yield


@contextmanager
def scope(tenant_id: uuid.UUID, user_id: uuid.UUID, using: str = "default") -> Iterator[None]:
    """A transaction within one tenant on one of Django's connections on the app's login, for the ORM in synchronous
    code."""
    with django_transaction.atomic(using=using):
        with connections[using].cursor() as cursor:
            cursor.execute(SET_SCOPE, [str(tenant_id), str(user_id)])
        yield
