"""Calls as tasks, as the extension of 2026-07-28 and the core of 2025-11-25 have them."""

import json
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.approvals.api import decide, request_row
from tests.audit.logs import seal_now
from tests.audit.outsiders import checked
from tests.audit.test_receipts import vkey
from tests.database import rows
from tests.mcp.raw import OLD, Mcp, answer
from tests.mcp.test_calls import MAIL, META, NOTE, ended, recorded
from tests.people import Cast
from tests.waiting import until

if TYPE_CHECKING:
    from tests.stack import Stack

pytestmark = pytest.mark.xdist_group("mcp")


def _approval(call_id: str) -> uuid.UUID:
    [call] = rows("SELECT approval_id FROM tool_calls WHERE id = %(id)s", id=call_id)
    found: uuid.UUID = call["approval_id"]
    return found


# --- 2026-07-28 ------------------------------------------------------------------------------------------------------
def test_a_call_that_waits_for_a_human_is_a_task_where_the_client_knows_tasks(stack: "Stack", tenant: Cast) -> None:
    alice = Mcp(stack.url, tenant.alice, tasks=True)
    created = alice.call("send_email", MAIL)
    task_id = created["taskId"]
    assert (created["resultType"], created["status"], created["ttlMs"]) == ("task", "working", None)
    assert "content" not in created
    assert str(_approval(task_id)) in created["statusMessage"]
    got = alice.result("tasks/get", {"taskId": task_id})
    assert (got["resultType"], got["status"], "result" in got) == ("complete", "working", False)
    assert decide(stack, tenant.carol, _approval(task_id), "approve").status_code == 200
    ended(task_id)
    done = alice.result("tasks/get", {"taskId": task_id})
    assert done["status"] == "completed"
    assert done["result"]["isError"] is False
    assert done["result"]["_meta"][META]["id"] == task_id
    # As often as it is asked for.
    assert alice.result("tasks/get", {"taskId": task_id}) == done
    assert len(recorded(tenant)) == 1


def test_a_denied_call_is_a_completed_task_whose_result_is_an_error(stack: "Stack", tenant: Cast) -> None:
    alice = Mcp(stack.url, tenant.alice, tasks=True)
    task_id = alice.call("send_email", MAIL)["taskId"]
    assert decide(stack, tenant.carol, _approval(task_id), "deny").status_code == 200
    done = alice.result("tasks/get", {"taskId": task_id})
    assert (done["status"], done["result"]["isError"]) == ("completed", True)
    assert done["result"]["structuredContent"]["error"]["code"] == "approval_denied"


def test_a_call_that_takes_long_is_a_task(served: "Stack", tenant: Cast, tmp_path: Path) -> None:
    alice = Mcp(served.url, tenant.alice, tasks=True)
    gate = tmp_path / "gate"
    task_id = alice.call("gated", {"files": [str(gate)]})["taskId"]
    until(lambda: recorded(tenant)[0]["status"] == "running")
    assert (
        alice.result("tasks/update", {"taskId": task_id, "inputResponses": {"x": {"action": "cancel"}}})["resultType"]
        == "complete"
    )
    # It has begun, so it ends by itself.
    assert alice.result("tasks/cancel", {"taskId": task_id})["resultType"] == "complete"
    assert alice.result("tasks/get", {"taskId": task_id})["status"] == "working"
    gate.touch()
    assert ended(task_id)["status"] == "success"
    assert alice.result("tasks/get", {"taskId": task_id})["result"]["structuredContent"] == {"gates": 1}


def test_a_cancelled_task_ends_its_call_and_its_approval(stack: "Stack", tenant: Cast) -> None:
    alice = Mcp(stack.url, tenant.alice, tasks=True)
    task_id = alice.call("send_email", MAIL)["taskId"]
    approval = _approval(task_id)
    acknowledged = alice.result("tasks/cancel", {"taskId": task_id})
    assert set(acknowledged) == {"resultType", "_meta"}
    got = alice.result("tasks/get", {"taskId": task_id})
    assert (got["status"], "result" in got) == ("cancelled", False)
    assert request_row(approval)["status"] == "cancelled"
    assert decide(stack, tenant.carol, approval, "approve").status_code == 409
    assert alice.result("tasks/cancel", {"taskId": task_id})["resultType"] == "complete"
    [call] = recorded(tenant)
    assert (call["error_code"], call["started_at"]) == ("cancelled", None)
    entries = rows("SELECT kind FROM ledger_entries WHERE call_id = %(id)s ORDER BY seq", id=call["id"])
    assert [entry["kind"] for entry in entries] == ["proposed", "settled"]


def test_the_receipt_of_a_cancelled_call_is_proven(stack: "Stack", tenant: Cast, tmp_path: Path) -> None:
    alice = Mcp(stack.url, tenant.alice, tasks=True)
    task_id = alice.call("send_email", MAIL)["taskId"]
    alice.result("tasks/cancel", {"taskId": task_id})
    seal_now()
    receipt = stack.get(tenant.alice, f"/api/v1/tool-calls/{task_id}/receipt/").json()
    assert (receipt["origin"], receipt["status"]) == ("mcp", "error")
    code, said = checked(tmp_path, json.dumps(receipt), vkey())
    assert code == 0, said


