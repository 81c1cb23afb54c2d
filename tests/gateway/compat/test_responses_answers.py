import json
import random
from functools import cache
from typing import Any

from openai.lib.streaming.responses._responses import ResponseStreamState
from openai.types.responses import Response
from pydantic import TypeAdapter

from audit.canonical import sha256_hex
from gateway.compat.interface import Reply, TurnReply
from gateway.compat.responses.api import API
from gateway.providers.interface import Opaque, SuggestedCall, Usage

RUN = "0123456789abcdef" * 2
CALL = "01890000-0000-7000-8000-000000000001"
HELD = "01890000-0000-7000-8000-000000000002"
APPROVAL = "01890000-0000-7000-8000-000000000003"
CLIENTS = (SuggestedCall("a", "get_weather", '{"city":"Bern"}'), SuggestedCall("b", "sql", "SELECT 1"))


def body(call_id: str = CALL, status: str = "success", approval: str | None = None, **more: Any) -> dict[str, Any]:
    return {
        "id": call_id, "tool": "list_tasks", "input": {"limit": 1}, "status": status, "output": None, "display": "",
        "error": None, "execution_time_ms": 1, "turn": 1, "approval_id": approval, **more,
    }  # fmt: skip


def reply(*turns: TurnReply, status: str = "completed", **more: Any) -> Reply:
    values: dict[str, Any] = {
        "id": RUN, "created": 7, "model": "openai/gpt", "calls": (), "finish_reason": "stop",
        "usage": Usage(5, 3, 2, 1), "toolgate": {"status": status}, **more,
    }  # fmt: skip
    return Reply(turns=turns, **values)


def checked(whole: dict[str, Any]) -> Response:
    """The response as the SDK's own types have it, strictly."""
    return TypeAdapter(Response).validate_python(whole)


def kinds(whole: dict[str, Any]) -> list[str]:
    return [item["type"] for item in whole["output"]]


def test_a_response_has_every_field_of_the_sdks_and_echoes_what_was_asked() -> None:
    given = {
        "model": "openai/gpt", "input": "hi", "instructions": "Be kind.", "temperature": 0.5, "metadata": {"a": "b"},
        "tools": [{"type": "function", "name": "f", "parameters": {}, "strict": False}], "tool_choice": "required",
    }  # fmt: skip
    request = API.parse(given)
    whole = API.body(reply(TurnReply(1, "Hi."), echo=request.echo))
    assert checked(whole).output_text == "Hi."
    assert {name: whole[name] for name in given if name not in ("model", "input")} == {
        name: value for name, value in given.items() if name not in ("model", "input")
    }
    assert (whole["id"], whole["created_at"], whole["status"]) == (f"resp_{RUN}", 7, "completed")
    assert whole["output"] == [
        {
            "id": f"msg_{RUN}0001", "type": "message", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": "Hi.", "annotations": [], "logprobs": []}],
            "phase": "final_answer",
        }
    ]  # fmt: skip
    assert whole["usage"] == {
        "input_tokens": 5, "input_tokens_details": {"cached_tokens": 2, "cache_write_tokens": 0},
        "output_tokens": 3, "output_tokens_details": {"reasoning_tokens": 1}, "total_tokens": 8,
    }  # fmt: skip


def full() -> Reply:
    """A reply with an item of every kind but an approval request."""
    thought = Opaque("openai", {"type": "reasoning_content", "reasoning_content": "Hm."})
    thinking = Opaque("anthropic", {"type": "thinking", "thinking": "Well.", "signature": "x"})
    error = {"code": "timeout", "message": "Too slow."}
    echo = {"tools": [{"type": "function", "name": "get_weather"}, {"type": "custom", "name": "sql"}]}
    return reply(
        TurnReply(1, "Looking.", (thought,), (body(output={"tasks": []}), body(HELD, "error", error=error))),
        TurnReply(2, "", (thinking,), ()),
        TurnReply(3, "Now \u2028 you: »ß« 😀."),
        calls=CLIENTS,
        finish_reason="tool_calls",
        echo=echo,
    )


