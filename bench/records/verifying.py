"""`python -m bench.records.verifying [--calls N] [--jobs 1,2]`: how fast `manage.py audit verify` reads a log.

It writes N calls (default 50,000) with two entries each, as the recorder would have, has the worker's code seal them,
and verifies them with one process and with several. Figures are CPU time, PostgreSQL's included, and entries a second;
beside them is a COPY of the same rows to a client that drops them. An export of the whole log is measured too.
"""

import argparse
import asyncio
import os
import random
import resource
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg

from bench.rig import machine
from bench.rig.database import migrated
from bench.rig.stack import ROOT
from gateway.embedded.services.together import EmbeddedServices

TABLES = ("ledger_entries", "tool_calls", "ledger_tiles")
# No entry may be older than the head before it by more than ten minutes.
SPAN = timedelta(minutes=5)
GATES = [{"gate": gate, "ok": True} for gate in
         ("allowlist", "schema", "permission", "policy", "rate_limit", "approval")]  # fmt: skip


def main() -> int:
    """Fill a database, seal, measure and print."""
    parser = argparse.ArgumentParser(prog="bench.records.verifying", description=__doc__)
    parser.add_argument("--calls", type=int, default=50_000)
    parser.add_argument("--jobs", default=f"1,{os.cpu_count()}", help="numbers of processes, with commas between")
    parser.add_argument("--data", type=Path, help="store the log there, and find it there the next time")
    given = parser.parse_args()
    with migrated(given.data) as (services, directory):
        _prepare(services, directory, given.calls)
        _print(services, directory, [int(jobs) for jobs in given.jobs.split(",")])
    return 0


def _prepare(services: EmbeddedServices, directory: Path, count: int) -> None:
    if not (directory / "sealed").exists():
        from audit.log import sealing
        from tenants.scope.transactions import close_pools

        async def seal() -> None:
            await sealing.seal()
            await close_pools()

        _fill(services.database_owner_url, count)
        asyncio.run(seal())
        (directory / "sealed").touch()


def _fill(owner_url: str, count: int) -> None:
    """The calls of ten tenants in the last minutes, every fourth refused, each with its entries."""
    from audit.calls import ledger
    from gateway.runs.agents.queries import create_tenant
    from tenants.models import Membership, User
    from tenants.scope.routing import on_login

    people = []
    with on_login("operator"):
        for number in range(10):
            tenant = create_tenant(slug=f"bench-{number}")
            user = User.objects.create(username=f"bench-{number}", password="!")
            Membership.objects.create(tenant=tenant, user=user, role="member")
            people.append((tenant.id, user.id))
    dice, now = random.Random(1), datetime.now(UTC)
    with psycopg.connect(owner_url) as owner:
        calls = [_call(dice, *people[number % 10], now - SPAN + SPAN * number / count) for number in range(count)]
        names = ", ".join(calls[0])
        with owner.cursor().copy(f"COPY tool_calls ({names}) FROM STDIN".encode()) as copy:
            for call in calls:
                copy.write_row([_adapted(value) for value in call.values()])
        entries = f"COPY ledger_entries ({', '.join(ledger.COLUMNS)}, created_at) FROM STDIN"
        with owner.cursor().copy(entries.encode()) as copy:
            for call in calls:
                for payload in (ledger.proposed(call), ledger.settled(call)):
                    entry = ledger.entry(call["tenant_id"], call["row_key"], payload, call_id=call["id"])
                    copy.write_row([*entry, call["created_at"]])
    with psycopg.connect(owner_url, autocommit=True) as owner:
        owner.execute("VACUUM ANALYZE")