def test_a_task_of_somebody_else_is_no_task(stack: "Stack", tenant: Cast, other_tenant: Cast) -> None:
    task_id = Mcp(stack.url, tenant.alice, tasks=True).call("send_email", MAIL)["taskId"]
    of_a_chat = stack.chat(tenant.bob, "call: list_tasks {}").json()["tool_calls"][0]["id"]
    for person in (tenant.bob, tenant.olga, other_tenant.alice):
        asker = Mcp(stack.url, person, tasks=True)
        for method in ("tasks/get", "tasks/cancel", "tasks/update"):
            for wrong in (task_id, of_a_chat, task_id.upper(), "no-task", ""):
                error = asker.error(method, {"taskId": wrong})
                assert error["code"] == -32602, (method, wrong)
        old = Mcp(stack.url, person, OLD)
        for method in ("tasks/get", "tasks/cancel", "tasks/result"):
            assert old.error(method, {"taskId": task_id})["code"] == -32602
        assert task_id not in [each["taskId"] for each in old.result("tasks/list")["tasks"]]
    assert request_row(_approval(task_id))["status"] == "pending"


def test_tasks_are_for_clients_that_declare_them_and_name_them_in_the_header(stack: "Stack", tenant: Cast) -> None:
    alice = Mcp(stack.url, tenant.alice, tasks=True)
    task_id = alice.call("send_email", MAIL)["taskId"]
    for method in ("tasks/get", "tasks/cancel", "tasks/update"):
        undeclared = Mcp(stack.url, tenant.alice).post(method, {"taskId": task_id})
        assert (undeclared.status_code, undeclared.json()["error"]["code"]) == (400, -32021)
        required = undeclared.json()["error"]["data"]["requiredCapabilities"]
        assert required == {"extensions": {"io.modelcontextprotocol/tasks": {}}}
        mismatched = alice.post(method, {"taskId": task_id}, **{"Mcp-Name": str(uuid.uuid4())})
        assert (mismatched.status_code, mismatched.json()["error"]["code"]) == (400, -32020)
    assert request_row(_approval(task_id))["status"] == "pending"


# --- 2025-11-25 ------------------------------------------------------------------------------------------------------
def _as_task(alice: Mcp, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    created = alice.result("tools/call", {"name": name, "arguments": arguments, "task": {"ttl": 60_000}})
    task: dict[str, Any] = created["task"]
    return task


def test_the_older_revision_asks_for_a_task_and_for_its_result(stack: "Stack", tenant: Cast) -> None:
    alice = Mcp(stack.url, tenant.alice, OLD)
    task = _as_task(alice, "send_email", MAIL)
    assert (task["status"], task["ttl"]) == ("working", None)
    assert decide(stack, tenant.carol, _approval(task["taskId"]), "approve").status_code == 200
    result = alice.result("tasks/result", {"taskId": task["taskId"]})
    assert result["isError"] is False
    assert result["_meta"]["io.modelcontextprotocol/related-task"] == {"taskId": task["taskId"]}
    assert alice.result("tasks/get", {"taskId": task["taskId"]})["status"] == "completed"
    listed = alice.result("tasks/list")["tasks"]
    assert [each["taskId"] for each in listed] == [task["taskId"]]


def test_a_call_that_fails_is_a_failed_task_there(stack: "Stack", tenant: Cast) -> None:
    alice = Mcp(stack.url, tenant.alice, OLD)
    task = _as_task(alice, "save_note", {"title": 1})
    assert task["status"] == "failed"
    assert alice.result("tasks/result", {"taskId": task["taskId"]})["isError"] is True
    assert alice.error("tasks/cancel", {"taskId": task["taskId"]})["code"] == -32602
    unknown = answer(alice.post("tools/call", {"name": "nothing", "arguments": {}, "task": {}}))
    assert unknown["error"]["code"] == -32602


def test_a_task_there_can_be_cancelled(stack: "Stack", tenant: Cast) -> None:
    alice = Mcp(stack.url, tenant.alice, OLD)
    task_id = _as_task(alice, "send_email", MAIL)["taskId"]
    assert alice.result("tasks/cancel", {"taskId": task_id})["status"] == "cancelled"
    assert request_row(_approval(task_id))["status"] == "cancelled"


def test_the_list_of_tasks_comes_in_pages_of_fifty(stack: "Stack", tenant: Cast) -> None:
    alice = Mcp(stack.url, tenant.alice, OLD)
    made = [_as_task(alice, "save_note", {"title": 1})["taskId"] for _ in range(52)]
    first = alice.result("tasks/list")
    second = alice.result("tasks/list", {"cursor": first["nextCursor"]})
    listed = [each["taskId"] for page in (first, second) for each in page["tasks"]]
    assert listed == list(reversed(made))
    assert "nextCursor" not in second
    assert alice.error("tasks/list", {"cursor": "x"})["code"] == -32602


def test_revisions_before_tasks_have_none(stack: "Stack", tenant: Cast) -> None:
    alice = Mcp(stack.url, tenant.alice, "2025-06-18")
    assert alice.error("tasks/list")["code"] == -32601
    saved = alice.result("tools/call", {"name": "save_note", "arguments": NOTE, "task": {}})
    assert saved["isError"] is False
    until(lambda: recorded(tenant)[0]["status"] == "success")
