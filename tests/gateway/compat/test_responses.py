from typing import Any

import pytest

from gateway.compat.responses.api import API
from gateway.providers.interface import (
    AssistantMessage,
    ClientTool,
    Document,
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
from gateway.runs.errors import NoSuchResponse
from gateway.runs.prompting import serialization
from gateway.runs.prompting.client_request import ClientRequest

OURS: Any = {"family": "openai"}
RUN = "0123456789abcdef" * 2
OTHER = "fedcba9876543210" * 2
HI = {"role": "user", "content": "hi"}
WEATHER = {
    "type": "function",
    "name": "get_weather",
    "description": "Current weather of a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    "strict": True,
}


def parsed(*items: dict[str, Any], **more: Any) -> ClientRequest:
    request = API.parse({"model": "openai/gpt", "input": list(items) or "hi", **more})
    assert serialization.loads(serialization.dumps(request)) == request
    return request


def said(text: str, run: str | None = None, turn: int = 1) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    named = {"id": f"msg_{run}{turn:04x}"} if run else {}
    return {"type": "message", "role": "assistant", "status": "completed", "content": content, **named}


def call(call_id: str, run: str | None = None) -> dict[str, Any]:
    named = {"id": f"fc_{run}00010000"} if run else {}
    return {"type": "function_call", "call_id": call_id, "name": "get_weather", "arguments": "{}", **named}


def result(call_id: str, output: Any = "rain") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": output}


def calls(*ids: str) -> tuple[SuggestedCall, ...]:
    return tuple(SuggestedCall(each, "get_weather", "{}", "openai") for each in ids)


def tool_result(call_id: str) -> ToolMessage:
    return ToolMessage(call_id, "get_weather", "rain", **OURS)


def test_the_least_request_asks_for_nothing_else() -> None:
    assert parsed() == ClientRequest(
        "openai/gpt", (UserMessage("hi", **OURS),), options=Options(**OURS), echo={"previous_response_id": None}
    )


def test_messages_of_every_role_keep_their_place_and_parts() -> None:
    request = parsed(
        {"role": "system", "content": "Be kind."},
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Be brief."}]},
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "What is this?", "prompt_cache_breakpoint": {"mode": "explicit"}},
                {"type": "input_image", "image_url": "data:image/png;base64,iVBORw==", "detail": "high"},
                {"type": "input_image", "image_url": "https://example.com/a.png"},
                {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERg=="},
                {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
            ],
        },
        {"role": "assistant", "content": "A cat."},
    )
    assert request.messages == (
        SystemMessage("Be kind.", **OURS),
        SystemMessage("Be brief.", "developer", (Text("Be brief.", **OURS),), **OURS),
        UserMessage(
            "What is this?",
            (
                Text("What is this?", "openai", {"prompt_cache_breakpoint": {"mode": "explicit"}}),
                Image("image/png", "iVBORw==", family="openai", extra={"detail": "high"}),
                Image(url="https://example.com/a.png", family="openai"),
                Document("application/pdf", "JVBERg==", "a.pdf", "openai"),
                Opaque("openai", {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}),
            ),
            "openai",
        ),
        AssistantMessage("A cat.", **OURS),
    )


