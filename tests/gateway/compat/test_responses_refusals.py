from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from gateway.compat.responses.api import API
from gateway.runs.prompting import serialization
from gateway.runs.prompting.client_request import BadRequest
from tenants.errors import Refused
from tests.gateway.compat.test_responses import HI, OTHER, RUN, WEATHER, call, result, said


def refused(*items: Any, **more: Any) -> tuple[str, str | None]:
    with pytest.raises(BadRequest) as refusal:
        API.parse({"model": "openai/gpt", "input": list(items) or "hi", **more})
    assert refusal.value.status == 400
    return refusal.value.code, refusal.value.field


YES = {"type": "mcp_approval_response", "approval_request_id": f"mcpr_{RUN}", "approve": True}


@pytest.mark.parametrize(
    ("items", "named"),
    [
        ([7], "input[0]"),
        ([{}], "input[0].type"),
        ([{"type": "web_search_call", "id": "ws_1"}], "input[0].type"),
        ([{"type": 7}], "input[0].type"),
        ([{"role": "tool", "content": "x"}], "input[0].role"),
        ([{"role": "user"}], "input[0].content"),
        ([{"role": "user", "content": []}], "input[0].content"),
        ([{"role": "user", "content": 7}], "input[0].content"),
        ([{"role": "user", "content": "a\x00b"}], "input[0].content"),
        ([{"role": "user", "content": [{"type": "text", "text": "x"}]}], "input[0].content[0].type"),
        ([{"role": "user", "content": [{"type": "input_text", "text": 7}]}], "input[0].content[0].text"),
        ([{"role": "user", "content": [{"type": "input_image"}]}], "input[0].content[0].image_url"),
        (
            [{"role": "user", "content": [{"type": "input_image", "image_url": "file:///etc/passwd"}]}],
            "input[0].content[0].image_url",
        ),
        ([{"role": "user", "content": [{"type": "input_image", "file_id": "f"}]}], "input[0].content[0].file_id"),
        ([{"role": "user", "content": [{"type": "input_file", "file_url": "x"}]}], "input[0].content[0].file_url"),
        ([{"role": "user", "content": [{"type": "input_file"}]}], "input[0].content[0]"),
        ([{"role": "assistant", "content": [{"type": "input_text", "text": "x"}]}], "input[0].content[0].type"),
        ([HI, {**call("a"), "arguments": {}}, result("a")], "input[1].arguments"),
        ([HI, {**call("a"), "call_id": "x" * 513}], "input[1].call_id"),
        ([HI, result("a")], "input"),
        ([HI, call("a")], "input"),
        ([HI, call("a"), HI, result("a")], "input"),
        ([HI, call("a"), result("a"), result("a")], "input"),
        ([HI, {"type": "mcp_call", "server_label": "other", "name": "x"}], "input[1].server_label"),
        ([HI, {**YES, "approval_request_id": "mcpr_1"}], "input[1].approval_request_id"),
        ([HI, {**YES, "approve": None}], "input[1].approve"),
        ([HI, {**YES, "approve": "yes"}], "input[1].approve"),
        ([HI, {**YES, "reason": "x" * 2001}], "input[1].reason"),
        ([HI, YES, {**YES, "approve": False}], "input[2].approval_request_id"),
        ([YES], "input"),
    ],
)
def test_wrong_items_are_named(items: list[Any], named: str) -> None:
    assert refused(*items)[1] == named


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ({"model": ""}, "model"),
        ({"input": None}, "input"),
        ({"input": ""}, "input"),
        ({"input": 7}, "input"),
        ({"input": [HI] * 10_001}, "input"),
        ({"background": True}, "background"),
        ({"conversation": {"id": "conv_1"}}, "conversation"),
        ({"prompt": {"id": "pmpt_1"}}, "prompt"),
        ({"max_tool_calls": 1}, "max_tool_calls"),
        ({"top_logprobs": 2}, "top_logprobs"),
        ({"include": ["message.output_text.logprobs"]}, "include[0]"),
        ({"include": [7]}, "include[0]"),
        ({"truncation": "some"}, "truncation"),
        ({"temperature": 3}, "temperature"),
        ({"max_output_tokens": 0}, "max_output_tokens"),
        ({"stream_options": {}}, "stream_options"),
        ({"metadata": []}, "metadata"),
        ({"reasoning": {"effort": 7}}, "reasoning.effort"),
        ({"text": {"format": {"type": "xml"}}}, "text.format.type"),
        ({"text": {"format": {"type": "json_schema", "name": "n"}}}, "text.format.schema"),
        ({"tools": [{"type": "web_search"}]}, "tools[0].type"),
        ({"tools": [WEATHER, WEATHER]}, "tools[1].name"),
        ({"tools": [{**WEATHER, "name": "x" * 201}]}, "tools[0].name"),
        ({"tools": [{**WEATHER, "defer_loading": True}]}, "tools[0].defer_loading"),
        ({"tools": [{**WEATHER, "parameters": "x"}]}, "tools[0].parameters"),
        ({"tools": [{"type": "function", "function": WEATHER}]}, "tools[0].name"),
        ({"tool_choice": "some"}, "tool_choice"),
        ({"tool_choice": 7}, "tool_choice"),
        ({"tool_choice": {"type": "file_search"}}, "tool_choice.type"),
        ({"previous_response_id": 7}, "previous_response_id"),
    ],
)
def test_wrong_fields_are_named(more: dict[str, Any], named: str) -> None:
    assert refused(**more)[1] == named


