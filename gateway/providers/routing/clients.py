"""The adapters of named providers: one for each version of a row, per process and event loop, as many as are in use.

One that was replaced, or that nobody has used for the longest time where there are too many, is closed once the last
answer over it has come.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID
from weakref import WeakKeyDictionary

from django.conf import settings

from gateway.providers.errors import ProviderMisconfigured
from gateway.providers.interface import Answer, Embedded, Embeds, Family, OnOpaque, OnText, Prompt, Provider
from gateway.providers.routing.rows import NamedProvider
from tenants.people import encryption
from tenants.people.encryption import Undecipherable

MOST = 256
NO_KEY = "no-key"
# Said here, since an SDK would ask the environment.
ADDRESSES = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
    "gemini": "https://generativelanguage.googleapis.com",
}

_Clients = OrderedDict[UUID, "Client"]
_clients: "WeakKeyDictionary[asyncio.AbstractEventLoop, _Clients]" = WeakKeyDictionary()
_closing: set["asyncio.Task[None]"] = set()


class Client:
    """An adapter that is closed when it is retired and nobody waits for an answer over it; whoever asks over it then
    opens it once more."""

    def __init__(self, make: Callable[[], Provider], version: int):
        adapter = make()
        self.name = adapter.name
        self.family: Family = adapter.family
        self.version = version
        self._make = make
        self._adapter: Provider | None = adapter
        self._asking = 0
        self._retired = False
        if hasattr(adapter, "count_tokens"):
            self.count_tokens = self._count_tokens
        if isinstance(adapter, Embeds):
            self.embed = self._embed

    async def ask(self, prompt: Prompt, on_text: OnText | None = None, on_opaque: OnOpaque | None = None) -> Answer:
        """Ask once; see `Provider.ask`."""
        with self._in_use() as adapter:
            answer: Answer = await adapter.ask(prompt, on_text, on_opaque)
            return answer

    def retire(self) -> None:
        """Close it as soon as nobody uses it."""
        self._retired = True
        self._close_unused()

    async def close(self) -> None:
        """Close the connections."""
        adapter, self._adapter = self._adapter, None
        if adapter is not None:
            await adapter.close()

    async def _embed(self, model: str, texts: list[str]) -> Embedded:
        with self._in_use() as adapter:
            embedded: Embedded = await adapter.embed(model, texts)
            return embedded

    async def _count_tokens(self, prompt: Prompt) -> int:
        with self._in_use() as adapter:
            counted: int = await adapter.count_tokens(prompt)
            return counted

    @contextmanager
    def _in_use(self) -> Iterator[Any]:
        self._adapter = self._adapter or self._make()
        self._asking += 1
        try:
            yield self._adapter
        finally:
            self._asking -= 1
            self._close_unused()

    def _close_unused(self) -> None:
        if self._retired and not self._asking:
            task = asyncio.get_running_loop().create_task(self.close())
            _closing.add(task)
            task.add_done_callback(_closing.discard)


def client(provider: NamedProvider) -> Client:
    """The adapter of a row at its version or a newer one, in the running event loop. Raises ProviderMisconfigured."""
    known = _clients.setdefault(asyncio.get_running_loop(), OrderedDict())
    found = known.get(provider.id)
    if found is None or found.version < provider.version:
        fresh = Client(lambda: built(provider), provider.version)
        if found is not None:
            found.retire()
        found = known[provider.id] = fresh
        if len(known) > MOST:
            known.popitem(last=False)[1].retire()
    known.move_to_end(provider.id)
    return found


async def close() -> None:
    """Close the adapters of the running event loop."""
    for each in _clients.pop(asyncio.get_running_loop(), OrderedDict()).values():
        await each.close()


def built(provider: NamedProvider) -> Provider:
    """An adapter of a row, in nobody's hands. Raises ProviderMisconfigured."""
    try:
        key = encryption.decrypt(provider.api_key) if provider.api_key else NO_KEY
    except Undecipherable:
        raise ProviderMisconfigured(
            f"The key of the provider {provider.slug} cannot be read any more. An owner can give it anew under "
            "Settings, Models; the operator knows the keys that encrypt (TOOLGATE_ENCRYPTION_KEYS)."
        ) from None
    return adapter(
        provider.kind, key, provider.base_url, provider.slug, guarded=provider.own and bool(provider.base_url)
    )


def adapter(kind: str, key: str, base_url: str, name: str, *, guarded: bool) -> Provider:
    """An adapter to an API of that kind, which takes nothing of the environment."""
    address, idle = base_url or ADDRESSES[kind], settings.PROVIDER_IDLE_SECONDS
    # Each SDK costs tens of MiB and most of a second to import, which only a process that uses it should pay.
    if kind == "anthropic":
        from gateway.providers.anthropic.provider import AnthropicProvider

        return AnthropicProvider(key, address, name, idle_seconds=idle, isolated=True, guarded=guarded)
    if kind == "gemini":
        from gateway.providers.gemini.provider import GeminiProvider

        return GeminiProvider(key, address, name, idle_seconds=idle, guarded=guarded)
    from gateway.providers.openai.provider import OpenAIProvider

    return OpenAIProvider(key, address, name, idle_seconds=idle, isolated=True, guarded=guarded)
