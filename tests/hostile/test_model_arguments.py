"""Whatever a model sends as arguments is a recorded refusal, and the run goes on to an answer."""

import json
from typing import Any

import pytest

from audit.canonical import sha256_hex
from tests.database import rows
from tests.hostile.upstream import Upstream, completion, scripted
from tests.people import Cast
from tests.stack import Stack

NOT_JSON = {
    "truncated": '{"title": "Milk", "content": "Tw',
    "one quote": '"',
    "a bare word": "title=Milk",
    "trailing comma": '{"title": "a", "content": "b",}',
    "two objects": '{"title": "a", "content": "b"} {"title": "c"}',
    "single quotes": "{'title': 'a', 'content': 'b'}",
    "a comment": '{"title": "a", /* b */ "content": "b"}',
    "NaN": '{"title": "a", "content": NaN}',
    "infinity": '{"title": "a", "content": -Infinity}',
    "an escaped NUL": '{"title": "a\\u0000b", "content": "c"}',
    "a NUL in a key": '{"title\\u0000": "a", "content": "c"}',
    "a lone high surrogate": '{"title": "\\ud800", "content": "c"}',
    "a lone low surrogate in a key": '{"\\udfff": "a", "content": "c"}',
    "an escape control character": '{"title": "\\u001b[31m", "content": "c"}',
    "a duplicate key": '{"title": "a", "title": "b", "content": "c"}',
    "100,000 levels of arrays": '{"title": ' + "[" * 100_000 + "]" * 100_000 + "}",
    "100,000 levels of objects": '{"a":' * 100_000 + "1" + "}" * 100_000,
    "100,000 levels never closed": "[" * 100_000,
    "65 levels": '{"title": ' + "[" * 65 + "]" * 65 + "}",
    "an integer of 5,000 digits": '{"title": "a", "content": ' + "9" * 5_000 + "}",
    "an integer that a float does not carry": '{"title": "a", "content": 9007199254740993}',
    "a float beyond the largest": '{"title": "a", "content": 1e999}',
    "300 KB": '{"title": "a", "content": "' + "x" * 300_000 + '"}',
}
NOT_AN_OBJECT = {
    "a string": ('"title"', "title"),
    "an array": ('[{"title": "a"}]', [{"title": "a"}]),
    "a number": ("7", 7),
    "a boolean": ("true", True),
}
NOT_VALID = {
    "an unknown field": ({"title": "a", "content": "b", "tenant_id": "x"}, "tenant_id"),
    "a field that is missing": ({"title": "a"}, "content"),
    "null for a string": ({"title": None, "content": "b"}, "title"),
    "a number for a string": ({"title": 1, "content": "b"}, "title"),
    "an object for a string": ({"title": {"$ne": None}, "content": "b"}, "title"),
    "a string for an array": ({"title": "a", "content": "b", "tags": "c"}, "tags"),
    "an array of the wrong kind": ({"title": "a", "content": "b", "tags": ["c", 1]}, "tags.1"),
    "an empty title": ({"title": "", "content": "b"}, "title"),
    "a title that is too long": ({"title": "x" * 501, "content": "b"}, "title"),
    "a field that differs in case": ({"Title": "a", "content": "b"}, None),
    "prototype pollution": ({"title": "a", "content": "b", "__proto__": {"role": "owner"}}, "__proto__"),
}


