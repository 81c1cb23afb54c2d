"""A tool of an MCP server beside a built-in one whose remote answers alike: `python -m bench.parts.service_calls`.

The calls go out without a chat, 16 at a time, in alternating rounds: web_search with questions that nobody asked
before, and `search` of an MCP service, over REST and at /mcp. Both remotes take SERVICE_SECONDS and answer with the
same.
"""

import argparse
import itertools
import os
import sys
from typing import Any

import orjson

from bench.rig.load import Plan
from bench.rig.measure import Figures, measure, median
from bench.rig.stack import Stack
from bench.rig.upstream import SERVICE_SECONDS
from bench.scenarios import request_text

MCP_HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}
CONCURRENCY, ROUNDS, WARM_SECONDS = 16, 5, 0.5
BUILT_IN, OF_SERVICE = "web_search", "bench.search"
AT_MCP = f"{OF_SERVICE} at /mcp"
# How many times what a call of the built-in tool costs one of the service's may cost.
MOST = 1.3
_QUESTIONS = 5000
_numbers = itertools.count(1)


def service_calls(stack: Stack, seconds: float) -> dict[str, Figures]:
    """The medians of both tools, of the service's also at /mcp."""
    add_service(stack)
    samples: dict[str, list[Figures]] = {BUILT_IN: [], OF_SERVICE: [], AT_MCP: []}
    for _ in range(ROUNDS):
        for way, each in samples.items():
            each.append(measure(stack, mcp_plan(stack, seconds) if way == AT_MCP else plan(stack, way, seconds)))
    return {tool: median(each) for tool, each in samples.items()}


def add_service(stack: Stack) -> None:
    """Add the fake MCP server to the benchmark's tenant."""
    stack.output_of("bench.parts.service_calls", "--add", f"http://127.0.0.1:{stack.ports['provider']}/mcp")


def lines(measured: dict[str, Figures]) -> list[str]:
    """The figures as text."""
    each_ms = SERVICE_SECONDS * 1000
    found = [
        f"Calls of remote tools that answer in {each_ms:g} ms, c{CONCURRENCY}: {'/s':>10}{'p50 ms':>10}{'p95 ms':>10}"
    ]
    for tool, each in measured.items():
        cpu = ", ".join(f"{part} {each['cpu_ms'][part]:.2f}" for part in ("web", "worker", "postgres", "redis"))
        figures = f"{each['per_second']:10,.0f}{each['p50']:10.1f}{each['p95']:10.1f}"
        found.append(f"  {tool:<45}{figures}  {each['errors']} errors; CPU ms a call: {cpu}")
        if each["errors"]:
            found.append(f"    first error: {each['first_error'][:300]}")
    ratio = measured[BUILT_IN]["per_second"] / measured[OF_SERVICE]["per_second"]
    p50 = measured[OF_SERVICE]["p50"] / measured[BUILT_IN]["p50"]
    met = "met" if max(ratio, p50) <= MOST else "MISSED"
    return [
        *found,
        f"  a call of the service costs {ratio:.2f} times the built-in's, p50 {p50:.2f} (at most {MOST}: {met})",
    ]


def plan(stack: Stack, tool: str, seconds: float) -> Plan:
    """Calls of a tool without a chat, each with a question of its own."""
    port = stack.ports["web"]
    requests = []
    for number in range(_QUESTIONS):
        key = stack.keys[number % len(stack.keys)]
        content = orjson.dumps({"arguments": {"query": f"quick question {next(_numbers)}"}}).decode()
        requests.append(
            f"POST /api/v1/tools/{tool}/calls HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {key}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n{content}"
        )
    return Plan(port, requests, CONCURRENCY, seconds, WARM_SECONDS, '"status":"success"')


def mcp_plan(stack: Stack, seconds: float) -> Plan:
    """The same calls of the service's tool as `tools/call`, each in a request of its own, without a session."""
    port, requests = stack.ports["web"], []
    for number in range(_QUESTIONS):
        params = {"name": OF_SERVICE, "arguments": {"query": f"quick question {next(_numbers)}"}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        requests.append(request_text(port, "/mcp", body, stack.keys[number % len(stack.keys)], MCP_HEADERS))
    return Plan(port, requests, CONCURRENCY, seconds, WARM_SECONDS, '"isError":false')


def add(url: str) -> dict[str, Any]:
    """Add the MCP server to the benchmark's tenant, its tool switched on."""
    import django

    django.setup()
    from django.db import transaction

    from bench.rig.people import RATE
    from services import changes
    from services.changes import NewService, Source
    from tenants.models import Tenant
    from tenants.scope.routing import on_login
    from tools.models import ToolSetting

    schema = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
    tool = {"name": "search", "description": "Search the web.", "inputSchema": schema}
    with on_login("operator"), transaction.atomic(using="operator"):
        tenant = Tenant.objects.get(slug="bench")
        wanted = NewService.read({"slug": "bench", "kind": "mcp", "url": url})
        changes.add(tenant.id, wanted, Source("mcp", orjson.dumps({"tools": [tool]}).decode()))
        changes.change_tool("bench", "search", {"enabled": True, "tier": "read_only", "idempotent": True})
        ToolSetting.objects.create(tenant=tenant, tool_name=OF_SERVICE, rate=RATE)
    return {"tool": OF_SERVICE}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="bench.parts.service_calls", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each sample")
    parser.add_argument("--add", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.add:
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway.config.settings")
        sys.stdout.buffer.write(orjson.dumps(add(given.add)))
    else:
        with Stack() as running:
            print("\n".join(lines(service_calls(running, given.seconds))))
