"""Answers as the official SDK reads them, whole and streamed, over HTTP."""

from collections.abc import AsyncIterator
from typing import Any

import anthropic
import pytest

from gateway.compat.interface import Reply, StreamWriter, TurnReply
from gateway.compat.messages.api import API
from gateway.providers.interface import Opaque, SuggestedCall, Usage
from tests.gateway.compat.test_messages import parsed
from tests.gateway.providers.fake import FakeProvider
from tests.gateway.providers.test_anthropic_recorded import CITED, FOUND, REDACTED, SEARCH, THINKING

ID = "0192f0e4c1d27a3b8c4d5e6f70819203"
TOOLGATE = {"run_id": "r", "conversation_id": "c", "status": "completed", "tool_calls": [{"tool": "web_search"}]}
USAGE = Usage(input_tokens=17, output_tokens=9, cached_tokens=10, reasoning_tokens=4)


def own(*raws: dict[str, Any]) -> tuple[Opaque, ...]:
    return tuple(Opaque("anthropic", raw) for raw in raws)


def reply(*turns: TurnReply, calls: tuple[SuggestedCall, ...] = (), **more: Any) -> Reply:
    reason = more.pop("finish_reason", "tool_calls" if calls else "stop")
    return Reply(ID, 1_763_000_000, "anthropic/claude", turns, calls, reason, USAGE, TOOLGATE, **more)


HIDDEN = TurnReply(1, "Searching.", own(THINKING, REDACTED), ({"tool": "web_search"},))
LAST = TurnReply(2, "I read: Claude Shannon was born on April 30, 1916.", own(SEARCH, FOUND, CITED))
CALLS = (
    SuggestedCall("toolu_1", "get.weather", '{"city": "Zürich", "n": 1e2}'),
    SuggestedCall("toolu_2", "now", "", "anthropic", {"caller": {"type": "direct"}}),
    SuggestedCall("toolu_3", "now", '{"broken'),
)
EVERYTHING = reply(HIDDEN, LAST, calls=CALLS, notice="A human decides.")
CONTENT: list[dict[str, Any]] = [
    THINKING,
    REDACTED,
    {"type": "text", "text": "Searching."},
    SEARCH,
    FOUND,
    {"type": "text", "text": "I read: "},
    CITED,
    {"type": "text", "text": "."},
    {"type": "text", "text": "A human decides."},
    {"type": "tool_use", "id": "toolu_1", "name": "get.weather", "input": {"city": "Zürich", "n": 100.0}},
    {"type": "tool_use", "id": "toolu_2", "name": "now", "input": {}, "caller": {"type": "direct"}},
    {"type": "tool_use", "id": "toolu_3", "name": "now", "input": {"INVALID_JSON": '{"broken'}},
]


@pytest.fixture
async def client(fake: FakeProvider) -> AsyncIterator[anthropic.AsyncAnthropic]:
    async with anthropic.AsyncAnthropic(api_key="tg_1", base_url=fake.url, max_retries=0) as made:
        yield made


def writer() -> StreamWriter:
    return API.writer(id=ID, created=1_763_000_000, model="anthropic/claude", request=parsed())


def streamed(answer: Reply) -> list[bytes]:
    """The answer's events as they would come: parts when they are complete, and text that has come meanwhile."""
    to = writer()
    sent = [to.begin(), to.keep_alive()]
    for turn in answer.turns:
        sent += [to.opaque(turn.number, part) for part in turn.opaque]
        sent.append(to.text(turn.number, turn.text))
        sent += [to.call(turn.number, body) for body in turn.calls]
        sent.append(to.keep_alive())
    return [*sent, to.end(answer)]


def given(message: anthropic.types.Message) -> list[dict[str, Any]]:
    return [block.to_dict() for block in message.content]


ASK: Any = {"model": "anthropic/claude", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}


