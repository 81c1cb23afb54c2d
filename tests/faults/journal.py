"""A journal of every transition that was committed, kept by triggers that a test's deployment has, Toolgate has not."""

from collections.abc import Iterable
from typing import Any

import psycopg

Arrow = tuple[str, str | None, str]

TABLES = ("tool_calls", "runs", "approval_requests")
_INSTALL = """
    CREATE TABLE fault_journal (
        seq bigserial PRIMARY KEY, at timestamptz NOT NULL DEFAULT clock_timestamp(), "table" text NOT NULL,
        id uuid, tenant_id uuid, run_id uuid, before text, after text, fence integer,
        transaction xid8 NOT NULL DEFAULT pg_current_xact_id());
    CREATE INDEX ON fault_journal (run_id);
    CREATE FUNCTION fault_journal() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public AS $$
    DECLARE
        was jsonb := CASE WHEN TG_OP <> 'INSERT' THEN to_jsonb(OLD) END;
        is_ jsonb := CASE WHEN TG_OP <> 'DELETE' THEN to_jsonb(NEW) END;
        row_ jsonb := coalesce(is_, was);
    BEGIN
        -- Sealing gives an entry its place, once; anything else that happens to one is put down.
        IF TG_ARGV[0] = 'ledger_entries' AND TG_OP = 'UPDATE' AND was -> 'leaf_index' = 'null'
                AND was - ARRAY['leaf_index', 'tenant_index'] = is_ - ARRAY['leaf_index', 'tenant_index'] THEN
            RETURN NULL;
        END IF;
        IF TG_OP <> 'UPDATE' OR was -> 'status' IS DISTINCT FROM is_ -> 'status'
                OR was -> 'fence' IS DISTINCT FROM is_ -> 'fence' OR TG_ARGV[0] = 'ledger_entries' THEN
            INSERT INTO fault_journal ("table", id, tenant_id, run_id, before, after, fence) VALUES (
                TG_ARGV[0], (row_ ->> 'id')::uuid, (row_ ->> 'tenant_id')::uuid,
                CASE TG_ARGV[0] WHEN 'runs' THEN row_ ->> 'id' ELSE row_ ->> 'run_id' END::uuid,
                was ->> 'status', coalesce(is_ ->> 'status', lower(TG_OP)), (row_ ->> 'fence')::integer);
        END IF;
        RETURN NULL;
    END $$;
    CREATE TRIGGER fault_journal AFTER UPDATE OR DELETE ON ledger_entries
        FOR EACH ROW EXECUTE FUNCTION fault_journal('ledger_entries');
"""
_WATCH = """
    CREATE TRIGGER fault_journal AFTER INSERT OR UPDATE OR DELETE ON {table}
        FOR EACH ROW EXECUTE FUNCTION fault_journal('{table}')"""

# docs/internals.md, "State machines".
MACHINES: dict[str, dict[str | None, set[str]]] = {
    "tool_calls": {
        None: {"proposed", "awaiting_approval", "queued", "error"},
        "proposed": {"queued", "error"},
        "awaiting_approval": {"queued", "error"},
        "queued": {"running", "success", "error", "queued"},
        "running": {"success", "error", "queued", "running"},
    },
    "runs": {
        None: {"in_progress"},
        "in_progress": {"in_progress", "requires_action", "waiting", "completed", "incomplete", "failed", "cancelled"},
        "requires_action": {"in_progress", "cancelled"},
        "waiting": {"in_progress", "cancelled"},
    },
    "approval_requests": {
        None: {"pending"},
        "pending": {"approved", "denied", "expired", "cancelled"},
    },
}


def install(owner_url: str) -> None:
    """Begin to journal."""
    with psycopg.connect(owner_url) as connection:
        connection.execute(_INSTALL)
        for table in TABLES:
            connection.execute(_WATCH.format(table=table).encode())


def faults(entries: Iterable[dict[str, Any]]) -> list[str]:
    """What a journal, in order, says that must not be: an arrow that is none, a gap in a history, an old fence."""
    wrong: list[str] = []
    last: dict[Any, tuple[str | None, int]] = {}
    for entry in entries:
        row, arrow = (entry["table"], entry["id"]), (entry["table"], entry["before"], entry["after"])
        status, fence = last.get(row, (None, 0))
        allowed = MACHINES[entry["table"]].get(entry["before"], set())
        if entry["after"] not in allowed or status != entry["before"] or (entry["fence"] or 0) < fence:
            wrong.append(f"{arrow} of {entry['id']} under fence {entry['fence']}, after {status} under {fence}")
        last[row] = entry["after"], entry["fence"] or 0
    return wrong
