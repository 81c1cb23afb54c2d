"""A log of every kind of call and entry, for what looks at the whole log."""

import os
import random
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb, set_json_loads

from approvals.requests import erasure as approvals_erasure
from audit.calls import begun, ledger, proposing, reading, recorder, reported
from audit.calls.proposing import NewCall, Place
from audit.calls.recorder import Failure, Outcome
from audit.calls.reported import Reported
from audit.calls.rows import ToolCall
from audit.canonical import sha256_hex
from audit.changes import recording
from audit.identifiers import uuid7
from audit.log import rotation
from audit.retention import erasure
from tenants.people.changes import Said, acting, between
from tenants.scope import jsonb
from tenants.scope.transactions import TenantScope
from tests.audit.log_database import LogDatabase, make_database

Row = dict[str, Any]
Connection = psycopg.AsyncConnection[Row]
OLD_MONTH = datetime(2026, 1, 10, tzinfo=UTC)


async def fill(log: LogDatabase, count: int, rng: random.Random) -> None:
    """Calls of every kind, one after another."""
    async with await _connected(log) as connection:
        kinds = [_succeeded, _cut, _refused, _unreadable, _failed, _approved, _denied, _withdrawn, _reported]
        for number in range(count):
            tenant_id, user_id = log.people[number % 2 * 2]
            approver = log.people[number % 2 * 2 + 1][1]
            place = Place(tenant_id, user_id, uuid7(), uuid7(), uuid7(), 1 + number % 3)
            async with connection.transaction():
                await kinds[number % len(kinds)](connection, place, approver, rng)


async def _connected(log: LogDatabase) -> Connection:
    connection = await psycopg.AsyncConnection.connect(log.owner_url, row_factory=dict_row, autocommit=True)
    set_json_loads(jsonb.loads, connection)
    return connection


def _call(rng: random.Random, **more: Any) -> NewCall:
    given = {"title": f"Note {rng.randrange(10**6)}", "size": rng.choice([1, 1e2, 0.1, 1e300]), "tags": ["é", "𝒳"]}
    values: Row = {
        "id": uuid7(), "position": rng.randrange(3), "tool_name": rng.choice(["save_note", "web_search"]),
        "tier": "workspace", "input": given, "input_raw": None, "params_hash": sha256_hex(given),
        "decision": [{"gate": "allowlist", "ok": True}, {"gate": "schema", "ok": True, "log": "fits"}],
        "time_limit_ms": 30_000,
    }  # fmt: skip
    return NewCall(**values | more)


def _outcome(rng: random.Random, output: Any = None) -> Outcome:
    output = {"saved": rng.randrange(10**6)} if output is None else output
    return Outcome(
        output=output, output_bytes=30, output_hash=sha256_hex(output), display="Saved.",
        side_effects=[{"kind": "note", "id": str(rng.randrange(10**6)), "action": "created"}],
        execution_time_ms=rng.randrange(1000),
    )  # fmt: skip


async def _ran(connection: Connection, place: Place, call_id: uuid.UUID, outcome: Outcome) -> None:
    claimed = await begun.claim(connection, TenantScope(place.tenant_id, place.user_id), call_id, 15)
    assert claimed is not None
    assert await begun.settle(connection, claimed, outcome)


async def _succeeded(connection: Connection, place: Place, approver: uuid.UUID, rng: random.Random) -> None:
    call = _call(rng)
    await proposing.propose(connection, place, [call], frozenset([call.id]))
    await _ran(connection, place, call.id, _outcome(rng))


async def _cut(connection: Connection, place: Place, approver: uuid.UUID, rng: random.Random) -> None:
    call = _call(rng)
    await proposing.propose(connection, place, [call], frozenset([call.id]))
    kept = {"truncated": True, "original_bytes": 2_000_000, "data": "x" * 50}
    whole = Outcome(output=kept, output_bytes=2_000_000, output_hash=sha256_hex("x" * 2_000_000), display="Much.")
    await _ran(connection, place, call.id, whole)


async def _refused(connection: Connection, place: Place, approver: uuid.UUID, rng: random.Random) -> None:
    refusal = Failure("validation_error", "title is missing.", "title", "The arguments were not valid.")
    await proposing.propose(connection, place, [_call(rng, refusal=refusal)], frozenset())


async def _unreadable(connection: Connection, place: Place, approver: uuid.UUID, rng: random.Random) -> None:
    refusal = Failure("validation_error", "The arguments are not valid JSON.")
    broken = _call(rng, input=None, input_raw='{"title": ', params_hash=None, refusal=refusal)
    await proposing.propose(connection, place, [broken], frozenset())


async def _failed(connection: Connection, place: Place, approver: uuid.UUID, rng: random.Random) -> None:
    call = _call(rng)
    await proposing.propose(connection, place, [call], frozenset([call.id]))
    await _ran(
        connection, place, call.id, Outcome(failure=Failure("timeout", "Too slow."), display="x", execution_time_ms=9)
    )


