"""Answers as Anthropic's API sends them: thoughts, tools that it runs itself, citations."""

from typing import Any

import pytest

from gateway.providers.anthropic.provider import AnthropicProvider
from gateway.providers.errors import ProviderGarbled
from gateway.providers.interface import Answer, Opaque, SuggestedCall, Usage
from tests.gateway.providers.conftest import question, tool
from tests.gateway.providers.fake import FakeProvider, events

THOUGHTS = rb"""event: message_start
data: {"type":"message_start","message":{"model":"claude-sonnet-4-5","id":"msg_01XFDUDYJgAACzvnptvVoYEL","type":"message","role":"assistant","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":472,"cache_creation_input_tokens":8,"cache_read_input_tokens":20,"cache_creation":{"ephemeral_5m_input_tokens":8,"ephemeral_1h_input_tokens":0},"output_tokens":2,"service_tier":"standard"}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: ping
data: {"type": "ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"The user wants the \"weather\""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":" in Paris."}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYds"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"EmwKAhgBEgy3va3pzix/LafPsn4aDFIT2Xlxh0L5L8rLVyIw"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"Let me check"}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":" the weather:"}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: content_block_start
data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_01T1x1fJ34qAmk2tNTrN7Up6","name":"get_weather","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"query\":"}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":" \"Paris\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":3}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":89,"output_tokens_details":{"thinking_tokens":31}}}

event: message_stop
data: {"type":"message_stop"}

"""  # noqa: E501
THINKING = {
    "type": "thinking",
    "thinking": 'The user wants the "weather" in Paris.',
    "signature": "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYds",
}
REDACTED = {"type": "redacted_thinking", "data": "EmwKAhgBEgy3va3pzix/LafPsn4aDFIT2Xlxh0L5L8rLVyIw"}

FOUND = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_014hJH82Qum7Td6UV8gDXThB",
    "content": [
        {
            "type": "web_search_result",
            "title": "Claude Shannon - Wikipedia",
            "url": "https://en.wikipedia.org/wiki/Claude_Shannon",
            "encrypted_content": "EqgfCioIARgBIiQ3YTAwMjY1Mi1mZjM5LTQ1NGUt",
            "page_age": "April 30, 2025",
        }
    ],
}
CITATION = {
    "type": "web_search_result_location",
    "url": "https://en.wikipedia.org/wiki/Claude_Shannon",
    "title": "Claude Shannon - Wikipedia",
    "encrypted_index": "Eo8BCioIAhgBIiQyYjQ0OWJmZi1lNm",
    "cited_text": "Claude Elwood Shannon (April 30, 1916)",
}
SEARCH = {
    "type": "server_tool_use",
    "id": "srvtoolu_014hJH82Qum7Td6UV8gDXThB",
    "name": "web_search",
    "input": {"query": "claude shannon birth date"},
}
CITED: dict[str, Any] = {"type": "text", "text": "Claude Shannon was born on April 30, 1916", "citations": [CITATION]}
SAID = "I'll look that up.Based on the search: Claude Shannon was born on April 30, 1916."
SEARCHED: dict[str, Any] = {
    "id": "msg_01",
    "type": "message",
    "role": "assistant",
    "content": [
        {"type": "text", "text": "I'll look that up."},
        SEARCH,
        FOUND,
        {"type": "text", "text": "Based on the search: ", "citations": None},
        CITED,
        {"type": "text", "text": "."},
    ],
    "stop_reason": "pause_turn",
    "stop_sequence": None,
    "container": {"id": "container_01", "expires_at": "2026-01-01T00:00:00Z"},
    "usage": {"input_tokens": 6039, "output_tokens": 931, "server_tool_use": {"web_search_requests": 1}},
}
OPAQUE = tuple(Opaque("anthropic", raw) for raw in (SEARCH, FOUND, CITED))


def streamed(message: dict[str, Any]) -> bytes:
    """The message as the API streams it: inputs, texts and citations in pieces."""
    sent: list[dict[str, Any]] = [{"type": "message_start", "message": {**message, "content": []}}]
    for index, block in enumerate(message["content"]):
        deltas: list[dict[str, Any]] = []
        begun = dict(block)
        if block["type"] == "text":
            begun = {"type": "text", "text": ""}
            deltas += [{"type": "text_delta", "text": piece} for piece in (block["text"][:4], block["text"][4:])]
            deltas += [{"type": "citations_delta", "citation": each} for each in block.get("citations") or ()]
        elif block["type"] == "server_tool_use":
            begun["input"] = {}
            deltas += [
                {"type": "input_json_delta", "partial_json": p}
                for p in ("", '{"query": "claude', ' shannon birth date"}')
            ]
        sent.append({"type": "content_block_start", "index": index, "content_block": begun})
        sent += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        sent.append({"type": "content_block_stop", "index": index})
    ended = {name: message[name] for name in ("stop_reason", "stop_sequence", "container") if name in message}
    sent += [{"type": "message_delta", "delta": ended, "usage": message["usage"]}, {"type": "message_stop"}]
    return events(*sent, names=True)


