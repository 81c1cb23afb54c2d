"""Runs a plan, and says what every process spent on it."""

import os
import statistics
import time
from dataclasses import asdict
from typing import Any

import orjson

from bench.rig import machine
from bench.rig.load import Plan
from bench.rig.stack import Stack

Figures = dict[str, Any]
SERVERS = ("web", "worker", "postgres", "redis", "provider", "view")


def measure(stack: Stack, plan: Plan) -> Figures:
    """A load.Result as a dict, with `cpu_ms`: milliseconds of CPU for each answer, by process, `load` among them.

    `yardstick_ms` is how long this machine took for a fixed piece of work just before.
    """
    yardstick = machine.yardstick_ms()
    before = {name: _cpu_seconds(stack, name) for name in SERVERS}
    result: Figures = stack.output_of("bench.rig.load", given=orjson.dumps(asdict(plan)))
    answers = max(1, result["total"])
    spent = {name: 1000 * (_cpu_seconds(stack, name) - before[name]) / answers for name in SERVERS}
    spent["load"] = result.pop("own_cpu_ms") / answers
    return result | {"cpu_ms": spent, "yardstick_ms": yardstick}


def _cpu_seconds(stack: Stack, name: str) -> float:
    """Of a process, or of all web processes together."""
    return sum(machine.cpu_seconds(pid) for each, pid in stack.pids.items() if each.partition(" ")[0] == name)


def median(samples: list[Figures]) -> Figures:
    """Figure by figure the median of several samples; errors, answers and totals are added up."""
    merged: Figures = {}
    for name, value in samples[0].items():
        values = [sample[name] for sample in samples]
        if isinstance(value, dict):
            merged[name] = median(values)
        elif name in ("errors", "total", "measured"):
            merged[name] = sum(values)
        elif isinstance(value, str):
            merged[name] = next(filter(None, values), "")
        elif value is not None:
            merged[name] = statistics.median(values)
    if "per_second" in merged:
        merged["spread"] = _spread([sample["per_second"] for sample in samples])
    return merged


def _spread(values: list[float]) -> float:
    """How far the samples lie apart, as a share of their median."""
    middle = statistics.median(values)
    return (max(values) - min(values)) / middle if middle else 0.0


class Others:
    """How much of the machine went to processes that are not ours, since this was made."""

    def __init__(self) -> None:
        self._began, self._busy, self._ours = time.monotonic(), machine.busy_seconds(), machine.cpu_seconds(os.getpid())

    def cores(self) -> float:
        """In cores: 0.5 is half of one core, all the time."""
        # Whatever we start is a descendant of ours, and an ended one's time is its parent's.
        ours = machine.cpu_seconds(os.getpid()) - self._ours
        theirs = machine.busy_seconds() - self._busy - ours
        return max(0.0, theirs / (time.monotonic() - self._began))
