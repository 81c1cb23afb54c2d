"""What one request costs the database: round trips, commits, WAL and fsyncs, counted and not timed.

A web process and a worker of their own, with a broker of their own, reach PostgreSQL through counting proxies; one
request after another is made of them, with nothing else going on.
"""

import os
import signal
import time
from contextlib import ExitStack
from typing import Any
from urllib.parse import urlsplit

import psycopg

from bench.counting_proxy import CountingProxy
from bench.rig.measure import measure
from bench.rig.stack import Stack
from bench.scenarios import Scenario

WARM_UP_TIMES = 20
# An idle connection reports what it has done within ten seconds.
REPORTED_SECONDS = 10.5
DATABASES = ("DATABASE_URL", "DATABASE_SYSTEM_URL", "DATABASE_OPERATOR_URL")
STATISTICS = """
    SELECT (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()),
        pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0'),
        (SELECT sum(fsyncs) FROM pg_stat_io WHERE object = 'wal'),
        (SELECT wal_records FROM pg_stat_wal)"""
FIGURES = ("commits", "wal_bytes", "fsyncs", "wal_records")


def counted(stack: Stack, scenarios: tuple[Scenario, ...], times: int) -> dict[str, dict[str, Any]]:
    """For each scenario, of one request: `trips` of web and worker, and FIGURES; without what happens with no request.

    Under "answered", `calls` are the governed calls that were made in all.
    """
    found: dict[str, dict[str, Any]] = {}
    port = urlsplit(stack.addresses["DATABASE_URL"]).port
    assert port is not None
    with ExitStack() as opened:
        proxies = {name: opened.enter_context(CountingProxy(port)) for name in ("web", "worker")}
        for name, proxy in proxies.items():
            urls = {setting: proxy.in_front_of(stack.addresses[setting]) for setting in DATABASES}
            broker = stack.addresses["REDIS_URL"].rpartition("/")[0] + "/1"
            stack.start_beside(name, **urls, REDIS_URL=broker)
        stack.wait("counted web", "/readyz")
        os.kill(stack.pids["beat"], signal.SIGSTOP)
        opened.callback(os.kill, stack.pids["beat"], signal.SIGCONT)
        answered = 0
        for scenario in scenarios:
            answered += scenario.calls * _asked(stack, scenario, WARM_UP_TIMES)
        first = _Reading(stack)
        before = _Reading(stack)
        idle = [change / (before.at - first.at) for change in before.changes(first)]
        for scenario in scenarios:
            trips = {name: proxy.trips for name, proxy in proxies.items()}
            answered += scenario.calls * _asked(stack, scenario, times)
            trips = {name: (proxy.trips - trips[name]) / times for name, proxy in proxies.items()}
            after = _Reading(stack)
            seconds = after.at - before.at
            changes = [
                max(0.0, change - rate * seconds) / times
                for change, rate in zip(after.changes(before), idle, strict=True)
            ]
            before = after
            found[scenario.name] = {"trips": trips, **dict(zip(FIGURES, changes, strict=True))}
        found["answered"] = {"calls": answered}
        stack.stop_beside()
    return found


def _asked(stack: Stack, scenario: Scenario, times: int) -> int:
    result = measure(stack, scenario.plan(stack, 1, 0, times=times, process="counted web"))
    if result["errors"]:
        raise RuntimeError(f"{scenario.name}: {result['first_error'][:500]}")
    return int(result["total"])


class _Reading:
    """PostgreSQL's counters, once every connection has reported."""

    def __init__(self, stack: Stack) -> None:
        time.sleep(REPORTED_SECONDS)
        with psycopg.connect(stack.services.database_owner_url) as connection:
            found = connection.execute(STATISTICS).fetchone()
        assert found is not None
        self.at = time.monotonic()
        self._values = [float(value) for value in found]

    def changes(self, earlier: "_Reading") -> list[float]:
        """What was counted since an earlier reading."""
        return [new - old for new, old in zip(self._values, earlier._values, strict=True)]


def lines(counts: dict[str, dict[str, Any]], scenarios: tuple[Scenario, ...]) -> list[str]:
    """The part as text."""
    shown = [f"  {'One request, counted':<70}{'trips: web':>12}{'worker':>8}{'commits':>9}{'WAL KB':>8}{'fsyncs':>8}"]
    for scenario in scenarios:
        if scenario.name in counts:
            each = counts[scenario.name]
            shown.append(
                f"  {scenario.title:<70}{each['trips']['web']:>12.1f}{each['trips']['worker']:>8.1f}"
                f"{each['commits']:>9.1f}{each['wal_bytes'] / 1000:>8.1f}{each['fsyncs']:>8.1f}"
            )
    return ["", *shown]
