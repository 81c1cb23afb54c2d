"""The benchmark's figures beside its baseline, and what it counts at the database."""

import os
import socket
from typing import Any
from urllib.parse import urlsplit

import psycopg

from bench.counting_proxy import CountingProxy
from bench.reporting import compare


def _report(**more: Any) -> dict[str, Any]:
    """A report of one scenario; `more` are its counts."""
    counts: dict[str, Any] = {"trips": {"web": 5.0, "worker": 0.0}, "commits": 3.0, "wal_records": 50.0}
    level = {"p50": 4.0, "cpu_ms": {"web": 2.0, "worker": 0.0, "postgres": 1.0, "redis": 0.0}}
    return {
        "yardstick_ms": [10.0, 20.0, 90.0],
        "counted": {"v1_chat": counts | more},
        "scenarios": {"v1_chat": {"1": level, "16": level}},
        "floors": {name: {"1": {"p50": 1.0}} for name in ("view", "task", "insert")},
    }


def _beside(now: dict[str, Any], then: dict[str, Any]) -> list[compare.Change]:
    return compare.changes(now, {"figures": compare.figures(then)})


def test_cpu_is_compared_in_yardsticks_and_latency_in_floors_of_the_same_run() -> None:
    assert compare.figures(_report()) == {
        "v1_chat: round trips of web": 5.0,
        "v1_chat: round trips of worker": 0.0,
        "v1_chat: commits": 3.0,
        "v1_chat: WAL records": 50.0,
        "v1_chat, c16: CPU in yardsticks": 0.15,
        "v1_chat, c1: p50 in floors": 2.0,
    }


def test_one_more_round_trip_than_the_baseline_fails() -> None:
    assert not compare.failed(_beside(_report(), _report()))
    for more in ({"trips": {"web": 6.0, "worker": 0.0}}, {"trips": {"web": 5.0, "worker": 1.0}}):
        compared = _beside(_report(**more), _report())
        assert compare.failed(compared)
        assert [each.worse for each in compared].count(True) == 1


def test_fewer_round_trips_are_better_and_more_of_what_is_measured_fails_nothing() -> None:
    compared = {each.name: each for each in _beside(_report(commits=2.0, wal_records=90.0), _report())}
    assert compared["v1_chat: commits"].better
    assert compared["v1_chat: WAL records"].worse
    assert not compare.failed(list(compared.values()))
    text = "\n".join(compare.lines(list(compared.values()), {"effort": "full", "machine": _machine()}, "quick"))
    assert "This is a quick run: only what is counted compares." in text
    assert "better" in text and "WORSE" in text


def _machine() -> dict[str, Any]:
    return {"cores": 2, "cpu": "a processor"}


def test_the_committed_baseline_has_figures_of_every_kind() -> None:
    names = " ".join(compare.read()["figures"])
    assert all(kind in names for kind in ("round trips of web", "commits", "WAL records", "yardsticks", "floors"))


def test_statements_that_are_sent_together_are_one_round_trip() -> None:
    url = os.environ["DATABASE_OWNER_URL"]
    port = urlsplit(url).port
    assert port is not None
    with CountingProxy(port) as proxy, psycopg.connect(proxy.in_front_of(url), autocommit=True) as connection:
        before = proxy.trips
        for _ in range(3):
            connection.execute("SELECT 1")
        assert proxy.trips - before == 3
        before = proxy.trips
        with connection.pipeline():
            cursors = [connection.execute("SELECT %s::int", [number]) for number in range(3)]
        assert [cursor.fetchone() for cursor in cursors] == [(0,), (1,), (2,)]
        assert proxy.trips - before == 1


def test_a_lone_flush_after_the_answer_is_no_round_trip() -> None:
    sync, flush = b"S\x00\x00\x00\x04", b"H\x00\x00\x00\x04"
    with (
        socket.create_server(("127.0.0.1", 0)) as listening,
        CountingProxy(listening.getsockname()[1]) as proxy,
        socket.create_connection(("127.0.0.1", proxy.port), 10) as client,
        listening.accept()[0] as server,
    ):
        for sent, trips in ((sync, 1), (flush, 1), (sync, 2), (flush, 2)):
            client.sendall(sent)
            assert server.recv(64) == sent
            assert proxy.trips == trips
            server.sendall(b"Z")
            assert client.recv(64) == b"Z"
