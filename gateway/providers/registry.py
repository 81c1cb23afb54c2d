"""Which providers are configured, and their adapters: one a process and event loop, built on first use."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from gateway.providers import known_models
from gateway.providers.demo.provider import DemoProvider
from gateway.providers.interface import Provider

DEMO_MODEL = f"{DemoProvider.name}/{DemoProvider.model}"
_NO_KEY = "no-key"
NO_MODEL = (
    "No model is configured: the operator sets DEFAULT_MODEL (such as openai/gpt-4o-mini) and the key of its provider "
    "(such as OPENAI_API_KEY). Until then a request or its agent has to name a model; an owner of your tenant can "
    "add a provider under Settings, Models."
)


class UnknownModel(LookupError):
    """No configured provider has this model; the message names those that there are."""

    def __init__(self, message: str):
        super().__init__(message)
        self.message = message


class Providers:
    """The configured providers by name; `builders` make their adapters. `listed` are the models that the operator names
    of a provider, which take the place of those that are known of it."""

    def __init__(
        self,
        builders: Mapping[str, Callable[[], Provider]],
        default_model: str,
        listed: Mapping[str, Sequence[str]] | None = None,
    ):
        self._builders = dict(builders)
        self._default_model = default_model
        self._listed = dict(listed or {})
        # An HTTP client belongs to the loop that it was first used in.
        self._built: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, Provider]] = WeakKeyDictionary()

    @classmethod
    def from_settings(cls, settings: Any) -> "Providers":
        """Read the *_API_KEY, *_BASE_URL and *_MODELS settings, PROVIDER_IDLE_SECONDS, DEFAULT_MODEL and TOOLGATE_ENV.

        A base URL alone needs no key; what models such a server has is not known unless *_MODELS says so.
        """
        builders: dict[str, Callable[[], Provider]] = {}
        idle: float = settings.PROVIDER_IDLE_SECONDS
        if settings.OPENAI_API_KEY or settings.OPENAI_BASE_URL:
            builders["openai"] = lambda: _openai(
                settings.OPENAI_API_KEY or _NO_KEY, settings.OPENAI_BASE_URL or None, idle
            )
        if settings.ANTHROPIC_API_KEY or settings.ANTHROPIC_BASE_URL:
            builders["anthropic"] = lambda: _anthropic(
                settings.ANTHROPIC_API_KEY or _NO_KEY, settings.ANTHROPIC_BASE_URL or None, idle
            )
        if settings.GEMINI_API_KEY or settings.GEMINI_BASE_URL:
            builders["gemini"] = lambda: _gemini(
                settings.GEMINI_API_KEY or _NO_KEY, settings.GEMINI_BASE_URL or None, idle
            )
        if settings.TOOLGATE_ENV == "development" or settings.DEFAULT_MODEL == DEMO_MODEL:
            builders[DemoProvider.name] = DemoProvider
        listed: dict[str, Sequence[str]] = {}
        for provider in ("openai", "anthropic", "gemini"):
            named = getattr(settings, f"{provider.upper()}_MODELS")
            if named or not getattr(settings, f"{provider.upper()}_API_KEY"):
                listed[provider] = named
        return cls(builders, settings.DEFAULT_MODEL, listed)

    @property
    def default_model(self) -> str:
        """What "" stands for; empty when the operator names none."""
        return self._default_model

    def has(self, name: str) -> bool:
        """Whether a provider of this name is configured."""
        return name in self._builders

    def names(self) -> list[str]:
        """The configured providers."""
        return list(self._builders)

    def models(self) -> list[str]:
        """The known models of the configured providers, as "provider/model", the default one first.

        No provider is asked, but SDKs may be imported: call it off the event loop.
        """
        named = [self._default_model] if self._default_model.partition("/")[0] in self._builders else []
        for provider in self._builders:
            models = [DemoProvider.model] if provider == DemoProvider.name else self._listed.get(provider)
            named += [f"{provider}/{model}" for model in (known_models.of(provider) if models is None else models)]
        return list(dict.fromkeys(named))

    def fault(self) -> str:
        """Why a request that names no model cannot be answered, in one line; empty when it can."""
        if not self._default_model:
            return NO_MODEL
        provider = self._default_model.partition("/")[0]
        if provider in self._builders:
            return ""
        return f"DEFAULT_MODEL is {self._default_model}, and no key or address of {provider} is configured."

    def check(self, model: str) -> tuple[str, str]:
        """The name of the provider and its own name for "provider/model". Raises UnknownModel."""
        if not model and not self._default_model:
            raise UnknownModel(NO_MODEL)
        provider, slash, name = model.partition("/")
        if not slash or not name or provider not in self._builders:
            raise UnknownModel(
                f"Unknown model {model[:100]!r}. A model is named provider/model, and the configured providers are: "
                f"{', '.join(self._builders) or 'none'}."
            )
        if provider == DemoProvider.name and model != DEMO_MODEL:
            raise UnknownModel(f"Unknown model {model[:100]!r}. The offline provider's only model is {DEMO_MODEL}.")
        return provider, name

    def resolve(self, model: str) -> tuple[Provider, str]:
        """The adapter and its own name for "provider/model"; call it in a running event loop.

        Raises UnknownModel.
        """
        provider, name = self.check(model)
        built = self._built.setdefault(asyncio.get_running_loop(), {})
        if provider not in built:
            built[provider] = self._builders[provider]()
        return built[provider], name

    async def close(self) -> None:
        """Close the adapters of the running event loop."""
        for provider in self._built.pop(asyncio.get_running_loop(), {}).values():
            await provider.close()


# Each SDK costs tens of MiB and most of a second to import, which only a process that uses it should pay.
def _openai(api_key: str, base_url: str | None, idle_seconds: float) -> Provider:
    from gateway.providers.openai.provider import OpenAIProvider

    return OpenAIProvider(api_key, base_url, idle_seconds=idle_seconds)


def _anthropic(api_key: str, base_url: str | None, idle_seconds: float) -> Provider:
    from gateway.providers.anthropic.provider import AnthropicProvider

    return AnthropicProvider(api_key, base_url, idle_seconds=idle_seconds)


def _gemini(api_key: str, base_url: str | None, idle_seconds: float) -> Provider:
    from gateway.providers.gemini.provider import GeminiProvider

    return GeminiProvider(api_key, base_url, idle_seconds=idle_seconds)
