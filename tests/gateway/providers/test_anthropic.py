from typing import Any

import pytest

from gateway.providers.anthropic.provider import AnthropicProvider
from gateway.providers.errors import ProviderGarbled
from gateway.providers.interface import (
    Answer,
    AssistantMessage,
    Opaque,
    Options,
    Prompt,
    SuggestedCall,
    ToolMessage,
    Usage,
    UserMessage,
)
from tests.gateway.providers.conftest import KEY, question, tool
from tests.gateway.providers.fake import FakeProvider, events

TEXT = {"type": "text", "text": "Hi."}


def message(*content: dict[str, Any], stop_reason: str | None = "end_turn", **more: Any) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": list(content), "stop_reason": stop_reason, **more}


def use(call_id: str, name: str, given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": given}


def start(index: int, block: dict[str, Any]) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def text(index: int, piece: str) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": piece}}


def partial(index: int, piece: str) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": "input_json_delta", "partial_json": piece}}


def stop(reason: str | None, **usage: int) -> list[dict[str, Any]]:
    return [{"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}, {"type": "message_stop"}]


async def test_a_whole_answer_has_its_text_finish_reason_and_usage(
    fake: FakeProvider, anthropic: AnthropicProvider
) -> None:
    usage = {"input_tokens": 7, "output_tokens": 3, "cache_read_input_tokens": 10, "cache_creation_input_tokens": None}
    fake.json(message(TEXT, {"type": "text", "text": " Bye."}, usage=usage))
    assert await anthropic.ask(question()) == Answer("Hi. Bye.", (), "stop", Usage(17, 3, 10))


async def test_the_prompt_is_sent_as_the_messages_api_wants_it(
    fake: FakeProvider, anthropic: AnthropicProvider
) -> None:
    fake.json(message(TEXT))
    calls = (
        SuggestedCall("toolu_1", "svc.find", '{"query": "x"}'),
        SuggestedCall("toolu_2", "svc.find", "{broken"),
        SuggestedCall("toolu_3", "invented name", "[1]"),
        SuggestedCall("toolu_4", "svc.find", '{"a":' * 1000 + "1" + "}" * 1000),
    )
    prompt = Prompt(
        "claude",
        (
            UserMessage("find x"),
            AssistantMessage("Looking.", calls),
            *(ToolMessage(call.id, call.name, f'{{"ok": true, "data": "{call.id}"}}') for call in calls),
            AssistantMessage(" "),
            UserMessage("thanks"),
        ),
        "Be kind.",
        (tool("svc.find"),),
    )
    await anthropic.ask(prompt)
    [asked] = fake.asked
    assert asked.path == "/v1/messages"
    assert asked.headers["Authorization"] == f"Bearer {KEY}"
    invented = asked.body["messages"][1]["content"][3]["name"]
    assert invented.startswith("invented_name_")
    assert asked.body == {
        "model": "claude",
        "max_tokens": 8192,
        "messages": [
            {"role": "user", "content": "find x"},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "Looking."},
                    use("toolu_1", "svc__find", {"query": "x"}),
                    use("toolu_2", "svc__find", {}),
                    use("toolu_3", invented, {}),
                    use("toolu_4", "svc__find", {}),
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": f"toolu_{n}",
                        "content": f'{{"ok": true, "data": "toolu_{n}"}}',
                    }
                    for n in (1, 2, 3, 4)
                ]
                + [{"type": "text", "text": "thanks"}],
            },
        ],
        "system": "Be kind.",
        "tools": [
            {
                "name": "svc__find",
                "description": "Does what svc.find does.",
                "input_schema": tool("x").parameters,
            }
        ],
    }


async def test_the_prompts_limit_of_tokens_is_sent(fake: FakeProvider, anthropic: AnthropicProvider) -> None:
    fake.json(message(TEXT))
    await anthropic.ask(Prompt("claude", (UserMessage("hi"),), options=Options(max_output_tokens=5)))
    assert fake.asked[0].body["max_tokens"] == 5


async def test_a_whole_answers_input_comes_out_exactly_as_sent(
    fake: FakeProvider, anthropic: AnthropicProvider
) -> None:
    raw = (
        b'{"a": 1, "a": 1e2, "input": {"}": NaN}, "big": '
        + b"9" * 5000
        + b', "deep": '
        + b"[" * 50_000
        + b"]" * 50_000
        + b"}"
    )
    fake.json(
        b'{"content": [{"type": "text", "text": "\\"input\\": {"}, {"type": "tool_use", "id": "a", "name": "svc__find", "input" : '  # noqa: E501
        + raw
        + b'}, {"type": "tool_use", "id": "b", "name": "x", "input": {}}], "stop_reason": "tool_use"}'
    )
    assert await anthropic.ask(question(tool("svc.find"))) == Answer(
        '"input": {',
        (SuggestedCall("a", "svc.find", raw.decode()), SuggestedCall("b", "x", "{}")),
        "tool_calls",
        Usage(),
    )


