"""`tools/list`: what this caller may use, whoever asked before, a page at a time."""

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import PaginatedRequestParams

from gateway.mcp import exchange, tools
from gateway.mcp.exchange import Exchange
from tenants.scope.routing import on_login
from tests.mcp.raw import MODERN, OLD, Mcp
from tests.people import Cast, Person
from tests.tools.builtin_names import WITHOUT_A_RUN
from tools import definitions
from tools.models import Grant, ToolSetting
from tools.registry import registry

if TYPE_CHECKING:
    from tests.stack import Stack

pytestmark = pytest.mark.xdist_group("mcp")


def _names(listed: dict[str, Any]) -> list[str]:
    return [tool["name"] for tool in listed["tools"]]


def _deny(tenant: Cast, person: Person, tool: str) -> None:
    with on_login("operator"):
        Grant.objects.create(tenant_id=tenant.id, user_id=person.principal.user_id, tool_name=tool, effect="deny")


def test_two_users_with_opposite_grants_get_each_their_own(stack: "Stack", tenant: Cast, other_tenant: Cast) -> None:
    _deny(tenant, tenant.alice, "web_search")
    _deny(tenant, tenant.bob, "list_tasks")
    with on_login("operator"):
        ToolSetting.objects.create(tenant_id=other_tenant.id, tool_name="save_note", enabled=False)
    lacks = {tenant.alice: "web_search", tenant.bob: "list_tasks", other_tenant.alice: "save_note"}

    def ask(person: Person) -> tuple[Person, list[str]]:
        return person, _names(Mcp(stack.url, person).result("tools/list"))

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(ask, list(lacks) * 6))
    assert len(answers) == 18
    for person, names in answers:
        assert names == [name for name in WITHOUT_A_RUN if name != lacks[person]]


def test_a_list_is_private_and_fresh_for_a_minute(stack: "Stack", tenant: Cast) -> None:
    listed = Mcp(stack.url, tenant.alice).result("tools/list")
    assert (listed["cacheScope"], listed["ttlMs"], listed["resultType"]) == ("private", 60_000, "complete")


def test_the_projection_is_that_of_the_rest_api(stack: "Stack", tenant: Cast) -> None:
    over_rest = stack.get(tenant.alice, "/api/v1/tools/", params={"style": "mcp"}).json()["tools"]
    # Only a run's call begins another run.
    over_rest = [tool for tool in over_rest if tool["name"] not in ("send_to_session", "subagent")]
    assert Mcp(stack.url, tenant.alice).result("tools/list")["tools"] == over_rest
    by_name = {tool["name"]: tool for tool in over_rest}
    assert by_name["send_email"]["title"] == "Send email"
    assert by_name["send_email"]["annotations"] == {
        "readOnlyHint": False,
        "destructiveHint": True,
        "idempotentHint": False,
        "openWorldHint": True,
    }
    assert by_name["list_tasks"]["annotations"] == {
        "readOnlyHint": True,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    }
    old = Mcp(stack.url, tenant.alice, OLD).result("tools/list")["tools"]
    assert [tool.pop("execution") for tool in old] == [{"taskSupport": "optional"}] * len(old)
    assert old == over_rest


def test_a_name_of_a_service_has_a_title_too() -> None:
    assert definitions.title("github.create_issue") == "Github: create issue"


async def test_a_long_list_comes_in_pages(tenant: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "PAGE", 2)
    request = SimpleNamespace(scope={exchange.KEY: Exchange(tenant.alice.principal)})
    context: Any = SimpleNamespace(request=request, protocol_version=MODERN)
    pages: list[list[str]] = []
    cursor: str | None = None
    while cursor is not None or not pages:
        listed = await tools.list_tools(context, PaginatedRequestParams(cursor=cursor))
        pages.append(_names(listed))
        cursor = listed.get("nextCursor")
    names = [tool.name for tool in registry().all() if tool.listed and "children" not in tool.handles]
    assert pages == [names[at : at + 2] for at in range(0, len(names), 2)]
    for wrong in ("", "none", "/w==", "ü"):
        if wrong:
            with pytest.raises(MCPError) as refused:
                await tools.list_tools(context, PaginatedRequestParams(cursor=wrong + "!"))
            assert refused.value.code == -32602


def test_without_services_there_are_no_prompts_and_resources(stack: "Stack", tenant: Cast) -> None:
    for revision in (MODERN, OLD):
        alice = Mcp(stack.url, tenant.alice, revision)
        assert alice.result("prompts/list")["prompts"] == []
        assert alice.result("resources/list")["resources"] == []
        assert alice.result("resources/templates/list")["resourceTemplates"] == []
        assert alice.error("prompts/get", {"name": "x"})["code"] == -32602
    assert Mcp(stack.url, tenant.alice).error("resources/read", {"uri": "test://x"})["code"] == -32602
    assert Mcp(stack.url, tenant.alice, OLD).error("resources/read", {"uri": "test://x"})["code"] == -32002
