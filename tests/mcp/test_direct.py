"""Calls that are answered without the SDK's transport: which they are, and that nothing else tells them apart."""

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from gateway.mcp import messages
from tests.mcp.raw import ACCEPT, MODERN, OLD, TASKS, Mcp, answer
from tests.mcp.test_calls import recorded
from tests.people import Cast
from tools.network import redis

if TYPE_CHECKING:
    from tests.stack import Stack

pytestmark = pytest.mark.xdist_group("mcp")

ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
}
GREET: dict[str, Any] = {"name": "greet", "arguments": {"name": "Ann"}}
IN_OLD = {"accept": ACCEPT, "content-type": "application/json", "mcp-protocol-version": OLD}
IN_MODERN = IN_OLD | {"mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": "greet"}


def _revision(params: dict[str, Any], headers: dict[str, str], **body: Any) -> str | None:
    """The revision in which a call is answered directly; None for one that is the SDK's."""
    from gateway.mcp.calls import direct

    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params} | body
    lines = [(name.encode(), value.encode()) for name, value in headers.items()]
    found = direct.plain(messages.read(json.dumps(message).encode()), headers, lines)
    assert found is None or (found.name, found.arguments) == (params["name"], params.get("arguments") or {})
    return None if found is None else found.revision


@pytest.mark.parametrize(
    ("params", "headers", "revision"),
    [
        (GREET, IN_OLD, OLD),
        (GREET, {name: IN_OLD[name] for name in ("accept", "content-type")}, "2025-03-26"),
        (GREET | {"_meta": {}}, IN_OLD | {"mcp-protocol-version": "2024-11-05"}, "2024-11-05"),
        ({"name": "greet"}, IN_OLD | {"content-type": "application/json; charset=utf-8"}, OLD),
        (GREET | {"_meta": ENVELOPE}, IN_MODERN, MODERN),
    ],
)
def test_a_call_whose_client_wants_its_result_alone_is_answered_directly(
    params: dict[str, Any], headers: dict[str, str], revision: str
) -> None:
    assert _revision(params, headers) == revision


@pytest.mark.parametrize(
    ("params", "headers", "body"),
    [
        (GREET, IN_OLD, {"method": "tools/list"}),
        (GREET | {"_meta": {"progressToken": 1}}, IN_OLD, {}),
        (GREET | {"task": {"ttl": 1}}, IN_OLD, {}),
        (GREET | {"arguments": [1]}, IN_OLD, {}),
        ({"arguments": {}}, IN_OLD, {}),
        (GREET, IN_OLD | {"accept": "application/json"}, {}),
        (GREET, IN_OLD | {"content-type": "text/plain"}, {}),
        (GREET, IN_OLD | {"mcp-protocol-version": "2031-01-01"}, {}),
        (GREET, IN_MODERN, {}),
        (GREET | {"_meta": ENVELOPE}, IN_MODERN | {"mcp-name": "list_tasks"}, {}),
        (GREET | {"_meta": ENVELOPE}, IN_MODERN | {"mcp-method": "tools/list"}, {}),
        (GREET | {"_meta": ENVELOPE}, IN_MODERN | {"mcp-param-name": "Ann"}, {}),
        (GREET | {"_meta": ENVELOPE | {"progressToken": 1}}, IN_MODERN, {}),
        (GREET | {"_meta": ENVELOPE | {"io.modelcontextprotocol/logLevel": "info"}}, IN_MODERN, {}),
        (GREET | {"_meta": ENVELOPE, "requestState": "abc"}, IN_MODERN, {}),
        (GREET | {"_meta": ENVELOPE, "inputResponses": {}}, IN_MODERN, {}),
        (
            GREET | {"_meta": ENVELOPE | {"io.modelcontextprotocol/clientCapabilities": {"extensions": {TASKS: {}}}}},
            IN_MODERN,
            {},
        ),
    ],
)
def test_a_call_whose_client_wants_more_or_is_wrong_is_the_sdks(
    params: dict[str, Any], headers: dict[str, str], body: dict[str, Any]
) -> None:
    assert _revision(params, headers, **body) is None


def test_a_routing_header_that_comes_twice_is_the_sdks_to_refuse() -> None:
    from gateway.mcp.calls import direct

    message = messages.read(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": GREET}).encode())
    lines = [(b"mcp-protocol-version", OLD.encode())] * 2
    assert direct.plain(message, IN_OLD, lines[:1]) is not None
    assert direct.plain(message, IN_OLD, lines) is None


@pytest.mark.parametrize("revision", [MODERN, OLD, "2024-11-05"])
@pytest.mark.parametrize(
    "params", [GREET, {"name": "test_multiple_content_types"}, {"name": "greet", "arguments": {"nobody": 1}}]
)
def test_both_ways_answer_alike(served: "Stack", tenant: Cast, revision: str, params: dict[str, Any]) -> None:
    alice = Mcp(served.url, tenant.alice, revision)
    directly = alice.post("tools/call", params)
    by_sdk = alice.post("tools/call", params | {"_meta": {"progressToken": "a"}})
    assert directly.headers["content-type"] == "application/json"
    kept = ("x-content-type-options", "cache-control")
    assert [directly.headers[name].split(",")[0] for name in kept] == ["nosniff", "no-store"]
    assert directly.headers["x-request-id"]
    first, second = answer(directly), answer(by_sdk)
    assert (first["jsonrpc"], first["id"] + 1) == (second["jsonrpc"], second["id"])
    ours = [each["result"].pop("_meta") for each in (first, second)]
    assert first["result"] == second["result"]
    assert ours[0].keys() == ours[1].keys()
    calls = [about["toolgate/call"] for about in ours]
    assert [call["id"] for call in calls] == [str(call["id"]) for call in recorded(tenant)]
    assert calls[0].keys() == calls[1].keys()


async def test_nothing_names_a_request_any_more_once_it_is_answered(served: "Stack", tenant: Cast) -> None:
    await asyncio.to_thread(Mcp(served.url, tenant.alice, OLD).call, "greet", {"name": "Ann"})
    assert [name async for name in redis.client().scan_iter(f"toolgate:mcp:{tenant.id}:*")] == []


def test_integers_of_any_length_pass(served: "Stack", tenant: Cast) -> None:
    content = json.dumps({"jsonrpc": "2.0", "id": 2**70, "method": "tools/call", "params": GREET})
    response = httpx.post(f"{served.url}/mcp", content=content, headers=tenant.alice.headers | IN_OLD)
    assert (response.headers["content-type"], response.json()["id"]) == ("application/json", 2**70)


def test_a_call_that_lasts_is_gone_on_with_by_the_sdk(served: "Stack", tenant: Cast, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    alice = Mcp(served.url, tenant.alice, OLD)
    body, headers = alice.message("tools/call", {"name": "gated", "arguments": {"files": [str(gate)]}})
    with httpx.stream("POST", alice.url, json=body, headers=headers) as response:
        # Only the SDK answers before the call has ended.
        assert response.headers["content-type"].startswith("text/event-stream")
        gate.touch()
        lines = [line.removeprefix("data:").strip() for line in response.iter_lines() if line.startswith("data:")]
    assert json.loads(lines[-1])["result"]["structuredContent"] == {"gates": 1}
    [call] = recorded(tenant)
    assert call["status"] == "success"
