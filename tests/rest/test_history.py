"""`/api/v1/tool-calls/`: shapes, filters, pages, receipts."""

import json
import uuid
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.database import rows
from tests.people import Cast, Person
from tests.stack import Stack

NOTE = '{"title": "Milk", "content": "Two litres"}'
FIELDS = {
    "id", "tool", "tier", "input", "input_raw", "status", "output", "output_bytes", "display", "error",
    "execution_time_ms", "turn", "position", "approval_id", "user_id", "username", "conversation_id", "message_id",
    "run_id", "attempt", "side_effects", "decision", "params_hash", "output_hash", "created_at", "started_at",
    "finished_at", "origin",
}  # fmt: skip


def listed(stack: Stack, person: Person, query: str = "") -> list[dict[str, Any]]:
    """Every call of a list, page by page."""
    found: list[dict[str, Any]] = []
    path: str | None = f"/api/v1/tool-calls/{query}"
    while path:
        answer = stack.get(person, path)
        assert answer.status_code == 200, answer.text
        page = answer.json()
        assert set(page) == {"next", "previous", "results"}
        found += page["results"]
        path = page["next"] and page["next"].removeprefix(stack.url)
    return found


def test_a_call_is_shown_whole(stack: Stack, tenant: Cast) -> None:
    run = stack.chat(tenant.alice, f"call: save_note {NOTE}").json()
    [call] = listed(stack, tenant.alice)
    assert set(call) == FIELDS
    assert {name: call[name] for name in ("id", "tool", "input", "status", "output", "display", "error")} == {
        name: run["tool_calls"][0][name] for name in ("id", "tool", "input", "status", "output", "display", "error")
    }
    assert (call["username"], call["user_id"]) == (tenant.alice.username, str(tenant.alice.scope.user_id))
    assert (call["tier"], call["turn"], call["position"], call["attempt"]) == ("workspace", 1, 0, 1)
    assert call["side_effects"] == [{"kind": "note", "id": call["output"]["note_id"], "action": "created"}]
    assert len(call["params_hash"]) == len(call["output_hash"]) == 64
    assert datetime.fromisoformat(call["created_at"]) <= datetime.fromisoformat(call["finished_at"])
    assert stack.get(tenant.alice, f"/api/v1/tool-calls/{call['id']}/").json() == call


def test_filters_narrow_the_list_and_combine(stack: Stack, tenant: Cast) -> None:
    first = stack.chat(tenant.alice, f"call: save_note {NOTE}\ncall: save_note {{}}\ncall: nothing {{}}").json()
    second = stack.chat(tenant.alice, 'call: add_task {"title": "Bank"}').json()

    def names(query: str) -> list[tuple[str, str]]:
        return [(call["tool"], call["status"]) for call in listed(stack, tenant.alice, query)]

    everything = [("add_task", "success"), ("nothing", "error"), ("save_note", "error"), ("save_note", "success")]
    assert names("") == everything
    assert names("?tool=save_note") == everything[2:]
    assert names("?tool=save_note&status=success") == everything[3:]
    assert names("?status=error") == everything[1:3]
    assert names("?error_code=not_allowed") == everything[1:2]
    assert names(f"?run={first['run_id']}") == everything[1:]
    assert names(f"?conversation={second['conversation_id']}") == everything[:1]
    assert names("?q=milk") == everything[3:]
    assert names("?q=%25") == []
    assert names(f"?user={tenant.alice.username}") == everything
    assert names(f"?user={tenant.alice.scope.user_id}") == everything
    assert names(f"?user={tenant.bob.username}") == []
    assert names("?tool=SAVE_NOTE") == []
    assert names("?status=nonsense") == []


def test_since_and_until_bound_the_time_of_creation(stack: Stack, tenant: Cast) -> None:
    for _ in range(2):
        stack.chat(tenant.alice, f"call: save_note {NOTE}")
    newer, older = listed(stack, tenant.alice)
    at = datetime.fromisoformat(newer["created_at"])

    def ids(query: str) -> list[str]:
        return [call["id"] for call in listed(stack, tenant.alice, query.replace("+", "%2B"))]

    assert ids(f"?since={at.isoformat()}") == [newer["id"]]
    assert ids(f"?until={at.isoformat()}") == [older["id"]]
    assert ids(f"?since={(at + timedelta(microseconds=1)).isoformat()}") == []
    assert ids(f"?since={(at - timedelta(days=400)).isoformat()}") == [newer["id"], older["id"]]
    assert ids(f"?since={at.date()}") == [newer["id"], older["id"]]


@pytest.mark.parametrize(
    "query", ["?since=yesterday", "?until=x", "?run=1", "?conversation=x", "?since=2026-13-01T00:00:00Z"]
)
def test_a_filter_that_makes_no_sense_is_a_problem_that_names_it(stack: Stack, tenant: Cast, query: str) -> None:
    answer = stack.get(tenant.alice, f"/api/v1/tool-calls/{query}")
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")
    assert answer.headers["content-type"] == "application/problem+json"
    assert set(answer.json()["errors"]) == {query[1:].partition("=")[0]}


