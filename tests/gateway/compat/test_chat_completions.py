from typing import Any

import pytest

from gateway.compat.chat_completions.api import API
from gateway.providers.interface import (
    AssistantMessage,
    ClientTool,
    Image,
    Opaque,
    Options,
    ResponseFormat,
    SuggestedCall,
    SystemMessage,
    Text,
    ToolChoice,
    ToolMessage,
    UserMessage,
)
from gateway.runs.prompting import serialization
from gateway.runs.prompting.client_request import ClientRequest

OURS = {"family": "openai"}
WEATHER = {
    "name": "get_weather",
    "description": "Current weather of a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


def ask(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "openai/gpt", "messages": list(messages) or [{"role": "user", "content": "hi"}], **more}


def parsed(*messages: dict[str, Any], **more: Any) -> ClientRequest:
    request = API.parse(ask(*messages, **more))
    assert serialization.loads(serialization.dumps(request)) == request
    return request


def calling(*ids: str, name: str = "get_weather") -> dict[str, Any]:
    calls = [{"id": i, "type": "function", "function": {"name": name, "arguments": '{"city":"Bern"}'}} for i in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def test_the_least_request_asks_for_nothing_else() -> None:
    assert parsed() == ClientRequest("openai/gpt", (UserMessage("hi", **OURS),), options=Options(**OURS))


def test_messages_of_every_role_keep_their_place_parts_and_other_fields() -> None:
    request = parsed(
        {"role": "system", "content": "Be kind."},
        {"role": "developer", "content": [{"type": "text", "text": "Be "}, {"type": "text", "text": "brief."}]},
        {
            "role": "user",
            "name": "ada",
            "content": [
                {"type": "text", "text": "What is this?", "prompt_cache_breakpoint": {"mode": "explicit"}},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw==", "detail": "high"}},
                {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
                {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
                {"type": "file", "file": {"file_id": "file-1"}},
            ],
        },
        {**calling("call_1", "call_2"), "content": "Let me see.", "reasoning_content": "Hm.", "refusal": None},
        {"role": "tool", "tool_call_id": "call_2", "content": [{"type": "text", "text": "rain"}]},
        {"role": "tool", "tool_call_id": "call_1", "content": "sun"},
        {"role": "assistant", "content": [{"type": "text", "text": "A "}, {"type": "text", "text": "cat."}]},
        {"role": "user", "content": ""},
    )
    call = ("get_weather", '{"city":"Bern"}', "openai")
    assert request.messages == (
        SystemMessage("Be kind.", **OURS),
        SystemMessage("Be brief.", "developer", (Text("Be ", **OURS), Text("brief.", **OURS)), **OURS),
        UserMessage(
            "What is this?",
            (
                Text("What is this?", "openai", {"prompt_cache_breakpoint": {"mode": "explicit"}}),
                Image("image/png", "iVBORw==", family="openai", extra={"detail": "high"}),
                Image(url="https://example.com/a.png", family="openai"),
                Opaque("openai", {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}),
                Opaque("openai", {"type": "file", "file": {"file_id": "file-1"}}),
            ),
            "openai",
            {"name": "ada"},
        ),
        AssistantMessage(
            "Let me see.",
            (SuggestedCall("call_1", *call), SuggestedCall("call_2", *call)),
            (Opaque("openai", {"type": "reasoning_content", "reasoning_content": "Hm."}),),
            **OURS,
        ),
        ToolMessage("call_2", "get_weather", "rain", (Text("rain", **OURS),), **OURS),
        ToolMessage("call_1", "get_weather", "sun", **OURS),
        AssistantMessage("A cat.", parts=(Text("A ", **OURS), Text("cat.", **OURS)), **OURS),
        UserMessage("", **OURS),
    )


def test_what_an_assistant_refused_or_said_aloud_is_kept() -> None:
    request = parsed(
        {"role": "assistant", "content": None, "refusal": "I cannot."},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
        {"role": "assistant", "audio": {"id": "audio_1"}},
    )
    assert request.messages == (
        AssistantMessage("I cannot.", opaque=(Opaque("openai", {"type": "refusal", "refusal": "I cannot."}),), **OURS),
        AssistantMessage("No.", opaque=(Opaque("openai", {"type": "refusal", "refusal": "No."}),), **OURS),
        AssistantMessage("", opaque=(Opaque("openai", {"type": "audio", "audio": {"id": "audio_1"}}),), **OURS),
    )


def test_tools_keep_their_whole_definition_and_any_name_up_to_200_characters() -> None:
    names = ["svc.find", "wetter_für_städte", "x" * 200, "get weather"]
    tools = [{"type": "function", "function": {"name": name}} for name in names]
    whole = {"type": "function", "function": {**WEATHER, "strict": True}, "cache_control": {"type": "ephemeral"}}
    request = parsed(tools=[whole, *tools])
    empty = {"type": "object", "properties": {}}
    assert request.client_tools == (
        ClientTool("get_weather", WEATHER["description"], WEATHER["parameters"], True, "openai", whole),
        *(ClientTool(name, "", empty, None, "openai", tool) for name, tool in zip(names, tools, strict=True)),
    )


def test_five_hundred_tools_and_a_schema_that_refers_to_itself_are_taken() -> None:
    schema = {"type": "object", "properties": {"child": {"$ref": "#"}}}
    tools = [{"type": "function", "function": {"name": f"t{n}", "parameters": schema}} for n in range(500)]
    request = parsed(tools=tools)
    assert len(request.client_tools) == 500
    assert request.client_tools[499].parameters == schema


def test_custom_tools_and_those_that_a_provider_runs_have_no_parameters() -> None:
    custom = {"type": "custom", "custom": {"name": "sql", "description": "Runs SQL.", "format": {"type": "text"}}}
    browser = {"type": "browser_search"}
    request = parsed(
        {
            "role": "assistant",
            "tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "sql", "input": "SELECT 1"}}],
        },
        {"role": "tool", "tool_call_id": "c", "content": "1"},
        tools=[custom, browser],
        tool_choice={"type": "custom", "custom": {"name": "sql"}},
    )
    assert request.client_tools == (
        ClientTool("sql", "Runs SQL.", family="openai", raw=custom),
        ClientTool("browser_search", family="openai", raw=browser),
    )
    assert request.messages[0] == AssistantMessage("", (SuggestedCall("c", "sql", "SELECT 1", "openai"),), **OURS)
    assert request.options.tool_choice == ToolChoice("tool", "sql")
    assert request.echo == {"custom": ["sql"]}


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("none", ToolChoice("none")),
        ("auto", ToolChoice("auto")),
        ("required", ToolChoice("required")),
        ({"type": "function", "function": {"name": "get_weather"}}, ToolChoice("tool", "get_weather")),
        ({"type": "function", "function": {"name": "managed.tool"}}, ToolChoice("tool", "managed.tool")),
        (None, None),
    ],
)
def test_a_tool_choice_is_one_of_four(given: Any, meant: ToolChoice | None) -> None:
    request = parsed(tools=[{"type": "function", "function": WEATHER}], tool_choice=given)
    assert request.options.tool_choice == meant


@pytest.mark.parametrize("mode", ["auto", "required"])
def test_allowed_tools_leave_the_others_out(mode: str) -> None:
    tools = [{"type": "function", "function": {"name": name}} for name in ("a", "b", "c")]
    allowed = [{"type": "function", "function": {"name": name}} for name in ("c", "a", "managed.tool")]
    choice = {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": allowed}}
    request = parsed(tools=tools, tool_choice=choice)
    assert [tool.name for tool in request.client_tools] == ["a", "c"]
    assert request.options.tool_choice is not None
    assert request.options.tool_choice.kind == mode


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ({"type": "text"}, None),
        ({"type": "json_object"}, ResponseFormat("json_object")),
        (
            {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}, "strict": True}},
            ResponseFormat("json_schema", "n", "", {"type": "object"}, True),
        ),
        (
            {"type": "json_schema", "json_schema": {"name": "n", "description": "d"}},
            ResponseFormat("json_schema", "n", "d"),
        ),
    ],
)
def test_a_response_format_is_one_of_three(given: dict[str, Any], meant: ResponseFormat | None) -> None:
    assert parsed(response_format=given).options.response_format == meant


