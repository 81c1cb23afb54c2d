"""OpenAI's chat completions, and every server that speaks them, through the official SDK."""

from typing import Any

import openai

from gateway.providers.errors import ProviderGarbled
from gateway.providers.interface import Answer, Embedded, Family, OnOpaque, OnText, Prompt
from gateway.providers.openai import answers, requests
from gateway.providers.translation import managed
from gateway.providers.transport import streams
from gateway.providers.transport.upstream import IDLE_SECONDS, SILENT_SECONDS, Upstream, unsent

_PATH, _EMBEDDINGS = "/chat/completions", "/embeddings"
_RAW_ARGUMENTS = streams.raw_member(b"arguments")


class OpenAIProvider:
    """An adapter to the chat completions API at `base_url`, by default OpenAI's own.

    `isolated`: nothing of the environment goes along; `guarded`: the address is a tenant's.
    """

    family: Family = requests.FAMILY

    def __init__(
        self,
        api_key: str,
        base_url: str | None = None,
        name: str = "openai",
        *,
        silent_seconds: float = SILENT_SECONDS,
        idle_seconds: float = IDLE_SECONDS,
        isolated: bool = False,
        guarded: bool = False,
    ):
        self.name = name
        client = openai.AsyncOpenAI(
            api_key=api_key, base_url=base_url, max_retries=0, http_client=unsent(silent_seconds)
        )
        if isolated:
            # What the SDK takes of the environment is the operator's.
            client.organization = client.project = None
            client._custom_headers = {}
        # OpenAI's newer models refuse `max_tokens`; other servers often know nothing else.
        own = client.base_url.host.endswith("openai.com")
        self._limit = "max_completion_tokens" if own else "max_tokens"
        self._upstream = Upstream(
            name,
            client,
            _RAW_ARGUMENTS,
            silent_seconds=silent_seconds,
            idle_seconds=idle_seconds,
            guarded=guarded,
        )

    async def ask(self, prompt: Prompt, on_text: OnText | None = None, on_opaque: OnOpaque | None = None) -> Answer:
        """Ask once; see `Provider.ask`."""
        names = managed.names(prompt)
        body = requests.body(prompt, names, limit=self._limit, streaming=on_text is not None)
        if on_text is None:
            return answers.read(await self._upstream.ask(_PATH, body), names)
        pieces = answers.Pieces(on_text, on_opaque)
        whole = await self._upstream.stream(_PATH, body, pieces.take)
        if whole is None:
            return pieces.answer(names)
        answer = answers.read(whole, names)
        if on_opaque is not None:
            for part in answer.opaque:
                on_opaque(part)
        if answer.text:
            on_text(answer.text)
        return answer

    async def embed(self, model: str, texts: list[str]) -> Embedded:
        """The vectors of texts; see `Embeds.embed`."""
        body = {"model": model, "input": texts, "encoding_format": "float"}
        return _embedded(await self._upstream.ask(_EMBEDDINGS, body))

    async def close(self) -> None:
        """Close the connections."""
        await self._upstream.close()


def _embedded(answer: dict[str, Any]) -> Embedded:
    data, usage = answer.get("data"), answer.get("usage")
    if not isinstance(data, list) or not all(isinstance(each, dict) for each in data):
        raise ProviderGarbled("The provider's answer has no embeddings.")
    if all(isinstance(each.get("index"), int) for each in data):
        data = sorted(data, key=lambda each: each["index"])
    tokens = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    return Embedded([each.get("embedding") for each in data], tokens if isinstance(tokens, int) and tokens > 0 else 0)
