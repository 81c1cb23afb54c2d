"""Other gateways beside Toolgate: who they are on this machine, and what is shown of them."""

import os
import socket
from typing import Any

from bench import peers
from bench.rig import machine


def test_the_process_that_listens_at_a_port_is_found() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        assert machine.listener(listening.getsockname()[1]) == os.getpid()
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        assert machine.listener(bound.getsockname()[1]) is None


def test_each_gateway_is_asked_for_the_same_chat_under_its_own_names() -> None:
    ours = peers.Gateway("Toolgate", 8000, "/v1/chat/completions", "openai/chat", ["tg_a", "tg_b"], [])
    theirs = peers.Gateway("LiteLLM", 4000, "/proxy/v1/chat/completions", "bench", ["sk-bench"], [])
    for gateway in (ours, theirs):
        plan = gateway.plan(True, 16, 2.0)
        assert (plan.port, plan.concurrency, plan.expected, plan.first) == (gateway.port, 16, "word15", "word0")
        assert len(plan.requests) == len(gateway.keys)
        for request, key in zip(plan.requests, gateway.keys, strict=True):
            assert request.startswith(f"POST {gateway.path} HTTP/1.1\r\n")
            assert f"\r\nAuthorization: Bearer {key}\r\n" in request
            assert f'"model":"{gateway.model}"' in request and '"stream":true' in request
    assert '"stream"' not in theirs.plan(False, 1, 2.0).requests[0]


def test_each_gateway_is_asked_for_the_same_tool_call_under_its_own_names() -> None:
    ours = peers.Gateway("Toolgate", 8000, "/v1/chat/completions", "openai/chat", ["tg_a", "tg_b"], [])
    theirs = peers.Gateway("LiteLLM", 4000, "/v1/chat/completions", "bench", ["sk-bench"], [], "/a/mcp", "bench-search")
    for gateway in (ours, theirs):
        plan = gateway.tool_plan(16, 2.0)
        assert (plan.port, plan.concurrency, plan.expected) == (gateway.port, 16, "What the page is about.")
        for request, key in zip(plan.requests, gateway.keys, strict=True):
            assert request.startswith(f"POST {gateway.mcp_path} HTTP/1.1\r\n")
            assert f"\r\nAuthorization: Bearer {key}\r\nAccept: application/json, text/event-stream\r\n" in request
            assert f'"method":"tools/call","params":{{"name":"{gateway.tool}","arguments"' in request


def test_the_table_has_a_column_a_gateway_and_says_what_went_wrong() -> None:
    good: dict[str, Any] = {"per_second": 1234.0, "p50": 12.34, "first_p50": 5.67, "cpu": 0.89, "errors": 0}
    bad = good | {"errors": 2, "first_error": "HTTP/1.1 500"}
    titles = [*(title for title, _, _ in peers.MEASURED), peers.TOOL_CALLS]
    governed = dict.fromkeys((title for title, _ in peers.GOVERNED), good)
    ours, theirs = dict.fromkeys(titles, good) | governed, dict.fromkeys(titles, good) | {"chat, c64": bad}
    measured = {"Toolgate": ours, "LiteLLM": theirs}
    lines = peers.text(measured, {"Toolgate": 450.0, "LiteLLM": 333.0}).splitlines()
    assert lines[0].split()[-2:] == ["Toolgate", "LiteLLM"]
    assert lines[1].count("1,234;   12.3;    0.9") == 2
    assert lines[4].count("1,234;    5.7;    0.9") == 2
    assert lines[6].count("1,234;   12.3;    0.9") == 1 and lines[6].endswith(" -")
    assert lines[8].split()[:2] == ["tools/call", "at"] and lines[8].count("1,234;   12.3;    0.9") == 2
    assert lines[-1] == "  LiteLLM: 2 errors, the first: HTTP/1.1 500"
