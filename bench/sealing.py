"""`python -m bench.sealing [--seconds N] [--writers N] [--rate N]`: how long entries wait for their place in the log.

Writers with transactions of 0 to 5 seconds, of which 10 % are rolled back, write refused calls (two entries each) as
the loop does, at a rate, while beat and a real worker seal. An entry is sealed when a checkpoint over it is committed,
looked for every 50 ms; its age counts from its commit, and from its row's creation when its transaction began.
"""

import argparse
import asyncio
import bisect
import os
import random
import statistics
import sys
import time
import uuid
from typing import Any

import orjson

from bench import machine
from bench.stack import Stack
from gateway.embedded import postgres

LONGEST, ROLLED_BACK = 5.0, 0.1
LOOK_SECONDS, IDLE_SECONDS, PATIENCE_SECONDS = 0.05, 10, 120


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="bench.sealing", description=__doc__)
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
    postgres.SETTINGS["max_connections"] = str(given.writers + 100)
    with Stack() as stack:
        pids = {name: stack.pids[name] for name in ("worker", "postgres")}
        idle = _spent(pids, lambda: time.sleep(IDLE_SECONDS))
        options = [f"--{name}={getattr(given, name)}" for name in ("seconds", "writers", "rate")]
        found: dict[str, Any] = {}
        spent = _spent(pids, lambda: found.update(stack.output_of("bench.sealing", "--write", stack.tenant, *options)))
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
    from django.conf import settings
    from psycopg.rows import dict_row

    system = await psycopg.AsyncConnection.connect(
        settings.DATABASE_URLS["system"], row_factory=dict_row, autocommit=True
    )
    [user] = await _all(system, "SELECT user_id FROM memberships WHERE tenant_id = %s LIMIT 1", tenant, owner=True)
    committed: dict[uuid.UUID, tuple[float, float]] = {}
    seen: list[tuple[int, float]] = []
    ended = asyncio.Event()
    looking = asyncio.create_task(_look(system, seen, ended))
    end = time.monotonic() + given.seconds
    writers = [_write((tenant, user["user_id"]), committed, end, given, number) for number in range(given.writers)]
    began = time.monotonic()
    await asyncio.gather(*writers)
    seconds = time.monotonic() - began
    await _all_sealed(system)
    await asyncio.sleep(LOOK_SECONDS * 4)
    ended.set()
    await looking
    return await _figures(system, committed, seen, seconds)


async def _write(
    scope: tuple[uuid.UUID, uuid.UUID],
    committed: dict[uuid.UUID, tuple[float, float]],
    end: float,
    given: argparse.Namespace,
    number: int,
) -> None:
    import psycopg
    from django.conf import settings
    from psycopg.rows import dict_row

    from audit import recorder
    from audit.canonical import sha256_hex
    from audit.identifiers import uuid7
    from tenants.scoping import SET_SCOPE

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
                recorder.NewCall(
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
            place = recorder.Place(*scope, uuid.uuid4(), uuid.uuid4(), uuid.uuid4(), 1)
            began = time.monotonic()
            await connection.execute("BEGIN")
            await connection.execute(SET_SCOPE, [str(each) for each in scope])
            await recorder.propose(connection, place, calls, frozenset())
            await asyncio.sleep(stays)
            await connection.execute("ROLLBACK" if fails else "COMMIT")
            if not fails:
                now = time.monotonic()
                committed.update((call.id, (began, now)) for call in calls)


async def _look(system: Any, seen: list[tuple[int, float]], ended: asyncio.Event) -> None:
    """Note when the log was first seen to have a size."""
    while not ended.is_set():
        [head] = await _all(system, "SELECT coalesce(max(size), 0) AS size FROM ledger_checkpoints")
        if not seen or head["size"] > seen[-1][0]:
            seen.append((head["size"], time.monotonic()))
        await asyncio.sleep(LOOK_SECONDS)


async def _all_sealed(system: Any) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while await _all(system, "SELECT FROM ledger_entries WHERE leaf_index IS NULL LIMIT 1"):
        if time.monotonic() > deadline:
            raise TimeoutError(f"not sealed after {PATIENCE_SECONDS} s")
        await asyncio.sleep(LOOK_SECONDS)


async def _figures(
    system: Any, committed: dict[uuid.UUID, tuple[float, float]], seen: list[tuple[int, float]], seconds: float
) -> dict[str, Any]:
    entries = await _all(system, "SELECT call_id, kind, leaf_index FROM ledger_entries ORDER BY leaf_index")
    places = [entry["leaf_index"] for entry in entries]
    found = {(entry["call_id"], entry["kind"]) for entry in entries}
    wanted = {(call, kind) for call in committed for kind in ("proposed", "settled")}
    sizes = [size for size, _ in seen]
    from_commit, from_creation = [], []
    for entry in entries:
        sealed = seen[bisect.bisect_right(sizes, entry["leaf_index"])][1]
        created, committed_at = committed[entry["call_id"]]
        from_commit.append(max(0.0, sealed - committed_at))
        from_creation.append(sealed - created)
    return {
        "entries": len(entries),
        "seconds": seconds,
        "checkpoints": len(await _all(system, "SELECT FROM ledger_checkpoints")),
        "missing": len(wanted - found),
        "surplus": len(found - wanted),
        "duplicates": len(entries) - len(found),
        "gaps": int(places != list(range(len(places)))),
        "from_commit": _quantiles(from_commit),
        "from_creation": _quantiles(from_creation),
    }


def _quantiles(ages: list[float]) -> dict[str, float]:
    hundredths = statistics.quantiles(ages, n=100)
    return {"p50": hundredths[49], "p99": hundredths[98], "max": max(ages)}


async def _all(connection: Any, query: str, *values: object, owner: bool = False) -> list[dict[str, Any]]:
    if owner:
        import psycopg
        from psycopg.rows import dict_row

        async with await psycopg.AsyncConnection.connect(
            os.environ["DATABASE_OWNER_URL"], row_factory=dict_row
        ) as connection:
            return await (await connection.execute(query.encode(), values)).fetchall()
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
