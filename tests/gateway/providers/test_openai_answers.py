from typing import Any

import pytest

from gateway.providers.interface import (
    Answer,
    AssistantMessage,
    ClientTool,
    Opaque,
    Prompt,
    SuggestedCall,
    Usage,
    UserMessage,
)
from gateway.providers.openai.provider import OpenAIProvider
from tests.gateway.providers.chat_completions import STOP, chunk, completion
from tests.gateway.providers.conftest import question, tool
from tests.gateway.providers.fake import FakeProvider, events
from tests.gateway.providers.test_openai_prompts import SCHEMA, body

USAGE = {
    "prompt_tokens": 20,
    "completion_tokens": 9,
    "prompt_tokens_details": {"cached_tokens": 8, "audio_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 4, "accepted_prediction_tokens": 0},
}
LOGPROB = {"token": "Hi", "logprob": -0.1, "bytes": None, "top_logprobs": []}
CITATION = {"type": "url_citation", "url_citation": {"url": "https://a", "title": "A", "start_index": 0}}


def thought(text: Any, name: str = "reasoning_content") -> Opaque:
    return Opaque("openai", {"type": name, name: text})


@pytest.mark.parametrize("way", ["whole", "streamed", "asked to stream, answered whole"])
async def test_an_answers_other_fields_are_kept(fake: FakeProvider, openai: OpenAIProvider, way: str) -> None:
    if way == "streamed":
        fake.stream(
            events(
                {**chunk({"role": "assistant", "reasoning_content": "H"}), "system_fingerprint": "fp"},
                {**chunk({"reasoning_content": "m."}), "system_fingerprint": "fp", "service_tier": "flex"},
                {"choices": [{"delta": {"content": "H"}, "logprobs": {"content": [LOGPROB], "refusal": None}}]},
                {"choices": [{"delta": {"content": "i"}, "logprobs": {"content": [LOGPROB], "refusal": None}}]},
                chunk({"annotations": [CITATION]}),
                STOP,
                {"choices": [], "usage": USAGE},
                "[DONE]",
            )
        )
    else:
        message = {"content": "Hi", "reasoning_content": "Hm.", "annotations": [CITATION], "audio": None}
        answer = completion(message, usage=USAGE, system_fingerprint="fp", service_tier="flex", x=1)
        answer["choices"][0]["logprobs"] = {"content": [LOGPROB, LOGPROB]}
        fake.json(answer)
    heard: list[object] = []
    on = () if way == "whole" else (heard.append, heard.append)
    assert await openai.ask(question(), *on) == Answer(
        "Hi",
        (),
        "stop",
        Usage(20, 9, 8, 4),
        opaque=(thought("Hm."),),
        extra={
            "system_fingerprint": "fp",
            "service_tier": "flex",
            "logprobs": {"content": [LOGPROB, LOGPROB]},
            "annotations": [CITATION],
        },
    )
    assert (
        heard
        == {
            "whole": [],
            "streamed": [thought("H"), thought("m."), "H", "i"],
            "asked to stream, answered whole": [thought("Hm."), "Hi"],
        }[way]
    )


@pytest.mark.parametrize("streaming", [False, True])
async def test_a_refusal_is_text_and_told_apart(fake: FakeProvider, openai: OpenAIProvider, streaming: bool) -> None:
    if streaming:
        fake.stream(events(chunk({"refusal": "I can"}), chunk({"refusal": "not."}), STOP))
    else:
        fake.json(completion({"content": None, "refusal": "I cannot."}))
    heard: list[object] = []
    answer = await openai.ask(question(), *((heard.append, heard.append) if streaming else ()))
    assert (answer.text, answer.opaque) == ("I cannot.", (thought("I cannot.", "refusal"),))
    if streaming:
        assert heard == [thought("I can", "refusal"), "I can", thought("not.", "refusal"), "not."]


@pytest.mark.parametrize("streaming", [False, True])
async def test_fields_of_a_call_that_a_server_wants_to_see_again_are_kept(
    fake: FakeProvider, openai: OpenAIProvider, streaming: bool
) -> None:
    signature = {"google": {"thought_signature": "c2ln"}}
    call = {
        "id": "c",
        "type": "function",
        "function": {"name": "web_search", "arguments": "{}"},
        "extra_content": signature,
    }
    if streaming:
        fake.stream(events(chunk({"tool_calls": [{"index": 0, **call}]}), chunk({}, "tool_calls")))
    else:
        fake.json(completion({"tool_calls": [call]}, "tool_calls"))
    [made] = (await openai.ask(question(tool("web_search")), (lambda text: None) if streaming else None)).calls
    assert made == SuggestedCall("c", "web_search", "{}", "openai", {"extra_content": signature})
    assert body(AssistantMessage("", (made,)))["messages"][0]["tool_calls"] == [call]


@pytest.mark.parametrize("streaming", [False, True])
async def test_a_custom_tools_call_carries_text_of_any_form(
    fake: FakeProvider, openai: OpenAIProvider, streaming: bool
) -> None:
    if streaming:
        fake.stream(
            events(
                chunk({"tool_calls": [{"index": 0, "id": "c", "type": "custom", "custom": {"name": "my__sql"}}]}),
                chunk({"tool_calls": [{"index": 0, "custom": {"input": "SELECT "}}]}),
                chunk({"tool_calls": [{"index": 0, "custom": {"input": "1"}}]}),
                chunk({}, "tool_calls"),
            )
        )
    else:
        custom = {"id": "c", "type": "custom", "custom": {"name": "my__sql", "input": "SELECT 1"}}
        fake.json(completion({"tool_calls": [custom]}, "tool_calls"))
    raw = {"type": "custom", "custom": {"name": "my.sql"}}
    prompt = Prompt("m", (UserMessage("hi"),), client_tools=(ClientTool("my.sql", family="openai", raw=raw),))
    answer = await openai.ask(prompt, (lambda text: None) if streaming else None)
    assert answer.calls == (SuggestedCall("c", "my.sql", "SELECT 1"),)


async def test_a_client_tools_alias_leads_back_to_its_name(fake: FakeProvider, openai: OpenAIProvider) -> None:
    name = "wetter/für." + "ä" * 100

    async def reply(request: Any) -> Any:
        from aiohttp import web

        alias = (await request.json())["tools"][0]["function"]["name"]
        call = {"id": "c", "type": "function", "function": {"name": alias, "arguments": "{}"}}
        return web.json_response(completion({"tool_calls": [call]}, "tool_calls"))

    fake.replies.append(reply)
    prompt = Prompt("m", (UserMessage("hi"),), client_tools=(ClientTool(name, "", SCHEMA),))
    assert (await openai.ask(prompt)).calls == (SuggestedCall("c", name, "{}"),)


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(
    "odd",
    [
        {"logprobs": "x"},
        {"logprobs": []},
        {"reasoning_content": {"a": 1}, "annotations": {}, "audio": 5, "refusal": ["x"]},
        {"annotations": [0] * 2, "reasoning_details": "x"},
        {"annotations": "DEEP"},
    ],
)
async def test_other_fields_that_make_no_sense_cost_nothing_but_themselves(
    fake: FakeProvider, openai: OpenAIProvider, odd: dict[str, Any], streaming: bool
) -> None:
    deep: Any = []
    for _ in range(300):
        deep = [deep]
    if odd.get("annotations") == "DEEP":
        odd = {"annotations": deep}
    kept = {"annotations": [0, 0]} if odd.get("annotations") == [0, 0] else {}
    if streaming:
        piece = chunk({"content": "Hi.", **odd})
        piece["choices"][0]["logprobs"] = odd.get("logprobs")
        fake.stream(events({**piece, "system_fingerprint": 5, "service_tier": {}}, STOP))
    else:
        whole = completion({"content": "Hi.", **odd}, system_fingerprint=5, service_tier={})
        whole["choices"][0]["logprobs"] = odd.get("logprobs")
        fake.json(whole)
    answer = await openai.ask(question(), (lambda text: None) if streaming else None)
    assert answer == Answer("Hi.", extra=kept)
