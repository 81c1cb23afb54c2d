"""`python -m bench.records.history [--large N] [--total N] [--data DIR] [--reader NAME]`: what a history costs to read.

Every figure is for the statements about calls that a real request sends: the CPU time of the PostgreSQL process that
answers them, and in brackets the time at the cursor, which on a busy machine is mostly waiting for a core. Beside it is
the barest query that answers the same: by the owner, without row-level security, with the same predicate and the best
index there is. With `--data` the history stays in that directory, and the next run finds it there.
"""

import argparse
import re
import statistics
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg

from bench.records import generator
from bench.rig.database import migrated
from gateway.embedded.services.together import EmbeddedServices

ROUNDS = 21
BARE = "SELECT * FROM tool_calls c WHERE {} ORDER BY id DESC LIMIT {}"
Request = Callable[[], Any]


def main() -> int:
    """Fill a database if there is none, measure and print."""
    options = argparse.ArgumentParser(prog="bench.records.history")
    options.add_argument("--large", type=int, default=400_000)
    options.add_argument("--total", type=int, default=600_000)
    options.add_argument("--data", type=Path)
    options.add_argument("--reader", help="member, busy member, auditor or operator alone")
    given = options.parse_args()
    with migrated(given.data) as (services, directory):
        _prepare(services, directory, given.large, given.total)
        _print(services.database_owner_url, given.reader)
    return 0


def _prepare(services: EmbeddedServices, directory: Path, large: int, total: int) -> None:
    if not (directory / "filled").exists():
        began = time.perf_counter()
        generator.generate(services.database_owner_url, _crowds(), large=large, total=total)
        print(f"{total:,} calls written in {time.perf_counter() - began:.0f} s", flush=True)
        (directory / "filled").touch()


def _crowds() -> list[generator.Crowd]:
    from gateway.runs.agents.queries import create_tenant
    from tenants.models import Membership, User
    from tenants.scope.routing import on_login

    crowds = []
    with on_login("operator"):
        for number in range(1 + generator.OTHERS):
            tenant = create_tenant(slug=f"bench-{number}")
            count = 20 if number else generator.USERS
            users = User.objects.bulk_create(User(username=f"bench-{number}-{i}", password="!") for i in range(count))
            Membership.objects.bulk_create(Membership(tenant=tenant, user=user, role="member") for user in users)
            crowds.append(generator.Crowd(tenant.id, [user.id for user in users]))
    return crowds


class Times:
    """Collects what the statements about calls take, in milliseconds, on the app's and the operator's login."""

    def __init__(self) -> None:
        self.cpu = self.spent = 0.0
        self.asked: list[tuple[str, Any, str]] = []

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        process = context["connection"].connection.info.backend_pid
        cpu, began = _cpu(process), time.perf_counter()
        try:
            return execute(sql, params, many, context)
        finally:
            if "tool_call" in sql and "INSERT" not in sql:
                self.cpu += _cpu(process) - cpu
                self.spent += 1000 * (time.perf_counter() - began)
                self.asked.append((sql, params, context["connection"].alias))


def _cpu(process: int) -> float:
    """How long a process has had a core, in milliseconds."""
    return int(Path(f"/proc/{process}/schedstat").read_text().split()[0]) / 1e6


@contextmanager
def _timed() -> Iterator[Times]:
    from django.db import connections

    times = Times()
    with connections["default"].execute_wrapper(times), connections["operator"].execute_wrapper(times):
        yield times


def _measured(request: Request) -> tuple[float, float, float, list[tuple[str, Any, str]]]:
    """CPU p50 and p95 and the time at the cursor (p50) of ROUNDS requests after two, and the statements of one."""
    cpu, spent = [], []
    for _ in range(ROUNDS + 2):
        with _timed() as times:
            request()
        cpu.append(times.cpu)
        spent.append(times.spent)
    ordered = sorted(cpu[2:])
    return statistics.median(ordered), ordered[round(0.95 * (ROUNDS - 1))], statistics.median(spent[2:]), times.asked


def _touched(asked: list[tuple[str, Any, str]], tenant_id: str, user_id: str) -> int | None:
    """How many partitions the statements read; None where a function hides them."""
    from django.db import connections

    from tenants.scope import transactions

    touched: set[str] = set()
    for sql, params, alias in asked:
        if "_tool_calls(" in sql:
            return None
        with ExitStack() as stack:
            if alias == "default":
                stack.enter_context(transactions.scope(uuid.UUID(tenant_id), uuid.UUID(user_id)))
            cursor = stack.enter_context(connections[alias].cursor())
            cursor.execute(f"EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) {sql}", params)
            plan = [row[0] for row in cursor.fetchall() if "never executed" not in row[0]]
        touched |= set(re.findall(r" on (tool_calls_(?:\d+_\d+|default))\b", "\n".join(plan)))
    return len(touched)


def _bare(owner: psycopg.Connection, where: str, limit: int) -> float:
    """CPU p50 of the same rows, asked barely."""
    query = BARE.format(where, limit).encode()
    owner.execute(b"SET enable_seqscan = off")
    owner.execute(("SET enable_indexscan = " + ("off" if "tsquery" in where else "on")).encode())
    spent = []
    for _ in range(ROUNDS + 2):
        began = _cpu(owner.info.backend_pid)
        owner.execute(query, prepare=False).fetchall()
        spent.append(_cpu(owner.info.backend_pid) - began)
    return statistics.median(spent[2:])


def _print(owner_url: str, only: str | None) -> None:
    from bench.records.readers import readers

    with psycopg.connect(owner_url, autocommit=True) as owner:
        sizes = "SELECT sum(reltuples)::bigint, pg_size_pretty(pg_database_size(current_database())) FROM pg_class"
        found = owner.execute(f"{sizes} WHERE relname LIKE 'tool_calls_2%' AND relkind = 'r'".encode()).fetchone()
        assert found is not None
        print(f"{found[0]:,} calls, {found[1]}; ms, {ROUNDS} requests each")
        print(f"{'':<54}{'p50':>8}{'p95':>8}{'':>10}{'bare':>8}{'ratio':>7}{'months':>8}")
        for reader in readers(owner, only):
            for case, query, where in reader.cases():
                for surface, request, limit in reader.requests(query):
                    p50, p95, spent, asked = _measured(request)
                    bare = _bare(owner, where, limit)
                    months = _touched(asked, reader.tenant_id, reader.user_id)
                    figures = f"{p50:>8.2f}{p95:>8.2f}{f'({spent:.1f})':>10}{bare:>8.2f}{p50 / bare:>7.1f}"
                    title = f"{reader.name:<12}{surface:<8}{case:<34}"
                    print(f"{title}{figures}{'' if months is None else months:>8}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