async def test_a_whole_answer_has_every_block_in_order(fake: FakeProvider, client: anthropic.AsyncAnthropic) -> None:
    fake.json(API.body(EVERYTHING))
    message = await client.messages.create(**ASK)
    assert (message.id, message.role, message.model) == (f"msg_{ID}", "assistant", "anthropic/claude")
    assert (message.stop_reason, message.stop_sequence) == ("tool_use", None)
    assert given(message) == CONTENT
    assert isinstance(message.content[0], anthropic.types.ThinkingBlock)
    assert isinstance(message.content[3], anthropic.types.ServerToolUseBlock)
    assert message.usage.to_dict() == {
        "input_tokens": 7,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 10,
        "output_tokens": 9,
        "output_tokens_details": {"thinking_tokens": 4},
    }
    assert message.model_extra == {"toolgate": TOOLGATE}


async def test_a_stream_makes_the_same_message(fake: FakeProvider, client: anthropic.AsyncAnthropic) -> None:
    fake.stream(*streamed(EVERYTHING))
    async with client.messages.stream(**ASK) as stream:
        said = [text async for text in stream.text_stream]
        message = await stream.get_final_message()
    assert "".join(said) == "Searching.I read: Claude Shannon was born on April 30, 1916.A human decides."
    assert given(message) == CONTENT
    assert (message.id, message.stop_reason) == (f"msg_{ID}", "tool_use")
    assert message.usage.to_dict() == API.body(EVERYTHING)["usage"]


async def test_the_last_delta_of_a_stream_says_what_the_gateway_did(
    fake: FakeProvider, client: anthropic.AsyncAnthropic
) -> None:
    fake.stream(*streamed(EVERYTHING))
    seen = [event async for event in await client.messages.create(**ASK, stream=True)]
    assert (seen[0].type, seen[-2].type, seen[-1].type) == ("message_start", "message_delta", "message_stop")
    assert seen[-2].model_extra == {"toolgate": TOOLGATE}
    assert not any(event.type == "ping" for event in seen)  # type: ignore[comparison-overlap]


async def test_the_helper_for_streams_passes_the_last_delta_on(
    fake: FakeProvider, client: anthropic.AsyncAnthropic
) -> None:
    fake.stream(*streamed(EVERYTHING))
    async with client.messages.stream(**ASK) as stream:
        deltas = [event async for event in stream if event.type == "message_delta"]
    assert [event.model_extra for event in deltas] == [{"toolgate": TOOLGATE}]


@pytest.mark.parametrize(
    ("answer", "reason", "sequence"),
    [
        (reply(TurnReply(1, "x")), "end_turn", None),
        (reply(TurnReply(1, "x"), finish_reason="tool_calls"), "tool_use", None),
        (reply(TurnReply(1, "x"), finish_reason="length"), "max_tokens", None),
        (reply(TurnReply(1, "x"), finish_reason="content_filter"), "refusal", None),
        (reply(TurnReply(1, "x"), stop_sequence="END"), "stop_sequence", "END"),
        (reply(TurnReply(1, "x"), family="anthropic", extra={"stop_reason": "pause_turn"}), "pause_turn", None),
        (reply(TurnReply(1, "x"), family="openai", extra={"stop_reason": "odd"}), "end_turn", None),
        (reply(calls=CALLS[:1], family="anthropic", extra={"stop_reason": "pause_turn"}), "tool_use", None),
    ],
)
async def test_why_it_ended_is_said_alike_whole_and_streamed(
    fake: FakeProvider, client: anthropic.AsyncAnthropic, answer: Reply, reason: str, sequence: str | None
) -> None:
    fake.json(API.body(answer))
    fake.stream(*streamed(answer))
    message = await client.messages.create(**ASK)
    async with client.messages.stream(**ASK) as stream:
        final = await stream.get_final_message()
    assert (message.stop_reason, message.stop_sequence) == (reason, sequence)
    assert (final.stop_reason, final.stop_sequence) == (reason, sequence)


