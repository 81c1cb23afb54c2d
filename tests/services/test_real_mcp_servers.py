"""Two MCP servers that others wrote, as services, from adding them to the result of an approved call in a chat."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.people import Cast
from tests.services.api import Api, Owner, approve, call, polled
from tests.services.real_servers import Everything, files, required
from tests.services.test_mcp_services import add
from tests.stack import Stack
from tests.waiting import until


@pytest.fixture(scope="module")
def everything() -> Iterator[Everything]:
    """The server with something of everything, while it runs."""
    required()
    server = Everything()
    server.start()
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture
def far(stack: Stack, tenant: Cast, everything: Everything) -> dict[str, Any]:
    """It as a service of the tenant."""
    return add(Owner(stack, tenant.olga), everything.url.removesuffix("/mcp"))


def chat_with_approval(stack: Stack, tenant: Cast, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """What becomes of a call in a chat that somebody else approves."""
    waits = stack.chat(tenant.alice, f"call: {tool} {json.dumps(arguments)}").json()
    assert (waits["status"], waits["tool_calls"][0]["status"]) == ("requires_action", "awaiting_approval")
    approve(stack, tenant.carol, waits["tool_calls"][0]["approval_id"])
    ended: dict[str, Any] = until(
        lambda: (
            (run := stack.get(tenant.alice, f"/api/v1/runs/{waits['run_id']}").json())["status"] == "completed" and run
        )
    )
    [called] = ended["tool_calls"]
    return dict(called)


def test_files_are_written_and_read_once_somebody_approves(
    stack: Stack, tenant: Cast, api: Api, url: str, tmp_path: Path
) -> None:
    required()
    owner = Owner(stack, tenant.olga)
    with files(api, tmp_path):
        added = add(owner, url, on=False, slug="files")
        assert {"write_file", "read_text_file", "list_directory"} <= {tool["name"] for tool in added["tools"]}
        assert added["mcp"]["left_out"] == []
        owner.say("files", "write_file", enabled=True, tier="elevated")
        owner.say("files", "read_text_file", enabled=True, tier="read_only", idempotent=True)
        note = tmp_path / "note.txt"
        written = chat_with_approval(stack, tenant, "files.write_file", {"path": str(note), "content": "Grüße"})
        assert (written["status"], note.read_text()) == ("success", "Grüße")
        read = call(stack, tenant.alice, "files.read_text_file", {"path": str(note)})
        assert read["output"]["content"] == [{"type": "text", "text": "Grüße"}]
        outside = call(stack, tenant.alice, "files.read_text_file", {"path": "/etc/passwd"})
        assert "Access denied" in outside["error"]["message"]


def test_a_server_of_many_tools_is_called_from_a_chat_with_an_approval(
    stack: Stack, tenant: Cast, far: dict[str, Any]
) -> None:
    assert len(far["tools"]) >= 12
    assert (far["mcp"]["left_out"], far["mcp"]["revision"]) == ([], "2025-11-25")
    assert far["skill"] and not far["in_prompts"]
    Owner(stack, tenant.olga).say("far", "get-sum", tier="elevated")
    called = chat_with_approval(stack, tenant, "far.get-sum", {"a": 2, "b": 40})
    assert "42" in called["output"]["content"][0]["text"]


def test_structured_content_and_images_of_a_real_server_come_through(
    stack: Stack, tenant: Cast, far: dict[str, Any]
) -> None:
    weather = call(stack, tenant.alice, "far.get-structured-content", {"location": "Chicago"})
    assert weather["output"]["structuredContent"] == json.loads(weather["output"]["content"][0]["text"])
    image = call(stack, tenant.alice, "far.get-tiny-image", {})
    assert [block["type"] for block in image["output"]["content"]] == ["text", "image", "text"]


def test_a_real_server_that_was_restarted_is_called_in_a_new_session(
    stack: Stack, tenant: Cast, far: dict[str, Any], everything: Everything
) -> None:
    assert call(stack, tenant.alice, "far.echo", {"message": "one"})["status"] == "success"
    everything.stop()
    down = call(stack, tenant.alice, "far.echo", {"message": "down"})
    assert "could not be reached" in down["error"]["message"]
    everything.start()
    assert call(stack, tenant.alice, "far.echo", {"message": "two"})["status"] == "success"


def test_a_real_server_asks_its_user_and_gets_the_answer(stack: Stack, tenant: Cast, far: dict[str, Any]) -> None:
    name = "far.trigger-elicitation-request"
    Owner(stack, tenant.olga).say("far", "trigger-elicitation-request", idempotent=True)
    path = f"{stack.url}/api/v1/tools/{name}/calls"
    begun = httpx.post(path, json={"arguments": {}, "wait": 0}, headers=tenant.alice.headers).json()

    def asked() -> Any:
        return stack.get(tenant.alice, "/api/v1/questions/?status=pending").json()["results"]

    [question] = until(asked)
    answer = {"action": "accept", "content": {"name": "Alice", "check": True, "integer": 3}}
    answered = httpx.post(
        f"{stack.url}/api/v1/questions/{question['id']}/answer/", json=answer, headers=tenant.alice.headers
    )
    assert answered.status_code == 200, answered.text
    ended = polled(stack, tenant.alice, begun["id"])
    assert ended["status"] == "success", ended
    assert "- Name: Alice" in ended["output"]["content"][1]["text"]
