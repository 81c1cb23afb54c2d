"""Streams, chunk by chunk and as the official SDK reads them."""

import httpx2
import openai
import orjson
import pytest

from gateway.compat.chat_completions.api import API
from gateway.providers.interface import SuggestedCall
from tests.gateway.compat.replies import CALLS, CREATED, ID, MODEL, TOOLGATE, reply
from tests.gateway.compat.test_chat_completions_answers import HI, SHOWN_USAGE, events, serve, writer
from tests.gateway.providers.fake import FakeProvider


async def test_the_sdk_reads_a_stream(fake: FakeProvider, sdk: openai.AsyncOpenAI) -> None:
    given = reply("Searching.", "", "Found \u2028 it: »ß« 😀.", calls=CALLS)
    serve(fake, given)
    stream = await sdk.chat.completions.create(model=MODEL, messages=HI, stream=True)
    chunks = [chunk async for chunk in stream]
    assert {(chunk.id, chunk.created, chunk.model) for chunk in chunks} == {(f"chatcmpl-{ID}", CREATED, MODEL)}
    assert chunks[0].choices[0].delta.role == "assistant"
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert text == "Searching.\n\nFound \u2028 it: »ß« 😀."
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices[0].finish_reason] == ["tool_calls"]
    assert chunks[-1].choices[0].finish_reason == "tool_calls"
    assert chunks[-1].model_extra is not None
    assert chunks[-1].model_extra["toolgate"] == TOOLGATE
    assert [chunk.usage for chunk in chunks] == [None] * len(chunks)


@pytest.mark.parametrize("texts", [("Searching.", "Found."), ("",), ("", "Found.")])
@pytest.mark.parametrize("calls", [(), CALLS])
async def test_a_stream_adds_up_to_the_whole_answer(
    fake: FakeProvider, sdk: openai.AsyncOpenAI, texts: tuple[str, ...], calls: tuple[SuggestedCall, ...]
) -> None:
    given = reply(*texts, calls=calls)
    serve(fake, given)
    async with sdk.chat.completions.stream(model=MODEL, messages=HI) as stream:
        streamed = await stream.get_final_completion()
    whole = API.body(given)["choices"][0]
    assert streamed.choices[0].finish_reason == whole["finish_reason"]
    assert (streamed.choices[0].message.content or None) == (whole["message"]["content"] or None)
    made = [
        call.model_dump(include={"id": True, "type": True, "function": {"name", "arguments"}})
        for call in streamed.choices[0].message.tool_calls or []
    ]
    assert made == whole["message"].get("tool_calls", [])


async def test_usage_comes_in_a_chunk_of_its_own_where_it_was_asked_for() -> None:
    to = writer(stream_options={"include_usage": True})
    chunks = events(to.begin() + to.text(1, "Hi.") + to.end(reply("Hi.")))
    assert chunks.pop() == b"[DONE]"
    assert [chunk["usage"] for chunk in chunks] == [None, None, None, SHOWN_USAGE]
    assert [len(chunk["choices"]) for chunk in chunks] == [1, 1, 1, 0]
    assert [chunk.get("toolgate") for chunk in chunks] == [None, None, None, TOOLGATE]


def test_calls_come_whole_at_the_end_each_name_before_its_arguments() -> None:
    to = writer()
    to.begin()
    deltas = [chunk["choices"][0]["delta"] for chunk in events(to.end(reply("", calls=CALLS)))[:-1]]
    assert deltas == [
        {
            "tool_calls": [
                {"index": 0, "id": "call_a", "type": "function", "function": {"name": "get_weather", "arguments": ""}}
            ]
        },
        {"tool_calls": [{"index": 0, "function": {"arguments": '{"city":"Bern"}'}}]},
        {
            "tool_calls": [
                {"index": 1, "id": "call_b", "type": "function", "function": {"name": "get_time", "arguments": ""}}
            ]
        },
        {"tool_calls": [{"index": 1, "function": {"arguments": "{}"}}]},
        {},
    ]


def test_the_end_writes_what_was_not_written_yet() -> None:
    to = writer()
    written = to.begin() + to.text(1, "Sear") + to.end(reply("Searching.", "", "Found.", notice="A human decides."))
    said = [chunk["choices"][0]["delta"].get("content") for chunk in events(written)[:-1]]
    assert said == ["", "Sear", "ching.", "\n\nFound.", "\n\nA human decides.", None]


def test_a_turn_that_was_asked_again_is_told_whole_when_it_came_out_otherwise() -> None:
    to = writer()
    written = to.text(1, "I thi") + to.text(1, "Yes.") + to.text(2, "It is wr") + to.end(reply("Yes.", "Done."))
    said = [chunk["choices"][0]["delta"].get("content") for chunk in events(written)[:-1]]
    assert said == ["I thi", "Yes.", "\n\nIt is wr", "\n\nDone.", None]


async def test_an_error_in_a_stream_is_raised_after_what_was_said(fake: FakeProvider, sdk: openai.AsyncOpenAI) -> None:
    to = writer()
    fake.stream(to.begin(), to.text(1, "Hi."), to.error(502, "provider_error", "The provider broke off."))
    stream = await sdk.chat.completions.create(model=MODEL, messages=HI, stream=True)
    assert [(await anext(stream)).choices[0].delta.content for _ in range(2)] == ["", "Hi."]
    with pytest.raises(openai.APIError, match="The provider broke off.") as raised:
        await anext(stream)
    assert (raised.value.type, raised.value.code) == ("server_error", "provider_error")
    assert to.error(500, "x", "y").endswith(b"\n\ndata: [DONE]\n\n")


async def test_clients_that_split_text_at_every_kind_of_line_end_read_it_whole() -> None:
    text = "a\u0085b\u2028c\u2029d\ne\rf\x0bg\x0ch\x1ci"
    body = writer().text(1, text)
    lines = [line async for line in httpx2.Response(200, content=body).aiter_lines() if line]
    assert [orjson.loads(line[6:])["choices"][0]["delta"]["content"] for line in lines] == [text]
