from typing import Any

import pytest

from gateway.providers.interface import (
    AssistantMessage,
    ClientTool,
    Image,
    Opaque,
    Options,
    Part,
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
from gateway.providers.openai import requests
from gateway.providers.openai.provider import OpenAIProvider
from gateway.providers.translation import managed
from tests.gateway.providers.conftest import KEY, tool
from tests.gateway.providers.fake import FakeProvider

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
OWN = {"family": "openai"}


def body(*messages: PromptMessage, limit: str = "max_tokens", streaming: bool = False, **more: Any) -> dict[str, Any]:
    prompt = Prompt("gpt", messages or (UserMessage("hi"),), **more)
    return requests.body(prompt, managed.names(prompt), limit=limit, streaming=streaming)


def test_the_least_prompt_asks_for_nothing_else() -> None:
    assert body() == {"model": "gpt", "messages": [{"role": "user", "content": "hi"}]}


def test_system_messages_stay_in_their_place_and_role() -> None:
    shown = body(SystemMessage("a"), UserMessage("b"), SystemMessage("c", "developer"), system="ours")["messages"]
    assert [(each["role"], each["content"]) for each in shown] == [
        ("system", "ours"),
        ("system", "a"),
        ("user", "b"),
        ("developer", "c"),
    ]


def test_parts_and_other_fields_of_our_own_family_go_out_as_they_came() -> None:
    audio = {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}
    parts: tuple[Part, ...] = (
        Text("a", "openai", {"prompt_cache_breakpoint": {"mode": "explicit"}}),
        Image("image/png", "iVBORw==", family="openai", extra={"detail": "low", "x": 1}),
        Image(url="https://example.com/a.png"),
        Opaque("openai", audio),
    )
    assert body(UserMessage("a", parts, "openai", {"name": "ada"}))["messages"] == [
        {
            "role": "user",
            "name": "ada",
            "content": [
                {"type": "text", "text": "a", "prompt_cache_breakpoint": {"mode": "explicit"}},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw==", "detail": "low"}, "x": 1},
                {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
                audio,
            ],
        }
    ]


def test_what_only_another_family_knows_of_messages_is_left_out() -> None:
    thought = Opaque("anthropic", {"type": "thinking", "thinking": "Hm.", "signature": "s"})
    cached = Text("a", "anthropic", {"cache_control": {"type": "ephemeral"}})
    call = SuggestedCall("c", "t", "{}", "anthropic", {"cache_control": {"type": "ephemeral"}})
    result = ToolMessage("c", "t", "sun", (Text("sun"),), True, "anthropic", {"cache_control": {}})
    shown = body(
        UserMessage("a", (cached,), "anthropic", {"x": 1}),
        AssistantMessage("b", (call,), (thought,), (thought, Text("b")), "anthropic", {"x": 1}),
        result,
    )
    assert shown["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "a"}]},
        {
            "role": "assistant",
            "content": "b",
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "t", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "sun"}]},
    ]


@pytest.mark.parametrize(
    ("messages", "named"),
    [
        ([UserMessage("", (Opaque("anthropic", {"type": "document", "source": {}}),))], "document"),
        ([AssistantMessage("", opaque=(Opaque("anthropic", {"type": "server_tool_use"}),))], "server_tool_use"),
        ([AssistantMessage("", (SuggestedCall("c", "t", "{}"),)), ToolMessage("c", "t", "", (Image(),))], "Images"),
    ],
)
def test_parts_that_would_be_lost_are_refused_by_name(messages: list[PromptMessage], named: str) -> None:
    with pytest.raises(Unsupported, match=named):
        body(*messages)


