"""The report as a table for people."""

from bench import anatomy, counted
from bench.parts.remote_tools import lines as remote_lines
from bench.reporting.compare import floor
from bench.reporting.targets import Report, of
from bench.scenarios import AT_EVERY_LEVEL, OF_MANY_CALLS

LEVELS = ("1", "16", "64")
WIDTH = 17


def text(report: Report) -> str:
    """The whole report."""
    return "\n".join(
        [
            *_head(report),
            *_floors(report),
            *_scenarios(report),
            *counted.lines(report["counted"], (*AT_EVERY_LEVEL, *OF_MANY_CALLS)),
            *_connections(report),
            *anatomy.lines(report["anatomy"]),
            *_rest(report),
            *_targets(report),
        ]
    )


def _head(report: Report) -> list[str]:
    execution = report["machine"]
    others, yardstick = report["other_processes_cores"], report["yardstick_ms"]
    return [
        f"{execution['cores']} cores ({execution['cpu']}), {execution['system']}, Python {execution['python']}",
        f"All of it shares these {execution['cores']} cores: {_processes(report)}, PostgreSQL (fsync on),",
        "Valkey, the fake provider and the load generator. Closed loop, medians of the rounds; latencies in ms.",
        f"Other processes on this machine took {others:.2f} cores meanwhile"
        + ("; figures that depend on throughput suffer." if others > 0.1 else "."),
        f"A fixed piece of Python took {yardstick[len(yardstick) // 2]:.0f} ms of CPU ({yardstick[0]:.0f} to "
        f"{yardstick[-1]:.0f}): compare runs by it.",
    ]


def _processes(report: Report) -> str:
    webs = report["web_processes"]
    return f"{webs} web process{'es' if webs > 1 else ''}, one worker, beat"


def _row(title: str, values: list[str]) -> str:
    return f"  {title:<38}" + "".join(f"{value:>{WIDTH}}" for value in values)


def _floors(report: Report) -> list[str]:
    floors = report["floors"]

    def both(name: str, figure: str = "p50") -> list[str]:
        return [f"{floors[name][level]['per_second']:,.0f}; {floors[name][level][figure]:.2f}" for level in LEVELS]

    load, provider = (1000 * floors["direct"]["16"]["cpu_ms"][name] for name in ("load", "provider"))
    view = 1000 * floors["view"]["16"]["cpu_ms"]["view"]
    return [
        "",
        _row("Floors (per second; p50)", [f"c{level}" for level in LEVELS]),
        _row("fake provider, directly", both("direct")),
        _row("  streamed (first token)", both("direct_stream", "first_p50")),
        _row("bare ASGI view", both("view")),
        _row("bare Celery round trip", both("task")),
        _row("bare INSERT with commit", both("insert")),
        f"  CPU of one request: load generator {load:.0f} µs and provider {provider:.0f} µs (their own limits), "
        f"bare view {view:.0f} µs.",
    ]


def _scenarios(report: Report) -> list[str]:
    lines: list[str] = []
    for scenario in (*AT_EVERY_LEVEL, *OF_MANY_CALLS):
        measured = report["scenarios"][scenario.name]
        levels = [level for level in LEVELS if level in measured]
        lines += ["", scenario.title, _row("", [f"c{level}" for level in levels])]

        def row(
            title: str, figure: str, style: str = ".1f", levels: list[str] = levels, execution: Report = measured
        ) -> str:
            return _row(title, [format(execution[level][figure], style) for level in levels])

        lines.append(_row("requests/s (spread of samples)", [_rate(measured[level]) for level in levels]))
        if "calls_per_second" in measured[levels[0]]:
            lines.append(row("governed calls/s", "calls_per_second", ",.0f"))
        if "first_p50" in measured[levels[0]]:
            lines += [row("first token, p50", "first_p50"), row("first token, p95", "first_p95")]
            lines.append(row("first token, added", "added_first_p50"))
        lines += [row("p50", "p50"), row("p95", "p95"), row("added over the provider, p50", "added_p50")]
        lines += [
            row("errors", "errors", ".0f"),
            *_cpu(measured, levels, report["machine"]["cores"]),
            *_ratios(report, scenario.name, levels),
        ]
        lines += [
            f"  first error: {measured[level]['first_error'][:300]}" for level in levels if measured[level]["errors"]
        ]
    return lines


def _rate(figures: Report) -> str:
    spread = f" (±{50 * figures['spread']:.0f} %)" if figures["spread"] else ""
    return f"{figures['per_second']:,.0f}{spread}"


def _cpu(measured: Report, levels: list[str], cores: int) -> list[str]:
    """What a request costs each process, and how many a second that allows: web has one core at the most."""

    def row(title: str, *names: str) -> str:
        return _row(title, [f"{sum(measured[level]['cpu_ms'][name] for name in names):.2f}" for level in levels])

    costs = [measured[level]["cpu_ms"] for level in levels]
    allowed = [min(1000 / cost["web"], cores * 1000 / sum(cost.values())) if cost["web"] else 0.0 for cost in costs]
    return [
        row("CPU ms a request: web", "web"),
        row("  worker", "worker"),
        row("  PostgreSQL", "postgres"),
        row("  Valkey", "redis"),
        row("  provider and load generator", "provider", "load"),
        _row("requests/s that this CPU would allow", [f"{value:,.0f}" for value in allowed]),
    ]


def _ratios(report: Report, name: str, levels: list[str]) -> list[str]:
    """How many times the floors' latency a request takes: with all of them in it at 1, and waiting its turn beyond."""
    measured = report["scenarios"][name]
    label = "× floor: view + Celery + INSERT" if "tool" in name else "× floor: view + INSERT"
    return [_row(label + ", p50", [f"{measured[level]['p50'] / floor(report, name, level):.1f}" for level in levels])]


def _connections(report: Report) -> list[str]:
    rows = [_row(name, [f"{each['kept']:.1f}", f"{each['new']:.1f}"]) for name, each in report["connections"].items()]
    kinds = [_row(name, [f"{each['sdk']:.1f}", f"{each['raw']:.1f}"]) for name, each in report["kinds"].items()]
    return [
        "",
        _row("one client, /v1 without tools; p50", ["kept alive", "new each time"]),
        *rows,
        "",
        _row("one client, kept alive, /v1; p50", ["openai SDK", "raw socket"]),
        *kinds,
    ]


def _rest(report: Report) -> list[str]:
    memory, rows = report["memory"], report["rows"]
    each = ", ".join(f"{name} {memory[name]['pss_mib']:.0f}/{memory[name]['rss_mib']:.0f}" for name in memory)
    return [
        "",
        f"Memory after all that, PSS/RSS in MiB: {each}",
        f"Audit: {rows['answered']:,} governed calls answered; on record {rows['calls']:,}, successful "
        f"{rows['calls_succeeded']:,}, settled in the ledger {rows['ledger_settled']:,}",
        *(remote_lines(report["remote"]) if "remote" in report else ["Remote tools: not in --quick"]),
    ]


def _targets(report: Report) -> list[str]:
    lines = ["", f"  {'Targets':<38}{'measured':>14}{'target':>14}{'ratio':>8}"]
    for each in of(report):
        value, sign = each.figure(report), "≥" if each.at_least else "≤"
        shown, bound = f"{value:,.1f} {each.unit}", f"{sign} {each.bound:g} {each.unit}"
        ratio = f"{each.ratio(report):.2f}" if each.bound else ""
        verdict = "met" if each.met(report) else "MISSED"
        lines.append(f"  {each.title:<38}{shown:>14}{bound:>14}{ratio:>8}  {verdict:<7}{each.why}")
    return lines