def test_a_request_too_deep_to_be_written_again_is_refused() -> None:
    deep: Any = {}
    for _ in range(300):
        deep = {"a": deep}
    assert refused(tools=[{**WEATHER, "parameters": deep}]) == ("invalid_request", None)


def test_errors_are_openais() -> None:
    assert API.error(404, "not_found", "There is none.", "previous_response_id") == {
        "error": {
            "message": "There is none.",
            "type": "invalid_request_error",
            "param": "previous_response_id",
            "code": "previous_response_not_found",
        }
    }


WHOLE: dict[str, Any] = {
    "model": "openai/gpt", "instructions": "Be kind.", "temperature": 1, "top_p": 1, "max_output_tokens": 9,
    "metadata": {"a": "b"}, "include": ["reasoning.encrypted_content"], "reasoning": {"effort": "low"},
    "text": {"format": {"type": "json_schema", "name": "n", "schema": {}}}, "truncation": "auto", "store": True,
    "tools": [WEATHER, {"type": "custom", "name": "sql", "format": {"type": "text"}}], "user": "u", "stream": True,
    "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "x"}]},
    "parallel_tool_calls": True, "stream_options": {"include_obfuscation": True}, "previous_response_id": f"resp_{RUN}",
    "input": [
        {"role": "user", "content": [{"type": "input_image", "image_url": "https://x", "detail": "low"}]},
        {"role": "user", "content": [{"type": "input_file", "file_data": "x", "filename": "x"}]},
        {"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "x"}]},
        said("One.", RUN), call("a", RUN), result("a", [{"type": "input_text", "text": "x"}]),
        {"type": "mcp_call", "id": "mcp_1", "server_label": "toolgate", "name": "x", "arguments": "{}"},
        {"type": "item_reference", "id": f"msg_{OTHER}0001"}, YES,
    ],
}  # fmt: skip
JUNK: list[Any] = [None, True, -1, 1e300, "", "x\x00", "y" * 100_000, [], [None], [[]], {}, {"type": "x"}, 0.5]


def test_junk_anywhere_in_a_request_is_taken_or_refused_by_name() -> None:
    refusals = [refusal for name in list(WHOLE) for refusal in _refusals(WHOLE, name)]
    assert len(refusals) > 200
    assert all(refusal.detail for refusal in refusals)


def _refusals(holder: Any, key: Any) -> Iterator[Refused]:
    """What comes of the request with junk in one place of it, and then in every place inside of that."""
    good = holder[key]
    for junk in JUNK:
        holder[key] = junk
        try:
            request = API.parse(orjson.loads(orjson.dumps(WHOLE)))
        except Refused as refusal:
            yield refusal
        else:
            assert serialization.loads(serialization.dumps(request)) == request
    holder[key] = good
    inner = list(good) if isinstance(good, dict) else range(len(good)) if isinstance(good, list) else ()
    for each in inner:
        yield from _refusals(good, each)