def test_the_items_of_one_answer_are_one_message_without_its_managed_calls() -> None:
    managed = {"server_label": "toolgate", "name": "list_tasks", "arguments": "{}"}
    request = parsed(
        HI,
        {"type": "reasoning", "id": f"rs_{RUN}0001", "summary": [], "content": [{"type": "x", "text": "Hm."}]},
        said("Looking.", RUN, 1),
        {"type": "mcp_call", "id": f"mcp_{RUN}", "output": "[]", **managed},
        {"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "toolgate", "tools": []},
        said("Now you.", RUN, 2),
        call("a", RUN),
        call("b", RUN),
        result("a"),
        result("b"),
        said("Rain.", OTHER),
    )
    thought = Opaque("openai", {"type": "reasoning_content", "reasoning_content": "Hm."})
    assert request.messages == (
        UserMessage("hi", **OURS),
        AssistantMessage("Looking.\n\nNow you.", calls("a", "b"), (thought,), **OURS),
        tool_result("a"),
        tool_result("b"),
        AssistantMessage("Rain.", **OURS),
    )


def test_sealed_thoughts_are_left_out() -> None:
    sealed: Any = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA", "content": None}
    assert parsed(HI, sealed, HI).messages == (UserMessage("hi", **OURS),) * 2


def test_results_between_the_calls_of_one_answer_do_not_split_it() -> None:
    request = parsed(HI, call("a", RUN), result("a"), call("b", RUN), result("b"))
    assert request.messages[1:] == (AssistantMessage("", calls("a", "b"), **OURS), tool_result("a"), tool_result("b"))
    # Nobody can tell whose calls these are; more often they are of two answers.
    request = parsed(HI, call("a"), result("a"), call("b"), result("b"))
    assert request.messages[1:] == (
        AssistantMessage("", calls("a"), **OURS), tool_result("a"),
        AssistantMessage("", calls("b"), **OURS), tool_result("b"),
    )  # fmt: skip


def test_answers_of_two_runs_are_two_messages() -> None:
    request = parsed(HI, said("One.", RUN), said("Two.", OTHER))
    assert request.messages[1:] == (AssistantMessage("One.", **OURS), AssistantMessage("Two.", **OURS))


def test_references_to_the_items_of_an_answer_stand_for_all_of_it() -> None:
    references = [f"msg_{RUN}0001", f"mcp_{RUN}", f"fc_{RUN}00010000"]
    items = [{"type": "item_reference", "id": each} for each in references]
    request = parsed(HI, *items, result("a"), {"type": "item_reference", "id": f"msg_{OTHER}0001"})
    assert request.references == ((1, RUN), (3, OTHER))
    assert request.messages[2] == ToolMessage("a", "", "rain", **OURS)


def test_a_call_beside_references_is_one_of_the_answer_that_they_stand_for() -> None:
    request = parsed(HI, {"type": "item_reference", "id": f"msg_{RUN}0001"}, call("a"), result("a"), said("Rain."))
    assert request.references == ((1, RUN),)
    assert [type(message) for message in request.messages] == [
        UserMessage, AssistantMessage, ToolMessage, AssistantMessage,
    ]  # fmt: skip


def test_what_was_refused_is_kept() -> None:
    refusal = {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}
    opaque = (Opaque("openai", {"type": "refusal", "refusal": "No."}),)
    assert parsed(HI, refusal).messages[1] == AssistantMessage("No.", (), opaque, **OURS)


def test_what_was_said_to_approval_requests_counts_until_the_model_answers() -> None:
    asked = {"type": "mcp_approval_request", "id": f"mcpr_{RUN}", "server_label": "toolgate", "name": "x"}
    yes = {"type": "mcp_approval_response", "approval_request_id": f"mcpr_{RUN}", "approve": True}
    no = {"type": "mcp_approval_response", "approval_request_id": f"mcpr_{OTHER}", "approve": False, "reason": "no"}
    request = parsed(HI, said("I write."), asked, yes, no, yes)
    assert request.approvals == {RUN: [True, "", None], OTHER: [False, "no", None]}
    assert request.messages[1:] == (AssistantMessage("I write.", **OURS),)
    request = parsed(HI, said("I write."), asked, yes, said("It is sent."), no)
    assert request.approvals == {OTHER: [False, "no", None]}
    assert request.messages[1:] == (AssistantMessage("I write.", **OURS), AssistantMessage("It is sent.", **OURS))


def test_a_request_may_go_on_from_a_response_with_no_input() -> None:
    request = API.parse({"model": "m", "previous_response_id": f"resp_{RUN}", "instructions": "Be kind."})
    assert (request.messages, request.previous, request.instructions) == ((), RUN, "Be kind.")
    for wrong in ("resp_1", f"chatcmpl-{RUN}", RUN):
        with pytest.raises(NoSuchResponse):
            parsed(previous_response_id=wrong)
    with pytest.raises(NoSuchResponse):
        parsed(HI, {"type": "item_reference", "id": "msg_1"})


def test_tools_are_functions_or_custom() -> None:
    grammar = {"type": "grammar", "syntax": "lark", "definition": "start: X"}
    custom = {"type": "custom", "name": "sql", "description": "Runs SQL.", "format": grammar}
    request = parsed(tools=[WEATHER, {"type": "function", "name": "svc.find"}, custom])
    chat = {"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: X"}}
    raw = {"type": "custom", "custom": {"name": "sql", "description": "Runs SQL.", "format": chat}}
    assert request.client_tools == (
        ClientTool("get_weather", WEATHER["description"], WEATHER["parameters"], True),  # type: ignore[arg-type]
        ClientTool("svc.find", "", {"type": "object", "properties": {}}),
        ClientTool("sql", "Runs SQL.", family="openai", raw=raw),
    )
    assert request.echo["tools"][2] == custom
    made = {"type": "custom_tool_call", "call_id": "c", "name": "sql", "input": "SELECT 1"}
    answered = parsed(HI, made, {"type": "custom_tool_call_output", "call_id": "c", "output": "1"}, tools=[custom])
    assert answered.messages[1].calls == (SuggestedCall("c", "sql", "SELECT 1", "openai"),)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("none", ToolChoice("none")),
        ("required", ToolChoice("required")),
        ({"type": "function", "name": "get_weather"}, ToolChoice("tool", "get_weather")),
        ({"type": "mcp", "server_label": "toolgate", "name": "list_tasks"}, ToolChoice("tool", "list_tasks")),
        (None, None),
    ],
)
def test_a_tool_choice_is_one_of_four(given: Any, meant: ToolChoice | None) -> None:
    assert parsed(tools=[WEATHER], tool_choice=given).options.tool_choice == meant


def test_allowed_tools_leave_the_others_out() -> None:
    tools = [{"type": "function", "name": name} for name in ("a", "b", "c")]
    allowed = [{"type": "function", "name": name} for name in ("c", "a", "managed")]
    request = parsed(tools=tools, tool_choice={"type": "allowed_tools", "mode": "required", "tools": allowed})
    assert [tool.name for tool in request.client_tools] == ["a", "c"]
    assert request.options.tool_choice == ToolChoice("required")


def test_options_are_read_and_everything_else_is_passed_on_under_chat_completions_names() -> None:
    request = parsed(
        stream=True, stream_options={"include_obfuscation": False}, max_output_tokens=9, temperature=1, top_p=0.5,
        parallel_tool_calls=False, metadata={"a": "b"}, store=False, truncation="auto", background=False,
        include=["reasoning.encrypted_content"], reasoning={"effort": "low", "summary": "auto"}, user="u", seed=7,
        text={"format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}, "strict": True},
              "verbosity": "low"},
    )  # fmt: skip
    assert request.stream
    assert request.options == Options(
        9, 1, 0.5, (), None, False, ResponseFormat("json_schema", "n", "", {"type": "object"}, True), "openai",
        {"user": "u", "seed": 7, "reasoning_effort": "low", "verbosity": "low"},
    )  # fmt: skip
    assert request.echo["metadata"] == {"a": "b"}
