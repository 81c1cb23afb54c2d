"""`python -m bench.rig.anatomy`: what one client of the official openai SDK waits for, on a connection that is kept.

Reads a Plan as JSON from standard input, and writes for each kind of chat the median and mean milliseconds, and the
CPU milliseconds of the client itself and of each process while it waited. With one client nothing else goes on: what
the CPU times do not add up to is waiting.
"""

import statistics
import sys
import time
from dataclasses import dataclass
from typing import Any

import openai
import orjson

from bench.rig import machine

# Not counted: a process's first requests import, connect and plan.
WARM_UP = 5


@dataclass(frozen=True)
class Asked:
    """A chat to ask for: the server's port, its model, and what is said to it."""

    port: int
    model: str
    said: str


@dataclass(frozen=True)
class Plan:
    """`times` chats of each kind by whose `key` it is; `processes` lead trees by their ids."""

    key: str
    chats: dict[str, Asked]
    processes: dict[str, list[int]]
    times: int

    @classmethod
    def read(cls, given: bytes) -> "Plan":
        """The plan in this JSON."""
        plan = orjson.loads(given)
        return cls(**{**plan, "chats": {name: Asked(**chat) for name, chat in plan["chats"].items()}})


def anatomy(plan: Plan) -> dict[str, dict[str, float]]:
    """By kind of chat: `p50` and `mean`, of which `client` and each process took these parts, in milliseconds."""
    return {name: _one(plan, chat) for name, chat in plan.chats.items()}


def _one(plan: Plan, chat: Asked) -> dict[str, float]:
    said: list[Any] = [{"role": "user", "content": chat.said}]
    taken = []
    with openai.OpenAI(base_url=f"http://127.0.0.1:{chat.port}/v1", api_key=plan.key) as client:
        for turn in range(WARM_UP + plan.times):
            if turn == WARM_UP:
                before, own = _spent(plan), time.process_time()
            began = time.perf_counter()
            client.chat.completions.create(model=chat.model, messages=said)
            taken.append(time.perf_counter() - began)
        spent, own = _spent(plan), time.process_time() - own
    each = {name: 1000 * (seconds - before[name]) / plan.times for name, seconds in spent.items()}
    counted = [1000 * seconds for seconds in taken[WARM_UP:]]
    return {
        "p50": statistics.median(counted),
        "mean": statistics.fmean(counted),
        "client": 1000 * own / plan.times,
        **each,
    }


def _spent(plan: Plan) -> dict[str, float]:
    return {name: sum(map(machine.running_seconds, roots)) for name, roots in plan.processes.items()}


if __name__ == "__main__":
    sys.stdout.buffer.write(orjson.dumps(anatomy(Plan.read(sys.stdin.buffer.read()))))
