"""What Gemini is sent of a prompt."""

from typing import Any

import pytest

from gateway.providers.gemini import requests
from gateway.providers.interface import (
    AssistantMessage,
    ClientTool,
    Image,
    Opaque,
    Options,
    Prompt,
    PromptMessage,
    ResponseFormat,
    SuggestedCall,
    SystemMessage,
    Text,
    ToolChoice,
    ToolMessage,
    Unsupported,
    UserMessage,
)
from gateway.providers.translation import managed
from tests.gateway.providers.conftest import tool

SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}}
NO_SIGNATURE = "skip_thought_signature_validator"
LOOK = ClientTool("3d look", "Looks.", SCHEMA)


def body(*messages: PromptMessage, **more: Any) -> dict[str, Any]:
    prompt = Prompt("m", messages or (UserMessage("hi"),), **more)
    return requests.body(prompt, managed.names(prompt))


def contents(*messages: PromptMessage, **more: Any) -> Any:
    return body(*messages, **more)["contents"]


def use(call_id: str, name: str, args: dict[str, Any], signature: str | None = None) -> dict[str, Any]:
    part: dict[str, Any] = {"functionCall": {"id": call_id, "name": name, "args": args}}
    return part | ({"thoughtSignature": signature} if signature else {})


def result(call_id: str, name: str, response: dict[str, Any]) -> dict[str, Any]:
    return {"functionResponse": {"id": call_id, "name": name, "response": response}}


def signature(call: int, value: str) -> Opaque:
    return Opaque("gemini", {"call": call, "thoughtSignature": value})


def test_a_plain_question_is_as_short_as_it_can_be() -> None:
    assert body() == {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}


def test_a_transcript_is_sent_as_turns_of_user_and_model() -> None:
    calls = (SuggestedCall("a", "svc.find", '{"q": "x"}'), SuggestedCall("b", "svc.find", "{broken"))
    sent = body(
        UserMessage("find x"),
        AssistantMessage("Looking.", calls),
        ToolMessage("b", "svc.find", "[1]"),
        ToolMessage("a", "svc.find", '{"ok": true, "data": "é"}'),
        UserMessage("and?"),
        AssistantMessage("Found."),
        AssistantMessage("Really."),
        UserMessage("", parts=(Text("thanks"), Text(""))),
        system="Be kind.",
        tools=(tool("svc.find"),),
    )
    assert sent == {
        "systemInstruction": {"parts": [{"text": "Be kind."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "find x"}]},
            {
                "role": "model",
                "parts": [
                    {"text": "Looking."},
                    use("a", "svc__find", {"q": "x"}, NO_SIGNATURE),
                    use("b", "svc__find", {}),
                ],
            },
            {
                "role": "user",
                "parts": [
                    result("a", "svc__find", {"ok": True, "data": "é"}),
                    result("b", "svc__find", {"output": "[1]"}),
                    {"text": "and?"},
                ],
            },
            {"role": "model", "parts": [{"text": "Found."}, {"text": "Really."}]},
            {"role": "user", "parts": [{"text": "thanks"}]},
        ],
        "tools": [
            {
                "functionDeclarations": [
                    {
                        "name": "svc__find",
                        "description": "Does what svc.find does.",
                        "parametersJsonSchema": tool("x").parameters,
                    }
                ]
            }
        ],
    }


def test_what_the_application_says_is_one_instruction_in_its_order() -> None:
    sent = body(
        SystemMessage("one", parts=(Text("one", "anthropic", {"cache_control": {}}),)),
        UserMessage("hi"),
        SystemMessage("two", "developer"),
        AssistantMessage("Hi."),
        system="zero",
    )
    assert sent["systemInstruction"] == {"parts": [{"text": "zero"}, {"text": "one"}, {"text": "two"}]}
    assert [each["role"] for each in sent["contents"]] == ["user", "model"]


def test_signatures_go_back_to_where_they_were() -> None:
    calls = tuple(SuggestedCall(call_id, "t", "{}") for call_id in "abc")
    kept = (
        Opaque("gemini", {"text": "of", "thoughtSignature": "s1"}),
        Opaque("gemini", {"text": "", "thoughtSignature": "s2"}),
        signature(0, "s3"),
        signature(2, "s4"),
        signature(9, "of a call that was taken away"),
    )
    [found] = contents(AssistantMessage("A cup of tea.", calls, kept))
    assert found["parts"] == [
        {"text": "A cup "},
        {"text": "of", "thoughtSignature": "s1"},
        {"text": " tea."},
        {"text": "", "thoughtSignature": "s2"},
        use("a", "t", {}, "s3"),
        use("b", "t", {}),
        use("c", "t", {}, "s4"),
    ]


