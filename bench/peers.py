"""`python -m bench.peers --litellm URL --contextforge URL`: other gateways on this machine beside Toolgate, in one run.

Each is asked for the same chats and the same calls of an MCP tool by the same load generator, in turn, and each asks
the same fake provider and MCP server. They have to run already, outside of containers, with both configured:
docs/operations/performance.md says how.
"""

import argparse
import sys
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import urlsplit

import orjson

from bench.parts import service_calls
from bench.rig import machine
from bench.rig.load import Plan
from bench.rig.measure import Figures, median
from bench.rig.stack import Stack
from bench.rig.upstream import FOUND, SERVICE_SECONDS, WORDS
from bench.scenarios import COMPATIBLE_PATH, CONTENT, V1_CHAT, V1_TOOL, request_text

PROVIDER_PORT = 8199
PEERS = {"litellm": "LiteLLM", "contextforge": "ContextForge"}
MCP_PATHS = {"litellm": "/mcp", "contextforge": "/mcp/"}
# (title, streamed, concurrency)
MEASURED = (
    ("chat, c1", False, 1),
    ("chat, c16", False, 16),
    ("chat, c64", False, 64),
    ("streamed, c1", True, 1),
    ("streamed, c16", True, 16),
)
# What no peer does: the call is decided about, run by a worker and recorded. Beside the peers' chats and bare calls it
# says what that costs on the machine of the hour.
GOVERNED = (("chat with one governed call, c1", 1), ("chat with one governed call, c16", 16))
TOOL_CALLS = "tools/call at /mcp, c16"
_TOOLS = (*((title, False) for title, _ in GOVERNED), (TOOL_CALLS, False))
OURS = ("web", "worker", "beat", "postgres", "redis")
WARM_UP_SECONDS, WARM_SECONDS = 2.0, 0.5


