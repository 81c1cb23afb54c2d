import asyncio
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from gateway.providers.anthropic.provider import AnthropicProvider
from gateway.providers.demo.provider import DemoProvider
from gateway.providers.gemini.provider import GeminiProvider
from gateway.providers.openai.provider import OpenAIProvider
from gateway.providers.registry import NO_MODEL, Providers, UnknownModel
from tests.gateway.providers.conftest import KEY, question
from tests.gateway.providers.fake import FakeProvider


def configured(**settings: Any) -> Providers:
    """The registry for these settings and otherwise empty ones, in development."""
    names = [f"{provider}_{name}" for provider in ("OPENAI", "ANTHROPIC", "GEMINI") for name in ("API_KEY", "BASE_URL")]
    empty = dict.fromkeys(names, "") | {f"{name}_MODELS": [] for name in ("OPENAI", "ANTHROPIC", "GEMINI")}
    defaults = {"DEFAULT_MODEL": "offline/demo", "TOOLGATE_ENV": "development", "PROVIDER_IDLE_SECONDS": 30}
    return Providers.from_settings(SimpleNamespace(**(empty | defaults | settings)))


async def test_without_any_key_there_is_the_demo_model() -> None:
    providers = configured()
    provider, model = providers.resolve("offline/demo")
    assert isinstance(provider, DemoProvider)
    assert model == "demo"
    assert providers.models() == ["offline/demo"]


async def test_every_provider_is_given_the_configured_patience() -> None:
    providers = configured(OPENAI_API_KEY=KEY, ANTHROPIC_API_KEY=KEY, GEMINI_API_KEY=KEY, PROVIDER_IDLE_SECONDS=7)
    for name in ("openai", "anthropic", "gemini"):
        provider, _ = providers.resolve(f"{name}/m")
        assert isinstance(provider, OpenAIProvider | AnthropicProvider | GeminiProvider)
        assert provider._upstream._idle_seconds == 7
    await providers.close()


async def test_a_key_configures_a_provider_and_any_of_its_models() -> None:
    providers = configured(OPENAI_API_KEY=KEY, ANTHROPIC_API_KEY=KEY, GEMINI_API_KEY=KEY, DEFAULT_MODEL="openai/gpt-x")
    provider, model = providers.resolve("openai/meta/llama:70b")
    assert isinstance(provider, OpenAIProvider)
    assert model == "meta/llama:70b"
    provider, model = providers.resolve("anthropic/claude")
    assert isinstance(provider, AnthropicProvider)
    assert model == "claude"
    provider, model = providers.resolve("gemini/gemini-x")
    assert isinstance(provider, GeminiProvider)
    assert model == "gemini-x"
    assert providers.models()[0] == "openai/gpt-x"
    await providers.close()


async def test_of_a_provider_with_a_key_the_models_that_its_sdk_names_are_listed() -> None:
    models = configured(OPENAI_API_KEY=KEY, ANTHROPIC_API_KEY=KEY, GEMINI_API_KEY=KEY).models()
    assert models[0] == "offline/demo" and len(set(models)) == len(models)
    listed = {"openai/gpt-4o", "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-flash", "gemini/gemini-flash-latest"}
    assert listed <= set(models)
    assert not any(model.startswith(("anthropic/", "gemini/")) for model in configured(OPENAI_API_KEY=KEY).models())


async def test_what_the_operator_lists_takes_the_place_of_what_is_known() -> None:
    providers = configured(OPENAI_API_KEY=KEY, OPENAI_MODELS=["gpt-x", "gpt-y"], DEFAULT_MODEL="openai/gpt-y")
    assert providers.models() == ["openai/gpt-y", "openai/gpt-x", "offline/demo"]
    provider, model = providers.resolve("openai/gpt-z")
    assert isinstance(provider, OpenAIProvider) and model == "gpt-z"
    await providers.close()


async def test_of_a_server_without_a_key_nothing_is_known_but_what_is_listed() -> None:
    assert configured(OPENAI_BASE_URL="http://127.0.0.1:11434/v1").models() == ["offline/demo"]
    listed = configured(OPENAI_BASE_URL="http://127.0.0.1:11434/v1", OPENAI_MODELS=["llama3.3"])
    assert listed.models() == ["offline/demo", "openai/llama3.3"]