def test_parts_that_only_gemini_knows_go_back_as_they_were_and_anothers_thoughts_do_not() -> None:
    picture = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}
    thought = {"text": "of tea", "thought": True, "thoughtSignature": "s"}
    kept = (
        Opaque("anthropic", {"type": "thinking", "thinking": "hm", "signature": "x"}),
        Opaque("gemini", thought),
        Opaque("gemini", picture),
        Opaque("gemini", {"text": "of text that was changed", "thoughtSignature": "s"}),
    )
    [found] = contents(AssistantMessage("A cup of tea.", (), kept))
    assert found["parts"] == [thought, picture, {"text": "A cup of tea."}]


def test_images_are_sent_with_their_data_or_their_address() -> None:
    parts = (
        Text("look"),
        Image("image/png", "aGk=", "", "openai", {"detail": "high"}),
        Image(url="https://example.com/a.jpg?size=1"),
        Image(url="https://example.com/a"),
    )
    [found] = contents(UserMessage("look", parts))
    assert found["parts"] == [
        {"text": "look"},
        {"inlineData": {"mimeType": "image/png", "data": "aGk="}},
        {"fileData": {"fileUri": "https://example.com/a.jpg?size=1", "mimeType": "image/jpeg"}},
        {"fileData": {"fileUri": "https://example.com/a"}},
    ]


@pytest.mark.parametrize(
    ("content", "is_error", "response"),
    [
        ('{"a": 1}', False, {"a": 1}),
        ("{}", False, {"output": "{}"}),
        ("", False, {"output": ""}),
        ("plain", True, {"error": "plain"}),
        ('{"a": 1}', True, {"error": {"a": 1}}),
        ('{"id": 12345678901234567}', False, {"output": '{"id": 12345678901234567}'}),
        ('{"a":' * 2000 + "1" + "}" * 2000, False, {"output": '{"a":' * 2000 + "1" + "}" * 2000}),
        ("\ud800", False, {"output": "\ud800"}),
    ],
    ids=["object", "empty object", "nothing", "error", "error object", "long number", "deep", "surrogate"],
)
def test_results_are_told_as_objects(content: str, is_error: bool, response: dict[str, Any]) -> None:
    calls = (SuggestedCall("a", "t", "{}"),)
    sent = contents(AssistantMessage("", calls), ToolMessage("a", "t", content, is_error=is_error))
    assert sent[1]["parts"] == [result("a", "t", response)]


def test_a_result_may_show_images() -> None:
    shown = ToolMessage("a", "t", "", (Text("1"), Image("image/png", "aGk="), Text("2")))
    sent = contents(AssistantMessage("", (SuggestedCall("a", "t", "{}"),)), shown)
    [part] = sent[1]["parts"]
    assert part["functionResponse"]["response"] == {"output": "12"}
    assert part["functionResponse"]["parts"] == [{"inlineData": {"mimeType": "image/png", "data": "aGk="}}]


def test_a_result_of_a_call_that_nobody_made_goes_as_it_is() -> None:
    assert contents(ToolMessage("x", "a.b", "1"))[0]["parts"] == [result("x", "a__b", {"output": "1"})]


def test_equal_ids_are_told_apart() -> None:
    calls = (SuggestedCall("a", "t", '{"n": 1}'), SuggestedCall("a", "t", '{"n": 2}'))
    sent = contents(AssistantMessage("", calls), ToolMessage("a", "t", "one"), ToolMessage("a", "t", "two"))
    ids = [part["functionCall"]["id"] for part in sent[0]["parts"]]
    assert len(set(ids)) == 2
    assert sent[1]["parts"] == [
        result(ids[0], "t", {"output": "one"}),
        result(ids[1], "t", {"output": "two"}),
    ]