async def test_thoughts_are_put_together_and_heard_before_the_text(
    fake: FakeProvider, anthropic: AnthropicProvider
) -> None:
    fake.stream(*(THOUGHTS[at : at + 7] for at in range(0, len(THOUGHTS), 7)))
    heard: list[str | Opaque] = []
    answer = await anthropic.ask(question(tool("get_weather")), heard.append, heard.append)
    opaque = (Opaque("anthropic", THINKING), Opaque("anthropic", REDACTED))
    assert answer == Answer(
        "Let me check the weather:",
        (SuggestedCall("toolu_01T1x1fJ34qAmk2tNTrN7Up6", "get_weather", '{"query": "Paris"}'),),
        "tool_calls",
        Usage(500, 89, cached_tokens=20, reasoning_tokens=31),
        opaque=opaque,
    )
    assert heard == [*opaque, "Let me check", " the weather:"]


async def test_searches_of_the_providers_own_and_citations_are_kept(
    fake: FakeProvider, anthropic: AnthropicProvider
) -> None:
    fake.json(SEARCHED)
    assert await anthropic.ask(question()) == Answer(
        SAID,
        (),
        "stop",
        Usage(6039, 931),
        opaque=OPAQUE,
        extra={"container": SEARCHED["container"], "stop_reason": "pause_turn"},
    )


async def test_an_answer_is_the_same_whole_and_streamed(fake: FakeProvider, anthropic: AnthropicProvider) -> None:
    fake.json(SEARCHED)
    fake.stream(streamed(SEARCHED))
    heard: list[str | Opaque] = []
    whole = await anthropic.ask(question())
    assert await anthropic.ask(question(), heard.append, heard.append) == whole
    assert [part for part in heard if isinstance(part, Opaque)] == list(OPAQUE)
    assert "".join(part for part in heard if isinstance(part, str)) == SAID
    # What is cited has been said when its citations come.
    assert heard.index(OPAQUE[2]) > heard.index(CITED["text"][4:])


async def test_an_answer_that_comes_whole_though_streaming_was_asked_for_is_heard(
    fake: FakeProvider, anthropic: AnthropicProvider
) -> None:
    fake.json(SEARCHED)
    heard: list[str | Opaque] = []
    await anthropic.ask(question(), heard.append, heard.append)
    assert heard == [*OPAQUE, SAID]


async def test_the_stop_sequence_and_a_refusals_reason_are_kept(
    fake: FakeProvider, anthropic: AnthropicProvider
) -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": None}
    fake.json({"content": [], "stop_reason": "stop_sequence", "stop_sequence": "END"})
    fake.json({"content": [], "stop_reason": "refusal", "stop_sequence": None, "stop_details": details})
    assert await anthropic.ask(question()) == Answer("", (), "stop", stop_sequence="END")
    assert await anthropic.ask(question()) == Answer("", (), "content_filter", extra={"stop_details": details})


@pytest.mark.parametrize("given", [b'"{\\"broken"', b"[" * 2000 + b"]" * 2000])
async def test_an_input_of_the_providers_own_tool_that_cannot_be_read_is_empty(
    fake: FakeProvider, anthropic: AnthropicProvider, given: bytes
) -> None:
    fake.json(
        b'{"content": [{"type": "server_tool_use", "id": "s", "name": "web_search", "input": '
        + given
        + b'}], "stop_reason": "end_turn"}'
    )
    [part] = (await anthropic.ask(question())).opaque
    assert part.raw["input"] == {}


async def test_a_block_that_could_not_be_kept_is_garbled(fake: FakeProvider, anthropic: AnthropicProvider) -> None:
    fake.json(b'{"content": [{"type": "future", "deep": ' + b"[" * 500 + b"]" * 500 + b'}], "stop_reason": "end_turn"}')
    with pytest.raises(ProviderGarbled, match="nested too deeply"):
        await anthropic.ask(question())
