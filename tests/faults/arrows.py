"""Stops whoever takes an arrow of a state machine at the very moment of its COMMIT.

A deferred trigger runs inside COMMIT. Where a hold asks for it, it waits there for a lock that the test has: the
process that sent the COMMIT knows nothing yet, and the test decides whether the commit happens.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Self

import psycopg
from psycopg.rows import dict_row

from tests.faults import journal
from tests.faults.deployment import Deployment
from tests.faults.journal import Arrow

_INSTALL = """
    CREATE TABLE fault_holds (
        number bigserial PRIMARY KEY, key text NOT NULL, depth int NOT NULL, "table" text NOT NULL, before text,
        after text NOT NULL);
    CREATE TABLE fault_pauses (seconds float NOT NULL);
    CREATE FUNCTION fault_hold() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public AS $$
    DECLARE
        was text := CASE WHEN TG_OP = 'UPDATE' THEN to_jsonb(OLD) ->> 'status' END;
        run uuid := CASE TG_ARGV[0] WHEN 'runs' THEN to_jsonb(NEW) ->> 'id' ELSE to_jsonb(NEW) ->> 'run_id' END;
        held bigint;
    BEGIN
        SELECT h.number INTO held FROM runs r JOIN runs root ON root.id = coalesce(r.root_run_id, r.id)
        JOIN fault_holds h ON h.key = root.idempotency_key AND h.depth = r.depth
        WHERE r.id = run AND h."table" = TG_ARGV[0] AND h.before IS NOT DISTINCT FROM was AND h.after = NEW.status
            AND (TG_OP = 'INSERT' OR to_jsonb(OLD) -> 'status' <> to_jsonb(NEW) -> 'status'
                 OR to_jsonb(OLD) -> 'fence' <> to_jsonb(NEW) -> 'fence');
        IF FOUND THEN
            PERFORM pg_advisory_xact_lock_shared(held);
        END IF;
        PERFORM pg_sleep(seconds) FROM fault_pauses;
        RETURN NULL;
    END $$;
"""
_WATCH = """
    CREATE CONSTRAINT TRIGGER fault_hold AFTER INSERT OR UPDATE ON {table} DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION fault_hold('{table}')"""
_STUCK = """
    SELECT l.objid::bigint AS number, l.pid, a.application_name AS process
    FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE l.locktype = 'advisory' AND NOT l.granted"""
_WAITING = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'"


def install(owner_url: str) -> None:
    """Make holds possible."""
    with psycopg.connect(owner_url) as connection:
        connection.execute(_INSTALL)
        for table in journal.TABLES:
            connection.execute(_WATCH.format(table=table).encode())


@dataclass
class Stuck:
    """A COMMIT that waits for the test: which hold it met, its backend, and the process that sent it."""

    number: int
    pid: int
    process: str


class Holds:
    """Holds on arrows, each for the run that one Idempotency-Key begins, or for the runs at a depth below it:
    `with Holds(deployment) as holds: …`."""

    def __init__(self, deployment: Deployment):
        self._deployment = deployment

    def __enter__(self) -> Self:
        self._connection = psycopg.connect(self._deployment.superuser_url, autocommit=True, row_factory=dict_row)
        # Not to wait ourselves where others' commits are made to.
        self._run("SET synchronous_commit = off")
        return self

    def __exit__(self, *error: object) -> None:
        self._run("DELETE FROM fault_holds")
        self._run("SELECT pg_advisory_unlock_all()")
        self._connection.close()

    def _run(self, statement: str, *values: object) -> list[dict[str, Any]]:
        done = self._connection.execute(statement.encode(), values or None)
        return done.fetchall() if done.description else []

    def hold(self, key: str, arrow: Arrow, depth: int = 0) -> int:
        """Stop the arrow the first time that the run takes it; returns the hold's number."""
        with self._connection.transaction():
            [row] = self._run(
                """INSERT INTO fault_holds (key, depth, "table", before, after) VALUES (%s, %s, %s, %s, %s)
                RETURNING number""",
                *(key, depth, *arrow),
            )
            self._run("SELECT pg_advisory_lock(%s)", row["number"])
        return int(row["number"])

    def stuck(self) -> dict[int, Stuck]:
        """What waits in COMMIT now, by its hold."""
        return {row["number"]: Stuck(**row) for row in self._run(_STUCK)}

    def let_commit(self, stuck: Stuck) -> None:
        """Let the commit happen."""
        self.release(stuck.number)
        self._deployment.wait_for(lambda: not self._alive(stuck, "wait_event_type = 'Lock'"))

    def roll_back(self, stuck: Stuck) -> None:
        """Cut the connection inside COMMIT: nothing of the transaction stays."""
        self._run("SELECT pg_terminate_backend(%s)", stuck.pid)
        self._deployment.wait_for(lambda: not self._alive(stuck))
        self.release(stuck.number)

    def release(self, number: int) -> None:
        """Hold nothing any more: who waits there goes on, and nobody else stops."""
        self._run("DELETE FROM fault_holds WHERE number = %s", number)
        self._run("SELECT pg_advisory_unlock(%s)", number)

    def _alive(self, stuck: Stuck, more: str = "true") -> bool:
        return bool(self._run(f"SELECT FROM pg_stat_activity WHERE pid = %s AND {more}", stuck.pid))


@contextmanager
def unanswered_commits(deployment: Deployment) -> Iterator[Callable[[], set[int]]]:
    """Inside, every COMMIT is done and waits for a standby that never comes; at the end its connection is cut.

    Its client hears no more than that. Yields what tells the backends that have committed and wait.
    """
    with psycopg.connect(deployment.superuser_url, autocommit=True) as connection:

        def waiting() -> set[int]:
            return {pid for (pid,) in connection.execute(_WAITING).fetchall()}

        def set_standby(statement: str) -> None:
            connection.execute(statement.encode())
            connection.execute("SELECT pg_reload_conf()")

        set_standby("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
        try:
            # The setting holds once a commit of our own waits.
            probe = threading.Thread(target=_commit, args=(deployment,), daemon=True)
            probe.start()
            deployment.wait_for(waiting)
            yield waiting
        finally:
            connection.execute(f"SELECT pg_terminate_backend(pid) FROM ({_WAITING}) w".encode())
            set_standby("ALTER SYSTEM RESET synchronous_standby_names")
            probe.join()


def _commit(deployment: Deployment) -> None:
    with suppress(psycopg.OperationalError), psycopg.connect(deployment.superuser_url, autocommit=True) as connection:
        connection.execute("SELECT pg_logical_emit_message(true, 'fault', '')")
