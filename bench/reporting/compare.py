"""A run beside the committed baseline: `bench/baseline.json`, in figures that another machine can be held to.

Round trips, commits and WAL records are counted. CPU is given in yardsticks, a fixed piece of Python in the same
minutes, and latency as a multiple of the floors of the same run.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from bench.reporting.targets import Report

BASELINE = Path(__file__).resolve().parents[1] / "baseline.json"
OURS = ("web", "worker", "postgres", "redis")
# What a figure may differ by without saying anything: (absolute, as a share).
EXACT, COMMITS, RECORDS, CPU, LATENCY = (0.3, 0.0), (0.5, 0.0), (0.0, 0.15), (0.0, 0.15), (0.0, 0.3)


@dataclass(frozen=True)
class Change:
    """A figure then and now; less is better for all of them. `exact` ones are the same on every machine."""

    name: str
    then: float
    now: float
    exact: bool
    slack: tuple[float, float]

    @property
    def worse(self) -> bool:
        """Whether it is more than it was, by more than such a figure differs by itself."""
        return self.now > self.then + self.slack[0] + self.slack[1] * self.then

    @property
    def better(self) -> bool:
        """Whether it is less than it was, by more than that."""
        return self.now < self.then - self.slack[0] - self.slack[1] * self.then


def figures(report: Report) -> dict[str, float]:
    """The comparable figures of a report, by name."""
    yardsticks = report["yardstick_ms"]
    yardstick = yardsticks[len(yardsticks) // 2]
    found: dict[str, float] = {}
    for name, counts in report["counted"].items():
        found |= {f"{name}: round trips of {process}": trips for process, trips in counts["trips"].items()}
        found |= {f"{name}: commits": counts["commits"], f"{name}: WAL records": counts["wal_records"]}
    for name, levels in report["scenarios"].items():
        # At 1 the idle processes' own ticks count for much.
        costs = levels["16"]["cpu_ms"]
        found[f"{name}, c16: CPU in yardsticks"] = sum(costs[process] for process in OURS) / yardstick
        if "1" in levels:
            found[f"{name}, c1: p50 in floors"] = levels["1"]["p50"] / floor(report, name, "1")
    return {name: round(value, 3) for name, value in found.items()}


def floor(report: Report, scenario: str, level: str) -> float:
    """The milliseconds of the parts that a request of this scenario stands on, alone."""
    parts = ("view", "task", "insert") if "tool" in scenario else ("view", "insert")
    return float(sum(report["floors"][part][level]["p50"] for part in parts))


def write(report: Report, effort: str) -> None:
    """Make this run the baseline."""
    kept = {"effort": effort, "machine": report["machine"], "figures": figures(report)}
    BASELINE.write_bytes(orjson.dumps(kept, option=orjson.OPT_INDENT_2) + b"\n")


def changes(report: Report, baseline: dict[str, Any]) -> list[Change]:
    """What of the baseline this run has figures for, then and now."""
    now = figures(report)
    return [_change(name, then, now[name]) for name, then in baseline["figures"].items() if name in now]


def _change(name: str, then: float, now: float) -> Change:
    kinds: dict[str, tuple[bool, tuple[float, float]]] = {
        "round trips": (True, EXACT),
        "commits": (False, COMMITS),
        "WAL records": (False, RECORDS),
        "CPU": (False, CPU),
    }
    exact, slack = next((kind for word, kind in kinds.items() if word in name), (False, LATENCY))
    return Change(name, then, now, exact, slack)


def read() -> dict[str, Any]:
    """The baseline."""
    found: dict[str, Any] = orjson.loads(BASELINE.read_bytes())
    return found


def lines(compared: list[Change], baseline: dict[str, Any], effort: str) -> list[str]:
    """The comparison as text; what is worse is said so."""
    machine, run = baseline["machine"], baseline["effort"]
    shown = [
        "",
        f"  Beside the baseline, a {run} run on {machine['cores']} cores ({machine['cpu']}); less is better",
        *([f"  This is a {effort} run: only what is counted compares."] if effort != run else []),
        f"  {'':<52}{'then':>10}{'now':>10}{'now/then':>10}",
    ]
    for each in compared:
        ratio = f"{each.now / each.then:.2f}" if each.then else "–"
        shown.append(f"  {each.name:<52}{each.then:>10.2f}{each.now:>10.2f}{ratio:>10}  {_said(each)}".rstrip())
    return shown


def _said(each: Change) -> str:
    return "WORSE" if each.worse else "better" if each.better else ""


def failed(compared: list[Change]) -> bool:
    """Whether an exact figure is worse; in PostgreSQL's own counters its autovacuum takes part too."""
    return any(each.worse and each.exact for each in compared)
