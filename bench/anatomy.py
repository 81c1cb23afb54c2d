"""Where the time of one client's chat goes: the client's own CPU, and each process's, through the official openai SDK.

Beside the fake provider, the demo model that `make up` starts with, which takes no other process to answer.
"""

from dataclasses import asdict
from typing import Any

import orjson

from bench.rig.anatomy import WARM_UP, Asked, Plan
from bench.rig.stack import Stack
from bench.scenarios import CONTENT

PROCESSES = {"web": "web", "worker": "worker", "postgres": "PostgreSQL", "redis": "Valkey", "provider": "provider"}
DEMO = "offline/demo"
_WIDTH = 11


def _chats(stack: Stack) -> dict[str, Asked]:
    web, provider = stack.ports["web"], stack.ports["provider"]
    return {
        "the provider, asked directly": Asked(provider, "chat", CONTENT),
        "chat": Asked(web, "openai/chat", CONTENT),
        "chat, the demo model": Asked(web, DEMO, "hello"),
        "one governed call": Asked(web, "openai/list_tasks", CONTENT),
        "one governed call, the demo model": Asked(web, DEMO, "List my tasks"),
    }


def where_time_goes(stack: Stack, times: int) -> tuple[dict[str, dict[str, float]], int]:
    """What `bench.rig.anatomy` finds, and how many governed calls that were."""
    processes = {
        name: [pid for each, pid in stack.pids.items() if each.partition(" ")[0] == name] for name in PROCESSES
    }
    chats = _chats(stack)
    plan = Plan(stack.keys[0], chats, processes, times)
    found: dict[str, Any] = stack.output_of("bench.rig.anatomy", given=orjson.dumps(asdict(plan)))
    return found, (times + WARM_UP) * sum("governed" in name for name in chats)


def lines(found: dict[str, dict[str, float]]) -> list[str]:
    """The table; the last column is what of the mean no process's CPU accounts for."""

    def row(title: str, values: list[str]) -> str:
        return f"  {title:<38}" + "".join(f"{value:>{_WIDTH}}" for value in values)

    names = ["client", *PROCESSES]
    return [
        "",
        row("one client, openai SDK; ms", ["p50", "mean", "client", *PROCESSES.values(), "waiting"]),
        *(
            row(
                title,
                [
                    *(f"{each[name]:.1f}" for name in ("p50", "mean", *names)),
                    f"{each['mean'] - sum(each[name] for name in names):.1f}",
                ],
            )
            for title, each in found.items()
        ),
    ]