def test_options_are_read_and_everything_else_is_passed_on() -> None:
    request = parsed(
        stream=True,
        stream_options={"include_usage": True, "include_obfuscation": False},
        max_completion_tokens=5,
        temperature=0,
        top_p=0.5,
        stop=["a", "b"],
        parallel_tool_calls=False,
        n=1,
        user="ada",
        metadata={"a": "b"},
        seed=7,
        logprobs=True,
        logit_bias={"50256": -100},
        reasoning_effort="low",
        top_k=40,
        store=None,
    )
    assert request.stream
    assert request.include_usage
    assert request.options == Options(
        max_output_tokens=5,
        temperature=0,
        top_p=0.5,
        stop=("a", "b"),
        parallel_tool_calls=False,
        family="openai",
        extra={
            "user": "ada",
            "metadata": {"a": "b"},
            "seed": 7,
            "logprobs": True,
            "logit_bias": {"50256": -100},
            "reasoning_effort": "low",
            "top_k": 40,
            "stream_options": {"include_obfuscation": False},
        },
    )


def test_the_older_limit_and_a_single_stop_are_understood() -> None:
    options = parsed(max_tokens=9, stop="END").options
    assert (options.max_output_tokens, options.stop) == (9, ("END",))


def test_legacy_functions_become_tools_and_their_calls_get_ids_that_stay_the_same() -> None:
    called = {"name": "get_weather", "arguments": "{}"}
    messages = (
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "function_call": called},
        {"role": "function", "name": "get_weather", "content": "sun"},
        {"role": "user", "content": "and now?"},
    )
    request = parsed(*messages, functions=[WEATHER], function_call={"name": "get_weather"})
    raw = {"type": "function", "function": WEATHER}
    assert request.client_tools == (
        ClientTool("get_weather", WEATHER["description"], WEATHER["parameters"], None, "openai", raw),
    )
    assert request.messages[1:3] == (
        AssistantMessage("", (SuggestedCall("call_1", "get_weather", "{}", "openai"),), **OURS),
        ToolMessage("call_1", "get_weather", "sun", **OURS),
    )
    assert request.options.tool_choice == ToolChoice("tool", "get_weather")
    assert request.options.parallel_tool_calls is False
    assert request.echo == {"legacy": True}