def test_pages_follow_one_another_without_gap_or_repetition(stack: Stack, tenant: Cast) -> None:
    stack.chat(tenant.alice, "\n".join(["call: save_note {}"] * 7))
    whole = [call["id"] for call in listed(stack, tenant.alice)]
    assert len(set(whole)) == 7
    assert [call["id"] for call in listed(stack, tenant.alice, "?limit=2")] == whole
    first = stack.get(tenant.alice, "/api/v1/tool-calls/?limit=3").json()
    assert (len(first["results"]), first["previous"]) == (3, None)
    # What comes in between moves no page.
    stack.chat(tenant.alice, "call: save_note {}")
    second = stack.get(tenant.alice, first["next"].removeprefix(stack.url)).json()
    assert [call["id"] for call in second["results"]] == whole[3:6]
    back = stack.get(tenant.alice, second["previous"].removeprefix(stack.url)).json()
    assert [call["id"] for call in back["results"]] == whole[:3]


def test_members_see_their_own_calls_and_auditors_and_owners_the_tenants(stack: Stack, tenant: Cast) -> None:
    ids = {}
    for person in (tenant.alice, tenant.bob):
        ids[person.username] = stack.chat(person, f"call: save_note {NOTE}").json()["tool_calls"][0]["id"]
    alices, bobs = ids.values()
    seen = {
        name: [call["id"] for call in listed(stack, getattr(tenant, name))]
        for name in ("alice", "bob", "carol", "dana", "olga")
    }
    assert seen == {"alice": [alices], "bob": [bobs], "carol": [], "dana": [bobs, alices], "olga": [bobs, alices]}
    for path in (f"/api/v1/tool-calls/{alices}/", f"/api/v1/tool-calls/{alices}/receipt/"):
        codes = {name: stack.get(getattr(tenant, name), path).status_code for name in seen}
        assert codes == {"alice": 200, "bob": 404, "carol": 404, "dana": 200, "olga": 200}
    assert [call["id"] for call in listed(stack, tenant.dana, f"?user={tenant.alice.username}")] == [alices]


def test_the_calls_of_someone_who_left_stay_in_the_auditors_history(stack: Stack, tenant: Cast) -> None:
    call = stack.chat(tenant.bob, f"call: save_note {NOTE}").json()["tool_calls"][0]
    _remove(tenant.bob)
    assert [each["id"] for each in listed(stack, tenant.dana)] == [call["id"]]
    assert stack.get(tenant.dana, f"/api/v1/tool-calls/{call['id']}/").status_code == 200
    assert stack.get(tenant.dana, f"/api/v1/tool-calls/{call['id']}/receipt/").status_code == 200


def _remove(person: Person) -> None:
    from tenants.models import Membership
    from tenants.scope.routing import on_login

    with on_login("operator"):
        Membership.objects.filter(tenant_id=person.scope.tenant_id, user_id=person.scope.user_id).delete()


def test_a_list_leaves_large_outputs_to_the_detail(stack: Stack, tenant: Cast) -> None:
    stack.chat(tenant.alice, "\n".join("call: add_task " + json.dumps({"title": "x" * 500}) for _ in range(30)))
    call = stack.chat(tenant.alice, 'call: list_tasks {"limit": 100}').json()["tool_calls"][0]
    [in_list] = listed(stack, tenant.alice, "?tool=list_tasks")
    assert (in_list["output"], in_list["output_bytes"] > 16_384) == (None, True)
    assert stack.get(tenant.alice, f"/api/v1/tool-calls/{call['id']}/").json()["output"] == call["output"]


def test_a_receipt_holds_hashes_and_entries_and_no_payload(stack: Stack, tenant: Cast) -> None:
    call = stack.chat(tenant.alice, f"call: save_note {NOTE}").json()["tool_calls"][0]
    answer = stack.get(tenant.alice, f"/api/v1/tool-calls/{call['id']}/receipt/")
    receipt = answer.json()
    [row] = rows("SELECT * FROM tool_calls WHERE id = %(id)s", id=call["id"])
    assert {name: receipt[name] for name in ("call_id", "tool", "status", "params_hash", "output_hash")} == {
        "call_id": call["id"], "tool": "save_note", "status": "success", "params_hash": row["params_hash"],
        "output_hash": row["output_hash"],
    }  # fmt: skip
    entries = rows("SELECT * FROM ledger_entries WHERE call_id = %(id)s ORDER BY seq", id=call["id"])
    assert [(entry["kind"], entry["commitment"]) for entry in receipt["entries"]] == [
        (entry["kind"], bytes(entry["commitment"]).hex()) for entry in entries
    ]
    assert receipt["inclusion_proof"] is None
    assert "Two litres" not in answer.text


def test_what_is_not_there_is_404_and_what_is_no_uuid_too(stack: Stack, tenant: Cast) -> None:
    for path in (f"{uuid.uuid4()}/", f"{uuid.uuid4()}/receipt/"):
        answer = stack.get(tenant.alice, f"/api/v1/tool-calls/{path}")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
