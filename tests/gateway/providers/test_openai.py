import asyncio
from typing import Any

import pytest

from gateway.providers.interface import (
    Answer,
    AssistantMessage,
    Options,
    Prompt,
    SuggestedCall,
    ToolMessage,
    Usage,
    UserMessage,
)
from gateway.providers.openai.provider import OpenAIProvider
from tests.gateway.providers.chat_completions import STOP, USAGE, call, chunk, completion
from tests.gateway.providers.conftest import KEY, question, tool
from tests.gateway.providers.fake import FakeProvider, events
from tools.interface import ToolSpec


async def test_a_whole_answer_has_its_text_finish_reason_and_usage(fake: FakeProvider, openai: OpenAIProvider) -> None:
    fake.json(completion({"content": "Hi."}, usage=USAGE))
    assert await openai.ask(question()) == Answer("Hi.", (), "stop", Usage(7, 3))


async def test_the_prompt_is_sent_as_chat_completions_want_it(fake: FakeProvider, openai: OpenAIProvider) -> None:
    fake.json(completion({"content": "Hi."}))
    calls = (SuggestedCall("call_1", "svc.find", '{"query": "x"}'), SuggestedCall("call_2", "svc.find", "{broken"))
    prompt = Prompt(
        "gpt",
        (
            UserMessage("find x"),
            AssistantMessage("", calls),
            ToolMessage("call_1", "svc.find", '{"ok": true}'),
            ToolMessage("call_2", "svc.find", '{"ok": false}'),
            AssistantMessage("Found."),
            UserMessage("thanks"),
        ),
        "Be kind.",
        (tool("svc.find"),),
        options=Options(max_output_tokens=100),
    )
    await openai.ask(prompt)
    [asked] = fake.asked
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["Authorization"] == f"Bearer {KEY}"
    assert asked.body == {
        "model": "gpt",
        "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "find x"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "call_1",
                        "type": "function",
                        "function": {"name": "svc__find", "arguments": '{"query": "x"}'},
                    },
                    {"id": "call_2", "type": "function", "function": {"name": "svc__find", "arguments": "{broken"}},
                ],
            },
            {"role": "tool", "tool_call_id": "call_1", "content": '{"ok": true}'},
            {"role": "tool", "tool_call_id": "call_2", "content": '{"ok": false}'},
            {"role": "assistant", "content": "Found."},
            {"role": "user", "content": "thanks"},
        ],
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "svc__find",
                    "description": "Does what svc.find does.",
                    "parameters": tool("x").parameters,
                },
            }
        ],
        "max_tokens": 100,
    }


async def test_text_that_no_encoding_can_hold_is_still_sent(fake: FakeProvider, openai: OpenAIProvider) -> None:
    fake.json(completion({"content": "Hi."}))
    await openai.ask(question(text="a\ud800b"))
    assert fake.asked[0].body["messages"][0]["content"] == "a\ud800b"


@pytest.mark.parametrize("streaming", [False, True])
async def test_a_calls_arguments_stay_the_raw_text_and_its_name_becomes_the_real_one(
    fake: FakeProvider, openai: OpenAIProvider, streaming: bool
) -> None:
    raw = '{"query": "x", "query": 1e2, "n": 123456789012345678901234567890'
    if streaming:
        pieces = [
            chunk({"tool_calls": [{"index": 0, "function": {"arguments": raw[at : at + 9]}}]})
            for at in range(0, len(raw), 9)
        ]
        fake.stream(
            events(
                chunk({"tool_calls": [call("call_1", "svc__find", "", index=0)]}),
                *pieces,
                chunk({}, "tool_calls"),
                "[DONE]",
            )
        )
    else:
        fake.json(completion({"content": None, "tool_calls": [call("call_1", "svc__find", raw)]}, "tool_calls"))
    answer = await openai.ask(question(tool("svc.find")), (lambda text: None) if streaming else None)
    assert answer == Answer("", (SuggestedCall("call_1", "svc.find", raw),), "tool_calls", Usage())


