"""What the hot paths cost in round trips, commits and statements: a number that grows here costs every request."""

import os
from collections.abc import Iterator
from statistics import median_low

import httpx
import pytest
from django.db import connections
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.mcp.raw import MODERN, OLD, Mcp
from tests.people import Cast
from tests.stack import Stack
from tests.wire import Traffic, relay

NOTE = 'call: save_note {"title": "a", "content": "b"}'
CALL = {"arguments": {"title": "a", "content": "b"}, "wait": 60}
# Asked every so often, or once a connection, whatever is being answered.
BESIDE = ("renew_", "run_marks", "SET plan_cache_mode", "record_key_use", "SELECT 1")
# After so many requests statements are prepared, and what a process remembers is known to it.
WARM = 8
# A look that comes every two seconds may find a run waiting for its call, which then reads its rows once more.
ROUNDS = 9
# Round trips and commits of a request. A commit is a transaction that writes; what only reads waits for no disk.
WEB = {"chat": (2, 2), "chat with a tool": (4, 3), "call without a chat": (2, 1), "call over MCP": (4, 1)}
WORKER = {"chat with a tool": (5, 2), "call without a chat": (5, 2)}
# Statements. A list that does not fill its page is looked for in older months too, by one more statement.
PINS = {"list": 6, "detail": 5}

Wired = tuple[Stack, dict[str, Traffic]]


@pytest.fixture(scope="module")
def wired() -> Iterator[Wired]:
    """A web process and a worker, and what they send to PostgreSQL."""
    with relay(os.environ["DATABASE_URL"], *BESIDE) as (url, applications), Stack(DATABASE_URL=url) as stack:
        yield stack, applications


def _cost(
    wired: Wired, tenant: Cast, path: str, body: dict[str, object], **headers: str
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Round trips and commits of most requests: of the web process, and of the worker."""
    stack, applications = wired
    costs: dict[str, list[tuple[int, int]]] = {"web": [], "worker": []}
    for attempt in range(WARM + ROUNDS):
        applications.clear()
        answer = httpx.post(f"{stack.url}{path}", json=body, headers=tenant.alice.headers | headers)
        assert answer.status_code == 200, answer.text
        for name, found in costs.items() if attempt >= WARM else ():
            traffic = applications.get(f"toolgate-{name}-async", Traffic())
            print(name, traffic.round_trips, traffic.commits, traffic.statements)
            found.append((traffic.round_trips, traffic.commits))
    return median_low(costs["web"]), median_low(costs["worker"])


def test_a_chat_without_tools(wired: Wired, tenant: Cast) -> None:
    assert _cost(wired, tenant, "/api/v1/chat", {"content": "hello"}) == (WEB["chat"], (0, 0))


def test_a_chat_without_tools_over_a_compatible_api(wired: Wired, tenant: Cast) -> None:
    body = {"model": "offline/demo", "messages": [{"role": "user", "content": "hello"}]}
    assert _cost(wired, tenant, "/v1/chat/completions", body) == (WEB["chat"], (0, 0))


def test_a_chat_with_one_tool(wired: Wired, tenant: Cast) -> None:
    web, worker = _cost(wired, tenant, "/api/v1/chat", {"content": NOTE})
    assert web == WEB["chat with a tool"]
    assert worker <= WORKER["chat with a tool"]


def test_a_call_without_a_chat(wired: Wired, tenant: Cast) -> None:
    web, worker = _cost(wired, tenant, "/api/v1/tools/save_note/calls", CALL)
    assert web <= WEB["call without a chat"]
    assert worker <= WORKER["call without a chat"]


@pytest.mark.parametrize("revision", [MODERN, OLD])
def test_a_call_over_mcp(wired: Wired, tenant: Cast, revision: str) -> None:
    params = {"name": "save_note", "arguments": CALL["arguments"]}
    body, headers = Mcp(wired[0].url, tenant.alice, revision).message("tools/call", params)
    web, worker = _cost(wired, tenant, "/mcp", body, **headers)
    assert web <= WEB["call over MCP"]
    assert worker <= WORKER["call without a chat"]


def _get(tenant: Cast, path: str) -> list[str]:
    client = Client(headers=tenant.alice.headers)
    assert client.get(path).status_code == 200
    with CaptureQueriesContext(connections["default"]) as queries:
        assert client.get(path).status_code == 200
    return [query["sql"] for query in queries.captured_queries]


def test_a_page_of_the_history_costs_the_same_however_long(stack: Stack, tenant: Cast) -> None:
    stack.chat(tenant.alice, NOTE)
    few = _get(tenant, "/api/v1/tool-calls/")
    stack.chat(tenant.alice, "\n".join([NOTE] * 29))
    assert len(_get(tenant, "/api/v1/tool-calls/")) == len(few)
    assert len(few) <= PINS["list"], few


def test_one_call_of_the_history(stack: Stack, tenant: Cast) -> None:
    call = stack.chat(tenant.alice, NOTE).json()["tool_calls"][0]["id"]
    sent = _get(tenant, f"/api/v1/tool-calls/{call}/")
    assert len(sent) <= PINS["detail"], sent
