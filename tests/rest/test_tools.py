"""`/api/v1/tools/`: what the caller may use, in each provider's words, and why not."""

from typing import Any

import httpx
import pytest

from tenants.scope.routing import on_login
from tests.people import Cast, make_unhurried_tenant
from tests.stack import Stack
from tests.tools.builtin_names import BUILT_IN
from tools.models import Grant, ToolSetting

NOTE = '{"title": "a", "content": "b"}'


@pytest.fixture
def tenant() -> Cast:
    """One whose limits' windows do not end within a test."""
    return make_unhurried_tenant()


def test_each_tool_has_tier_and_rate_limit(stack: Stack, tenant: Cast) -> None:
    body = stack.get(tenant.alice, "/api/v1/tools/").json()
    assert set(body) == {"tools"}
    tools = {tool["name"]: tool for tool in body["tools"]}
    assert sorted(tools) == BUILT_IN
    for tool in tools.values():
        assert set(tool) == {"name", "description", "parameters", "tier", "rate_limit", "parallel_safe"}
        assert tool["parameters"]["additionalProperties"] is False
    assert {name: (tool["tier"], tool["rate_limit"]) for name, tool in tools.items()} == {
        "web_search": ("read_only", "10/m"),
        "save_note": ("workspace", "30/m"),
        "list_tasks": ("read_only", "60/m"),
        "search_notes": ("read_only", "60/m"),
        "read_file": ("read_only", "120/m"),
        "list_files": ("read_only", "120/m"),
        "file_info": ("read_only", "120/m"),
        "search_files": ("read_only", "30/m"),
        "write_file": ("workspace", "60/m"),
        "delete_file": ("workspace", "60/m"),
        "edit_file": ("workspace", "60/m"),
        "memory_search": ("read_only", "60/m"),
        "memory_store": ("elevated", "30/m"),
        "add_task": ("workspace", "30/m"),
        "canvas": ("workspace", "30/m"),
        "complete_task": ("workspace", "30/m"),
        "create_reminder": ("workspace", "30/m"),
        "message": ("elevated", "20/m"),
        "update_task": ("workspace", "30/m"),
        "schedule": ("elevated", "10/h"),
        "list_schedules": ("read_only", "60/m"),
        "run_schedule": ("workspace", "10/h"),
        "cancel_schedule": ("workspace", "30/m"),
        "send_email": ("elevated", "30/m"),
        "web_fetch": ("elevated", "20/m"),
        "subagent": ("workspace", "60/m"),
        "label_session": ("workspace", "30/m"),
        "list_sessions": ("read_only", "60/m"),
        "read_session": ("read_only", "60/m"),
        "send_to_session": ("workspace", "30/m"),
    }


@pytest.mark.parametrize("style", ["openai", "anthropic", "gemini", "mcp"])
def test_each_style_names_the_same_tools(stack: Stack, tenant: Cast, style: str) -> None:
    tools = stack.get(tenant.alice, f"/api/v1/tools/?style={style}").json()["tools"]
    named = {
        "openai": lambda tool: (tool["function"]["name"], tool["function"]["parameters"]),
        "anthropic": lambda tool: (tool["name"], tool["input_schema"]),
        "gemini": lambda tool: (tool["name"], tool.get("parameters") or tool.get("parametersJsonSchema")),
        "mcp": lambda tool: (tool["name"], tool["inputSchema"]),
    }[style]
    if style == "gemini" and "functionDeclarations" in tools[0]:
        tools = tools[0]["functionDeclarations"]
    found: dict[str, Any] = dict(map(named, tools))
    assert sorted(found) == BUILT_IN
    assert all(schema["type"].lower() == "object" for schema in found.values())


def test_an_unknown_style_or_agent_is_a_problem(stack: Stack, tenant: Cast) -> None:
    answer = stack.get(tenant.alice, "/api/v1/tools/?style=cobol")
    assert (answer.status_code, answer.json()["code"], answer.json()["field"]) == (400, "invalid_request", "style")
    answer = stack.get(tenant.alice, "/api/v1/tools/?agent=nobody")
    assert (answer.status_code, answer.json()["code"]) == (404, "unknown_agent")


def test_access_tells_gate_by_gate_and_counts_nothing(stack: Stack, tenant: Cast) -> None:
    for _ in range(40):
        body = stack.get(tenant.alice, "/api/v1/tools/save_note/access").json()
    assert (body["tool"], body["tier"], body["allowed"]) == ("save_note", "workspace", True)
    assert [(gate["gate"], gate["ok"]) for gate in body["gates"]] == [
        ("allowlist", True), ("permission", True), ("policy", True), ("rate_limit", True), ("approval", True)
    ]  # fmt: skip
    assert stack.chat(tenant.alice, f"call: save_note {NOTE}").json()["tool_calls"][0]["status"] == "success"


