"""`tools/call`: the same gates, record, workers and humans as any call, and what a client without tasks is told."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import TextContent

from tenants.scope.routing import on_login
from tests.approvals.api import decide
from tests.database import rows
from tests.mcp.raw import MODERN, OLD, Mcp
from tests.people import Cast
from tests.waiting import PATIENCE_SECONDS, until
from tools.models import Grant

if TYPE_CHECKING:
    from tests.stack import Stack

pytestmark = pytest.mark.xdist_group("mcp")

NOTE = {"title": "Milk", "content": "Two litres"}
MAIL = {"to": "bob@example.com", "subject": "Hello", "body": "Hi Bob"}
META = "toolgate/call"


def recorded(tenant: Cast) -> list[dict[str, Any]]:
    """The tenant's calls, as the table holds them."""
    return rows("SELECT * FROM tool_calls WHERE tenant_id = %(t)s ORDER BY id", t=tenant.id)


def ended(call_id: str) -> dict[str, Any]:
    """The call's row, once it is final."""
    query = "SELECT * FROM tool_calls WHERE id = %(id)s AND status IN ('success', 'error')"
    return until(lambda: rows(query, id=call_id))[0]


def text(result: dict[str, Any]) -> str:
    """What the model reads of a result."""
    return "\n".join(block["text"] for block in result["content"])


@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
async def test_the_official_client_lists_and_calls_in_both_eras(stack: "Stack", tenant: Cast, mode: Any) -> None:
    async with httpx2.AsyncClient(headers=tenant.alice.headers, timeout=PATIENCE_SECONDS) as http:
        transport = streamable_http_client(f"{stack.url}/mcp", http_client=http)
        async with Client(transport, mode=mode, read_timeout_seconds=PATIENCE_SECONDS) as client:
            assert client.protocol_version == (OLD if mode == "legacy" else MODERN)
            listed = await client.list_tools()
            assert [tool.name for tool in listed.tools][:2] == ["add_task", "cancel_schedule"]
            called = await client.call_tool("save_note", NOTE)
            assert not called.is_error
            assert called.structured_content["note_id"]
            refused = await client.call_tool("save_note", {"title": "Milk"})
            assert refused.is_error
            assert isinstance(refused.content[0], TextContent)
            assert '"content" is required' in refused.content[0].text
            with pytest.raises(MCPError, match="Unknown tool: nothing"):
                await client.call_tool("nothing", {})
    saved, invalid, unknown = recorded(tenant)
    assert {call["origin"] for call in (saved, invalid, unknown)} == {"mcp"}
    assert {call["run_id"] for call in (saved, invalid, unknown)} == {None}
    assert (saved["status"], saved["tool_name"]) == ("success", "save_note")
    assert (invalid["error_code"], unknown["error_code"]) == ("validation_error", "not_allowed")


@pytest.mark.parametrize("revision", [MODERN, OLD])
def test_a_result_has_its_output_and_where_its_receipt_is(stack: "Stack", tenant: Cast, revision: str) -> None:
    result = Mcp(stack.url, tenant.alice, revision).call("save_note", NOTE)
    about = result["_meta"][META]
    call = ended(about["id"])
    assert result["isError"] is False
    assert result["structuredContent"] == call["output"]
    assert about["status"] == "success"
    receipt = about["receipt"].removeprefix(stack.url)
    assert stack.get(tenant.alice, httpx.URL(receipt).path).status_code == 200
    assert rows("SELECT title FROM notes WHERE id = %(id)s", id=call["output"]["note_id"]) == [{"title": "Milk"}]
    entries = rows("SELECT kind FROM ledger_entries WHERE call_id = %(id)s ORDER BY seq", id=call["id"])
    assert [entry["kind"] for entry in entries] == ["proposed", "settled"]


def test_a_call_is_in_the_history_as_one_of_an_mcp_client(stack: "Stack", tenant: Cast) -> None:
    call_id = Mcp(stack.url, tenant.alice).call("save_note", NOTE)["_meta"][META]["id"]
    shown = stack.get(tenant.alice, f"/api/v1/tool-calls/{call_id}/").json()
    assert (shown["origin"], shown["conversation_id"]) == ("mcp", None)


def test_a_refusal_is_an_error_with_its_code_and_words(stack: "Stack", tenant: Cast) -> None:
    result = Mcp(stack.url, tenant.alice).call("save_note", {"title": "Milk", "content": "x", "nope": 1})
    assert result["isError"] is True
    assert result["structuredContent"]["error"]["code"] == "validation_error"
    assert text(result) == result["structuredContent"]["error"]["message"]
    assert rows("SELECT id FROM notes WHERE tenant_id = %(t)s", t=tenant.id) == []