async def _reported(connection: Connection, place: Place, approver: uuid.UUID, rng: random.Random) -> None:
    output = {"found": rng.randrange(10**6)}
    said = Reported("github.search", None, {"query": "é"}, "Reported.", output, 30, sha256_hex(output), None, 12)
    await reported.record(connection, TenantScope(place.tenant_id, place.user_id), [said])


async def _withdrawn(connection: Connection, place: Place, approver: uuid.UUID, rng: random.Random) -> None:
    await proposing.propose(connection, place, [_call(rng)], frozenset())
    await recorder.withdraw(connection, place.run_id, Failure("cancelled", "Cancelled."))


async def _approved(connection: Connection, place: Place, approver: uuid.UUID, rng: random.Random) -> None:
    call = await _held(connection, place, rng)
    edited = {"title": "Edited", "size": rng.randrange(9)}
    await recorder.edit(connection, call.id, edited, sha256_hex(edited))
    change = [{"op": "replace", "path": "/size", "before": 1e20, "after": edited["size"]}]
    await _decide(connection, call, approver, "approve", sha256_hex(edited), change)
    assert await recorder.resume(connection, call.id, [{"gate": "allowlist", "ok": True}])
    await _ran(connection, place, call.id, _outcome(rng))


async def _denied(connection: Connection, place: Place, approver: uuid.UUID, rng: random.Random) -> None:
    call = await _held(connection, place, rng)
    await _decide(connection, call, approver, "deny", call.params_hash, None)
    await recorder.refuse(connection, call, Failure("approval_denied", "Denied.", display="Denied."), None)


async def _held(connection: Connection, place: Place, rng: random.Random) -> ToolCall:
    call = _call(rng, tier="elevated", approval_id=uuid7())
    await proposing.propose(connection, place, [call], frozenset())
    request = {
        "id": call.approval_id, "tenant_id": place.tenant_id, "user_id": place.user_id, "call_id": call.id,
        "run_id": place.run_id, "conversation_id": place.conversation_id, "agent": "default",
        "tool_name": call.tool_name, "tier": "elevated", "why": "elevated", "context": Jsonb([]), "schema_hash": "s",
        "params_hash": call.params_hash, "approvals_needed": 1, "status": "pending",
        "expires_at": datetime.now(UTC) + timedelta(days=1), "created_at": datetime.now(UTC),
    }  # fmt: skip
    await insert(connection, "approval_requests", request)
    found = await reading.of_id(connection, call.id)
    assert found is not None
    return found


async def _decide(
    connection: Connection, call: ToolCall, approver: uuid.UUID, verdict: str, params_hash: str, edit: Any
) -> None:
    decision: Row = {
        "id": uuid7(), "tenant_id": call.tenant_id, "request_id": call.approval_id, "call_id": call.id,
        "user_id": approver, "verdict": verdict, "reason": "because", "via": "page", "params_hash": params_hash,
        "edit": edit, "created_at": datetime.now(UTC),
    }  # fmt: skip
    await insert(connection, "approval_decisions", decision | {"edit": edit and Jsonb(edit)})
    await recorder.decide(connection, call, decision)


async def insert(connection: Connection, table: str, row: Row) -> None:
    """Insert a row as it is."""
    places = ", ".join(f"%({name})s" for name in row)
    await connection.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({places})".encode(), row)


async def erase(log: LogDatabase, count: int, whose: int) -> None:
    """Erase the payloads of a tenant's newest calls, two at a time."""
    tenant_id, user_id = log.people[whose * 2]
    query = (
        "SELECT c.id FROM tool_calls c WHERE tenant_id = %s AND status IN ('success', 'error') AND row_key IS NOT NULL"
        " AND NOT EXISTS (SELECT FROM ledger_entries e WHERE e.call_id = c.id AND version < 3)"
        " ORDER BY id DESC LIMIT %s"
    )
    async with await _connected(log) as connection:
        ids = [row["id"] for row in await (await connection.execute(query, [tenant_id, count])).fetchall()]
        for start in range(0, count, 2):
            cause = erasure.Cause(tenant_id, erasure.Scope.USER, user_id, user_id, "asked for")
            async with connection.transaction():
                await erasure.erase(connection, cause, ids[start : start + 2], approvals_erasure.erase)


async def read(log: LogDatabase, count: int) -> None:
    """Somebody reads other people's history."""
    async with await _connected(log) as connection:
        tenant_id, user_id = log.people[0]
        for number in range(count):
            row: Row = {
                "id": uuid7(), "tenant_id": tenant_id, "reader_id": log.people[1][1], "user_id": user_id,
                "call_id": None, "action": "list", "via": "page", "filters": {"tool": f"t{number}"}, "calls": number,
                "row_key": os.urandom(32), "created_at": datetime.now(UTC),
            }  # fmt: skip
            async with connection.transaction():
                await insert(connection, "history_reads", row | {"filters": Jsonb(row["filters"])})
                entry = ledger.entry(tenant_id, row["row_key"], ledger.read(row), record_id=row["id"])
                await connection.execute(ledger.INSERT.encode(), entry)