def test_what_an_assistant_thought_said_aloud_or_refused_goes_back_in_its_fields() -> None:
    def of(**fields: Any) -> tuple[Opaque, ...]:
        return tuple(Opaque("openai", {"type": name, name: value}) for name, value in fields.items())

    assert body(
        AssistantMessage("a", opaque=of(reasoning_content="Hm.", reasoning_details=[{"type": "x"}])),
        AssistantMessage("", opaque=of(audio={"id": "audio_1"})),
        AssistantMessage("No.", opaque=of(refusal="No.")),
        AssistantMessage("ab", parts=(Text("a"), Text("b")), **OWN),  # type: ignore[arg-type]
    )["messages"] == [
        {"role": "assistant", "content": "a", "reasoning_content": "Hm.", "reasoning_details": [{"type": "x"}]},
        {"role": "assistant", "content": None, "audio": {"id": "audio_1"}},
        {"role": "assistant", "content": None, "refusal": "No."},
        {"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
    ]


def test_the_clients_tools_stand_beside_managed_ones_and_no_two_share_an_alias() -> None:
    own = {"type": "function", "function": {"name": "svc/find", "strict": True}, "cache_control": {}}
    shown = body(
        tools=(tool("svc.find"),),
        client_tools=(
            ClientTool("svc/find", "", SCHEMA, True, "openai", own),
            ClientTool("svc__find", "Finds.", SCHEMA, True, "anthropic", {"name": "svc__find", "type": "custom"}),
            ClientTool("browser", family="openai", raw={"type": "browser_search"}),
        ),
        options=Options(tool_choice=ToolChoice("tool", "svc.find"), parallel_tool_calls=False),
    )
    names = [each["function"]["name"] for each in shown["tools"] if "function" in each]
    assert names[2] == "svc__find"
    assert len(set(names)) == 3
    assert all(name.replace("_", "").replace("-", "").isalnum() and len(name) <= 64 for name in names)
    assert shown["tools"][1:] == [
        {"type": "function", "function": {"name": names[1], "strict": True}, "cache_control": {}},
        {
            "type": "function",
            "function": {"name": "svc__find", "description": "Finds.", "parameters": SCHEMA, "strict": True},
        },
        {"type": "browser_search"},
    ]
    assert shown["tool_choice"] == {"type": "function", "function": {"name": names[0]}}
    assert shown["parallel_tool_calls"] is False


def test_custom_tools_their_calls_and_their_choice_have_their_own_shape() -> None:
    raw = {"type": "custom", "custom": {"name": "my.sql", "format": {"type": "text"}}}
    shown = body(
        AssistantMessage("", (SuggestedCall("c", "my.sql", "SELECT 1"),)),
        ToolMessage("c", "my.sql", "1"),
        client_tools=(ClientTool("my.sql", family="openai", raw=raw),),
        options=Options(tool_choice=ToolChoice("tool", "my.sql")),
    )
    assert shown["tools"] == [{"type": "custom", "custom": {"name": "my__sql", "format": {"type": "text"}}}]
    assert shown["tool_choice"] == {"type": "custom", "custom": {"name": "my__sql"}}
    assert shown["messages"][0]["tool_calls"] == [
        {"id": "c", "type": "custom", "custom": {"name": "my__sql", "input": "SELECT 1"}}
    ]


def test_a_tool_that_another_provider_runs_is_refused_by_name() -> None:
    raw = {"type": "web_search_20260101", "name": "web_search"}
    with pytest.raises(Unsupported, match="web_search"):
        body(client_tools=(ClientTool("web_search", family="anthropic", raw=raw),))


@pytest.mark.parametrize("kind", ["auto", "none"])
def test_a_choice_among_no_tools_is_left_out(kind: Any) -> None:
    shown = body(options=Options(tool_choice=ToolChoice(kind), parallel_tool_calls=True))
    assert shown == {"model": "gpt", "messages": [{"role": "user", "content": "hi"}]}


@pytest.mark.parametrize("choice", [ToolChoice("required"), ToolChoice("tool", "t")])
def test_a_call_that_no_tool_can_answer_is_refused(choice: ToolChoice) -> None:
    with pytest.raises(Unsupported) as refused:
        body(options=Options(tool_choice=choice))
    assert refused.value.field == "tool_choice"


@pytest.mark.parametrize("limit", ["max_tokens", "max_completion_tokens"])
def test_options_have_openais_names(limit: str) -> None:
    shown = body(
        limit=limit,
        streaming=True,
        options=Options(
            max_output_tokens=5,
            temperature=0,
            top_p=1,
            stop=("a",),
            response_format=ResponseFormat("json_schema", "n", "d", SCHEMA, True),
            family="openai",
            extra={"seed": 7, "model": "other", "stream_options": {"include_obfuscation": False}},
        ),
    )
    assert shown == {
        "model": "gpt",
        "messages": [{"role": "user", "content": "hi"}],
        limit: 5,
        "temperature": 0,
        "top_p": 1,
        "stop": ["a"],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "n", "description": "d", "schema": SCHEMA, "strict": True},
        },
        "seed": 7,
        "stream": True,
        "stream_options": {"include_obfuscation": False, "include_usage": True},
    }


def test_what_only_streams_is_not_asked_of_a_whole_answer() -> None:
    options = Options(family="openai", extra={"stream_options": {"include_obfuscation": False}})
    assert body(options=options) == body()


async def test_openai_itself_is_told_the_limit_by_its_newer_name(fake: FakeProvider) -> None:
    own, other = OpenAIProvider(KEY), OpenAIProvider(KEY, fake.url)
    assert (own._limit, other._limit) == ("max_completion_tokens", "max_tokens")
    await own.close()
    await other.close()


async def test_nothing_is_sent_when_the_prompt_is_refused(fake: FakeProvider, openai: OpenAIProvider) -> None:
    with pytest.raises(Unsupported):
        await openai.ask(Prompt("m", (UserMessage("hi"),), options=Options(family="anthropic", extra={"top_k": 5})))
    assert fake.asked == []
