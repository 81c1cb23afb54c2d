"""Slow remote tools beside fast local ones: `python -m bench.parts.remote_tools` runs this part alone.

200 calls of web_search, whose engine takes 5 s for each, are made at once; meanwhile a member's list_tasks calls
go on one after another, and should not notice.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from bench.rig.measure import measure
from bench.rig.stack import Stack
from bench.rig.upstream import SEARCH_SECONDS
from bench.scenarios import LOCAL, SEARCH

CALLS = 200
ALONE_SECONDS, BESIDE_SECONDS = 2.0, 6.0


def remote_tools(stack: Stack) -> dict[str, Any]:
    """`seconds` for all CALLS, `errors`, and list_tasks chats' latencies in ms, `alone` and `beside` them."""
    alone = measure(stack, LOCAL.plan(stack, 1, ALONE_SECONDS))
    with ThreadPoolExecutor(2) as threads:
        remote = threads.submit(measure, stack, SEARCH.plan(stack, CALLS, 0, times=CALLS))
        beside = threads.submit(measure, stack, LOCAL.plan(stack, 1, BESIDE_SECONDS)).result()
        searched = remote.result()
    return {
        "calls": CALLS,
        "each_seconds": SEARCH_SECONDS,
        "seconds": searched["seconds"],
        "succeeded": searched["total"],
        "errors": searched["errors"] + alone["errors"] + beside["errors"],
        "first_error": searched["first_error"] or beside["first_error"],
        "local_alone": {name: alone[name] for name in ("p50", "p95", "measured")},
        "local_beside": {name: beside[name] for name in ("p50", "p95", "measured")},
        "local_calls": alone["total"] + beside["total"],
    }


def lines(remote: dict[str, Any]) -> list[str]:
    """The part as text."""

    def local(title: str, figures: dict[str, Any]) -> str:
        count = f"({figures['measured']} of them)"
        return f"  list_tasks chats, {title:<13} p50 {figures['p50']:6.1f} ms  p95 {figures['p95']:6.1f} ms  {count}"

    return [
        f"Remote tools: {remote['succeeded']} of {remote['calls']} calls that wait {remote['each_seconds']:g} s each "
        f"were done after {remote['seconds']:.1f} s; {remote['errors']} errors",
        local("alone:", remote["local_alone"]),
        local("beside them:", remote["local_beside"]),
        *([f"  first error: {remote['first_error'][:300]}"] if remote["errors"] else []),
    ]


if __name__ == "__main__":
    with Stack() as running:
        print("\n".join(lines(remote_tools(running))))
