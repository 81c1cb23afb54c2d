"""What clients that run their own loop are configured with: the agent's tools, and no credential."""

from typing import Any

import httpx
import pytest

from gateway.models import Agent
from gateway.rest.native import CLIENTS
from tenants.scope.routing import on_login
from tests.people import Cast, Person
from tests.stack import Stack


def _get(stack: Stack, person: Person, client: str, agent: str = "default") -> Any:
    return stack.get(person, f"/api/v1/agents/{agent}/native", params={"client": client})


@pytest.mark.parametrize("client", CLIENTS)
def test_each_client_gets_its_form_without_a_credential(stack: Stack, tenant: Cast, client: str) -> None:
    answer = _get(stack, tenant.alice, client)
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert (body["client"], body["agent"]) == (client, "default")
    assert [tool["name"] for tool in body["tools"]] == [
        "add_task", "cancel_schedule", "canvas", "complete_task", "create_reminder",
        "delete_file", "edit_file", "file_info",
        "label_session", "list_files", "list_schedules", "list_sessions", "list_tasks", "memory_search",
        "memory_store", "message", "read_file", "read_session", "run_schedule", "save_note", "schedule",
        "search_files", "search_notes", "send_email", "update_task", "web_fetch", "web_search", "write_file",
    ]  # fmt: skip
    assert ("config" in body) != ("definitions" in body)
    assert tenant.alice.key not in answer.text and "tg_" not in answer.text


def test_an_mcp_configuration_leads_to_this_toolgate_and_names_the_key_by_a_variable(
    stack: Stack, tenant: Cast
) -> None:
    body = _get(stack, tenant.alice, "cursor").json()
    assert body["file"] == ".cursor/mcp.json"
    assert body["config"] == {
        "mcpServers": {
            "toolgate": {
                "type": "http",
                "url": f"{stack.url}/mcp",
                "headers": {"Authorization": "Bearer ${env:TOOLGATE_KEY}"},
            }
        }
    }
    editor = _get(stack, tenant.alice, "vscode").json()["config"]
    assert editor["servers"]["toolgate"]["headers"] == {"Authorization": "Bearer ${input:toolgate-key}"}
    assert editor["inputs"][0]["password"] is True


def test_only_what_the_caller_may_use_under_the_agent_is_in_it(stack: Stack, tenant: Cast, other_tenant: Cast) -> None:
    with on_login("operator"):
        Agent.objects.create(tenant_id=tenant.id, slug="notes", name="Notes", tools=["save_note"])
    openai = _get(stack, tenant.alice, "openai", "notes").json()
    assert [tool["function"]["name"] for tool in openai["definitions"]] == ["save_note"]
    assert _get(stack, other_tenant.alice, "openai", "notes").status_code == 404
    assert _get(stack, tenant.alice, "openai", "nobody%00").status_code == 404


def test_an_unknown_client_and_a_request_without_a_key_are_refused(stack: Stack, tenant: Cast) -> None:
    refused = _get(stack, tenant.alice, "emacs")
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_request")
    assert ", ".join(CLIENTS) in refused.text
    assert httpx.get(f"{stack.url}/api/v1/agents/default/native?client=openai").status_code == 401