def _call(dice: random.Random, tenant_id: uuid.UUID, user_id: uuid.UUID, moment: datetime) -> dict[str, Any]:
    from audit.canonical import sha256_hex

    given = {"title": f"Note {dice.randrange(10**6)}", "content": "Two litres of milk. " * 5, "size": 3}
    output = {"id": str(uuid.UUID(int=dice.getrandbits(128))), "url": "https://example.com/notes/1", "saved": True}
    refused = dice.random() < 0.25
    random_bits = dice.getrandbits(80) & ~(0xF << 76) & ~(0b11 << 62)
    call_id = int(moment.timestamp() * 1000) << 80 | 0x7 << 76 | 0b10 << 62 | random_bits
    return {
        "id": uuid.UUID(int=call_id), "tenant_id": tenant_id, "user_id": user_id, "origin": "chat",
        "conversation_id": uuid.uuid4(), "message_id": uuid.uuid4(), "run_id": uuid.uuid4(), "turn": 1, "position": 0,
        "tool_name": "save_note", "tier": "workspace", "agent": "default", "model": "offline/demo", "input": given,
        "input_raw": None,
        "params_hash": sha256_hex(given), "decision": GATES, "time_limit_ms": 30_000, "created_at": moment,
        "row_key": dice.randbytes(32), "approval_id": None, "approved_params_hash": None, "resumed_decision": None,
        "status": "error" if refused else "success", "error_code": "validation_error" if refused else None,
        "error_message": "title is missing." if refused else None, "error_field": "title" if refused else None,
        "output": None if refused else output, "output_bytes": None if refused else 100,
        "output_hash": None if refused else sha256_hex(output), "display": "" if refused else "Saved the note.",
        "side_effects": [] if refused else [{"kind": "note", "id": output["id"], "action": "created"}],
        "attempt": 0 if refused else 1, "fence": 0 if refused else 1,
        "execution_time_ms": None if refused else 12, "queued_at": None if refused else moment,
        "started_at": None if refused else moment, "finished_at": moment, "waits_on_run": None,
    }  # fmt: skip


def _adapted(value: Any) -> Any:
    from psycopg.types.json import Jsonb

    return Jsonb(value) if isinstance(value, dict | list) else value


def _print(services: EmbeddedServices, directory: Path, jobs: list[int]) -> None:
    with psycopg.connect(services.database_owner_url) as owner:
        found = owner.execute("SELECT count(*) FROM ledger_entries WHERE leaf_index IS NOT NULL").fetchone()
    assert found is not None
    postgres, count = dict(services.pids())["postgres"], found[0]
    print(
        f"{count:,} entries; CPU µs an entry{'process':>12}{'PostgreSQL':>12}{'× COPY':>8}{'entries/s':>12}{'MiB':>6}"
    )
    floor = _cost(postgres, count, lambda: _copied(services.database_owner_url))
    print(_line("COPY of the rows", floor, floor))
    for number in jobs:
        words = ["verify", *(["--jobs", str(number)] if number else [])]
        print(_line(f"verify, jobs: {number}", _cost(postgres, count, lambda words=words: _audit(*words)), floor))
    file = directory / "export.jsonl"
    cost = _cost(postgres, count // 10, lambda: _audit("export", "--tenant", "bench-0", "--output", str(file)))
    print(_line("export of one tenant", cost, floor))
    file.unlink()


def _cost(postgres: int, count: int, work: Callable[[], Any]) -> dict[str, float]:
    """CPU in µs for each of `count` entries, of this process and its children as `here`; entries a second; and the
    most memory, in MiB, that one process has taken so far."""

    def own() -> float:
        return sum(os.times()[:4])

    before, began, busy = machine.cpu_seconds(postgres), time.perf_counter(), own()
    work()
    seconds = time.perf_counter() - began
    return {
        "here": 1e6 * (own() - busy) / count,
        "postgres": 1e6 * (machine.cpu_seconds(postgres) - before) / count,
        "rate": count / seconds,
        "memory": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024,
    }


def _line(title: str, cost: dict[str, float], floor: dict[str, float]) -> str:
    ratio = (cost["here"] + cost["postgres"]) / (floor["here"] + floor["postgres"])
    figures = f"{cost['here']:>12.1f}{cost['postgres']:>12.1f}{ratio:>8.1f}{cost['rate']:>12,.0f}{cost['memory']:>6.0f}"
    return f"  {title:<30}{figures}"


def _copied(url: str) -> None:
    with psycopg.connect(url) as owner:
        for table in TABLES:
            with owner.cursor() as cursor, cursor.copy(f"COPY (SELECT * FROM {table}) TO STDOUT".encode()) as copy:
                for _ in copy:
                    pass


def _audit(*words: str) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "audit", *words], cwd=ROOT, check=False, capture_output=True, text=True
    )
    if done.returncode != 0:
        raise RuntimeError(f"{words[0]} exited with {done.returncode}: {done.stdout[-1000:]} {done.stderr[-2000:]}")


if __name__ == "__main__":
    sys.exit(main())
