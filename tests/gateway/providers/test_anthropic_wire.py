"""What is sent to Anthropic for the whole of a prompt."""

from typing import Any

import pytest

from gateway.providers.anthropic.provider import AnthropicProvider
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
from tests.gateway.providers.conftest import tool
from tests.gateway.providers.fake import FakeProvider

DONE = {"content": [], "stop_reason": "end_turn"}
CACHE = {"cache_control": {"type": "ephemeral"}}
THINKING = {"type": "thinking", "thinking": "Paris is meant.", "signature": "EqQBCgIYAhIM1gbcDa9GJwZA2b3h"}
REDACTED = {"type": "redacted_thinking", "data": "EmwKAhgBEgy3va3pzix/LafPsn4aDFIT2Xlxh0L5L8rLVyIw"}
DOCUMENT = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "Grass is green."}}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def own(raw: dict[str, Any]) -> Opaque:
    return Opaque("anthropic", raw)


def of(*messages: PromptMessage, **more: Any) -> Prompt:
    return Prompt("claude", messages or (UserMessage("hi"),), **more)


async def sent(fake: FakeProvider, provider: AnthropicProvider, prompt: Prompt) -> dict[str, Any]:
    fake.json(DONE)
    await provider.ask(prompt)
    [asked] = fake.asked
    return asked.body


async def test_a_bare_prompt_asks_for_nothing_else(fake: FakeProvider, anthropic: AnthropicProvider) -> None:
    assert await sent(fake, anthropic, of()) == {
        "model": "claude",
        "max_tokens": 8192,
        "messages": [{"role": "user", "content": "hi"}],
    }


async def test_all_system_messages_go_into_system_in_order(fake: FakeProvider, anthropic: AnthropicProvider) -> None:
    prompt = of(
        SystemMessage("Be brief. Be kind.", parts=(Text("Be brief."), Text("Be kind.", "anthropic", CACHE))),
        UserMessage("hi"),
        SystemMessage("Speak German.", "developer"),
        SystemMessage(" "),
        system="You are Toolgate.",
    )
    body = await sent(fake, anthropic, prompt)
    assert body["system"] == [
        {"type": "text", "text": "You are Toolgate."},
        {"type": "text", "text": "Be brief."},
        {"type": "text", "text": "Be kind.", **CACHE},
        {"type": "text", "text": "Speak German."},
    ]
    assert body["messages"] == [{"role": "user", "content": "hi"}]


async def test_a_system_message_stays_where_a_client_of_this_api_put_it(
    fake: FakeProvider, anthropic: AnthropicProvider
) -> None:
    prompt = of(
        SystemMessage("Be kind."), UserMessage("hi"), SystemMessage("Be brief."), options=Options(family="anthropic")
    )
    body = await sent(fake, anthropic, prompt)
    assert body["system"] == "Be kind."
    assert body["messages"] == [{"role": "user", "content": "hi"}, {"role": "system", "content": "Be brief."}]


async def test_a_users_parts_are_sent_as_blocks(fake: FakeProvider, anthropic: AnthropicProvider) -> None:
    parts = (
        Text("What is this?", "anthropic", CACHE),
        Text("  "),
        Image("image/png", "iVBORw=="),
        Image(url="https://example.com/a.png", family="anthropic", extra=CACHE),
        Image(url="https://example.com/b.png", family="openai", extra={"detail": "low"}),
        own(DOCUMENT),
    )
    body = await sent(fake, anthropic, of(UserMessage("What is this?", parts)))
    assert body["messages"] == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is this?", **CACHE},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}},
                {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}, **CACHE},
                {"type": "image", "source": {"type": "url", "url": "https://example.com/b.png"}},
                DOCUMENT,
            ],
        }
    ]


async def test_consecutive_messages_of_one_side_are_one_message(
    fake: FakeProvider, anthropic: AnthropicProvider
) -> None:
    calls = (SuggestedCall("toolu_1", "find", "{}"), SuggestedCall("toolu_2", "find", "{}"))
    prompt = of(
        UserMessage("one"),
        UserMessage(""),
        UserMessage("two"),
        AssistantMessage("Looking.", opaque=(own(THINKING),)),
        AssistantMessage("", calls),
        ToolMessage("toolu_1", "find", "", is_error=True, family="anthropic", extra=CACHE),
        ToolMessage("toolu_2", "find", "a b", (Text("a"), Image("image/png", "eA=="), own(DOCUMENT), Text(""))),
        UserMessage("thanks"),
    )
    body = await sent(fake, anthropic, prompt)
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "eA=="}}
    assert body["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]},
        {
            "role": "assistant",
            "content": [
                THINKING,
                {"type": "text", "text": "Looking."},
                {"type": "tool_use", "id": "toolu_1", "name": "find", "input": {}},
                {"type": "tool_use", "id": "toolu_2", "name": "find", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "", "is_error": True, **CACHE},
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_2",
                    "content": [{"type": "text", "text": "a"}, image, DOCUMENT],
                },
                {"type": "text", "text": "thanks"},
            ],
        },
    ]


