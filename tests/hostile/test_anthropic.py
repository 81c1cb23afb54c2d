"""The Anthropic adapter through the whole stack: answers, tools and faults, streaming and not."""

import json
from typing import Any

import pytest

from tests.database import rows
from tests.hostile.upstream import ANTHROPIC_KEY, Reply, Upstream, completion, scripted, streamed
from tests.people import Cast

NOTE = {"title": "a", "content": "b"}


def message(*blocks: dict[str, Any], stop: str = "end_turn") -> Reply:
    """A whole answer of the messages API."""
    whole = {
        "id": "m", "type": "message", "role": "assistant", "model": "m", "content": list(blocks), "stop_reason": stop,
        "stop_sequence": None, "usage": {"input_tokens": 7, "output_tokens": 3},
    }  # fmt: skip
    return Reply([json.dumps(whole).encode()])


def events(*datas: dict[str, Any], **more: Any) -> Reply:
    """Events of a streamed answer."""
    pieces = [f"event: {data['type']}\ndata: {json.dumps(data)}\n\n".encode() for data in datas]
    return Reply(pieces, kind="text/event-stream", **more)


START = {
    "type": "message_start",
    "message": {"id": "m", "type": "message", "role": "assistant", "content": [], "usage": {"input_tokens": 7}},
}
STOP = {"type": "message_stop"}


def delta(stop: str) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 3}}


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": each} for each in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def text(*pieces: str) -> list[dict[str, Any]]:
    return block(0, {"type": "text", "text": ""}, *({"type": "text_delta", "text": piece} for piece in pieces))


def use(index: int, name: str, *pieces: str) -> list[dict[str, Any]]:
    started = {"type": "tool_use", "id": f"toolu_{index}", "name": name, "input": {}}
    return block(index, started, *({"type": "input_json_delta", "partial_json": piece} for piece in pieces))


def body_of(upstream: Upstream, tenant: Cast, *replies: Reply, stream: bool = False) -> tuple[dict[str, Any], Any]:
    """The run's body after these replies, and the script."""
    script = upstream.script(*replies)
    asked = scripted(script) | {"model": "anthropic/m"}
    answer = upstream.stack.chat(tenant.alice, **asked, stream=stream)
    assert answer.status_code == 200, answer.text
    return (json.loads(answer.text.strip().splitlines()[-1][6:]) if stream else answer.json()), script


def test_a_tool_is_called_and_its_result_goes_back(upstream: Upstream, tenant: Cast) -> None:
    calls = [{"type": "tool_use", "id": f"toolu_{n}", "name": "save_note", "input": NOTE} for n in range(2)]
    said = {"type": "text", "text": "Saving."}
    body, script = body_of(
        upstream, tenant, message(said, *calls, stop="tool_use"), message({"type": "text", "text": "Saved."})
    )
    assert (body["status"], body["content"]) == ("completed", "Saved.")
    assert [call["status"] for call in body["tool_calls"]] == ["success", "success"]
    assert body["usage"] == {"input_tokens": 14, "output_tokens": 6, "turns": 2}
    suggested, results = script.asked[1]["messages"][-2:]
    uses = [part["id"] for part in suggested["content"] if part["type"] == "tool_use"]
    shown = [part["tool_use_id"] for part in results["content"] if part["type"] == "tool_result"]
    assert uses == shown
    assert json.loads(_plain(results["content"][0]["content"]))["ok"] is True


def _plain(content: Any) -> str:
    return content if isinstance(content, str) else str(content[0]["text"])


def test_a_streamed_call_in_pieces_runs_once(upstream: Upstream, tenant: Cast) -> None:
    raw = json.dumps(NOTE)
    calling = events(START, *text("Sav", "ing."), *use(1, "save_note", "", raw[:7], raw[7:]), delta("tool_use"), STOP)
    body, _ = body_of(upstream, tenant, calling, events(START, *text("Saved."), delta("end_turn"), STOP), stream=True)
    assert (body["status"], body["content"]) == ("completed", "Saved.")
    [call] = body["tool_calls"]
    assert (call["status"], call["input"]) == ("success", NOTE)
    assert len(rows("SELECT id FROM notes WHERE tenant_id = %(tenant)s", tenant=tenant.id)) == 1


@pytest.mark.parametrize("pieces", [('{"title": "a", "cont',), ('{"title": NaN}',), ('"x"',), ("[]",)])
def test_broken_arguments_in_a_stream_are_a_recorded_refusal(
    upstream: Upstream, tenant: Cast, pieces: tuple[str, ...]
) -> None:
    calling = events(START, *use(0, "save_note", *pieces), delta("tool_use"), STOP)
    body, _ = body_of(upstream, tenant, calling, events(START, *text("No."), delta("end_turn"), STOP), stream=True)
    assert body["status"] == "completed"
    assert [call["error"]["code"] for call in body["tool_calls"]] == ["validation_error"]
    assert len(rows("SELECT id FROM tool_calls WHERE tenant_id = %(tenant)s", tenant=tenant.id)) == 1


@pytest.mark.parametrize(
    "reply",
    [
        events(START, *text("Hel"), cut=True),
        events(START, *text("Hello")),
        events({"type": "error", "error": {"type": "overloaded_error", "message": f"key {ANTHROPIC_KEY}"}}),
        Reply([b"event: message_start\ndata: {{{\n\n"], kind="text/event-stream"),
    ],
    ids=["cut", "no stop reason", "an error event", "garbage"],
)
def test_a_stream_that_fails_ends_in_run_failed(upstream: Upstream, tenant: Cast, reply: Reply) -> None:
    body, _ = body_of(upstream, tenant, reply, stream=True)
    assert (body["status"], body["error"]["code"]) == ("failed", "provider_error")
    assert ANTHROPIC_KEY not in json.dumps(body)


def test_the_conversation_may_go_on_with_the_other_provider(upstream: Upstream, tenant: Cast) -> None:
    calls = {"type": "tool_use", "id": "toolu_1", "name": "save_note", "input": NOTE}
    first, _ = body_of(upstream, tenant, message(calls, stop="tool_use"), message({"type": "text", "text": "Saved."}))
    script = upstream.script(completion("Hello."))
    second = upstream.stack.chat(tenant.alice, **scripted(script, conversation_id=first["conversation_id"]))
    assert second.json()["content"] == "Hello."
    roles = [said["role"] for said in script.asked[0]["messages"]]
    assert roles[-5:] == ["user", "assistant", "tool", "assistant", "user"]


def test_text_streams_through_the_openai_adapter_with_tools(upstream: Upstream, tenant: Cast) -> None:
    raw = json.dumps(NOTE)
    calling = streamed(
        {"content": "Saving."},
        {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "save_note", "arguments": ""}}]},
        *({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} for piece in (raw[:5], raw[5:])),
        finish="tool_calls",
    )
    script = upstream.script(calling, streamed({"content": "Sa"}, {"content": "ved."}))
    answer = upstream.stack.chat(tenant.alice, **scripted(script, stream=True))
    body = json.loads(answer.text.strip().splitlines()[-1][6:])
    assert (body["status"], body["content"]) == ("completed", "Saved.")
    assert [call["input"] for call in body["tool_calls"]] == [NOTE]
    assert body["usage"] == {"input_tokens": 14, "output_tokens": 6, "turns": 2}