async def test_a_streamed_answer_is_the_sum_of_its_pieces(fake: FakeProvider, anthropic: AnthropicProvider) -> None:
    whole = events(
        {"type": "message_start", "message": {"usage": {"input_tokens": 7, "output_tokens": 1}}},
        start(0, {"type": "thinking", "thinking": "hm"}),
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}},
        start(1, {"type": "text", "text": ""}),
        {"type": "ping"},
        text(1, "Grüß "),
        text(1, "dich"),
        {"type": "content_block_stop", "index": 1},
        start(2, use("a", "svc__find", {})),
        partial(2, ""),
        partial(2, '{"q": 1e2, "q"'),
        partial(2, ": broken"),
        start(3, use("b", "t", {})),
        start(4, use("a", "t", {"q": 1})),
        start(5, {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}),
        partial(5, "{}"),
        *stop("tool_use", output_tokens=3),
        names=True,
    )
    fake.stream(*(whole[at : at + 1] for at in range(len(whole))))
    heard: list[str] = []
    answer = await anthropic.ask(question(tool("svc.find")), heard.append)
    calls = (
        SuggestedCall("a", "svc.find", '{"q": 1e2, "q": broken'),
        SuggestedCall("b", "t", "{}"),
        SuggestedCall("a", "t", '{"q": 1}'),
    )
    opaque = (
        Opaque("anthropic", {"type": "thinking", "thinking": "hmhm"}),
        Opaque("anthropic", {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}),
    )
    assert answer == Answer("Grüß dich", calls, "tool_calls", Usage(7, 3), opaque=opaque)
    assert heard == ["Grüß ", "dich"]
    assert fake.asked[0].body["stream"] is True


async def test_two_blocks_with_one_index_are_two_calls(fake: FakeProvider, anthropic: AnthropicProvider) -> None:
    fake.stream(
        events(
            start(0, use("a", "t", {})),
            partial(0, "1"),
            start(0, use("b", "t", {})),
            partial(0, "2"),
            *stop("tool_use"),
        )
    )
    answer = await anthropic.ask(question(), lambda text: None)
    assert answer.calls == (SuggestedCall("a", "t", "1"), SuggestedCall("b", "t", "2"))


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("pause_turn", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "content_filter"),
    ],
)
async def test_stop_reasons_are_translated(
    fake: FakeProvider, anthropic: AnthropicProvider, said: str, meant: str
) -> None:
    fake.json(message(TEXT, stop_reason=said))
    assert (await anthropic.ask(question())).finish_reason == meant


async def test_an_answer_without_a_stop_reason_is_an_error(fake: FakeProvider, anthropic: AnthropicProvider) -> None:
    fake.json(message(TEXT, stop_reason=None))
    with pytest.raises(ProviderGarbled, match="without a stop reason"):
        await anthropic.ask(question())


@pytest.mark.parametrize(
    ("end", "words"),
    [
        pytest.param(stop(None), "without a stop reason", id="no stop reason"),
        pytest.param(stop("end_turn")[:1], "before its end was announced", id="no message_stop"),
        pytest.param(stop("end_turn")[1:], "without a stop reason", id="no message_delta"),
    ],
)
async def test_a_stream_without_a_proper_end_is_an_error(
    fake: FakeProvider, anthropic: AnthropicProvider, end: list[dict[str, Any]], words: str
) -> None:
    fake.stream(events(start(0, TEXT), *end))
    with pytest.raises(ProviderGarbled, match=words):
        await anthropic.ask(question(), lambda text: None)


async def test_one_connection_serves_one_call_after_another(fake: FakeProvider, anthropic: AnthropicProvider) -> None:
    fake.json(message(TEXT))
    fake.stream(events(start(0, TEXT), *stop("end_turn"), names=True))
    fake.json(message(TEXT))
    await anthropic.ask(question())
    await anthropic.ask(question(), lambda text: None)
    await anthropic.ask(question())
    assert len(fake.asked) == 3
    assert len(fake.connections) == 1