@dataclass(frozen=True)
class Gateway:
    """One gateway: where it listens, what its clients send, and the processes whose CPU is its own."""

    name: str
    port: int
    path: str
    model: str
    keys: list[str]
    pids: list[int]
    mcp_path: str = "/mcp"
    tool: str = service_calls.OF_SERVICE

    def plan(self, streamed: bool, concurrency: int, seconds: float) -> Plan:
        """Chats for so many seconds, streamed or whole."""
        body: dict[str, Any] = {"model": self.model, "messages": [{"role": "user", "content": CONTENT}]}
        if streamed:
            body["stream"] = True
        requests = [request_text(self.port, self.path, body, key) for key in self.keys]
        first = WORDS[0].strip() if streamed else ""
        return Plan(self.port, requests, concurrency, seconds, WARM_SECONDS, WORDS[-1].strip(), first)

    def tool_plan(self, concurrency: int, seconds: float) -> Plan:
        """Calls of the MCP server's tool for so many seconds, each in a request of its own, without a session."""
        params = {"name": self.tool, "arguments": {"query": "quick question"}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        requests = [request_text(self.port, self.mcp_path, body, key, service_calls.MCP_HEADERS) for key in self.keys]
        return Plan(self.port, requests, concurrency, seconds, WARM_SECONDS, FOUND[0]["content"])


def main() -> int:
    """The exit code: 1 when a gateway answered something else than was expected."""
    parser = argparse.ArgumentParser(prog="bench.peers", description=__doc__)
    parser.add_argument("--provider-port", type=int, default=PROVIDER_PORT, help="where the fake provider listens")
    for option, name in PEERS.items():
        parser.add_argument(f"--{option}", metavar="URL", help=f"{name}, on this machine")
        parser.add_argument(f"--{option}-key", default="sk-bench", help="its bearer key (sk-bench)")
        parser.add_argument(
            f"--{option}-model", default="bench", help="its name of the provider's model `chat` (bench)"
        )
        parser.add_argument(
            f"--{option}-tool", default="bench-search", help="its name of the MCP server's tool (bench-search)"
        )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each measurement")
    given = parser.parse_args()
    if sys.platform != "linux":
        parser.error("the figures are read from /proc, which only Linux has")
    with Stack(provider_port=given.provider_port) as stack:
        gateways = [_toolgate(stack), *_peers(parser, given)]
        service_calls.add_service(stack)
        measured = run(stack, gateways, given.rounds, given.seconds)
        memory = {each.name: sum(machine.memory(pid)["pss_mib"] for pid in each.pids) for each in gateways}
    print(text(measured, memory))
    return 1 if any(figures["errors"] for each in measured.values() for figures in each.values()) else 0


def _toolgate(stack: Stack) -> Gateway:
    pids = [stack.pids[name] for name in OURS]
    return Gateway("Toolgate", stack.ports["web"], COMPATIBLE_PATH, V1_CHAT.body["model"], stack.keys, pids)


def _peers(parser: argparse.ArgumentParser, given: argparse.Namespace) -> list[Gateway]:
    found = []
    for option, name in PEERS.items():
        url = getattr(given, option)
        if url is None:
            continue
        parts = urlsplit(url)
        if parts.hostname not in ("127.0.0.1", "localhost") or parts.port is None:
            parser.error(f"--{option}: {name} has to listen at a port of 127.0.0.1, so that both share one machine")
        listening = machine.listener(parts.port)
        if listening is None:
            parser.error(f"--{option}: nobody listens at port {parts.port}, or it is another user's process")
        path = parts.path.rstrip("/") + COMPATIBLE_PATH
        model, key = getattr(given, f"{option}_model"), getattr(given, f"{option}_key")
        mcp_path, tool = parts.path.rstrip("/") + MCP_PATHS[option], getattr(given, f"{option}_tool")
        found.append(Gateway(name, parts.port, path, model, [key], [listening], mcp_path, tool))
    return found


def run(stack: Stack, gateways: list[Gateway], rounds: int, seconds: float) -> dict[str, dict[str, Figures]]:
    """By gateway and title, the median of the rounds; the gateways take turns, so that all share a noisy moment.

    Toolgate is the first of them.
    """
    samples: dict[str, dict[str, list[Figures]]] = {each.name: {} for each in gateways}
    for each in gateways:
        for streamed in (False, True):
            _sample(stack, each, each.plan(streamed, 16, WARM_UP_SECONDS))
        _sample(stack, each, each.tool_plan(16, WARM_UP_SECONDS))
    ours = gateways[0]
    _sample(stack, ours, V1_TOOL.plan(stack, 16, WARM_UP_SECONDS, 0))
    for _ in range(rounds):
        for title, streamed, concurrency in MEASURED:
            for each in gateways:
                figures = _sample(stack, each, each.plan(streamed, concurrency, seconds))
                samples[each.name].setdefault(title, []).append(figures)
        for title, concurrency in GOVERNED:
            plan = V1_TOOL.plan(stack, concurrency, seconds, WARM_SECONDS)
            samples[ours.name].setdefault(title, []).append(_sample(stack, ours, plan))
        for each in gateways:
            samples[each.name].setdefault(TOOL_CALLS, []).append(_sample(stack, each, each.tool_plan(16, seconds)))
    return {name: {title: median(each) for title, each in titles.items()} for name, titles in samples.items()}


def _sample(stack: Stack, gateway: Gateway, plan: Plan) -> Figures:
    before = sum(machine.cpu_seconds(pid) for pid in gateway.pids)
    result: Figures = stack.output_of("bench.rig.load", given=orjson.dumps(asdict(plan)))
    used = sum(machine.cpu_seconds(pid) for pid in gateway.pids) - before
    return result | {"cpu": 1000 * used / max(1, result["total"])}


def text(measured: dict[str, dict[str, Figures]], memory: dict[str, float]) -> str:
    """The table: a column a gateway, Toolgate first."""
    names = list(measured)
    lines = [f"  {'per second; p50 ms; CPU ms a request':<40}" + "".join(f"{name:>26}" for name in names)]
    for title, streamed in (*((title, streamed) for title, streamed, _ in MEASURED), *_TOOLS):
        cells = [_cell(measured[name].get(title), streamed) for name in names]
        lines.append(f"  {title + (' (p50 of the first token)' if streamed else ''):<40}{''.join(cells)}")
    lines.append(f"  {'memory, PSS in MiB':<40}" + "".join(f"{memory[name]:>26.0f}" for name in names))
    lines.append(
        "  Toolgate's CPU and memory are those of web, worker, beat, PostgreSQL and Valkey; a peer's those of the"
    )
    lines.append(
        "  process that listens and its children, without its database. The tool is an MCP server's that answers"
    )
    lines.append(f"  in {1000 * SERVICE_SECONDS:g} ms; only Toolgate records its calls.")
    for name in names:
        wrong = [figures for figures in measured[name].values() if figures["errors"]]
        lines += [
            f"  {name}: {figures['errors']} errors, the first: {figures['first_error'][:300]}" for figures in wrong
        ]
    return "\n".join(lines)


def _cell(figures: Figures | None, streamed: bool) -> str:
    if figures is None:
        return f"{'-':>26}"
    p50 = figures.get("first_p50" if streamed else "p50") or 0.0
    return f"{figures['per_second']:>10,.0f}; {p50:>6.1f}; {figures['cpu']:>6.1f}"


if __name__ == "__main__":
    sys.exit(main())
