"""Calls that no honest model makes: names that only look right, hundreds in a turn, one id twice."""

import json

import pytest

from tests.database import rows
from tests.hostile.upstream import Upstream, call_delta, completion, scripted, streamed
from tests.people import Cast, make_unhurried_tenant
from tests.stack import Stack

NOTE = json.dumps({"title": "a", "content": "b"})
NAMES = {
    "other case": "Save_Note",
    "capitals": "SAVE_NOTE",
    "a zero-width space": "save_note\u200b",
    "a zero-width joiner inside": "save\u200d_note",
    "a Cyrillic letter": "s\u0430ve_note",
    "a full-width letter": "ｓave_note",
    "a combining mark": "save_note\u0301",
    "a soft hyphen": "save\u00ad_note",
    "a space after": "save_note\u00a0",
    "a dash": "save-note",
    "a path": "../save_note",
    "a prefix": "functions.save_note",
    "SQL": "save_note'; DROP TABLE notes; --",
    "a bell": "save_note\x07",
    "markup": "<script>alert(1)</script>",
    "a name of 5,000 letters": "save_note" * 556,
}


@pytest.fixture
def tenant() -> Cast:
    """One whose limits' windows do not end within a test."""
    return make_unhurried_tenant()


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_name_that_only_looks_like_a_tools_is_refused(upstream: Upstream, tenant: Cast, name: str) -> None:
    script = upstream.script(completion("", ("c1", name, NOTE)), completion("I could not."))
    answer = upstream.stack.chat(tenant.alice, **scripted(script))
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert (body["status"], body["content"]) == ("completed", "I could not.")
    [row] = rows("SELECT * FROM tool_calls WHERE tenant_id = %(tenant)s", tenant=tenant.id)
    assert (row["status"], row["error_code"], row["tool_name"]) == ("error", "not_allowed", name[:200])
    assert row["tier"] is None
    assert [gate["gate"] for gate in row["decision"]] == ["allowlist"]
    assert rows("SELECT id FROM notes WHERE tenant_id = %(tenant)s", tenant=tenant.id) == []
    # What goes back is a name that the provider takes.
    [made] = script.asked[1]["messages"][-2]["tool_calls"]
    assert made["function"]["name"].replace("_", "").replace("-", "").isalnum()
    assert made["function"]["name"].isascii()
    assert len(made["function"]["name"]) <= 64


@pytest.mark.parametrize("name", ["", " ", "\x00", "save_note\x00", "\ud800"])
def test_a_name_that_is_none_is_recorded_or_the_providers_fault(upstream: Upstream, tenant: Cast, name: str) -> None:
    script = upstream.script(completion("", ("c1", name, NOTE)), completion("I could not."))
    answer = upstream.stack.chat(tenant.alice, **scripted(script))
    found = rows("SELECT * FROM tool_calls WHERE tenant_id = %(tenant)s", tenant=tenant.id)
    assert rows("SELECT id FROM notes WHERE tenant_id = %(tenant)s", tenant=tenant.id) == []
    if answer.status_code == 200:
        assert [row["error_code"] for row in found] == ["not_allowed"]
    else:
        assert answer.status_code == 502
        assert answer.json()["code"] == "provider_error"


def test_500_calls_in_one_turn_are_500_rows(stack: Stack, tenant: Cast) -> None:
    lines = "\n".join(f"call: save_note {json.dumps({'title': str(n), 'content': 'x'})}" for n in range(500))
    answer = stack.chat(tenant.alice, lines)
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert body["status"] == "completed"
    assert [call["input"]["title"] for call in body["tool_calls"]] == [str(n) for n in range(500)]
    found = rows("SELECT * FROM tool_calls WHERE tenant_id = %(tenant)s ORDER BY position", tenant=tenant.id)
    assert [row["position"] for row in found] == list(range(500))
    assert [row["status"] for row in found] == ["success"] * 30 + ["error"] * 470
    assert {row["error_code"] for row in found[30:]} == {"rate_limited"}
    notes = rows("SELECT title FROM notes WHERE tenant_id = %(tenant)s ORDER BY created_at", tenant=tenant.id)
    assert [note["title"] for note in notes] == [str(n) for n in range(30)]


def test_500_unknown_calls_in_one_turn_are_all_refused(stack: Stack, tenant: Cast) -> None:
    answer = stack.chat(tenant.alice, "\n".join(f"call: tool_{n} {{}}" for n in range(500)))
    assert answer.status_code == 200, answer.text
    found = rows("SELECT tool_name, error_code FROM tool_calls WHERE tenant_id = %(tenant)s", tenant=tenant.id)
    assert len(found) == 500
    assert {row["error_code"] for row in found} == {"not_allowed"}
    assert answer.json()["status"] == "completed"