def test_access_to_an_unknown_tool_is_404(stack: Stack, tenant: Cast) -> None:
    answer = stack.get(tenant.alice, "/api/v1/tools/rm_rf/access")
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def test_a_deny_a_tenants_switch_and_a_rate_are_seen_by_list_access_and_chat(stack: Stack, tenant: Cast) -> None:
    with on_login("operator"):
        Grant.objects.create(
            tenant_id=tenant.id, user_id=tenant.alice.scope.user_id, tool_name="save_note", effect="deny"
        )
        ToolSetting.objects.create(tenant_id=tenant.id, tool_name="add_task", enabled=False)
        ToolSetting.objects.create(tenant_id=tenant.id, tool_name="list_tasks", rate="1/h")
    tools = stack.get(tenant.alice, "/api/v1/tools/").json()["tools"]
    assert {tool["name"]: tool["rate_limit"] for tool in tools} == {
        "cancel_schedule": "30/m", "canvas": "30/m", "complete_task": "30/m", "create_reminder": "30/m",
        "delete_file": "60/m",
        "edit_file": "60/m", "file_info": "120/m", "label_session": "30/m", "list_files": "120/m",
        "list_schedules": "60/m", "list_sessions": "60/m", "list_tasks": "1/h", "memory_search": "60/m",
        "memory_store": "30/m", "message": "20/m", "read_file": "120/m", "read_session": "60/m",
        "run_schedule": "10/h", "schedule": "10/h", "search_files": "30/m", "search_notes": "60/m",
        "send_email": "30/m", "send_to_session": "30/m", "subagent": "60/m", "update_task": "30/m",
        "web_fetch": "20/m", "web_search": "10/m", "write_file": "60/m",
    }  # fmt: skip
    body = stack.chat(
        tenant.alice,
        f'call: save_note {NOTE}\ncall: add_task {{"title": "x"}}\ncall: list_tasks {{}}\ncall: list_tasks {{}}',
    ).json()
    codes = [call["error"] and call["error"]["code"] for call in body["tool_calls"]]
    assert codes == ["permission_denied", "not_allowed", None, "rate_limited"]
    refused = {}
    for name in ("save_note", "add_task", "list_tasks"):
        access = stack.get(tenant.alice, f"/api/v1/tools/{name}/access").json()
        assert access["allowed"] is False
        refused[name] = [gate["code"] for gate in access["gates"] if not gate["ok"]]
    assert refused == {"save_note": ["permission_denied"], "add_task": ["not_allowed"], "list_tasks": ["rate_limited"]}
    # Bob is not denied what alice is.
    assert stack.chat(tenant.bob, f"call: save_note {NOTE}").json()["tool_calls"][0]["status"] == "success"


def test_a_role_ceiling_holds_and_an_allow_reaches_beyond_it(stack: Stack, tenant: Cast) -> None:
    from tenants.models import Tenant

    with on_login("operator"):
        Tenant.objects.filter(id=tenant.id).update(role_ceilings={"member": "read_only"})
        Grant.objects.create(
            tenant_id=tenant.id, user_id=tenant.bob.scope.user_id, tool_name="save_note", effect="allow"
        )
    assert stack.chat(tenant.alice, f"call: save_note {NOTE}").json()["tool_calls"][0]["error"]["code"] == (
        "permission_denied"
    )
    assert stack.chat(tenant.bob, f"call: save_note {NOTE}").json()["tool_calls"][0]["status"] == "success"
    names = [tool["name"] for tool in stack.get(tenant.alice, "/api/v1/tools/").json()["tools"]]
    assert sorted(names) == [
        "file_info", "list_files", "list_schedules", "list_sessions", "list_tasks", "memory_search", "read_file",
        "read_session", "search_files", "search_notes", "web_search",
    ]  # fmt: skip


def test_the_operators_allowlist_closes_what_it_does_not_name(tenant: Cast) -> None:
    with Stack(TOOLGATE_ALLOWED_TOOLS="web_search, list_tasks") as stack:
        names = [tool["name"] for tool in stack.get(tenant.alice, "/api/v1/tools/").json()["tools"]]
        assert sorted(names) == ["list_tasks", "web_search"]
        body = stack.chat(tenant.alice, f"call: save_note {NOTE}").json()
        assert body["tool_calls"][0]["error"]["code"] == "not_allowed"


def test_only_safe_methods_are_taken(stack: Stack, tenant: Cast) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        answer = httpx.request(method, f"{stack.url}/api/v1/tools/", headers=tenant.alice.headers)
        assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")
        assert answer.headers["content-type"] == "application/problem+json"
        assert "GET" in answer.headers["allow"]
