"""Tool calls without a chat, over MCP and over REST: `python -m bench.parts.tool_calls [--seconds S]`.

The same call (list_tasks, by 20 members in turn, 16 at a time) as `tools/call` at /mcp in both eras and as
`POST /api/v1/tools/{name}/calls`, in alternating rounds, so that a slow moment of the machine meets all of them.
"""

import argparse
from typing import Any

from bench.rig.load import Plan
from bench.rig.measure import Figures, measure, median
from bench.rig.stack import Stack
from bench.scenarios import request_text

CONCURRENCY, ROUNDS, WARM_SECONDS = 16, 3, 0.5
TOOL = "list_tasks"
# Four times what ContextForge (53/s) and LiteLLM (47/s) reach on such a machine, without gates or a record.
TARGET_PER_SECOND = 212
_MODERN, _OLD = "2026-07-28", "2025-11-25"


def tool_calls(stack: Stack, seconds: float) -> dict[str, Figures]:
    """The medians of each way of calling."""
    plans = {name: _plan(stack, seconds, *way) for name, way in _ways().items()}
    samples: dict[str, list[Figures]] = {name: [] for name in plans}
    for _ in range(ROUNDS):
        for name, plan in plans.items():
            samples[name].append(measure(stack, plan))
    return {name: median(each) for name, each in samples.items()}


def lines(measured: dict[str, Figures]) -> list[str]:
    """The figures as text."""
    rest = measured["rest"]["per_second"]
    found = [f"tool calls without a chat ({TOOL}), c{CONCURRENCY}: {'/s':>10}{'p50 ms':>10}{'p95 ms':>10}{'× REST':>8}"]
    for name, each in measured.items():
        figures = f"{each['per_second']:10,.0f}{each['p50']:10.1f}{each['p95']:10.1f}{each['per_second'] / rest:8.2f}"
        cpu = ", ".join(f"{part} {each['cpu_ms'][part]:.2f}" for part in ("web", "worker", "postgres", "redis"))
        found.append(f"  {name:<40}{figures}  {each['errors']} errors; CPU ms a call: {cpu}")
        if each["errors"]:
            found.append(f"    first error: {each['first_error'][:300]}")
    met = "met" if measured["mcp 2026-07-28"]["per_second"] >= TARGET_PER_SECOND else "MISSED"
    return [*found, f"  target: mcp 2026-07-28 at least {TARGET_PER_SECOND}/s: {met}"]


def _ways() -> dict[str, tuple[str, dict[str, Any], dict[str, str], str]]:
    """By name: path, body, headers, and what a good answer has in it."""
    params: dict[str, Any] = {"name": TOOL, "arguments": {}}
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    meta = {
        "io.modelcontextprotocol/protocolVersion": _MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    accept = {"Accept": "application/json, text/event-stream"}
    modern = accept | {"MCP-Protocol-Version": _MODERN, "Mcp-Method": "tools/call", "Mcp-Name": TOOL}
    succeeded = '"isError":false'
    return {
        "rest": (f"/api/v1/tools/{TOOL}/calls", {"arguments": {}}, {}, '"status":"success"'),
        f"mcp {_MODERN}": ("/mcp", {**message, "params": {**params, "_meta": meta}}, modern, succeeded),
        f"mcp {_OLD}": ("/mcp", message, accept | {"MCP-Protocol-Version": _OLD}, succeeded),
    }


def _plan(
    stack: Stack, seconds: float, path: str, body: dict[str, Any], headers: dict[str, str], expected: str
) -> Plan:
    port = stack.ports["web"]
    requests = [request_text(port, path, body, key, headers) for key in stack.keys]
    return Plan(port, requests, CONCURRENCY, seconds, WARM_SECONDS, expected)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="bench.parts.tool_calls", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each sample")
    given = parser.parse_args()
    with Stack() as running:
        print("\n".join(lines(tool_calls(running, given.seconds))))