async def test_a_name_that_the_model_invents_stays_as_it_is(
    fake: FakeProvider, openai: OpenAIProvider, search: ToolSpec
) -> None:
    fake.json(completion({"tool_calls": [call("call_1", "rm -rf __x", "{}")]}, "tool_calls"))
    assert (await openai.ask(question(search))).calls == (SuggestedCall("call_1", "rm -rf __x", "{}"),)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        pytest.param({"tool_calls": [call("a", "t", '{"q":1}')]}, [("a", "t", '{"q":1}')], id="finish reason stop"),
        pytest.param({"tool_calls": [call("a", "t", {"q": 1})]}, [("a", "t", '{"q": 1}')], id="arguments an object"),
        pytest.param({"tool_calls": [call("a", "t", [1])]}, [("a", "t", "[1]")], id="arguments an array"),
        pytest.param({"tool_calls": [call("a", "t", 5)]}, [("a", "t", "5")], id="arguments a number"),
        pytest.param({"tool_calls": [call("a", "t", None)]}, [("a", "t", "{}")], id="arguments null"),
        pytest.param({"tool_calls": [call("a", "t", "")]}, [("a", "t", "")], id="arguments empty"),
        pytest.param({"tool_calls": [{"id": "a", "function": {"name": "t"}}]}, [("a", "t", "{}")], id="no arguments"),
        pytest.param(
            {"tool_calls": [call("a", "t", "1"), call("a", "t", "2")]}, [("a", "t", "1"), ("a", "t", "2")], id="same id"
        ),
    ],
)
async def test_servers_that_are_merely_compatible_are_understood(
    fake: FakeProvider, openai: OpenAIProvider, message: dict[str, Any], expected: list[tuple[str, str, str]]
) -> None:
    fake.json(completion({"content": None, **message}))
    answer = await openai.ask(question())
    assert [(made.id, made.name, made.arguments) for made in answer.calls] == expected
    assert (answer.text, answer.finish_reason, answer.usage) == ("", "tool_calls", Usage())


async def test_arguments_sent_as_an_object_come_out_exactly_as_sent(fake: FakeProvider, openai: OpenAIProvider) -> None:
    raw = (
        b'{"a": 1, "a": 1e2, "deep": '
        + b"[" * 100_000
        + b"]" * 100_000
        + b', "big": '
        + b"9" * 5000
        + b', "}": "]\\""}'
    )
    fake.json(b'{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"t","arguments":' + raw + b"}}]}}]}")
    assert (await openai.ask(question())).calls == (SuggestedCall("a", "t", raw.decode()),)


async def test_a_lone_surrogate_in_arguments_becomes_its_escape(fake: FakeProvider, openai: OpenAIProvider) -> None:
    body = completion({"content": "\ud83d\ude00 \udc00", "tool_calls": [call("a", "t", '{"q": "\ud800"}')]})
    fake.json(body)
    answer = await openai.ask(question())
    assert answer.calls == (SuggestedCall("a", "t", '{"q": "\\ud800"}'),)
    assert answer.text == "😀 \\udc00"


async def test_a_call_without_an_id_gets_one_of_its_own(fake: FakeProvider, openai: OpenAIProvider) -> None:
    fake.json(completion({"tool_calls": [call(None, "t", "{}"), call("", "t", "{}")]}))
    first, second = (await openai.ask(question())).calls
    assert first.id.startswith("call_")
    assert second.id.startswith("call_")
    assert first.id != second.id


@pytest.mark.parametrize("streaming", [False, True])
async def test_a_legacy_function_call_is_a_call(fake: FakeProvider, openai: OpenAIProvider, streaming: bool) -> None:
    if streaming:
        fake.stream(
            events(
                chunk({"function_call": {"name": "t", "arguments": ""}}),
                chunk({"function_call": {"arguments": '{"q"'}}),
                chunk({"function_call": {"arguments": ":1}"}}),
                chunk({}, "function_call"),
            )
        )
    else:
        fake.json(completion({"function_call": {"name": "t", "arguments": '{"q":1}'}}, "function_call"))
    answer = await openai.ask(question(), (lambda text: None) if streaming else None)
    assert [(made.name, made.arguments) for made in answer.calls] == [("t", '{"q":1}')]
    assert answer.finish_reason == "tool_calls"


@pytest.mark.parametrize(
    ("said", "meant"),
    [("stop", "stop"), ("eos", "stop"), (None, "stop"), ("length", "length"), ("content_filter", "content_filter")],
)
async def test_finish_reasons_are_four(fake: FakeProvider, openai: OpenAIProvider, said: str, meant: str) -> None:
    fake.json(completion({"content": "Hi."}, said))
    assert (await openai.ask(question())).finish_reason == meant