async def test_thoughts_come_back_unchanged_before_what_was_said_and_called(
    fake: FakeProvider, anthropic: AnthropicProvider
) -> None:
    call = SuggestedCall("toolu_1", "find", '{"city": "Paris"}', "anthropic", CACHE)
    foreign = Opaque("openai", {"type": "reasoning", "id": "rs_1"})
    said = AssistantMessage("Looking.", (call,), (own(THINKING), foreign, own(REDACTED)))
    body = await sent(fake, anthropic, of(UserMessage("hi"), said, ToolMessage("toolu_1", "find", "sunny")))
    assert body["messages"][1]["content"] == [
        THINKING,
        REDACTED,
        {"type": "text", "text": "Looking."},
        {"type": "tool_use", "id": "toolu_1", "name": "find", "input": {"city": "Paris"}, **CACHE},
    ]


async def test_pieces_with_citations_stand_where_they_stood_in_the_text(
    fake: FakeProvider, anthropic: AnthropicProvider
) -> None:
    cited = {"type": "text", "text": "grass is green", "citations": [{"type": "char_location", "cited_text": "Grass"}]}
    lost = {"type": "text", "text": "nowhere", "citations": [{"type": "char_location"}]}
    said = AssistantMessage("I read: grass is green.", (), (own(THINKING), own(cited), own(lost)))
    body = await sent(fake, anthropic, of(UserMessage("hi"), said, UserMessage("so?")))
    assert body["messages"][1]["content"] == [
        THINKING,
        {"type": "text", "text": "I read: "},
        cited,
        {"type": "text", "text": "."},
    ]


async def test_an_answers_parts_are_sent_in_their_order(fake: FakeProvider, anthropic: AnthropicProvider) -> None:
    parts = (Text("First."), own(THINKING), Text("Then.", "anthropic", CACHE))
    said = AssistantMessage("First.\n\nThen.", (), (own(THINKING),), parts)
    body = await sent(fake, anthropic, of(UserMessage("hi"), said, UserMessage("so?")))
    assert body["messages"][1]["content"] == [
        {"type": "text", "text": "First."},
        THINKING,
        {"type": "text", "text": "Then.", **CACHE},
    ]


async def test_the_clients_tools_stand_after_the_managed_ones(fake: FakeProvider, anthropic: AnthropicProvider) -> None:
    custom = {"name": "get.weather", "input_schema": SCHEMA, "input_examples": [{"city": "Bern"}], **CACHE}
    search = {"type": "web_search_20250305", "name": "web_search", "max_uses": 5}
    client_tools = (
        ClientTool("get.weather", "", SCHEMA, family="anthropic", raw=custom),
        ClientTool("web_search", family="anthropic", raw=search),
        ClientTool("now", "The time.", {}, True, "openai", {"name": "now"}),
    )
    body = await sent(fake, anthropic, of(tools=(tool("get_weather"),), client_tools=client_tools))
    assert body["tools"][1:] == [
        {**custom, "name": "get__weather"},
        search,
        {"name": "now", "description": "The time.", "input_schema": {"type": "object"}, "strict": True},
    ]
    assert body["tools"][0]["name"] == "get_weather"


async def test_a_call_of_the_clients_tool_has_the_clients_name(
    fake: FakeProvider, anthropic: AnthropicProvider
) -> None:
    use = {"type": "tool_use", "id": "toolu_1", "name": "get__weather", "input": {}, "caller": {"type": "direct"}}
    fake.json({"content": [use], "stop_reason": "tool_use"})
    answer = await anthropic.ask(of(client_tools=(ClientTool("get.weather", "", SCHEMA),)))
    assert answer.calls == (SuggestedCall("toolu_1", "get.weather", "{}", "anthropic", {"caller": {"type": "direct"}}),)


@pytest.mark.parametrize(
    ("options", "choice"),
    [
        (Options(), None),
        (Options(parallel_tool_calls=True), None),
        (Options(parallel_tool_calls=False), {"type": "auto", "disable_parallel_tool_use": True}),
        (Options(tool_choice=ToolChoice()), {"type": "auto"}),
        (Options(tool_choice=ToolChoice("none"), parallel_tool_calls=False), {"type": "none"}),
        (Options(tool_choice=ToolChoice("required")), {"type": "any"}),
        (Options(tool_choice=ToolChoice("tool", "svc.find")), {"type": "tool", "name": "svc__find"}),
    ],
)
async def test_the_choice_of_tools_is_translated(
    fake: FakeProvider, anthropic: AnthropicProvider, options: Options, choice: dict[str, Any] | None
) -> None:
    body = await sent(fake, anthropic, of(tools=(tool("svc.find"),), options=options))
    assert body.get("tool_choice") == choice