@pytest.mark.parametrize(
    "arguments",
    [
        {"title": "a\u0000b", "content": "x"},
        {"title": "\ud800", "content": "x"},
        {"title": 2**60, "content": "x"},
        {"title": "x" * 300_000, "content": "x"},
        {"title": {"a": [{}] * 10_000}, "content": "x"},
    ],
)
def test_arguments_that_cannot_be_taken_are_recorded_refusals(
    stack: "Stack", tenant: Cast, arguments: dict[str, Any]
) -> None:
    result = Mcp(stack.url, tenant.alice).call("save_note", arguments)
    assert (result["isError"], result["structuredContent"]["error"]["code"]) == (True, "validation_error")
    [call] = recorded(tenant)
    assert call["error_code"] == "validation_error"


def test_arguments_nested_a_thousand_levels_deep_are_refused(stack: "Stack", tenant: Cast) -> None:
    deep: Any = "x"
    for _ in range(400):
        deep = [deep]
    result = Mcp(stack.url, tenant.alice).call("save_note", {"title": deep, "content": "x"})
    assert result["structuredContent"]["error"]["code"] == "validation_error"


def test_rights_that_changed_since_the_last_call_hold_at_once(stack: "Stack", tenant: Cast) -> None:
    alice = Mcp(stack.url, tenant.alice)
    assert alice.call("save_note", NOTE)["isError"] is False
    with on_login("operator"):
        Grant.objects.create(tenant_id=tenant.id, tool_name="save_note", effect="deny")
    result = alice.call("save_note", NOTE)
    assert result["structuredContent"]["error"]["code"] == "permission_denied"
    assert [call["error_code"] for call in recorded(tenant)] == [None, "permission_denied"]
    assert len(rows("SELECT id FROM notes WHERE tenant_id = %(t)s", t=tenant.id)) == 1


def test_content_of_a_tool_that_answers_as_mcp_servers_do_passes_through(served: "Stack", tenant: Cast) -> None:
    for revision in (MODERN, OLD):
        alice = Mcp(served.url, tenant.alice, revision)
        result = alice.call("test_multiple_content_types")
        assert [block["type"] for block in result["content"]] == ["text", "image", "resource"]
        assert "structuredContent" not in result
        assert result["content"] == recorded(tenant)[-1]["output"]["content"]
        plain = alice.call("greet", {"name": "Ann"})
        assert (text(plain), "structuredContent" in plain) == ("Hello, Ann!", False)


@pytest.mark.parametrize("revision", [MODERN, OLD])
def test_a_progress_token_is_told_how_far_the_call_is_and_nothing_twice(
    served: "Stack", tenant: Cast, revision: str, tmp_path: Path
) -> None:
    alice = Mcp(served.url, tenant.alice, revision)
    # The tool goes on when what it has reached was heard.
    gates = {(0.01, 1): tmp_path / "running", (50, 100): tmp_path / "half"}
    arguments = {"files": [str(gate) for gate in gates.values()]}
    params = {"name": "gated", "arguments": arguments, "_meta": {"progressToken": "p"}}
    found: list[dict[str, Any]] = []
    far: list[tuple[float, float]] = []
    for message in alice.heard("tools/call", params):
        found.append(message)
        if "params" in message:
            far.append((message["params"]["progress"], message["params"]["total"]))
            if far[-1] in gates:
                gates[far[-1]].touch()
    *found, answered = found
    assert answered["result"]["structuredContent"] == {"gates": 2}
    assert {each["method"] for each in found} == {"notifications/progress"}
    # Whoever is the first to say that nothing is done yet; what the tool says last comes with its end, or not at all.
    assert far[0] in [(0, 1), (0, 100)] and far[1:3] == [(0.01, 1), (50, 100)]
    assert far[3:] in ([], [(100, 100)])
    assert {each["params"]["progressToken"] for each in found} == {"p"}


@pytest.mark.parametrize("revision", [MODERN, OLD])
def test_a_progress_token_is_not_told_that_a_refused_call_runs(stack: "Stack", tenant: Cast, revision: str) -> None:
    params = {"name": "save_note", "arguments": {"title": "Milk"}, "_meta": {"progressToken": "p"}}
    *said, answered = Mcp(stack.url, tenant.alice, revision).heard("tools/call", params)
    assert answered["result"]["isError"] is True
    assert [each["params"]["message"] for each in said] == ["save_note: recorded", "save_note: ended"]


