"""Statements to PostgreSQL and their rows in one round trip, for the path of every call.

libpq's pipeline with psycopg's conversions: a psycopg cursor costs more, and its pipeline twice as much.
"""

import asyncio
import select
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import psycopg
from psycopg import abc as psycopg_types
from psycopg import errors
from psycopg.adapt import PyFormat, Transformer
from psycopg.pq import ConnStatus, ExecStatus, PipelineStatus, TransactionStatus
from psycopg.pq.abc import PGresult

# How long a statement may take to end once its caller does not want it any more.
CANCEL_SECONDS = 5.0
# How often a connection that says nothing is looked at for whether it has broken.
LOOK_SECONDS = 0.25


class Statement(NamedTuple):
    """SQL with its values at $1, $2, …, and what makes a row out of its columns, where it is not a dict (`named`).
    `prepared`: to be planned once."""

    text: bytes
    values: Sequence[Any] = ()
    make: Callable[..., Any] | None = None
    prepared: bool = False
    named: bool = False


BEGIN, COMMIT = Statement(b"BEGIN"), Statement(b"COMMIT")


class PooledConnection(psycopg.AsyncConnection[dict[str, Any]]):
    """A connection that remembers which statements `exchange` has prepared on it."""

    transformer: psycopg_types.Transformer
    # Names by text and types; none is used twice, since psycopg may or may not have deallocated them.
    prepared: dict[tuple[bytes, tuple[int, ...]], bytes]
    named = 0
    # Tells whether anything has come. select() knows no descriptor above 1023, and a process with many open streams has
    # those.
    readable: select.poll
    # While it is borrowed: its pool's.
    turn: object = None

    def settle(self) -> None:
        """Begin to remember, once the connection's conversions are set."""
        self.transformer = Transformer(self)
        self.readable = select.poll()
        self.readable.register(self.fileno(), select.POLLIN)
        self.prepared = {}

    async def rollback(self) -> None:
        """Roll back, with which psycopg deallocates all prepared statements of its connection."""
        self.prepared.clear()
        await super().rollback()


async def exchange(connection: PooledConnection, *statements: Statement) -> list[list[Any]]:
    """Send all statements at once; the rows of each.

    Outside a transaction they are one together. Raises psycopg.Error: the first one's that failed, and those after it
    were not executed; after OperationalError nobody knows. A caller who is cancelled has the statement cancelled.
    """
    alone = connection.pgconn.transaction_status == TransactionStatus.IDLE
    remembered = bool(connection.prepared)
    try:
        return await _exchanged(connection, statements)
    except (errors.FeatureNotSupported, errors.InvalidSqlStatementName):
        # What was prepared answers with other types by now, or psycopg has deallocated it. Nothing was done.
        connection.prepared.clear()
        if not (alone and remembered) or connection.pgconn.transaction_status != TransactionStatus.IDLE:
            raise
    return await _exchanged(connection, statements)


async def _exchanged(connection: PooledConnection, statements: Sequence[Statement]) -> list[list[Any]]:
    pgconn = connection.pgconn
    sent = [_Sent(connection, statement) for statement in statements]
    pgconn.enter_pipeline_mode()
    try:
        for each in sent:
            each.send()
        pgconn.pipeline_sync()
        results = iter(await _Replies(connection).all())
    finally:
        if pgconn.pipeline_status != PipelineStatus.OFF:
            # Whatever it is at, nobody can use it any more; the pool replaces it.
            pgconn.finish()
    return [each.rows(results) for each in sent]