def test_every_turn_shows_its_thoughts_text_and_managed_calls_and_the_last_one_the_clients() -> None:
    whole = API.body(full())
    response = checked(whole | {"tools": []})
    assert kinds(whole) == [
        "reasoning", "message", "mcp_call", "mcp_call", "reasoning", "message", "function_call", "custom_tool_call",
    ]  # fmt: skip
    assert whole["output"][2] == {
        "id": f"mcp_{CALL.replace('-', '')}", "type": "mcp_call", "status": "completed", "server_label": "toolgate",
        "name": "list_tasks", "arguments": '{"limit":1}', "output": '{"tasks":[]}', "error": None,
        "approval_request_id": None,
    }  # fmt: skip
    failed: Any = response.output[3]
    assert (failed.status, failed.error.content) == ("failed", [{"type": "text", "text": "Too slow."}])
    assert whole["output"][6:] == [
        {"id": f"fc_{RUN}00030000", "type": "function_call", "status": "completed", "call_id": "a",
         "name": "get_weather", "arguments": '{"city":"Bern"}'},
        {"id": f"ctc_{RUN}00030001", "type": "custom_tool_call", "status": "completed", "call_id": "b", "name": "sql",
         "input": "SELECT 1"},
    ]  # fmt: skip
    assert [item.get("phase") for item in whole["output"] if item["type"] == "message"] == ["commentary"] * 2
    assert len({item["id"] for item in whole["output"]}) == len(whole["output"])


def waiting() -> Reply:
    """A reply that waits for a human."""
    pending = {"id": APPROVAL, "tool": "send_email", "input": {"to": "x"}, "expires_at": "2027-01-01T00:00:00+00:00"}
    calls = (body(), body(HELD, "awaiting_approval", APPROVAL, tool="send_email"))
    turn = TurnReply(1, "I write.", (), calls)
    return reply(turn, status="requires_action", notice="A human has to approve.", pending=(pending,))


def test_what_waits_for_humans_is_an_approval_request_of_a_completed_response() -> None:
    whole = API.body(waiting())
    assert (checked(whole).status, kinds(whole)) == (
        "completed", ["message", "mcp_call", "message", "mcp_approval_request"],
    )  # fmt: skip
    assert whole["output"][3] == {
        "id": f"mcpr_{APPROVAL.replace('-', '')}", "type": "mcp_approval_request", "server_label": "toolgate",
        "name": "send_email", "arguments": '{"to":"x"}', "params_hash": sha256_hex({"to": "x"}),
    }  # fmt: skip


def test_a_cut_answer_is_incomplete() -> None:
    for reason, named in (("length", "max_output_tokens"), ("content_filter", "content_filter")):
        whole = API.body(reply(TurnReply(1, "And"), finish_reason=reason))
        assert (whole["status"], whole["incomplete_details"]) == ("incomplete", {"reason": named})
        checked(whole)


# --- streams ---------------------------------------------------------------------------------------------------------
def events(data: bytes) -> list[dict[str, Any]]:
    found = []
    for block in data.decode().split("\n\n")[:-1]:
        if not block.startswith(":"):
            kind, line = block.split("\n")
            found.append(json.loads(line.removeprefix("data: ")))
            assert kind == f"event: {found[-1]['type']}"
    return found


def writer(echo: Any = None) -> Any:
    request = API.parse({"model": "openai/gpt", "input": "hi", **(echo or {})})
    return API.writer(id=RUN, created=7, model="openai/gpt", request=request)


@cache
def event_type() -> TypeAdapter[Any]:
    """The events of a stream as the SDK's types have them, made once: it takes most of a tenth of a second."""
    from openai.types.responses import ResponseStreamEvent

    return TypeAdapter(ResponseStreamEvent)


