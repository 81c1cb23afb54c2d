"""`python -m bench.records.sealing [--seconds N] [--writers N] [--rate N]`: how long entries wait for their place.

Writers with transactions of 0 to 5 seconds, of which 10 % are rolled back, write refused calls (two entries each) as
the loop does, at a rate, while beat and a real worker seal. PostgreSQL's own commit times say when an entry was
committed and when the first checkpoint over it was; its age counts from its commit, and from its transaction's begin.
"""

import argparse
import asyncio
import os
import random
import statistics
import sys
import time
import uuid
from typing import Any

import orjson

from bench.rig import machine
from bench.rig.stack import Stack
from gateway.embedded.services import postgres

LONGEST, ROLLED_BACK = 5.0, 0.1
LOOK_SECONDS, IDLE_SECONDS, PATIENCE_SECONDS = 0.2, 10, 120
_AGES = """
    WITH heads AS (SELECT size, lag(size, 1, 0::bigint) OVER (ORDER BY size) AS low,
        pg_xact_commit_timestamp(xmin) AS sealed_at FROM ledger_checkpoints)
    SELECT e.call_id, e.kind, e.leaf_index, extract(epoch FROM sealed_at - e.created_at)::float8 AS from_creation,
        -- A refused call is written once, so its row is still that of its first transaction.
        extract(epoch FROM sealed_at - pg_xact_commit_timestamp(c.xmin))::float8 AS from_commit
    FROM ledger_entries e JOIN heads ON e.leaf_index >= low AND e.leaf_index < size
        JOIN tool_calls c ON c.id = e.call_id
    ORDER BY e.leaf_index"""


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="bench.records.sealing", description=__doc__)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--writers", type=int, default=200)
    parser.add_argument("--rate", type=int, default=500, help="calls a second, all writers together")
    parser.add_argument("--write", metavar="TENANT", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.write:
        import django

        django.setup()
        print(orjson.dumps(asyncio.run(_measured(uuid.UUID(given.write), given))).decode())
        return 0
    postgres.SETTINGS |= {"max_connections": str(given.writers + 100), "track_commit_timestamp": "on"}
    with Stack() as stack:
        pids = {name: stack.pids[name] for name in ("worker", "postgres")}
        idle = _spent(pids, lambda: time.sleep(IDLE_SECONDS))
        options = [f"--{name}={getattr(given, name)}" for name in ("seconds", "writers", "rate")]
        found: dict[str, Any] = {}
        spent = _spent(
            pids, lambda: found.update(stack.output_of("bench.records.sealing", "--write", stack.tenant, *options))
        )
    print(_text(found, spent, idle))
    return 0


def _spent(pids: dict[str, int], work: Any) -> dict[str, float]:
    """CPU of each process in cores while `work` goes on, and of everything else on the machine as `machine`."""
    began, busy = time.monotonic(), machine.busy_seconds()
    before = {name: machine.cpu_seconds(pid) for name, pid in pids.items()}
    work()
    seconds = time.monotonic() - began
    found = {name: (machine.cpu_seconds(pid) - before[name]) / seconds for name, pid in pids.items()}
    return found | {"machine": (machine.busy_seconds() - busy) / seconds}


async def _measured(tenant: uuid.UUID, given: argparse.Namespace) -> dict[str, Any]:
    import psycopg
    from psycopg.rows import dict_row

    owner = await psycopg.AsyncConnection.connect(
        os.environ["DATABASE_OWNER_URL"], row_factory=dict_row, autocommit=True
    )
    [user] = await _all(owner, "SELECT user_id FROM memberships WHERE tenant_id = %s LIMIT 1", tenant)
    committed: set[uuid.UUID] = set()
    began = time.monotonic()
    writers = [
        _write((tenant, user["user_id"]), committed, began + given.seconds, given, number)
        for number in range(given.writers)
    ]
    await asyncio.gather(*writers)
    seconds = time.monotonic() - began
    await _all_sealed(owner)
    return await _figures(owner, committed, seconds)


async def _write(
    scope: tuple[uuid.UUID, uuid.UUID],
    committed: set[uuid.UUID],
    end: float,
    given: argparse.Namespace,
    number: int,
) -> None:
    import psycopg
    from django.conf import settings
    from psycopg.rows import dict_row

    from audit.calls import proposing, recorder
    from audit.canonical import sha256_hex
    from audit.identifiers import uuid7
    from tenants.scope.transactions import SET_SCOPE

    dice = random.Random(number)
    arguments = {"title": "Milk", "content": "Two litres"}
    refusal = recorder.Failure("validation_error", "title is missing.", "title")
    # As many calls a transaction as make the rate with transactions of half the longest time.
    calls_of_each = given.rate * LONGEST / 2 / given.writers / (1 - ROLLED_BACK)
    async with await psycopg.AsyncConnection.connect(
        settings.DATABASE_URLS["default"], row_factory=dict_row, autocommit=True
    ) as connection:
        await asyncio.sleep(dice.random() * LONGEST)
        while time.monotonic() < end:
            count = max(1, round(dice.uniform(0.5, 1.5) * calls_of_each))
            calls = [
                proposing.NewCall(
                    uuid7(),
                    position,
                    "save_note",
                    "workspace",
                    arguments,
                    None,
                    sha256_hex(arguments),
                    [],
                    1,
                    None,
                    refusal,
                )
                for position in range(count)
            ]
            fails, stays = dice.random() < ROLLED_BACK, dice.random() * LONGEST
            place = proposing.Place(*scope, uuid.uuid4(), uuid.uuid4(), uuid.uuid4(), 1)
            await connection.execute("BEGIN")
            await connection.execute(SET_SCOPE, [str(each) for each in scope])
            await proposing.propose(connection, place, calls, frozenset())
            await asyncio.sleep(stays)
            await connection.execute("ROLLBACK" if fails else "COMMIT")
            if not fails:
                committed.update(call.id for call in calls)


async def _all_sealed(owner: Any) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while await _all(owner, "SELECT FROM ledger_entries WHERE leaf_index IS NULL LIMIT 1"):
        if time.monotonic() > deadline:
            raise TimeoutError(f"not sealed after {PATIENCE_SECONDS} s")
        await asyncio.sleep(LOOK_SECONDS)


async def _figures(owner: Any, committed: set[uuid.UUID], seconds: float) -> dict[str, Any]:
    entries = await _all(owner, _AGES)
    found = {(entry["call_id"], entry["kind"]) for entry in entries}
    wanted = {(call, kind) for call in committed for kind in ("proposed", "settled")}
    return {
        "entries": len(entries),
        "seconds": seconds,
        "checkpoints": len(await _all(owner, "SELECT FROM ledger_checkpoints")),
        "missing": len(wanted - found),
        "surplus": len(found - wanted),
        "duplicates": len(entries) - len(found),
        "gaps": int([entry["leaf_index"] for entry in entries] != list(range(len(entries)))),
        "from_commit": _quantiles([entry["from_commit"] for entry in entries]),
        "from_creation": _quantiles([entry["from_creation"] for entry in entries]),
    }


def _quantiles(ages: list[float]) -> dict[str, float]:
    hundredths = statistics.quantiles(ages, n=100)
    return {"p50": hundredths[49], "p99": hundredths[98], "max": max(ages)}


async def _all(connection: Any, query: str, *values: object) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = await (await connection.execute(query.encode(), values)).fetchall()
    return found


def _text(found: dict[str, Any], spent: dict[str, float], idle: dict[str, float]) -> str:
    rate = found["entries"] / found["seconds"]
    others = spent["machine"] - spent["worker"] - spent["postgres"]

    def ages(name: str) -> str:
        return ", ".join(f"{which} {value:.2f} s" for which, value in found[name].items())

    return "\n".join([
        f"{found['entries']:,} entries sealed, {rate:,.0f}/s ({rate / 2:,.0f} calls/s) for {found['seconds']:.0f} s,"
        f" in {found['checkpoints']} checkpoints",
        ", ".join(f"{name} {found[name]}" for name in ("missing", "surplus", "duplicates", "gaps")),
        f"age from commit: {ages('from_commit')}",
        f"age from creation: {ages('from_creation')}",
        f"worker {spent['worker']:.3f} cores (idle {idle['worker']:.3f}), PostgreSQL {spent['postgres']:.2f},"
        f" everything else {others:.2f} of {os.cpu_count()}",
    ])  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