async def test_a_base_url_needs_no_key(fake: FakeProvider) -> None:
    fake.json({"choices": [{"message": {"content": "Hi."}, "finish_reason": "stop"}]})
    providers = configured(OPENAI_BASE_URL=f"{fake.url}/v1", DEFAULT_MODEL="openai/local")
    provider, model = providers.resolve("openai/local")
    assert (await provider.ask(question(model=model))).text == "Hi."
    assert fake.asked[0].headers["Authorization"] == "Bearer no-key"
    await providers.close()


@pytest.mark.parametrize("model", ["", "gpt-x", "gemini/pro", "/gpt-x", "openai/", "openai", "offline/other"])
async def test_an_unknown_model_is_refused_and_the_providers_are_named(model: str) -> None:
    providers = configured(OPENAI_API_KEY=KEY)
    with pytest.raises(UnknownModel) as caught:
        providers.resolve(model)
    assert repr(model) in caught.value.message
    assert "offline" in caught.value.message
    assert KEY not in caught.value.message


async def test_the_message_names_the_configured_providers() -> None:
    with pytest.raises(UnknownModel) as caught:
        configured(OPENAI_API_KEY=KEY).resolve("x/" + "y" * 1000)
    assert caught.value.message == (
        f"Unknown model {'x/' + 'y' * 98!r}. A model is named provider/model, and the configured providers are: "
        "openai, offline."
    )


async def test_production_has_the_demo_model_only_as_its_default() -> None:
    assert configured(TOOLGATE_ENV="production").models() == ["offline/demo"]
    providers = configured(TOOLGATE_ENV="production", OPENAI_API_KEY=KEY, DEFAULT_MODEL="openai/gpt-x")
    assert providers.models()[0] == "openai/gpt-x" and "offline/demo" not in providers.models()
    with pytest.raises(UnknownModel):
        providers.resolve("offline/demo")


async def test_a_default_model_of_a_provider_that_is_not_configured_is_not_listed() -> None:
    assert configured(DEFAULT_MODEL="openai/gpt-x").models() == ["offline/demo"]


async def test_one_adapter_serves_every_question_of_a_loop() -> None:
    providers = configured(OPENAI_API_KEY=KEY)
    first, _ = providers.resolve("openai/a")
    second, _ = providers.resolve("openai/b")
    assert first is second
    await providers.close()
    third, _ = providers.resolve("openai/a")
    assert third is not first
    await providers.close()


async def test_each_event_loop_has_adapters_of_its_own() -> None:
    providers = configured(OPENAI_API_KEY=KEY)
    here, _ = providers.resolve("openai/a")

    async def elsewhere() -> object:
        provider, _ = providers.resolve("openai/a")
        await providers.close()
        return provider

    there = await asyncio.to_thread(asyncio.run, elsewhere())
    assert there is not here
    assert providers.resolve("openai/a")[0] is here
    await providers.close()


def test_no_sdk_is_imported_before_its_provider_is_used() -> None:
    sdks = ("openai", "anthropic", "google.genai")
    code = f"import sys, gateway.providers.registry; print([sdk for sdk in {sdks} if sdk in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


def test_what_the_default_model_lacks_is_one_line() -> None:
    assert configured().fault() == ""
    assert configured(TOOLGATE_ENV="production", OPENAI_API_KEY=KEY, DEFAULT_MODEL="").fault() == NO_MODEL
    assert configured(TOOLGATE_ENV="production", DEFAULT_MODEL="offline/demo").fault() == ""
    line = "DEFAULT_MODEL is openai/gpt-x, and no key or address of openai is configured."
    assert configured(DEFAULT_MODEL="openai/gpt-x").fault() == line


async def test_without_a_default_model_a_request_that_names_none_is_told_who_sets_it() -> None:
    providers = configured(TOOLGATE_ENV="production", OPENAI_API_KEY=KEY, DEFAULT_MODEL="")
    with pytest.raises(UnknownModel) as caught:
        providers.resolve("")
    assert caught.value.message == NO_MODEL
    assert {model.partition("/")[0] for model in providers.models()} == {"openai"}
    with pytest.raises(UnknownModel):
        providers.resolve("offline/demo")
    assert providers.resolve("openai/gpt-x")[1] == "gpt-x"
    await providers.close()