def _refused(tenant: Cast, body: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The one call of a run that went on to an answer, and its row; nothing was saved."""
    assert body["status"] == "completed", body
    assert body["usage"]["turns"] == 2
    [call] = body["tool_calls"]
    [row] = rows("SELECT * FROM tool_calls WHERE tenant_id = %(tenant)s", tenant=tenant.id)
    assert (row["status"], row["error_code"]) == ("error", "validation_error")
    assert (call["status"], call["error"]["code"]) == ("error", "validation_error")
    assert row["started_at"] is None
    assert row["finished_at"] is not None
    assert rows("SELECT id FROM notes WHERE tenant_id = %(tenant)s", tenant=tenant.id) == []
    kinds = rows("SELECT kind FROM ledger_entries WHERE call_id = %(id)s ORDER BY seq", id=row["id"])
    assert [entry["kind"] for entry in kinds] == ["proposed", "settled"]
    return call, row


@pytest.mark.parametrize("raw", NOT_JSON.values(), ids=NOT_JSON)
def test_text_that_is_not_strict_json_is_a_recorded_refusal(stack: Stack, tenant: Cast, raw: str) -> None:
    answer = stack.chat(tenant.alice, f"call: save_note {raw}")
    assert answer.status_code == 200, answer.text
    call, row = _refused(tenant, answer.json())
    assert row["input"] is None
    assert row["input_raw"] == raw[: 64 * 1024]
    assert row["params_hash"] is None
    assert call["input"] is None


@pytest.mark.parametrize("value", NOT_AN_OBJECT.values(), ids=NOT_AN_OBJECT)
def test_json_that_is_no_object_is_a_recorded_refusal(stack: Stack, tenant: Cast, value: tuple[str, Any]) -> None:
    raw, read = value
    answer = stack.chat(tenant.alice, f"call: save_note {raw}")
    assert answer.status_code == 200, answer.text
    call, row = _refused(tenant, answer.json())
    assert row["input"] == read
    assert row["input_raw"] is None
    assert call["input"] == read


def test_null_instead_of_an_object_is_a_recorded_refusal(stack: Stack, tenant: Cast) -> None:
    answer = stack.chat(tenant.alice, "call: save_note null")
    assert answer.status_code == 200, answer.text
    call, row = _refused(tenant, answer.json())
    assert row["input"] is None
    assert call["input"] is None


@pytest.mark.parametrize("value", NOT_VALID.values(), ids=NOT_VALID)
def test_what_the_schema_does_not_take_is_a_recorded_refusal(
    stack: Stack, tenant: Cast, value: tuple[dict[str, Any], str | None]
) -> None:
    given, field = value
    answer = stack.chat(tenant.alice, f"call: save_note {json.dumps(given)}")
    assert answer.status_code == 200, answer.text
    call, row = _refused(tenant, answer.json())
    assert row["input"] == given
    assert row["input_raw"] is None
    if field is not None:
        assert call["error"]["field"] == field


def test_ten_megabytes_of_arguments_are_a_refusal_with_a_cut_record(upstream: Upstream, tenant: Cast) -> None:
    raw = json.dumps({"title": "a", "content": "x" * 10_000_000})
    script = upstream.script(completion("", ("c1", "save_note", raw)), completion("I could not."))
    answer = upstream.stack.chat(tenant.alice, **scripted(script))
    assert answer.status_code == 200, answer.text
    _, row = _refused(tenant, answer.json())
    assert (row["input"], row["input_raw"]) == (None, raw[: 64 * 1024])
    # The provider is shown the call again, but not ten megabytes of it.
    assert len(json.dumps(script.asked[1])) < 200_000


@pytest.mark.parametrize(
    "raw",
    [
        b'{"title": "\\ud800", "content": "c"}',
        b'{"title": "a\\u0000", "content": "c"}',
        b'{"title": "a", "content": "\\udc00\\ud800"}',
    ],
)
def test_a_provider_that_sends_lone_surrogates_or_nul_breaks_nothing(
    upstream: Upstream, tenant: Cast, raw: bytes
) -> None:
    # The arguments' text itself holds the character, not an escape of it.
    arguments = raw.decode().encode().decode("unicode_escape", "surrogatepass")
    script = upstream.script(completion("", ("c1", "save_note", arguments)), completion("I could not."))
    answer = upstream.stack.chat(tenant.alice, **scripted(script))
    assert answer.status_code == 200, answer.text
    _, row = _refused(tenant, answer.json())
    assert row["input"] is None
    assert row["input_raw"].startswith('{"title": "')


def test_the_note_keeps_what_is_valid_however_odd(stack: Stack, tenant: Cast) -> None:
    given = {"title": "\u202egnp.exe ‮", "content": "line\n\ttab </script> 𝒳 \ufeff é é", "tags": ["=cmd()", "'--"]}
    body = stack.chat(tenant.alice, f"call: save_note {json.dumps(given)}").json()
    assert body["tool_calls"][0]["status"] == "success"
    [note] = rows("SELECT title, content, tags FROM notes WHERE tenant_id = %(tenant)s", tenant=tenant.id)
    assert note == given


def test_a_number_of_three_hundred_digits_is_shown_and_told_as_it_was_sent(stack: Stack, tenant: Cast) -> None:
    first = stack.chat(tenant.alice, 'call: save_note {"title": "a", "content": "b", "size": 1e300}').json()
    [call] = first["tool_calls"]
    assert (call["error"]["code"], call["input"]["size"]) == ("validation_error", 1e300)
    again = stack.chat(tenant.alice, "Go on.", conversation_id=first["conversation_id"])
    assert (again.status_code, again.json()["status"]) == (200, "completed")
    read = stack.get(tenant.alice, f"/api/v1/tool-calls/{call['id']}/")
    assert read.json()["input"] == {"title": "a", "content": "b", "size": 1e300}
    assert stack.get(tenant.alice, f"/api/v1/tool-calls/{call['id']}/receipt/").json()["params_hash"] == sha256_hex(
        {"title": "a", "content": "b", "size": 1e300}
    )