async def test_text_is_passed_on_while_the_answer_is_still_coming(fake: FakeProvider, openai: OpenAIProvider) -> None:
    fake.stream(events(chunk({"role": "assistant", "content": ""}), chunk({"content": "Hel"})), hang=True)
    heard: asyncio.Queue[str] = asyncio.Queue()
    asking = asyncio.create_task(openai.ask(question(), heard.put_nowait))
    assert await heard.get() == "Hel"
    assert not asking.done()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking


async def test_a_streamed_answer_is_the_sum_of_its_pieces(fake: FakeProvider, openai: OpenAIProvider) -> None:
    whole = events(
        chunk({"content": "Grüß "}), chunk({"content": "dich"}), STOP, {"choices": [], "usage": USAGE}, "[DONE]"
    )
    fake.stream(*(whole[at : at + 1] for at in range(len(whole))))
    heard: list[str] = []
    assert await openai.ask(question(), heard.append) == Answer("Grüß dich", (), "stop", Usage(7, 3))
    assert heard == ["Grüß ", "dich"]
    assert fake.asked[0].body["stream"] is True
    assert fake.asked[0].body["stream_options"] == {"include_usage": True}


@pytest.mark.parametrize("end", ["\r\n", "\r", "\n"])
async def test_events_may_end_their_lines_as_the_standard_allows(
    fake: FakeProvider, openai: OpenAIProvider, end: str
) -> None:
    text = events(chunk({"content": "Hi"}), STOP).decode().replace("data: {", ": a comment\nevent: x\ndata:{")
    fake.stream(*(bytes([byte]) for byte in text.replace("\n", end).encode()))
    assert (await openai.ask(question(), lambda text: None)).text == "Hi"


async def test_parallel_calls_are_told_apart_by_index_and_else_by_id(
    fake: FakeProvider, openai: OpenAIProvider
) -> None:
    fake.stream(
        events(
            chunk({"tool_calls": [call("a", "t", "", index=0), call("b", "t", "", index=1)]}),
            chunk({"tool_calls": [{"index": 1, "function": {"arguments": "2"}}]}),
            chunk({"tool_calls": [{"index": 0, "function": {"arguments": "1"}}]}),
            chunk({"tool_calls": [call("c", "t", "3", index=0)]}),
            chunk({"tool_calls": [call("d", "t", {"q": 4})]}),
            chunk({"tool_calls": [call("a", "t", "5", index=7)]}),
            STOP,
        )
    )
    answer = await openai.ask(question(), lambda text: None)
    assert [(made.id, made.arguments) for made in answer.calls] == [
        ("a", "1"),
        ("b", "2"),
        ("c", "3"),
        ("d", '{"q": 4}'),
        ("a", "5"),
    ]
    assert answer.finish_reason == "tool_calls"


async def test_a_server_that_cannot_stream_is_heard_all_the_same(fake: FakeProvider, openai: OpenAIProvider) -> None:
    fake.json(completion({"content": "All at once."}, usage=USAGE))
    heard: list[str] = []
    assert await openai.ask(question(), heard.append) == Answer("All at once.", (), "stop", Usage(7, 3))
    assert heard == ["All at once."]


async def test_one_connection_serves_one_call_after_another(fake: FakeProvider, openai: OpenAIProvider) -> None:
    fake.json(completion({"content": "Hi."}))
    fake.stream(events(chunk({"content": "Hi."}), STOP, "[DONE]"))
    fake.stream(events(chunk({"content": "Hi."}), STOP))
    fake.json({"error": {"message": "no"}}, 400)
    fake.json(completion({"content": "Hi."}))
    await openai.ask(question())
    await openai.ask(question(), lambda text: None)
    await openai.ask(question(), lambda text: None)
    with pytest.raises(Exception, match="HTTP 400"):
        await openai.ask(question())
    await openai.ask(question())
    assert len(fake.asked) == 5
    assert len(fake.connections) == 1


async def test_a_closed_provider_holds_no_connection(fake: FakeProvider) -> None:
    fake.json(completion({"content": "Hi."}))
    provider = OpenAIProvider(KEY, fake.url)
    await provider.ask(question())
    session = provider._upstream._connections.session
    await provider.close()
    assert session.closed
