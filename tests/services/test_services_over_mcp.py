"""Services over MCP: their tools, their skills as prompts, and their feeds as resources."""

import json

import pytest

from tests.database import rows
from tests.mcp.raw import MODERN, OLD, Mcp
from tests.people import Cast
from tests.services.api import TOKEN, Api, Owner, Reply, as_json
from tests.stack import Stack

FEED = "/api/v1/market_context/"
URI = "toolgate://services/desk/feeds/market-context"
SKILL = "Check the risk limits before you trade."


@pytest.mark.parametrize("revision", [MODERN, OLD])
def test_a_tool_of_a_service_is_listed_and_called(
    stack: Stack, tenant: Cast, other_tenant: Cast, api: Api, url: str, revision: str
) -> None:
    api.on("/api/v1/orders/", as_json({"id": 7, "state": "filled"}))
    Owner(stack, tenant.olga).add(url, credential={"type": "bearer", "token": TOKEN})
    alice, zoe = (Mcp(stack.url, each.alice, revision) for each in (tenant, other_tenant))
    names = [tool["name"] for tool in alice.result("tools/list")["tools"]]
    assert [name for name in names if "." in name] == [
        "desk.execute_trade",
        "desk.get_market_context",
        "desk.get_order",
    ]
    answered = alice.call("desk.get_order", {"order_id": 7})
    assert (answered["isError"], answered["structuredContent"]) == (False, {"id": 7, "state": "filled"})
    [row] = rows("SELECT tool_name, origin, status FROM tool_calls WHERE tenant_id = %(t)s", t=tenant.id)
    assert tuple(row.values()) == ("desk.get_order", "mcp", "success")
    assert not [tool for tool in zoe.result("tools/list")["tools"] if "." in tool["name"]]
    unknown = zoe.error("tools/call", {"name": "desk.get_order", "arguments": {"order_id": 7}})
    assert unknown["code"] == -32602
    assert len(api.asked) == 1


def test_a_closed_tool_of_a_service_says_why_it_cannot_be_called(
    stack: Stack, tenant: Cast, api: Api, url: str
) -> None:
    Owner(stack, tenant.olga).add(url, on=False)
    alice = Mcp(stack.url, tenant.alice)
    refused = alice.call("desk.get_order", {"order_id": 7})
    assert refused["isError"]
    assert "it is switched off for this tenant" in refused["content"][0]["text"]
    assert api.asked == []


@pytest.mark.parametrize("revision", [MODERN, OLD])
def test_a_skill_is_a_prompt_and_a_feed_a_resource(
    stack: Stack, tenant: Cast, other_tenant: Cast, api: Api, url: str, revision: str
) -> None:
    api.on(FEED, lambda asked: as_json({"who": asked.path.rpartition("/")[2], "token": TOKEN}))
    owner = Owner(stack, tenant.olga)
    owner.add(url, on=False, credential={"type": "bearer", "token": TOKEN})
    alice, zoe = (Mcp(stack.url, each.alice, revision) for each in (tenant, other_tenant))
    # Who is offered no tool of a service gets nothing of it.
    assert (alice.result("prompts/list")["prompts"], alice.result("resources/list")["resources"]) == ([], [])
    assert alice.error("prompts/get", {"name": "desk"})["code"] == -32602
    owner.say("desk", "get_order", enabled=True)
    [prompt] = alice.result("prompts/list")["prompts"]
    assert prompt["name"] == "desk"
    [message] = alice.result("prompts/get", {"name": "desk"})["messages"]
    assert message == {"role": "user", "content": {"type": "text", "text": SKILL}}
    [resource] = alice.result("resources/list")["resources"]
    assert (resource["uri"], resource["mimeType"]) == (URI, "application/json")
    assert api.asked == []
    read = alice.result("resources/read", {"uri": URI})
    assert "contents" in read, read
    [content] = read["contents"]
    said = json.loads(content["text"])
    assert (content["uri"], said["state"]) == (URI, "fresh")
    assert said["data"] == {"who": str(tenant.alice.principal.user_id), "token": "[credential]"}
    assert zoe.error("resources/read", {"uri": URI})["code"] in (-32602, -32002)
    assert len(api.asked) == 1


def test_a_feed_that_fails_is_a_resource_that_says_so(stack: Stack, tenant: Cast, api: Api, url: str) -> None:
    api.on(FEED, Reply(500, TOKEN.encode()))
    Owner(stack, tenant.olga).add(url, credential={"type": "bearer", "token": TOKEN})
    [content] = Mcp(stack.url, tenant.alice).result("resources/read", {"uri": URI})["contents"]
    said = json.loads(content["text"])
    assert (said["state"], said["problem"]) == ("failing", "It answered with HTTP 500.")
    assert TOKEN not in content["text"]
