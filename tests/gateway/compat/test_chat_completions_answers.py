"""What clients get, read by the official SDK over real HTTP."""

from typing import Any

import openai
import orjson
import pytest
from pydantic import BaseModel

from gateway.compat.chat_completions.api import API
from gateway.compat.interface import Reply, StreamWriter
from gateway.providers.interface import Opaque, SuggestedCall
from gateway.runs.prompting.client_request import ClientRequest
from tests.gateway.compat.replies import CALLS, CREATED, ID, MODEL, TOOLGATE, reply
from tests.gateway.compat.test_chat_completions import WEATHER, ask
from tests.gateway.providers.fake import FakeProvider

HI: Any = [{"role": "user", "content": "hi"}]
SHOWN_USAGE = {
    "prompt_tokens": 20,
    "completion_tokens": 8,
    "total_tokens": 28,
    "prompt_tokens_details": {"cached_tokens": 4},
    "completion_tokens_details": {"reasoning_tokens": 2},
}


def writer(**more: Any) -> StreamWriter:
    return API.writer(id=ID, created=CREATED, model=MODEL, request=API.parse(ask(stream=True, **more)))


def events(data: bytes) -> list[Any]:
    """The events' JSON; comments are left out."""
    blocks = [block for block in data.split(b"\n\n") if block and not block.startswith(b":")]
    assert all(block.startswith(b"data: ") and b"\n" not in block for block in blocks)
    return [block[6:] if block == b"data: [DONE]" else orjson.loads(block[6:]) for block in blocks]


def serve(fake: FakeProvider, given: Reply) -> None:
    """Stream an answer piece by piece."""
    to = writer()
    pieces = [to.begin()]
    for turn in given.turns:
        pieces += [to.opaque(turn.number, part) for part in turn.opaque]
        pieces += [to.text(turn.number, turn.text[at : at + 3]) for at in range(0, len(turn.text), 3)]
        pieces += [to.keep_alive(), to.call(turn.number, {"tool": "web_search"})]
    fake.stream(*pieces, to.end(given))


def test_a_whole_answer_is_a_chat_completion_with_toolgate_beside() -> None:
    assert API.body(reply("Hi.")) == {
        "id": f"chatcmpl-{ID}",
        "object": "chat.completion",
        "created": CREATED,
        "model": MODEL,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "Hi.", "refusal": None},
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": SHOWN_USAGE,
        "toolgate": TOOLGATE,
    }


async def test_the_sdk_reads_a_whole_answer(fake: FakeProvider, sdk: openai.AsyncOpenAI) -> None:
    fake.json(API.body(reply("Searching.", "", "Found.", calls=CALLS)))
    completion = await sdk.chat.completions.create(model=MODEL, messages=HI)
    [choice] = completion.choices
    assert (choice.message.content, choice.finish_reason) == ("Searching.\n\nFound.", "tool_calls")
    assert choice.message.tool_calls is not None
    assert [call.model_dump() for call in choice.message.tool_calls] == [
        {"id": "call_a", "type": "function", "function": {"name": "get_weather", "arguments": '{"city":"Bern"}'}},
        {"id": "call_b", "type": "function", "function": {"name": "get_time", "arguments": "{}"}},
    ]
    assert completion.usage is not None
    assert completion.usage.prompt_tokens_details is not None
    assert (completion.usage.total_tokens, completion.usage.prompt_tokens_details.cached_tokens) == (28, 4)
    assert completion.model_extra is not None
    assert completion.model_extra["toolgate"] == TOOLGATE
    assert type(completion).model_validate(completion.model_dump(), strict=True) == completion


