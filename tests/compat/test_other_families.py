"""What a request asks of another family's model: translated, left out, or refused by name before anything is sent."""

from typing import Any

import anthropic
import openai
import pytest
from llmock.pytest_plugin import LLMock
from pydantic import BaseModel

from tests.compat.models import MOCKED
from tests.people import Cast
from tests.stack import Stack
from tests.waiting import PATIENCE_SECONDS

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
HI: Any = [{"role": "user", "content": "hi"}]
DOCUMENT = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}}
EACH_MOCKED = pytest.mark.parametrize("model", MOCKED.values())


class City(BaseModel):
    """The form of an answer."""

    name: str
    people: int


@pytest.fixture
def of_openai(mocked: Stack, tenant: Cast) -> openai.OpenAI:
    """OpenAI's SDK as alice."""
    return openai.OpenAI(api_key=tenant.alice.key, base_url=f"{mocked.url}/v1", max_retries=0, timeout=PATIENCE_SECONDS)


@pytest.fixture
def of_anthropic(mocked: Stack, tenant: Cast) -> anthropic.Anthropic:
    """Anthropic's SDK as alice."""
    return anthropic.Anthropic(api_key=tenant.alice.key, base_url=mocked.url, max_retries=0, timeout=PATIENCE_SECONDS)


@EACH_MOCKED
def test_structured_output_is_every_models(
    of_openai: openai.OpenAI, of_anthropic: anthropic.Anthropic, llmock: LLMock, model: str
) -> None:
    llmock.reply('{"name": "Rome", "people": 3}', times=3)
    rome = City(name="Rome", people=3)
    completion = of_openai.chat.completions.parse(model=model, messages=HI, response_format=City)
    assert completion.choices[0].message.parsed == rome
    assert of_openai.responses.parse(model=model, input="hi", text_format=City).output_parsed == rome
    message = of_anthropic.messages.parse(model=model, max_tokens=99, messages=HI, output_format=City)
    assert message.parsed_output == rome
    assert ["'people'" in str(request.body) for request in llmock.requests] == [True] * 3


@EACH_MOCKED
def test_an_image_is_every_models(
    of_openai: openai.OpenAI, of_anthropic: anthropic.Anthropic, llmock: LLMock, model: str
) -> None:
    llmock.reply("A pixel.", times=2)
    shown: Any = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
    of_openai.chat.completions.create(model=model, messages=[{"role": "user", "content": [shown]}])
    source: Any = {"type": "base64", "media_type": "image/png", "data": PNG}
    block: Any = {"type": "image", "source": source}
    of_anthropic.messages.create(model=model, max_tokens=99, messages=[{"role": "user", "content": [block]}])
    assert [PNG in str(request.body) for request in llmock.requests] == [True, True]


@EACH_MOCKED
def test_what_does_not_change_the_answer_is_left_out(
    of_openai: openai.OpenAI, of_anthropic: anthropic.Anthropic, llmock: LLMock, model: str
) -> None:
    llmock.reply("Hi.", times=2)
    own: dict[str, Any] = {"seed": 3, "user": "u-4711", "store": True, "metadata": {"a": "b"}, "frequency_penalty": 0}
    assert of_openai.chat.completions.create(model=model, messages=HI, **own).choices[0].message.content == "Hi."
    own = {"metadata": {"user_id": "u-4711"}, "service_tier": "auto", "thinking": {"type": "disabled"}}
    of_anthropic.messages.create(model=model, max_tokens=99, messages=HI, **own)
    kept = {"openai": [True, False], "anthropic": [False, True], "gemini": [False, False]}[model.partition("/")[0]]
    assert ["u-4711" in str(request.body) for request in llmock.requests] == kept


@pytest.mark.parametrize("model", [MOCKED["anthropic"], MOCKED["gemini"]])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("logprobs", True),
        ("logit_bias", {"1": 1}),
        ("frequency_penalty", 1),
        ("modalities", ["audio"]),
        ("prediction", {"type": "content", "content": "x"}),
        ("extra_body", {"no_such_field": 1}),
    ],
)
def test_what_would_change_the_answer_is_refused_by_name(
    of_openai: openai.OpenAI, llmock: LLMock, model: str, name: str, value: Any
) -> None:
    asked: dict[str, Any] = {name: value}
    with pytest.raises(openai.BadRequestError, match=name if name != "extra_body" else "no_such_field"):
        of_openai.chat.completions.create(model=model, messages=HI, **asked)
    assert llmock.requests == []


@pytest.mark.parametrize("model", [MOCKED["openai"], MOCKED["gemini"]])
@pytest.mark.parametrize(
    ("word", "asked"),
    [
        ("thinking", {"thinking": {"type": "enabled", "budget_tokens": 1024}}),
        ("top_k", {"extra_body": {"top_k": 3}}),
        ("web_search", {"tools": [{"type": "web_search_20250305", "name": "web_search"}]}),
        ("document", {"messages": [{"role": "user", "content": [DOCUMENT]}]}),
        ("prefill", {"messages": [*HI, {"role": "assistant", "content": "I"}]}),
    ],
)
def test_what_only_anthropic_understands_is_refused_by_name(
    of_anthropic: anthropic.Anthropic, llmock: LLMock, model: str, word: str, asked: dict[str, Any]
) -> None:
    with pytest.raises(anthropic.BadRequestError, match=word):
        of_anthropic.messages.create(model=model, **({"max_tokens": 2000, "messages": HI} | asked))
    assert llmock.requests == []