class _Sent:
    """A statement on its way."""

    def __init__(self, connection: PooledConnection, statement: Statement):
        self._connection, self._statement = connection, statement
        self._transformer = transformer = connection.transformer
        values = statement.values
        self._values = transformer.dump_sequence(values, [PyFormat.AUTO] * len(values)) if values else ()
        self._types = tuple(transformer.types or ()) if values else ()
        self._formats = transformer.formats if values else None
        self._key = (statement.text, self._types)
        self._name = connection.prepared.get(self._key) if statement.prepared else None
        self._prepares = statement.prepared and self._name is None

    def send(self) -> None:
        pgconn = self._connection.pgconn
        if self._prepares:
            self._connection.named += 1
            self._name = b"toolgate_%d" % self._connection.named
            pgconn.send_prepare(self._name, self._statement.text, self._types)
        if self._name is not None:
            pgconn.send_query_prepared(self._name, self._values, self._formats)
        else:
            pgconn.send_query_params(self._statement.text, self._values, self._types, self._formats)

    def rows(self, replies: Iterator[PGresult]) -> list[Any]:
        if self._prepares:
            _checked(next(replies))
            assert self._name is not None
            self._connection.prepared[self._key] = self._name
        result = _checked(next(replies))
        make = self._statement.make
        if self._statement.named:
            names = [(result.fname(at) or b"").decode() for at in range(result.nfields)]
            make = lambda *columns: dict(zip(names, columns, strict=True))  # noqa: E731
        if make is None:
            return []
        self._transformer.set_pgresult(result)
        try:
            return self._transformer.load_rows(0, result.ntuples, lambda columns: make(*columns))
        finally:
            self._transformer.set_pgresult(None)


def _checked(result: PGresult) -> PGresult:
    if result.status in (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK):
        return result
    raise errors.error_from_result(result)


class _Replies:
    """What PostgreSQL answers to a pipeline, read as it comes."""

    def __init__(self, connection: PooledConnection):
        self._connection, self._pgconn = connection, connection.pgconn
        self._loop = asyncio.get_running_loop()
        self._results: list[PGresult] = []
        self._done = self._loop.create_future()

    async def all(self) -> list[PGresult]:
        """The results, up to the end of the pipeline. Raises OperationalError when the connection breaks."""
        socket = self._pgconn.socket
        self._loop.add_reader(socket, self._readable)
        self._unsent = bool(self._pgconn.flush())
        if self._unsent:
            self._loop.add_writer(socket, self._writable)
        self._again()
        try:
            await self._done
            self._pgconn.exit_pipeline_mode()
        except asyncio.CancelledError:
            with suppress(psycopg.Error, TimeoutError):
                # It is not cancelled where all of it came in the same moment: then nothing else would ever come.
                if self._done.cancelled():
                    self._done = self._loop.create_future()
                    await self._connection.cancel_safe(timeout=CANCEL_SECONDS)
                async with asyncio.timeout(CANCEL_SECONDS):
                    await self._done
                self._pgconn.exit_pipeline_mode()
            raise
        finally:
            self._timer.cancel()
            self._loop.remove_reader(socket)
            if self._unsent:
                self._loop.remove_writer(socket)
        return self._results

    def _again(self) -> None:
        # A socket with an error is one of which libuv does not say any more that it can be read.
        self._timer = self._loop.call_later(LOOK_SECONDS, self._look)

    def _look(self) -> None:
        self._again()
        self._readable()

    def _readable(self) -> None:
        try:
            self._read()
        except psycopg.Error as error:
            self._fail(error)

    def _read(self) -> None:
        pgconn = self._pgconn
        pgconn.consume_input()
        between = False
        while not pgconn.is_busy():
            result = pgconn.get_result()
            if result is None:
                # One None ends a statement's results; of a connection that ended nothing else comes.
                if between:
                    break
                between = True
                continue
            between = False
            if result.status == ExecStatus.PIPELINE_SYNC:
                if not self._done.done():
                    self._done.set_result(None)
                return
            self._results.append(result)
        if pgconn.status == ConnStatus.BAD:
            # libpq has closed its socket, of which nobody hears any more.
            raise psycopg.OperationalError("the connection is lost")

    def _fail(self, error: psycopg.Error) -> None:
        # What the server said before it closed the connection says more.
        said = next((each for each in self._results if each.status == ExecStatus.FATAL_ERROR), None)
        if not self._done.done():
            self._done.set_exception(error if said is None else errors.error_from_result(said))

    def _writable(self) -> None:
        try:
            if not self._pgconn.flush():
                self._loop.remove_writer(self._pgconn.socket)
        except psycopg.Error as error:
            self._fail(error)