# --- a call that waits for a human, and a client without tasks --------------------------------------------------------
def _waiting(alice: Mcp, arguments: dict[str, Any] = MAIL) -> dict[str, Any]:
    result = alice.call("send_email", arguments)
    assert result["isError"] is True
    assert result["structuredContent"]["error"]["code"] == "approval_required"
    about: dict[str, Any] = result["_meta"][META]
    assert about["status"] == "awaiting_approval"
    assert about["approval_id"] in text(result)
    return about


@pytest.mark.parametrize("revision", [MODERN, OLD])
def test_after_the_approval_the_same_arguments_get_the_same_calls_result_once(
    stack: "Stack", tenant: Cast, revision: str
) -> None:
    alice = Mcp(stack.url, tenant.alice, revision)
    about = _waiting(alice)
    # In whatever order they are written.
    assert _waiting(alice, dict(reversed(MAIL.items()))) == about
    assert decide(stack, tenant.carol, about["approval_id"], "approve").status_code == 200
    ended(about["id"])
    result = alice.call("send_email", MAIL)
    assert (result["isError"], result["_meta"][META]["id"]) == (False, about["id"])
    assert len(recorded(tenant)) == 1
    # It has been handed over: from now on they are a new call.
    assert _waiting(alice)["id"] != about["id"]
    assert len(recorded(tenant)) == 2


def test_a_denied_call_is_told_once_and_then_asked_for_again(stack: "Stack", tenant: Cast) -> None:
    alice = Mcp(stack.url, tenant.alice)
    about = _waiting(alice)
    assert decide(stack, tenant.carol, about["approval_id"], "deny", reason="Not now").status_code == 200
    result = alice.call("send_email", MAIL)
    assert result["structuredContent"]["error"]["code"] == "approval_denied"
    assert result["_meta"][META]["id"] == about["id"]
    assert _waiting(alice)["id"] != about["id"]


def test_an_approver_who_changes_the_arguments_is_heard_of(stack: "Stack", tenant: Cast) -> None:
    alice = Mcp(stack.url, tenant.alice)
    about = _waiting(alice)
    changed = MAIL | {"subject": "Good day"}
    assert decide(stack, tenant.carol, about["approval_id"], "approve", arguments=changed).status_code == 200
    ended(about["id"])
    result = alice.call("send_email", MAIL)
    assert result["isError"] is False
    assert "An approver changed the arguments" in text(result)
    assert "Good day" in text(result)


def test_other_arguments_and_other_people_have_calls_of_their_own(
    stack: "Stack", tenant: Cast, other_tenant: Cast
) -> None:
    people = (tenant.alice, tenant.bob, other_tenant.alice)
    waiting = {_waiting(Mcp(stack.url, person))["id"] for person in people}
    waiting.add(_waiting(Mcp(stack.url, tenant.alice), MAIL | {"subject": "Other"})["id"])
    waiting.add(Mcp(stack.url, tenant.alice, tasks=True).call("send_email", MAIL)["taskId"])
    assert len(waiting) == 5


def test_the_same_call_asked_for_at_the_same_time_is_held_once(stack: "Stack", tenant: Cast) -> None:
    def ask(_: int) -> str:
        return str(_waiting(Mcp(stack.url, tenant.alice))["id"])

    with ThreadPoolExecutor(6) as pool:
        ids = set(pool.map(ask, range(6)))
    assert ids == {str(recorded(tenant)[0]["id"])}
    assert len(recorded(tenant)) == 1


def test_calls_that_nobody_holds_are_never_taken_for_one_another(stack: "Stack", tenant: Cast) -> None:
    alice = Mcp(stack.url, tenant.alice)
    ids = {alice.call("save_note", NOTE)["_meta"][META]["id"] for _ in range(2)}
    assert len(ids) == len(recorded(tenant)) == 2


def test_the_hash_of_a_pending_call_is_erased_with_its_payload(stack: "Stack", tenant: Cast) -> None:
    alice = Mcp(stack.url, tenant.alice)
    about = _waiting(alice)
    [key] = rows("SELECT key, request_hash FROM idempotency_keys WHERE call_id = %(id)s", id=about["id"])
    assert key["key"] == "\u00a7" + bytes(key["request_hash"]).hex()
    assert decide(stack, tenant.carol, about["approval_id"], "deny").status_code == 200
    erased = httpx.post(f"{stack.url}/api/v1/erasures/", json={"call": about["id"]}, headers=tenant.olga.headers)
    assert erased.status_code == 201, erased.text
    [left] = rows("SELECT id, key, request_hash FROM idempotency_keys WHERE call_id = %(id)s", id=about["id"])
    assert (left["key"], bytes(left["request_hash"])) == (f"\u00a7{left['id']}", b"")
    assert _waiting(alice)["id"] != about["id"]