def test_one_call_id_twice_is_two_calls_with_ids_of_their_own(upstream: Upstream, tenant: Cast) -> None:
    first = json.dumps({"title": "first", "content": "x"})
    second = json.dumps({"title": "second", "content": "x"})
    script = upstream.script(
        completion("", ("same", "save_note", first), ("same", "save_note", second)), completion("Both are saved.")
    )
    body = upstream.stack.chat(tenant.alice, **scripted(script)).json()
    assert [call["status"] for call in body["tool_calls"]] == ["success", "success"]
    assert len({call["id"] for call in body["tool_calls"]}) == 2
    notes = rows("SELECT title FROM notes WHERE tenant_id = %(tenant)s ORDER BY created_at", tenant=tenant.id)
    assert [note["title"] for note in notes] == ["first", "second"]
    suggested = [made["id"] for made in script.asked[1]["messages"][-3]["tool_calls"]]
    answered = [message["tool_call_id"] for message in script.asked[1]["messages"][-2:]]
    assert suggested == answered
    assert len(set(suggested)) == 2


def test_one_call_id_twice_in_a_stream_is_two_calls(upstream: Upstream, tenant: Cast) -> None:
    script = upstream.script(
        streamed(
            call_delta(0, "same", "save_note", NOTE), call_delta(1, "same", "save_note", NOTE), finish="tool_calls"
        ),
        streamed({"content": "Done."}),
    )
    answer = upstream.stack.chat(tenant.alice, **scripted(script, stream=True))
    assert answer.status_code == 200
    assert len(rows("SELECT id FROM notes WHERE tenant_id = %(tenant)s", tenant=tenant.id)) == 2


def test_invalid_arguments_may_be_corrected_twice_and_then_the_model_is_told_to_stop(
    stack: Stack, tenant: Cast
) -> None:
    bad = 'call: save_note {"title": "no content"}'
    other = "call: add_task {}"
    answer = stack.chat(tenant.alice, f"{bad}\nthen:\n{bad}\n{other}\nthen:\n{bad}\nthen:\ncall: save_note {NOTE}")
    body = answer.json()
    assert body["status"] == "completed"
    errors = [call["error"] for call in body["tool_calls"]]
    assert [error and error["code"] for error in errors] == ["validation_error"] * 4 + [None]
    assert "(2 retries left)" in errors[0]["message"]
    assert "(1 retry left)" in errors[1]["message"]
    # Counted by tool: another one's mistakes are its own.
    assert "(2 retries left)" in errors[2]["message"]
    assert "No retries are left" in errors[3]["message"]
    # A valid call is valid, whatever came before it.
    assert body["tool_calls"][4]["status"] == "success"


def test_mistakes_within_one_turn_count_too(stack: Stack, tenant: Cast) -> None:
    body = stack.chat(tenant.alice, "\n".join(["call: save_note {}"] * 4)).json()
    left = [call["error"]["message"].rpartition("(")[2] for call in body["tool_calls"][:2]]
    assert left == ["2 retries left).", "1 retry left)."]
    assert all("No retries are left" in call["error"]["message"] for call in body["tool_calls"][2:])


def test_the_model_is_told_the_field_and_the_schema(upstream: Upstream, tenant: Cast) -> None:
    script = upstream.script(
        completion("", ("c1", "save_note", '{"title": 7, "content": "x"}')), completion("I could not.")
    )
    upstream.stack.chat(tenant.alice, **scripted(script))
    shown = json.loads(script.asked[1]["messages"][-1]["content"])
    assert shown["ok"] is False
    assert (shown["error"]["code"], shown["error"]["field"]) == ("validation_error", "title")
    assert shown["error"]["schema"]["required"] == ["title", "content"]


def test_a_model_that_never_stops_calling_is_stopped_after_eight_turns(stack: Stack, tenant: Cast) -> None:
    body = stack.chat(tenant.alice, "\nthen:\n".join(["call: list_tasks {}"] * 12)).json()
    assert (body["status"], body["incomplete_reason"]) == ("incomplete", "max_turns")
    assert body["usage"]["turns"] == 8
    assert [call["turn"] for call in body["tool_calls"]] == list(range(1, 9))
    assert {call["status"] for call in body["tool_calls"]} == {"success"}