@pytest.mark.parametrize("given", ["none", "auto"])
def test_a_legacy_choice_is_a_tool_choice(given: str) -> None:
    assert parsed(functions=[WEATHER], function_call=given).options.tool_choice == ToolChoice(given)  # type: ignore[arg-type]


def test_two_calls_may_share_an_id_when_each_has_its_result() -> None:
    request = parsed(
        calling("same", "same"),
        {"role": "tool", "tool_call_id": "same", "content": "1"},
        {"role": "tool", "tool_call_id": "same", "content": "2"},
    )
    assert [message.content for message in request.messages if isinstance(message, ToolMessage)] == ["1", "2"]


@pytest.mark.parametrize(
    ("status", "code", "type_", "shown"),
    [
        (400, "invalid_request", "invalid_request_error", None),
        (400, "invalid_type", "invalid_request_error", "invalid_type"),
        (401, "unauthenticated", "invalid_request_error", "invalid_api_key"),
        (403, "forbidden", "invalid_request_error", "forbidden"),
        (404, "unknown_model", "invalid_request_error", "model_not_found"),
        (404, "unknown_agent", "invalid_request_error", "model_not_found"),
        (413, "request_too_large", "invalid_request_error", "request_too_large"),
        (422, "mixed_tool_calls", "invalid_request_error", "mixed_tool_calls"),
        (429, "provider_error", "rate_limit_error", "provider_error"),
        (429, "rate_limited", "rate_limit_error", "rate_limit_exceeded"),
        (500, "internal_error", "server_error", "internal_error"),
        (502, "provider_error", "server_error", "provider_error"),
        (503, "unavailable", "service_unavailable_error", "unavailable"),
    ],
)
def test_errors_have_openais_shape(status: int, code: str, type_: str, shown: str | None) -> None:
    error = {"message": "No.", "type": type_, "param": "model", "code": shown}
    assert API.error(status, code, "No.", "model") == {"error": error}