def collected(stream: list[dict[str, Any]]) -> Any:
    """What the SDK makes of it, strictly: every event as its types have it."""
    from openai._types import omit

    state: Any = ResponseStreamState(input_tools=omit, text_format=omit)
    for event in stream:
        loose = {**event, "response": {**event["response"], "tools": []}} if "response" in event else event
        state.handle_event(event_type().validate_python(loose))
    return state._completed_response


def pieces(text: str, some: random.Random) -> list[str]:
    found = []
    while text:
        size = some.randint(1, len(text))
        found.append(text[:size])
        text = text[size:]
    return found


def test_a_stream_in_any_pieces_comes_to_the_whole_response() -> None:
    some = random.Random(7)
    for _ in range(50):
        given = some.choice([full, waiting])()
        to = writer()
        data = to.begin()
        for turn in given.turns:
            if some.random() < 0.8:
                data += b"".join(to.opaque(turn.number, part) for part in turn.opaque)
                said = pieces(turn.text, some)
                data += b"".join(to.text(turn.number, piece) for piece in said[: some.randint(0, len(said))])
                settled = [call for call in turn.calls if call["status"] in ("success", "error")]
                for call in some.sample(settled, some.randint(0, len(settled))):
                    data += to.call(turn.number, call) + to.keep_alive()
        stream = events(data + to.end(given))
        assert [event["sequence_number"] for event in stream] == list(range(len(stream)))
        assert stream[-1]["type"] == "response.completed"
        last, whole = stream[-1]["response"], API.body(given)
        assert sorted(last["output"], key=str) == sorted(whole["output"], key=str)
        assert {**last, "output": 0, "tools": 0} == {**whole, "output": 0, "tools": 0}
        added = [event["item"]["id"] for event in stream if event["type"] == "response.output_item.added"]
        done = [event["item"]["id"] for event in stream if event["type"] == "response.output_item.done"]
        assert added == done == [item["id"] for item in collected(stream).to_dict()["output"]]


def test_text_is_written_as_it_comes_and_whole_at_its_end() -> None:
    to = writer()
    to.begin()
    first = events(to.text(1, "Hel"))
    assert [event["type"] for event in first] == [
        "response.output_item.added", "response.content_part.added", "response.output_text.delta"
    ]  # fmt: skip
    assert [event.get("delta") for event in events(to.text(1, "lo"))] == ["lo"]
    rest = events(to.end(reply(TurnReply(1, "Hello."))))
    assert [event["type"].removeprefix("response.") for event in rest] == [
        "output_text.delta", "output_text.done", "content_part.done", "output_item.done", "completed"
    ]  # fmt: skip
    assert (rest[0]["delta"], rest[1]["text"], rest[1]["output_index"]) == (".", "Hello.", 0)


def test_text_that_was_said_anew_is_the_one_that_counts() -> None:
    to = writer()
    to.begin()
    to.text(1, "Hel")
    rest = events(to.end(reply(TurnReply(1, "Good day."))))
    assert (rest[0]["delta"], rest[1]["text"]) == ("Good day.", "Good day.")
    assert rest[-1]["response"]["output"][0]["content"][0]["text"] == "Good day."


def test_a_failure_ends_what_was_begun() -> None:
    to = writer()
    stream = events(to.begin() + to.text(1, "Hel") + to.error(502, "provider_error", "It broke."))
    failed = stream[-1]["response"]
    assert (stream[-1]["type"], failed["status"]) == ("response.failed", "failed")
    assert failed["error"] == {"code": "provider_error", "message": "It broke."}
    assert failed["output"][0]["content"][0]["text"] == "Hel"
    assert events(to.error(429, "provider_error", "Slow down."))[-1]["response"]["error"]["code"] == (
        "rate_limit_exceeded"
    )


def test_lines_end_nowhere_but_at_their_ends() -> None:
    data: bytes = writer().text(1, "a\u2028b\u2029c\x85d\r\ne")
    assert data.decode().splitlines() == data.decode().split("\n")[:-1]