def test_managed_tools_and_the_clients_are_functions_of_one_tool() -> None:
    nothing = ClientTool("nothing", parameters={}, family="anthropic", raw={"name": "nothing", "input_schema": {}})
    sent = body(tools=(tool("web.search"),), client_tools=(LOOK, nothing))
    [only] = sent["tools"]
    assert [each["name"] for each in only["functionDeclarations"]][::2] == ["web__search", "nothing"]
    assert only["functionDeclarations"][1]["name"].startswith("_3d_look_")
    assert only["functionDeclarations"][1]["parametersJsonSchema"] == SCHEMA
    assert only["functionDeclarations"][2] == {"name": "nothing", "parametersJsonSchema": {"type": "object"}}


def test_tools_that_the_provider_runs_are_its_own_or_refused() -> None:
    search = ClientTool("googleSearch", family="gemini", raw={"googleSearch": {}})
    assert body(client_tools=(search,))["tools"] == [{"googleSearch": {}}]
    with pytest.raises(Unsupported) as caught:
        body(client_tools=(ClientTool("web_search_20250305", family="anthropic", raw={"type": "x"}),))
    assert caught.value.field == "tools"


@pytest.mark.parametrize(
    ("choice", "strict", "calling"),
    [
        (None, None, None),
        (None, True, {"mode": "VALIDATED"}),
        (ToolChoice("auto"), None, {"mode": "AUTO"}),
        (ToolChoice("auto"), True, {"mode": "VALIDATED"}),
        (ToolChoice("none"), True, {"mode": "NONE"}),
        (ToolChoice("required"), None, {"mode": "ANY"}),
        (ToolChoice("tool", "a.b"), None, {"mode": "ANY", "allowedFunctionNames": ["a__b"]}),
    ],
)
def test_the_choice_of_a_tool_is_told(choice: ToolChoice | None, strict: bool | None, calling: object) -> None:
    tools = (ClientTool("a.b", "Does.", SCHEMA, strict),)
    sent = body(client_tools=tools, options=Options(tool_choice=choice))
    assert sent.get("toolConfig") == ({"functionCallingConfig": calling} if calling else None)


def test_a_call_cannot_be_demanded_where_there_is_no_tool() -> None:
    assert "toolConfig" not in body(options=Options(tool_choice=ToolChoice("none")))
    with pytest.raises(Unsupported) as caught:
        body(options=Options(tool_choice=ToolChoice("required")))
    assert caught.value.field == "tool_choice"


def test_options_are_told_in_geminis_words() -> None:
    wanted = ResponseFormat("json_schema", "answer", schema=SCHEMA)
    options = Options(max_output_tokens=5, temperature=0.0, top_p=0.5, stop=("END",), response_format=wanted)
    assert body(options=options)["generationConfig"] == {
        "maxOutputTokens": 5,
        "temperature": 0.0,
        "topP": 0.5,
        "stopSequences": ["END"],
        "responseMimeType": "application/json",
        "responseJsonSchema": SCHEMA,
    }
    assert body(options=Options(response_format=ResponseFormat("json_object")))["generationConfig"] == {
        "responseMimeType": "application/json"
    }


def test_fields_of_geminis_own_are_passed_on_and_give_way_to_ours() -> None:
    extra = {"safetySettings": [], "generationConfig": {"topK": 3, "temperature": 1}}
    sent = body(options=Options(temperature=0.5, family="gemini", extra=extra))
    assert sent["safetySettings"] == []
    assert sent["generationConfig"] == {"topK": 3, "temperature": 0.5}


@pytest.mark.parametrize("field", ["logprobs", "n", "audio", "logit_bias", "thinking", "reasoning_effort"])
def test_what_another_familys_request_wants_is_refused_by_name(field: str) -> None:
    with pytest.raises(Unsupported) as caught:
        body(options=Options(family="openai", extra={field: 3, "user": "u"}))
    assert caught.value.field == field


@pytest.mark.parametrize(
    "message",
    [
        UserMessage("", (Opaque("openai", {"type": "input_audio"}),)),
        UserMessage("", (Opaque("anthropic", {"type": "document"}),)),
        SystemMessage("", parts=(Image("image/png", "aGk="),)),
    ],
)
def test_parts_that_gemini_could_not_read_are_refused(message: PromptMessage) -> None:
    with pytest.raises(Unsupported) as caught:
        body(message)
    assert caught.value.field == "messages"