async def test_what_the_sdk_asks_is_understood(fake: FakeProvider, sdk: openai.AsyncOpenAI) -> None:
    fake.json(API.body(reply("", calls=CALLS)))
    tools: Any = [{"type": "function", "function": WEATHER}]
    first = await sdk.chat.completions.create(model=MODEL, messages=HI, tools=tools, stream=False)
    results: Any = [{"role": "tool", "tool_call_id": call.id, "content": "ok"} for call in CALLS]
    again: Any = [*HI, first.choices[0].message, *results]
    await sdk.chat.completions.create(model=MODEL, messages=again, tools=tools, stop=["x"], user="ada", n=1)
    requests = [API.parse(asked.body) for asked in fake.asked]
    assert [len(request.messages) for request in requests] == [1, 4]
    assert [call.id for call in requests[1].messages[1].calls] == ["call_a", "call_b"]  # type: ignore[union-attr]


def test_a_notice_is_the_answer_where_a_human_must_decide() -> None:
    toolgate = TOOLGATE | {"status": "requires_action"}
    given = reply("", notice="A human has to approve this.", toolgate=toolgate)
    choice = API.body(given)["choices"][0]
    assert (choice["message"]["content"], choice["finish_reason"]) == ("A human has to approve this.", "stop")
    assert API.body(given)["toolgate"]["status"] == "requires_action"


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (reply("Hi."), "stop"),
        (reply("Hi.", finish_reason="length"), "length"),
        (reply("Hi.", finish_reason="content_filter"), "content_filter"),
        (reply("Hi.", finish_reason="tool_calls"), "stop"),
        (reply("Hi.", calls=CALLS, finish_reason="stop"), "tool_calls"),
        (reply("Hi.", calls=CALLS, echo={"legacy": True}), "function_call"),
    ],
)
def test_the_finish_reason_fits_what_was_said(given: Reply, shown: str) -> None:
    assert API.body(given)["choices"][0]["finish_reason"] == shown


async def test_a_legacy_request_is_answered_in_its_own_shape(fake: FakeProvider, sdk: openai.AsyncOpenAI) -> None:
    request: ClientRequest = API.parse(ask(functions=[WEATHER], stream=True))
    given = reply("", calls=CALLS, echo=request.echo)
    message = API.body(given)["choices"][0]["message"]
    called = {"name": "get_weather", "arguments": '{"city":"Bern"}'}
    assert message == {"role": "assistant", "content": None, "refusal": None, "function_call": called}
    to = API.writer(id=ID, created=CREATED, model=MODEL, request=request)
    fake.stream(to.begin(), to.end(given))
    chunks = [c.choices[0] async for c in await sdk.chat.completions.create(model=MODEL, messages=HI, stream=True)]
    deltas = [chunk.delta.function_call.model_dump() for chunk in chunks if chunk.delta.function_call]
    assert deltas == [{"name": "get_weather", "arguments": ""}, {"name": None, "arguments": '{"city":"Bern"}'}]
    assert chunks[-1].finish_reason == "function_call"
    assert not any(chunk.delta.tool_calls for chunk in chunks)


def test_a_call_of_a_custom_tool_carries_its_input() -> None:
    call = SuggestedCall("call_a", "sql", "SELECT 1")
    shown = API.body(reply("", calls=(call,), echo={"custom": ["sql"]}))["choices"][0]["message"]
    custom = {"id": "call_a", "type": "custom", "custom": {"name": "sql", "input": "SELECT 1"}}
    assert shown["tool_calls"] == [custom]
    to = writer(tools=[{"type": "custom", "custom": {"name": "sql"}}])
    deltas = [chunk["choices"][0]["delta"] for chunk in events(to.end(reply("", calls=(call,))))[:-2]]
    assert deltas == [
        {"tool_calls": [{"index": 0, "id": "call_a", "type": "custom", "custom": {"name": "sql", "input": ""}}]},
        {"tool_calls": [{"index": 0, "custom": {"input": "SELECT 1"}}]},
    ]


EXTRA = {
    "system_fingerprint": "fp_1",
    "service_tier": "default",
    "logprobs": {"content": [{"token": "Hi", "logprob": -0.1, "bytes": [72, 105], "top_logprobs": []}]},
    "annotations": [{"type": "url_citation", "url_citation": {"url": "https://a", "title": "A"}}],
}


