from contextlib import suppress
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.compat.chat_completions.api import API
from gateway.runs.prompting.client_request import BadRequest
from tests.gateway.compat.test_chat_completions import WEATHER, ask, calling

USER = {"role": "user", "content": "hi"}
RESULT = {"role": "tool", "tool_call_id": "call_1", "content": "sun"}
TOOL = {"type": "function", "function": WEATHER}


def function(**fields: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "t", **fields}}


def parts(*content: Any, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": list(content)}


def image(url: Any, **more: Any) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url, **more}}


def refusal(body: dict[str, Any]) -> BadRequest:
    with pytest.raises(BadRequest) as refused:
        API.parse(body)
    assert refused.value.status == 400
    return refused.value


@pytest.mark.parametrize(
    ("body", "field", "code"),
    [
        ({}, "model", "missing_required_parameter"),
        ({"model": "m"}, "messages", "missing_required_parameter"),
        ({"model": None, "messages": [USER]}, "model", "missing_required_parameter"),
        ({"model": 4, "messages": [USER]}, "model", "invalid_type"),
        ({"model": "", "messages": [USER]}, "model", "invalid_value"),
        ({"model": "m" * 201, "messages": [USER]}, "model", "invalid_value"),
        ({"model": "m", "messages": []}, "messages", "invalid_value"),
        ({"model": "m", "messages": None}, "messages", "missing_required_parameter"),
        ({"model": "m", "messages": "hi"}, "messages", "invalid_type"),
        ({"model": "m", "messages": {"role": "user"}}, "messages", "invalid_type"),
        ({"model": "m", "messages": [USER] * 10_001}, "messages", "invalid_value"),
        (ask(n=2), "n", "invalid_value"),
        (ask(n=0), "n", "invalid_value"),
        (ask(n=True), "n", "invalid_type"),
        (ask(stream="yes"), "stream", "invalid_type"),
        (ask(stream_options={"include_usage": True}), "stream_options", "invalid_value"),
        (ask(stream=True, stream_options={"include_usage": 1}), "stream_options.include_usage", "invalid_type"),
        (ask(max_tokens=0), "max_tokens", "invalid_value"),
        (ask(max_tokens=1.5), "max_tokens", "invalid_type"),
        (ask(max_tokens=2**31), "max_tokens", "invalid_value"),
        (ask(max_tokens="9"), "max_tokens", "invalid_type"),
        (ask(max_tokens=1, max_completion_tokens=1), "max_tokens", "invalid_value"),
        (ask(temperature=2.1), "temperature", "invalid_value"),
        (ask(temperature=True), "temperature", "invalid_type"),
        (ask(top_p=-1), "top_p", "invalid_value"),
        (ask(top_p=[1]), "top_p", "invalid_type"),
        (ask(stop=1), "stop", "invalid_type"),
        (ask(stop=["a", 1]), "stop[1]", "invalid_type"),
        (ask(stop=["a"] * 17), "stop", "invalid_value"),
        (ask(stop="\x00"), "stop", "invalid_value"),
        (ask(user=1), "user", "invalid_type"),
        (ask(metadata="a"), "metadata", "invalid_type"),
        (ask(logprobs=1), "logprobs", "invalid_type"),
        (ask(seed="7"), "seed", "invalid_type"),
        (ask(parallel_tool_calls="no"), "parallel_tool_calls", "invalid_type"),
        (ask(response_format="json"), "response_format", "invalid_type"),
        (ask(response_format={}), "response_format.type", "missing_required_parameter"),
        (ask(response_format={"type": "xml"}), "response_format.type", "invalid_value"),
        (ask(response_format={"type": "json_schema"}), "response_format.json_schema", "missing_required_parameter"),
        (
            ask(response_format={"type": "json_schema", "json_schema": {"schema": {}}}),
            "response_format.json_schema.name",
            "missing_required_parameter",
        ),
        (
            ask(response_format={"type": "json_schema", "json_schema": {"name": "n", "schema": []}}),
            "response_format.json_schema.schema",
            "invalid_type",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(body: dict[str, Any], field: str, code: str) -> None:
    refused = refusal(body)
    assert (refused.field, refused.code) == (field, code)


@pytest.mark.parametrize(
    ("message", "field", "code"),
    [
        ("hi", "messages[1]", "invalid_type"),
        ({}, "messages[1].role", "missing_required_parameter"),
        ({"role": "critic", "content": "hi"}, "messages[1].role", "invalid_value"),
        ({"role": ["user"], "content": "hi"}, "messages[1].role", "invalid_type"),
        ({"role": "user"}, "messages[1].content", "missing_required_parameter"),
        ({"role": "user", "content": None}, "messages[1].content", "missing_required_parameter"),
        ({"role": "user", "content": 5}, "messages[1].content", "invalid_type"),
        ({"role": "user", "content": {"type": "text"}}, "messages[1].content", "invalid_type"),
        ({"role": "user", "content": "a\x00b"}, "messages[1].content", "invalid_value"),
        ({"role": "user", "content": "hi", "name": 1}, "messages[1].name", "invalid_type"),
        (parts(), "messages[1].content", "invalid_value"),
        (parts(*[{"type": "text", "text": "a"}] * 1001), "messages[1].content", "invalid_value"),
        (parts("hi"), "messages[1].content[0]", "invalid_type"),
        (parts({"text": "hi"}), "messages[1].content[0].type", "missing_required_parameter"),
        (parts({"type": "video", "video": {}}), "messages[1].content[0].type", "invalid_value"),
        (parts({"type": "text"}), "messages[1].content[0].text", "missing_required_parameter"),
        (parts({"type": "text", "text": 1}), "messages[1].content[0].text", "invalid_type"),
        (parts({"type": "image_url", "image_url": "x"}), "messages[1].content[0].image_url", "invalid_type"),
        (parts(image(None)), "messages[1].content[0].image_url.url", "missing_required_parameter"),
        (parts(image("file:///etc/passwd")), "messages[1].content[0].image_url.url", "invalid_value"),
        (parts(image("data:image/png;base64,<>")), "messages[1].content[0].image_url.url", "invalid_value"),
        (parts(image("data:image/png,abc")), "messages[1].content[0].image_url.url", "invalid_value"),
        (parts(image("https://a", size=1)), "messages[1].content[0].image_url.size", "invalid_value"),
        (parts({"type": "input_audio"}), "messages[1].content[0].input_audio", "missing_required_parameter"),
        (parts({"type": "file", "file": "f"}), "messages[1].content[0].file", "invalid_type"),
        (parts(image("https://a"), role="system"), "messages[1].content[0].type", "invalid_value"),
        (parts({"type": "refusal", "refusal": "no"}), "messages[1].content[0].type", "invalid_value"),
        ({"role": "assistant"}, "messages[1].content", "missing_required_parameter"),
        ({"role": "assistant", "content": 0}, "messages[1].content", "invalid_type"),
        ({"role": "assistant", "tool_calls": {}}, "messages[1].tool_calls", "invalid_type"),
        ({"role": "assistant", "tool_calls": [1]}, "messages[1].tool_calls[0]", "invalid_type"),
        (
            {"role": "assistant", "tool_calls": [{"id": "a", "type": "mcp"}]},
            "messages[1].tool_calls[0].type",
            "invalid_value",
        ),
        (
            {"role": "assistant", "tool_calls": [{"type": "function", "function": {"name": "t", "arguments": "{}"}}]},
            "messages[1].tool_calls[0].id",
            "missing_required_parameter",
        ),
        (
            {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "t", "arguments": {}}}]},
            "messages[1].tool_calls[0].function.arguments",
            "invalid_type",
        ),
        (
            {"role": "assistant", "tool_calls": [{"id": "a", "function": {"arguments": "{}"}}]},
            "messages[1].tool_calls[0].function.name",
            "missing_required_parameter",
        ),
        (
            {**calling("a"), "function_call": {"name": "t", "arguments": "{}"}},
            "messages[1].function_call",
            "invalid_value",
        ),
        (
            {"role": "tool", "tool_call_id": "nobody's", "content": "x"},
            "messages[1].tool_call_id",
            "invalid_value",
        ),
        ({"role": "tool", "content": "x"}, "messages[1].tool_call_id", "missing_required_parameter"),
        ({"role": "function", "name": "t", "content": "x"}, "messages[1].name", "invalid_value"),
        (calling("call_1"), "messages[1].tool_calls", "invalid_value"),
    ],
)
def test_a_message_that_makes_no_sense_is_refused_by_name(message: Any, field: str, code: str) -> None:
    refused = refusal(ask(USER, message))
    assert (refused.field, refused.code) == (field, code)


