"""The whole benchmark: every scenario and floor in rounds, so that a noisy moment spoils one sample and no median."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson
import psycopg

from bench import anatomy
from bench.counted import counted
from bench.parts.remote_tools import remote_tools
from bench.reporting import targets
from bench.rig import machine
from bench.rig.measure import Figures, Others, measure, median
from bench.rig.stack import Stack
from bench.scenarios import (
    AT_EVERY_LEVEL,
    BATCH,
    DIRECT,
    DIRECT_STREAM,
    OF_MANY_CALLS,
    V1_CHAT,
    V1_STREAM,
    V1_TOOL,
    V1_TOOLS,
    VIEW,
    Scenario,
    request_text,
)

CONCURRENCIES = (1, 16, 64)
WARM_UP_SECONDS = 1.0
# One client's requests on one connection, and what the database is asked for one of them.
KINDS = {"chat": V1_CHAT, "streamed: first token": V1_STREAM, "one governed call": V1_TOOL, "eight calls": V1_TOOLS}
COUNTED = (V1_CHAT, V1_STREAM, V1_TOOL, V1_TOOLS)
ROWS = """
    SELECT (SELECT count(*) FROM tool_calls WHERE status = 'success'), (SELECT count(*) FROM tool_calls),
        (SELECT count(*) FROM ledger_entries WHERE kind = 'settled')"""


@dataclass(frozen=True)
class Effort:
    """How long to measure: `rounds` samples of `seconds` each; floors take `floor_seconds`."""

    rounds: int
    seconds: float
    warm_seconds: float
    floor_seconds: float
    remote: bool
    connection_requests: int
    counted: tuple[Scenario, ...]
    counted_requests: int


QUICK = Effort(
    1,
    seconds=1.2,
    warm_seconds=0.3,
    floor_seconds=0.4,
    remote=False,
    connection_requests=30,
    counted=(V1_CHAT, V1_TOOL),
    counted_requests=100,
)
FULL = Effort(
    3,
    seconds=3.0,
    warm_seconds=0.5,
    floor_seconds=0.8,
    remote=True,
    connection_requests=200,
    counted=COUNTED,
    counted_requests=200,
)


def run(stack: Stack, effort: Effort, say: Callable[[str], None]) -> targets.Report:
    """The report; `say` is told what is being done."""
    others = Others()
    samples: dict[str, dict[str, list[Figures]]] = {}
    answered = 0

    def sample(scenario: Scenario, concurrency: int, seconds: float) -> None:
        nonlocal answered
        figures = measure(stack, scenario.plan(stack, concurrency, seconds, effort.warm_seconds))
        samples.setdefault(scenario.name, {}).setdefault(str(concurrency), []).append(figures)
        answered += figures["total"] * scenario.calls

    def floor(name: str, module: str, concurrency: int) -> None:
        figures = stack.output_of(module, str(concurrency), str(effort.floor_seconds))
        samples.setdefault(name, {}).setdefault(str(concurrency), []).append(figures)

    say("warming up")
    for scenario in AT_EVERY_LEVEL:
        answered += measure(stack, scenario.plan(stack, 16, WARM_UP_SECONDS))["total"] * scenario.calls
    for number in range(effort.rounds):
        say(f"round {number + 1} of {effort.rounds}")
        for concurrency in CONCURRENCIES:
            for scenario in (DIRECT, DIRECT_STREAM, VIEW):
                sample(scenario, concurrency, effort.floor_seconds)
            floor("task", "bench.floors.task", concurrency)
            floor("insert", "bench.floors.insert", concurrency)
            for scenario in AT_EVERY_LEVEL:
                sample(scenario, concurrency, effort.seconds)
        for scenario in OF_MANY_CALLS:
            sample(scenario, 16, effort.seconds)
    merged = {name: {level: median(each) for level, each in levels.items()} for name, levels in samples.items()}
    floors = {name: merged.pop(name) for name in ("direct", "direct_stream", "view", "task", "insert")}
    _add_added(merged, floors)
    report: targets.Report = {
        "machine": machine.description(),
        "web_processes": stack.web_concurrency,
        "scenarios": merged,
        "floors": floors,
    }
    say("one client on one connection")
    asked = _connections(stack, effort.connection_requests)
    report["connections"], report["kinds"] = asked["ways"], asked["kinds"]
    # Each kind is asked through the SDK and through a socket, with one request before those that count.
    answered += 2 * (effort.connection_requests + 1) * sum(scenario.calls for scenario in KINDS.values())
    report["anatomy"], calls = anatomy.where_time_goes(stack, effort.connection_requests)
    answered += calls
    report["memory"] = _memory(stack)
    say("counting round trips, commits and WAL")
    report["counted"] = counted(stack, effort.counted, effort.counted_requests)
    answered += report["counted"].pop("answered")["calls"]
    if effort.remote:
        say("slow remote tools beside fast local ones")
        report["remote"] = remote_tools(stack)
        answered += report["remote"]["succeeded"] + report["remote"]["local_calls"]
    report["yardstick_ms"] = sorted(
        figures["yardstick_ms"]
        for levels in samples.values()
        for each in levels.values()
        for figures in each
        if "yardstick_ms" in figures
    )
    report["rows"] = {"answered": answered, **_rows(stack)}
    report["other_processes_cores"] = others.cores()
    report["targets"] = [
        {"title": each.title, "value": each.figure(report), "bound": each.bound, "met": each.met(report)}
        for each in targets.of(report)
    ]
    return report


def _add_added(scenarios: dict[str, Any], floors: dict[str, Any]) -> None:
    """Beside each latency, what of it is Toolgate's: without the provider's own time at that concurrency."""
    for name, levels in scenarios.items():
        direct = "direct_stream" if "stream" in name else "direct"
        times = 2 if "tool" in name else 1
        for level, figures in levels.items():
            figures["added_p50"] = figures["p50"] - times * floors[direct][level]["p50"]
            if "first_p50" in figures:
                figures["added_first_p50"] = figures["first_p50"] - floors[direct][level]["first_p50"]
            if name.endswith("tools"):
                figures["calls_per_second"] = figures["per_second"] * BATCH


def _connections(stack: Stack, times: int) -> dict[str, Any]:
    """Median milliseconds of one client's requests: `ways` of asking for a chat, `kinds` of requests."""
    port, key = stack.ports["web"], stack.keys[0]
    kinds = {
        name: {
            "model": scenario.body["model"],
            "request": request_text(port, scenario.path, scenario.body, key),
            "first": scenario.first,
        }
        for name, scenario in KINDS.items()
    }
    plan = {"port": port, "key": key, "kinds": kinds, "times": times}
    found: dict[str, Any] = stack.output_of("bench.rig.sdk", given=orjson.dumps(plan))
    return found


def _memory(stack: Stack) -> dict[str, dict[str, float]]:
    each = {name: machine.memory(stack.pids[name]) for name in ("web", "worker", "beat")}
    together = {unit: sum(figures[unit] for figures in each.values()) for unit in ("rss_mib", "pss_mib")}
    return each | {"together": together}


def _rows(stack: Stack) -> dict[str, int]:
    with psycopg.connect(stack.services.database_owner_url) as connection:
        found = connection.execute(ROWS).fetchone()
    assert found is not None
    return dict(zip(("calls_succeeded", "calls", "ledger_settled"), found, strict=True))