async def test_the_providers_own_fields_come_back_where_they_belong(
    fake: FakeProvider, sdk: openai.AsyncOpenAI
) -> None:
    thought = Opaque("openai", {"type": "reasoning_content", "reasoning_content": "Hm."})
    given = reply("Hi.", family="openai", extra=EXTRA, opaque=(thought,))
    fake.json(API.body(given))
    completion = await sdk.chat.completions.create(model=MODEL, messages=HI)
    assert (completion.system_fingerprint, completion.service_tier) == ("fp_1", "default")
    [choice] = completion.choices
    assert choice.logprobs is not None
    assert choice.logprobs.model_dump(exclude_unset=True) == EXTRA["logprobs"]
    assert choice.message.to_dict()["annotations"] == EXTRA["annotations"]
    assert choice.message.to_dict()["reasoning_content"] == "Hm."
    fake.replies.clear()
    serve(fake, given)
    stream = await sdk.chat.completions.create(model=MODEL, messages=HI, stream=True)
    chunks = [chunk.to_dict() async for chunk in stream]
    assert [chunk["choices"][0]["delta"].get("reasoning_content") for chunk in chunks][1] == "Hm."  # type: ignore[index]
    last: Any = chunks[-1]
    assert (last["system_fingerprint"], last["service_tier"]) == ("fp_1", "default")
    assert last["choices"][0]["logprobs"] == EXTRA["logprobs"]
    assert last["choices"][0]["delta"]["annotations"] == EXTRA["annotations"]


def test_another_familys_fields_and_thoughts_stay_out() -> None:
    thought = Opaque("anthropic", {"type": "thinking", "thinking": "Hm.", "signature": "s"})
    given = reply("Hi.", family="anthropic", extra={"logprobs": 1, "container": {}}, opaque=(thought,))
    assert API.body(given) == API.body(reply("Hi."))
    assert writer().opaque(1, thought) == b""


class City(BaseModel):
    name: str


@pytest.mark.parametrize("streaming", [False, True])
async def test_a_refusal_is_never_parsed_as_structured_output(
    fake: FakeProvider, sdk: openai.AsyncOpenAI, streaming: bool
) -> None:
    refused = Opaque("openai", {"type": "refusal", "refusal": "I cannot."})
    given = reply("I cannot.", family="openai", opaque=(refused,))
    if streaming:
        serve(fake, given)
        async with sdk.chat.completions.stream(model=MODEL, messages=HI, response_format=City) as stream:
            message = (await stream.get_final_completion()).choices[0].message
    else:
        fake.json(API.body(given))
        message = (await sdk.chat.completions.parse(model=MODEL, messages=HI, response_format=City)).choices[0].message
    assert (message.refusal, message.content or None, message.parsed) == ("I cannot.", None, None)


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (400, "invalid_value", openai.BadRequestError),
        (401, "invalid_api_key", openai.AuthenticationError),
        (403, "forbidden", openai.PermissionDeniedError),
        (404, "model_not_found", openai.NotFoundError),
        (422, "mixed_tool_calls", openai.UnprocessableEntityError),
        (429, "rate_limit_exceeded", openai.RateLimitError),
        (502, "provider_error", openai.InternalServerError),
    ],
)
async def test_the_sdk_raises_its_own_errors(
    fake: FakeProvider, sdk: openai.AsyncOpenAI, status: int, code: str, kind: type[openai.APIStatusError]
) -> None:
    fake.json(API.error(status, code, "It failed.", "messages[0].content"), status)
    with pytest.raises(kind) as raised:
        await sdk.chat.completions.create(model=MODEL, messages=HI)
    assert (raised.value.code, raised.value.param) == (code, "messages[0].content")
    assert "It failed." in raised.value.message
