"""All adapters against llmock: a server that nobody here wrote."""

from collections.abc import AsyncIterator

import pytest
from llmock.pytest_plugin import LLMock

from gateway.providers import retry
from gateway.providers.anthropic.provider import AnthropicProvider
from gateway.providers.errors import ProviderGarbled, ProviderRateLimited, ProviderRefused, ProviderUnavailable
from gateway.providers.gemini.provider import GeminiProvider
from gateway.providers.interface import AssistantMessage, OnText, Prompt, Provider, ToolMessage, UserMessage
from gateway.providers.openai.provider import OpenAIProvider
from tests.gateway.providers.conftest import KEY, question, tool
from tests.waiting import PATIENCE_SECONDS

MODELS = {"openai": "gpt-4o", "anthropic": "claude-sonnet-4-6", "gemini": "gemini-2.5-pro"}


@pytest.fixture(params=["openai", "anthropic", "gemini"])
async def provider(request: pytest.FixtureRequest, llmock: LLMock) -> AsyncIterator[Provider]:
    made: OpenAIProvider | AnthropicProvider | GeminiProvider
    if request.param == "openai":
        made = OpenAIProvider(KEY, llmock.base_url("openai"), silent_seconds=PATIENCE_SECONDS)
    elif request.param == "anthropic":
        made = AnthropicProvider(KEY, llmock.base_url("anthropic"), silent_seconds=PATIENCE_SECONDS)
    else:
        made = GeminiProvider(KEY, llmock.base_url("gemini"), silent_seconds=PATIENCE_SECONDS)
    yield made
    await made.close()


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def heard(request: pytest.FixtureRequest) -> list[str] | None:
    return [] if request.param else None


def listener(heard: list[str] | None) -> OnText | None:
    return None if heard is None else heard.append


async def no_sleep(seconds: float) -> None:
    """Wait for nothing."""


async def test_text_comes_whole_and_streamed(llmock: LLMock, provider: Provider, heard: list[str] | None) -> None:
    llmock.reply("The weather in Paris is fine.")
    answer = await provider.ask(question(model=MODELS[provider.name]), listener(heard))
    assert (answer.text, answer.calls, answer.finish_reason) == ("The weather in Paris is fine.", (), "stop")
    assert answer.usage.input_tokens > 0
    assert answer.usage.output_tokens > 0
    if heard is not None:
        assert "".join(heard) == answer.text
        assert len(heard) > 1


async def test_a_tool_call_and_its_result_make_a_second_turn(
    llmock: LLMock, provider: Provider, heard: list[str] | None
) -> None:
    llmock.call_tool("web__search", {"query": "tea"}, text="Looking it up.").reply("Tea is a drink.")
    model = MODELS[provider.name]
    tools = (tool("web.search"),)
    first = await provider.ask(Prompt(model, (UserMessage("what is tea?"),), tools=tools), listener(heard))
    [call] = first.calls
    assert (call.name, first.text, first.finish_reason) == ("web.search", "Looking it up.", "tool_calls")
    assert call.arguments.replace(" ", "") == '{"query":"tea"}'
    messages = (
        UserMessage("what is tea?"),
        AssistantMessage(first.text, first.calls),
        ToolMessage(call.id, call.name, '{"ok":true,"data":"a drink"}'),
    )
    second = await provider.ask(Prompt(model, messages, tools=tools), listener(heard))
    assert (second.text, second.calls, second.finish_reason) == ("Tea is a drink.", (), "stop")
    sent = llmock.last_request.body
    assert "'name': 'web__search'" in str(sent["tools"])
    shown = sent["contents" if provider.name == "gemini" else "messages"]
    assert "web.search" not in str(shown)
    assert call.id in str(shown)


async def test_broken_arguments_come_through_as_they_are(llmock: LLMock) -> None:
    provider = OpenAIProvider(KEY, llmock.base_url("openai"))
    llmock.call_tool("t", {"query": "tea"}).break_tool_call("malformed_arguments")
    answer = await provider.ask(question(tool("t"), model="gpt-4o"))
    await provider.close()
    [call] = answer.calls
    assert call.arguments.startswith('{"query"')
    assert not call.arguments.endswith("}")


async def test_a_rate_limit_is_told_and_not_retried_by_the_sdk(
    llmock: LLMock, provider: Provider, heard: list[str] | None
) -> None:
    llmock.rate_limit(times=1, retry_after=3)
    with pytest.raises(ProviderRateLimited) as caught:
        await provider.ask(question(model=MODELS[provider.name]), listener(heard))
    assert caught.value.retry_after == 3
    assert len(llmock.requests) == 1


async def test_an_outage_is_unavailable(llmock: LLMock, provider: Provider, heard: list[str] | None) -> None:
    llmock.outage(status=500)
    with pytest.raises(ProviderUnavailable) as caught:
        await provider.ask(question(model=MODELS[provider.name]), listener(heard))
    assert caught.value.status == 500
    assert len(llmock.requests) == 1


async def test_a_prompt_that_is_too_long_is_refused(llmock: LLMock, provider: Provider) -> None:
    llmock.context_overflow()
    with pytest.raises(ProviderRefused, match="maximum context length"):
        await provider.ask(question(model=MODELS[provider.name]))


async def test_a_truncated_stream_is_garbled(llmock: LLMock, provider: Provider) -> None:
    llmock.truncate(after_chunks=2)
    with pytest.raises(ProviderGarbled):
        await provider.ask(question(model=MODELS[provider.name]), lambda text: None)


async def test_a_corrupt_stream_is_garbled(llmock: LLMock, provider: Provider) -> None:
    llmock.corrupt(after_chunks=2)
    with pytest.raises(ProviderGarbled):
        await provider.ask(question(model=MODELS[provider.name]), lambda text: None)


async def test_a_dropped_stream_is_unavailable(llmock: LLMock, provider: Provider) -> None:
    llmock.disconnect(after_chunks=2)
    with pytest.raises(ProviderUnavailable):
        await provider.ask(question(model=MODELS[provider.name]), lambda text: None)


async def test_asking_again_gets_over_faults_and_voids_what_was_said(llmock: LLMock, provider: Provider) -> None:
    llmock.reply("One two three four five.", times=None).truncate(after_chunks=4).rate_limit(times=1, retry_after=0)
    heard: list[str] = []
    restarts: list[int] = []
    answer = await retry.ask(
        provider,
        question(model=MODELS[provider.name]),
        heard.append,
        seconds=PATIENCE_SECONDS,
        on_restart=lambda: restarts.append(len(heard)),
        sleep=no_sleep,
    )
    assert answer.text == "One two three four five."
    assert len(llmock.requests) == 3
    assert len(restarts) == 1
    assert "".join(heard[restarts[0] :]) == answer.text