@pytest.mark.parametrize(
    ("messages", "field"),
    [
        pytest.param([calling("call_1"), USER, RESULT], "messages[0].tool_calls", id="after another message"),
        pytest.param([calling("call_1"), RESULT, RESULT], "messages[2].tool_call_id", id="twice"),
        pytest.param([RESULT, calling("call_1")], "messages[0].tool_call_id", id="before its call"),
        pytest.param([calling("call_1", "call_2"), RESULT, USER], "messages[0].tool_calls", id="one of two"),
        pytest.param([calling("call_1"), RESULT, USER, RESULT], "messages[3].tool_call_id", id="of an earlier answer"),
    ],
)
def test_results_follow_their_calls_directly_one_each(messages: list[dict[str, Any]], field: str) -> None:
    assert refusal(ask(*messages)).field == field


@pytest.mark.parametrize(
    ("more", "field", "code"),
    [
        ({"tools": {}}, "tools", "invalid_type"),
        ({"tools": [TOOL] * 1001}, "tools", "invalid_value"),
        ({"tools": ["t"]}, "tools[0]", "invalid_type"),
        ({"tools": [{"function": WEATHER}]}, "tools[0].type", "missing_required_parameter"),
        ({"tools": [{"type": "function"}]}, "tools[0].function", "missing_required_parameter"),
        ({"tools": [function(name="")]}, "tools[0].function.name", "invalid_value"),
        ({"tools": [function(name="x" * 201)]}, "tools[0].function.name", "invalid_value"),
        ({"tools": [function(name="a\nb")]}, "tools[0].function.name", "invalid_value"),
        ({"tools": [function(name="a\u200bb")]}, "tools[0].function.name", "invalid_value"),
        ({"tools": [function(parameters="{}")]}, "tools[0].function.parameters", "invalid_type"),
        ({"tools": [function(strict="yes")]}, "tools[0].function.strict", "invalid_type"),
        ({"tools": [function(description=1)]}, "tools[0].function.description", "invalid_type"),
        ({"tools": [TOOL, TOOL]}, "tools[1].function.name", "invalid_value"),
        ({"tools": [TOOL], "functions": [WEATHER]}, "functions", "invalid_value"),
        ({"functions": [WEATHER, WEATHER]}, "functions[1].name", "invalid_value"),
        ({"function_call": "auto"}, "function_call", "invalid_value"),
        ({"functions": [WEATHER], "function_call": "required"}, "function_call", "invalid_value"),
        ({"functions": [WEATHER], "function_call": {}}, "function_call.name", "missing_required_parameter"),
        ({"tool_choice": "any"}, "tool_choice", "invalid_value"),
        ({"tool_choice": 1}, "tool_choice", "invalid_type"),
        ({"tool_choice": {"type": "tool"}}, "tool_choice.type", "invalid_value"),
        ({"tool_choice": {"type": "function"}}, "tool_choice.function", "missing_required_parameter"),
        (
            {"tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "none", "tools": []}}},
            "tool_choice.allowed_tools.mode",
            "invalid_value",
        ),
    ],
)
def test_tools_that_make_no_sense_are_refused_by_name(more: dict[str, Any], field: str, code: str) -> None:
    refused = refusal(ask(**more))
    assert (refused.field, refused.code) == (field, code)


@pytest.mark.parametrize("levels", [250, 1000])
def test_what_could_not_be_written_again_is_refused(levels: int) -> None:
    deep = orjson.loads(b'{"a":' * levels + b"1" + b"}" * levels)
    assert "nested" in refusal(ask(tools=[function(parameters=deep)])).detail


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(
    (
        *("role", "content", "type", "text", "image_url", "url", "name", "tool_calls", "tool_call_id", "id"),
        *("function", "arguments", "refusal", "audio", "custom", "function_call", "input_audio", "file", "data"),
        *("format", "parameters", "json_schema", "schema", "mode", "tools", "allowed_tools", "reasoning_content"),
    )
)
WORDS = st.sampled_from(
    ("user", "assistant", "tool", "function", "system", "text", "image_url", "custom", "json_schema", "allowed_tools")
)
SHAPED = st.recursive(
    JSON | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=20,
)
FIELDS = (
    *("messages", "tools", "tool_choice", "functions", "function_call", "response_format", "stop", "n"),
    *("stream", "stream_options", "max_tokens", "temperature", "metadata", "logprobs", "unknown"),
)
BODIES = st.fixed_dictionaries({"model": st.just("m")}, optional=dict.fromkeys(FIELDS, SHAPED))


@settings(max_examples=400, deadline=None)
@given(BODIES)
def test_no_body_does_worse_than_be_refused(body: dict[str, Any]) -> None:
    with suppress(BadRequest):
        API.parse(body)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.dictionaries(NAMES, SHAPED, max_size=4) | st.just(calling("call_1")) | st.just(RESULT), max_size=4))
def test_no_transcript_does_worse_than_be_refused(messages: list[dict[str, Any]]) -> None:
    with suppress(BadRequest):
        API.parse({"model": "m", "messages": messages})
