"""The table of what the storms found."""

from collections import Counter
from statistics import median
from typing import Any

COLUMNS = ("fault", "times", "calls", "lost", "doubled", "final changed", "recovery p50", "recovery max")


def line(fault: str, times: int, outcome: Any) -> list[str]:
    """A storm's line in the table."""
    found, seconds = outcome.findings, outcome.recoveries
    counts = (times, found.calls, len(found.lost), len(found.doubled), len(found.changed))
    return [fault, *map(str, counts), f"{median(seconds):.1f} s", f"{max(seconds):.1f} s"]


def table(lines: list[list[str]]) -> list[str]:
    """The lines under their headings, in columns; nothing without lines."""
    if not lines:
        return []
    calls = sum(int(each[2]) for each in lines)
    whole = [list(COLUMNS), *lines, ["all", str(sum(int(each[1]) for each in lines)), str(calls)]]
    widths = [max(len(each[at]) for each in whole if at < len(each)) for at in range(len(COLUMNS))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(each, widths, strict=False)).rstrip() for each in whole]


def of_trees(
    met: Counter[str], ends: Counter[str], limits: Counter[str], runs: int, calls: int, wrong: list[str]
) -> list[str]:
    """What became of trees of runs: how often each arrow was met in its COMMIT, how the roots ended, how many runs
    ended at which limit, what is wrong."""
    width = max(map(len, met), default=0)
    trees = ", ".join(f"{count} {end}" for end, count in sorted(ends.items()))
    at_limits = ", ".join(f"{count} {name}" for name, count in sorted(limits.items())) or "none"
    return [
        *(f"{name.ljust(width)}  killed {count}" for name, count in sorted(met.items())),
        f"{sum(ends.values())} trees ({trees}), {runs} runs, {calls} calls, {len(wrong)} wrong",
        f"runs that a limit ended: {at_limits}",
    ]