async def test_fields_of_the_provider_that_answered_are_passed_on(
    fake: FakeProvider, client: anthropic.AsyncAnthropic
) -> None:
    extra = {
        "container": {"id": "container_01", "expires_at": "2026-01-01T00:00:00Z", "skills": None},
        "stop_details": {"type": "refusal", "category": "cyber", "explanation": None},
        "context_management": {"applied_edits": []},
    }
    answer = reply(TurnReply(1, "x"), finish_reason="content_filter", family="anthropic", extra=extra)
    assert extra.items() <= API.body(answer).items()
    fake.stream(*streamed(answer))
    async with client.messages.stream(**ASK) as stream:
        final = await stream.get_final_message()
    assert final.container is not None
    assert final.container.id == "container_01"
    assert final.stop_details is not None
    assert final.stop_details.category == "cyber"


async def test_nothing_said_is_an_empty_message(fake: FakeProvider, client: anthropic.AsyncAnthropic) -> None:
    foreign = (Opaque("openai", {"type": "reasoning", "id": "rs_1"}),)
    answer = reply(TurnReply(1, "", foreign))
    fake.json(API.body(answer))
    fake.stream(*streamed(answer))
    assert (await client.messages.create(**ASK)).content == []
    async with client.messages.stream(**ASK) as stream:
        assert (await stream.get_final_message()).content == []


async def test_what_was_not_streamed_comes_at_the_end(fake: FakeProvider, client: anthropic.AsyncAnthropic) -> None:
    to = writer()
    fake.stream(to.begin(), to.opaque(1, HIDDEN.opaque[0]), to.text(1, "Sear"), to.end(EVERYTHING))
    async with client.messages.stream(**ASK) as stream:
        message = await stream.get_final_message()
    assert given(message) == [
        THINKING,
        {"type": "text", "text": "Sear"},
        REDACTED,
        {"type": "text", "text": "ching."},
        *CONTENT[3:],
    ]


async def test_citations_that_come_after_their_text_close_its_block(
    fake: FakeProvider, client: anthropic.AsyncAnthropic
) -> None:
    to = writer()
    text = CITED["text"]
    fake.stream(
        *(to.begin(), to.text(1, text[:7]), to.text(1, text[7:]), *(to.opaque(1, part) for part in own(CITED))),
        *(to.text(1, " Fine."), to.end(reply(TurnReply(1, f"{text} Fine.", own(CITED))))),
    )
    async with client.messages.stream(**ASK) as stream:
        message = await stream.get_final_message()
    assert given(message) == [CITED, {"type": "text", "text": " Fine."}]


async def test_citations_are_never_lost_to_text_that_ran_ahead_of_them(
    fake: FakeProvider, client: anthropic.AsyncAnthropic
) -> None:
    to = writer()
    said = f"I read: {CITED['text']}."
    sent = [to.begin(), *(to.text(1, said[at : at + 5]) for at in range(0, len(said) - 1, 5))]
    fake.stream(*sent, *(to.opaque(1, part) for part in own(CITED)), to.end(reply(TurnReply(1, said, own(CITED)))))
    async with client.messages.stream(**ASK) as stream:
        message = await stream.get_final_message()
    assert given(message) == [{**CITED, "text": said}]


async def test_an_error_in_a_stream_is_raised_by_the_sdk(fake: FakeProvider, client: anthropic.AsyncAnthropic) -> None:
    to = writer()
    fake.stream(to.begin(), to.text(1, "Hel"), to.error(502, "provider_error", "The provider broke off."))
    async with client.messages.stream(**ASK) as stream:
        texts = stream.text_stream
        assert await anext(texts) == "Hel"
        with pytest.raises(anthropic.APIStatusError, match="The provider broke off") as raised:
            await anext(texts)
    assert raised.value.body == {
        "type": "error",
        "error": {"type": "api_error", "message": "The provider broke off."},
    }


async def test_line_ends_of_any_kind_in_a_text_do_not_break_the_stream(
    fake: FakeProvider, client: anthropic.AsyncAnthropic
) -> None:
    text = "a\nb\r\nc\x85d\u2028e\u2029f\x0bg\x1ch\x00i"
    sent = streamed(reply(TurnReply(1, text)))
    assert all(len(line) > 5 for event in sent for line in event.decode().splitlines() if line)
    fake.stream(*sent)
    async with client.messages.stream(**ASK) as stream:
        assert await stream.get_final_text() == text