async def change_settings(log: LogDatabase, count: int) -> None:
    """Somebody changes settings."""
    async with await _connected(log) as connection:
        tenant_id, user_id = log.people[0]
        for number in range(count):
            said = [Said(tenant_id, "agent", user_id, f"agent-{number}", {"max_turns": each}) for each in (8, number)]
            with acting(user_id, "api"):
                made = between(*said)
            assert made is not None
            row = recording.row_of(made)
            async with connection.transaction():
                await insert(connection, "setting_changes", row | {"changes": Jsonb(row["changes"])})
                entry = ledger.entry(tenant_id, row["row_key"], ledger.changed(row), record_id=row["id"])
                await connection.execute(ledger.INSERT.encode(), entry)


async def drop_month(log: LogDatabase, count: int) -> None:
    """An old month's calls of a tenant, which then go as a whole."""
    async with await _connected(log) as connection:
        tenant_id, user_id = log.people[0]
        rng = random.Random(3)
        ids = []
        for number in range(count):
            moment = OLD_MONTH + timedelta(minutes=number)
            call_id = uuid.UUID(int=int(moment.timestamp() * 1000) << 80 | uuid7().int & ((1 << 80) - 1))
            place = Place(tenant_id, user_id, uuid7(), uuid7(), uuid7(), 1)
            await proposing.propose(connection, place, [_call(rng, id=call_id)], frozenset([call_id]))
            await _ran(connection, place, call_id, _outcome(rng))
            ids.append(call_id)
        low, high = (
            uuid.UUID(int=int(each.timestamp() * 1000) << 80)
            for each in (OLD_MONTH.replace(day=1), OLD_MONTH.replace(month=2, day=1))
        )
        row = erasure.new(erasure.Cause(tenant_id, erasure.Scope.MONTH), count, low, high)
        async with connection.transaction():
            await connection.execute(erasure.INSERT.encode(), row)
            entry = ledger.entry(tenant_id, row["row_key"], ledger.dropped(row), record_id=row["id"])
            await connection.execute(ledger.INSERT.encode(), entry)
            await connection.execute("DELETE FROM tool_calls WHERE id = ANY(%s)", [ids])


async def age(log: LogDatabase, versions: tuple[int, ...] = (1, 2)) -> None:
    """Let the unsealed entries of the newest decided and undecided calls be of older versions."""
    async with await _connected(log) as connection:
        for version in versions:
            query = (
                "SELECT c.* FROM tool_calls c WHERE status IN ('success', 'error') AND row_key IS NOT NULL AND NOT"
                " EXISTS (SELECT FROM ledger_entries e WHERE e.call_id = c.id AND (leaf_index IS NOT NULL"
                " OR version < 3)) AND origin <> 'native' ORDER BY (approval_id IS NULL), id LIMIT 12"
            )
            for call in await (await connection.execute(query.encode())).fetchall():
                await _aged(connection, call, version)


async def _aged(connection: Connection, call: Row, version: int) -> None:
    found = await connection.execute("SELECT * FROM ledger_entries WHERE call_id = %s", [call["id"]])
    for entry in await found.fetchall():
        if entry["kind"] == "decided":
            query = "SELECT * FROM approval_decisions WHERE id = %s"
            decision = await (await connection.execute(query, [entry["record_id"]])).fetchone()
            assert decision is not None
            payload = ledger.decided(decision, version)
        else:
            payload = (ledger.proposed if entry["kind"] == "proposed" else ledger.settled)(call, version)
        values = [version, ledger.commitment(call["row_key"], payload), entry["seq"]]
        query = "UPDATE ledger_entries SET version = %s, commitment = %s, record_id = NULL WHERE seq = %s"
        await connection.execute(query.encode(), values)


async def leave_open(log: LogDatabase) -> None:
    """Calls that are not final: proposed, queued, held and running."""
    async with await _connected(log) as connection:
        tenant_id, user_id = log.people[2]
        rng = random.Random(4)
        for state in range(3):
            place = Place(tenant_id, user_id, uuid7(), uuid7(), uuid7(), 1)
            call = _call(rng)
            async with connection.transaction():
                await proposing.propose(connection, place, [call], frozenset([call.id] if state else []))
                if state >= 2:
                    await begun.claim(connection, TenantScope(tenant_id, user_id), call.id, 15)
        async with connection.transaction():
            await _held(connection, Place(tenant_id, user_id, uuid7(), uuid7(), uuid7(), 1), rng)


def make_log(count: int = 280) -> LogDatabase:
    """A log of every kind of entry, sealed in rounds under two keys, and a few that are not sealed."""
    log, rng = make_database(), random.Random(1)
    log.run(lambda: fill(log, count // 4, rng))
    log.run(lambda: age(log))
    log.seal()
    log.run(lambda: drop_month(log, 5))
    log.seal()
    for _ in range(2):
        log.run(lambda: fill(log, count // 4, rng))
        log.run(lambda: read(log, 4))
        log.run(lambda: change_settings(log, 4))
        log.seal()
    log.run(rotation.rotate)
    log.run(lambda: fill(log, count // 4, rng))
    log.seal()
    for whose in (0, 1):
        log.run(lambda whose=whose: erase(log, 8, whose))
    log.run(lambda: leave_open(log))
    log.seal()
    log.run(lambda: fill(log, 8, rng))
    return log
