"""An agent with hundreds of tools: its model is shown a few, finds the others, and calls them through all gates."""

import json
from typing import Any

import httpx
import pytest

from gateway.models import Agent
from gateway.runs.replay import driver
from tenants.scope.routing import on_login
from tests.database import rows
from tests.hostile.upstream import Upstream, completion
from tests.mcp.raw import MODERN, Mcp
from tests.people import Cast
from tests.services.api import Api, approve, as_json
from tests.services.many import add_many
from tests.stack import Stack
from tests.tools.builtin_names import BUILT_IN, WITHOUT_A_RUN
from tests.waiting import until

# Of a prompt with 500 tools behind it; a token has three bytes or more.
MOST_TOKENS, BYTES_OF_A_TOKEN = 4000, 3
TOOL = "office3.list_invoice_300"


@pytest.fixture
def names(tenant: Cast, url: str) -> list[str]:
    """The tenant's tools, 500 of them."""
    return add_many(tenant, url, services=5, each=100)


def _pin(tenant: Cast, *tools: str, **more: Any) -> None:
    with on_login("operator"):
        Agent.objects.filter(tenant_id=tenant.id).update(pinned_tools=list(tools), **more)


def _ask(stack: Stack, tenant: Cast, text: str, **more: Any) -> Any:
    body = {"model": "openai/test", "messages": [{"role": "user", "content": text}]} | more
    answer = httpx.post(f"{stack.url}/v1/chat/completions", json=body, headers=tenant.alice.headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


def _through(name: str, **arguments: Any) -> str:
    return json.dumps({"name": name, "arguments": arguments})


def _shown(asked: dict[str, Any]) -> list[str]:
    return [tool["function"]["name"] for tool in asked["tools"]]


def _calls(tenant: Cast) -> list[dict[str, Any]]:
    return rows("SELECT * FROM tool_calls WHERE tenant_id = %(t)s ORDER BY id", t=tenant.id)


def test_with_500_tools_what_the_model_is_sent_stays_under_4000_tokens(
    stack: Stack, model: Upstream, tenant: Cast, api: Api, names: list[str]
) -> None:
    assert len(names) == 500
    _pin(tenant, "save_note", "office0.*", TOOL)
    script = model.script(completion("Hello."))
    _ask(stack, tenant, f"{script.name} hello")
    [asked] = script.asked
    assert len(json.dumps(asked)) / BYTES_OF_A_TOKEN < MOST_TOKENS
    shown = _shown(asked)
    assert shown[:3] == ["tools_call", "tools_search", "save_note"]
    assert 3 < len(shown) <= 24 and all(name.startswith("office0__") for name in shown[3:])
    assert "Find them with tools_search" in json.dumps(asked["messages"])
    # Nothing was asked of a service.
    assert api.asked == []


def test_a_tool_is_found_and_called_and_recorded_as_itself(
    stack: Stack, model: Upstream, tenant: Cast, api: Api, names: list[str]
) -> None:
    api.on("/invoice/", as_json({"total": 12}))
    script = model.script(
        completion("", ("c1", "tools_search", '{"query": "list invoice 300"}')),
        completion("", ("c2", "tools_call", _through(TOOL, id="i-7"))),
        completion("It is 12."),
    )
    answer = _ask(stack, tenant, f"{script.name} what is in invoice 7")
    search, call = answer["toolgate"]["tool_calls"]
    assert search["output"]["tools"][0]["name"] == TOOL
    assert search["output"]["tools"][0]["parameters"]["required"] == ["id"]
    assert (call["tool"], call["input"], call["status"], call["output"]) == (
        TOOL,
        {"id": "i-7"},
        "success",
        {"total": 12},
    )
    assert [each.path for each in api.asked] == ["/invoice/i-7/list/300"]
    # What the model wrote is what it is shown again.
    *_, made, result = script.asked[2]["messages"]
    [function] = [each["function"] for each in made["tool_calls"]]
    assert function["name"] == "tools_call"
    assert json.loads(function["arguments"]) == {"name": TOOL, "arguments": {"id": "i-7"}}
    assert json.loads(result["content"]) == {"ok": True, "data": {"total": 12}}
    recorded = _calls(tenant)
    assert [each["tool_name"] for each in recorded] == ["tools_search", TOOL]
    assert recorded[1]["tier"] == "read_only"


async def test_a_run_with_calls_through_tools_call_is_replayed_without_a_difference(
    stack: Stack, model: Upstream, tenant: Cast, api: Api, names: list[str]
) -> None:
    api.on("/invoice/", as_json({"total": 12}))
    script = model.script(completion("", ("c2", "tools_call", _through(TOOL, id="i-7"))), completion("It is 12."))
    answer = _ask(stack, tenant, f"{script.name} what is in invoice 7")
    [run] = rows("SELECT id FROM runs WHERE id = %(id)s", id=answer["toolgate"]["run_id"])
    replayed = await driver.replay(run["id"])
    assert (replayed.differences, replayed.stopped) == ([], "")


def test_the_gates_decide_about_the_tool_that_is_named(
    stack: Stack, model: Upstream, tenant: Cast, api: Api, names: list[str]
) -> None:
    owner = stack.url + "/api/v1/services/office3/tools/list_invoice_300/"
    raised = httpx.patch(owner, json={"tier": "elevated"}, headers=tenant.olga.headers)
    assert raised.status_code == 200
    api.on("/invoice/", as_json({"total": 12}))
    script = model.script(
        completion("", ("c1", "tools_call", _through(TOOL, id="i-7"))),
        completion("", ("c2", "tools_call", _through("office3.no_such", id="i-7"))),
        completion("", ("c3", "tools_call", '{"name": "save_note"}')),
        completion("", ("c4", "tools_call", _through(TOOL, page="x"))),
        completion("Done."),
    )
    body = {"content": f"{script.name} go", "model": "openai/test"}
    waiting = httpx.post(f"{stack.url}/api/v1/chat", json=body, headers=tenant.alice.headers).json()
    [asked] = waiting["required_action"]["approvals"]
    assert (asked["tool"], asked["input"]) == (TOOL, {"id": "i-7"})
    assert api.asked == []
    approve(stack, tenant.carol, asked["id"])
    until(lambda: stack.get(tenant.alice, f"/api/v1/runs/{waiting['run_id']}").json()["status"] == "completed")
    assert [(each["tool_name"], each["error_code"]) for each in _calls(tenant)] == [
        (TOOL, None),
        ("office3.no_such", "not_allowed"),
        ("tools_call", "validation_error"),
        (TOOL, "validation_error"),
    ]
    assert len(api.asked) == 1


def test_a_stream_shows_the_tool_that_is_named(
    stack: Stack, model: Upstream, tenant: Cast, api: Api, names: list[str]
) -> None:
    api.on("/invoice/", as_json({"total": 12}))
    script = model.script(completion("", ("c1", "tools_call", _through(TOOL, id="i-7"))), completion("It is 12."))
    body = {"content": f"{script.name} go", "model": "openai/test", "stream": True}
    answer = httpx.post(f"{stack.url}/api/v1/chat", json=body, headers=tenant.alice.headers)
    assert answer.status_code == 200 and f'"tool":"{TOOL}"' in answer.text.replace('": "', '":"')
    assert "tools_call" not in answer.text


def test_what_one_may_not_use_is_neither_found_nor_called(
    stack: Stack, model: Upstream, tenant: Cast, api: Api, names: list[str]
) -> None:
    with on_login("operator"):
        Agent.objects.filter(tenant_id=tenant.id).update(tools=["office0.*", "office1.*"])
    search = completion("", ("c1", "tools_search", '{"query": "list invoice 300 office3"}'))
    script = model.script(search, completion("", ("c2", "tools_call", _through(TOOL, id="i-7"))), completion("No."))
    found, refused = _ask(stack, tenant, f"{script.name} go")["toolgate"]["tool_calls"]
    assert found["output"]["tools"] and not [each for each in found["output"]["tools"] if "office3" in each["name"]]
    assert (refused["tool"], refused["error"]["code"]) == (TOOL, "not_allowed")
    assert api.asked == []


def test_a_tool_that_the_client_demands_is_offered_although_it_is_not_pinned(
    stack: Stack, model: Upstream, tenant: Cast, names: list[str]
) -> None:
    script = model.script(completion("Hello."))
    demanded = {"type": "function", "function": {"name": "office3__list_invoice_300"}}
    _ask(stack, tenant, f"{script.name} hello", tool_choice=demanded)
    assert "office3__list_invoice_300" in _shown(script.asked[0])


def test_the_demo_model_finds_what_it_is_not_shown(stack: Stack, tenant: Cast, names: list[str]) -> None:
    body = stack.chat(tenant.alice, "note: the key is under the mat").json()
    assert [(call["tool"], call["status"]) for call in body["tool_calls"]] == [
        ("tools_search", "success"),
        ("save_note", "success"),
    ]


def test_an_agent_with_few_tools_is_shown_each_as_before(stack: Stack, model: Upstream, tenant: Cast) -> None:
    script = model.script(completion("Hello."))
    _ask(stack, tenant, f"{script.name} hello")
    assert _shown(script.asked[0]) == BUILT_IN
    _pin(tenant, "web_search", max_offered_tools=4)
    script = model.script(completion("Hello."))
    _ask(stack, tenant, f"{script.name} hello")
    assert _shown(script.asked[0]) == ["tools_call", "tools_search", "web_search"]


def test_mcp_clients_and_rest_are_listed_every_tool_and_no_finder(stack: Stack, tenant: Cast, names: list[str]) -> None:
    listed: list[str] = []
    alice, cursor = Mcp(stack.url, tenant.alice, MODERN), None
    while True:
        page = alice.result("tools/list", {"cursor": cursor} if cursor else {})
        listed += [tool["name"] for tool in page["tools"]]
        cursor = page.get("nextCursor")
        if cursor is None:
            break
    assert listed == sorted([*WITHOUT_A_RUN, *names])
    over_rest = stack.get(tenant.alice, "/api/v1/tools/").json()["tools"]
    # Only a run's call begins another run.
    assert [tool["name"] for tool in over_rest] == sorted([*listed, "send_to_session", "subagent"])