async def test_without_tools_there_is_nothing_to_choose(fake: FakeProvider, anthropic: AnthropicProvider) -> None:
    assert "tool_choice" not in await sent(fake, anthropic, of(options=Options(tool_choice=ToolChoice("none"))))


async def test_options_of_any_api_are_translated(fake: FakeProvider, anthropic: AnthropicProvider) -> None:
    options = Options(
        max_output_tokens=0,
        temperature=0.0,
        top_p=0.5,
        stop=("END", "STOP"),
        response_format=ResponseFormat("json_schema", "weather", "The weather.", SCHEMA, True),
        family="openai",
        extra={"user": "ada", "seed": 7, "logprobs": False, "prefix": None},
    )
    assert await sent(fake, anthropic, of(options=options)) == {
        "model": "claude",
        "max_tokens": 0,
        "temperature": 0.0,
        "top_p": 0.5,
        "stop_sequences": ["END", "STOP"],
        "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
        "messages": [{"role": "user", "content": "hi"}],
    }


async def test_fields_of_its_own_family_are_passed_on(fake: FakeProvider, anthropic: AnthropicProvider) -> None:
    extra = {
        "thinking": {"type": "enabled", "budget_tokens": 1024},
        "metadata": {"user_id": "u"},
        "top_k": 5,
        "service_tier": "auto",
        "output_config": {"effort": "low"},
        "betas": ["context-management-2025-06-27", "files-api-2025-04-14"],
        "prefill": True,
    }
    form = ResponseFormat("json_schema", schema=SCHEMA)
    prompt = of(
        UserMessage("hi"),
        AssistantMessage("The answer is"),
        options=Options(response_format=form, family="anthropic", extra=extra),
    )
    assert await sent(fake, anthropic, prompt) == {
        "model": "claude",
        "max_tokens": 8192,
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": [{"type": "text", "text": "The answer is"}]},
        ],
        "thinking": {"type": "enabled", "budget_tokens": 1024},
        "metadata": {"user_id": "u"},
        "top_k": 5,
        "service_tier": "auto",
        "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": SCHEMA}},
    }
    assert fake.asked[0].headers["anthropic-beta"] == "context-management-2025-06-27,files-api-2025-04-14"


async def test_asking_with_betas_uses_the_same_connection(fake: FakeProvider, anthropic: AnthropicProvider) -> None:
    fake.json(DONE)
    options = Options(family="anthropic", extra={"betas": ["a-2025-01-01"]})
    for prompt in (of(), of(options=options), of()):
        await anthropic.ask(prompt)
    assert [asked.headers.get("anthropic-beta") for asked in fake.asked] == [None, "a-2025-01-01", None]
    assert len(fake.connections) == 1


@pytest.mark.parametrize(
    ("prompt", "field", "words"),
    [
        (of(options=Options(family="openai", extra={"logprobs": True})), "logprobs", "logprobs"),
        (of(options=Options(response_format=ResponseFormat("json_object"))), "response_format", "JSON schema"),
        (of(UserMessage("", (Opaque("openai", {"type": "input_audio"}),))), "messages", "input_audio"),
        (of(client_tools=(ClientTool("shell", family="openai", raw={"type": "shell"}),)), "tools", "shell"),
        (of(options=Options(family="anthropic", extra={"betas": ["a\r\nx-evil: 1"]})), "betas", "betas"),
        (of(options=Options(family="anthropic", extra={"betas": "a"})), "betas", "betas"),
    ],
)
@pytest.mark.parametrize("counts", [False, True])
async def test_what_cannot_be_asked_is_refused_by_name_and_nothing_is_sent(
    fake: FakeProvider, anthropic: AnthropicProvider, prompt: Prompt, field: str, words: str, counts: bool
) -> None:
    with pytest.raises(Unsupported, match=words) as refused:
        await (anthropic.count_tokens(prompt) if counts else anthropic.ask(prompt))
    assert refused.value.field == field
    assert fake.asked == []


async def test_tokens_are_counted_of_what_would_be_input(fake: FakeProvider, anthropic: AnthropicProvider) -> None:
    fake.json({"input_tokens": 403})
    options = Options(10, 0.5, stop=("END",), family="anthropic", extra={"thinking": {"type": "disabled"}})
    assert await anthropic.count_tokens(of(system="Be kind.", options=options)) == 403
    [asked] = fake.asked
    assert asked.path == "/v1/messages/count_tokens"
    assert asked.body == {
        "model": "claude",
        "system": "Be kind.",
        "messages": [{"role": "user", "content": "hi"}],
        "thinking": {"type": "disabled"},
    }
