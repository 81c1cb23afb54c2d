"""A chat with tools, as an application has it: over HTTP, against a real worker."""

import uuid

from audit.canonical import sha256_hex
from tests.database import rows
from tests.people import Cast
from tests.stack import Stack


def test_a_note_is_saved_and_the_call_is_on_record(stack: Stack, tenant: Cast) -> None:
    answer = stack.chat(tenant.alice, 'call: save_note {"title": "Milk", "content": "Two litres", "tags": ["shop"]}')
    assert answer.status_code == 200
    body = answer.json()
    assert body["status"] == "completed"
    assert body["usage"]["turns"] == 2
    [call] = body["tool_calls"]
    assert call["tool"] == "save_note"
    assert call["status"] == "success"
    assert call["output"]["saved"] is True
    [note] = rows("SELECT * FROM notes WHERE tenant_id = %(tenant)s", tenant=tenant.id)
    assert (note["title"], note["content"], note["tags"]) == ("Milk", "Two litres", ["shop"])
    assert str(note["id"]) == call["output"]["note_id"]
    [row] = rows("SELECT * FROM tool_calls WHERE tenant_id = %(tenant)s", tenant=tenant.id)
    assert row["id"] == uuid.UUID(call["id"])
    assert row["status"] == "success"
    assert row["message_id"] == uuid.UUID(body["id"])
    assert row["params_hash"] == sha256_hex({"title": "Milk", "content": "Two litres", "tags": ["shop"]})
    assert row["output_hash"] == sha256_hex(call["output"])
    assert [gate["gate"] for gate in row["decision"]] == [
        "allowlist",
        "schema",
        "permission",
        "policy",
        "rate_limit",
        "approval",
    ]
    kinds = rows("SELECT kind FROM ledger_entries WHERE tenant_id = %(tenant)s ORDER BY seq", tenant=tenant.id)
    assert [entry["kind"] for entry in kinds] == ["proposed", "settled"]


def test_an_unknown_tool_is_refused_and_recorded(stack: Stack, tenant: Cast) -> None:
    body = stack.chat(tenant.alice, 'call: rm_rf {"path": "/"}').json()
    [call] = body["tool_calls"]
    assert call["status"] == "error"
    assert call["error"]["code"] == "not_allowed"
    [row] = rows("SELECT * FROM tool_calls WHERE tenant_id = %(tenant)s", tenant=tenant.id)
    assert (row["status"], row["error_code"], row["started_at"]) == ("error", "not_allowed", None)


def test_a_conversation_goes_on_with_its_tool_rounds(stack: Stack, tenant: Cast) -> None:
    first = stack.chat(tenant.alice, 'call: add_task {"title": "Call the bank"}').json()
    second = stack.chat(tenant.alice, "call: list_tasks {}", conversation_id=first["conversation_id"]).json()
    assert second["conversation_id"] == first["conversation_id"]
    assert [task["title"] for task in second["tool_calls"][0]["output"]["tasks"]] == ["Call the bank"]
