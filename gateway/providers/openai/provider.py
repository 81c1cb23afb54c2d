"""OpenAI's chat completions, and every server that speaks them, through the official SDK."""

import openai

from gateway.providers import streams
from gateway.providers.interface import Answer, Family, OnOpaque, OnText, Prompt
from gateway.providers.openai import answers, requests
from gateway.providers.upstream import IDLE_SECONDS, SILENT_SECONDS, Upstream, unsent

_PATH = "/chat/completions"
_RAW_ARGUMENTS = streams.raw_member(b"arguments")


class OpenAIProvider:
    """An adapter to the chat completions API at `base_url`, by default OpenAI's own."""

    family: Family = requests.FAMILY

    def __init__(
        self,
        api_key: str,
        base_url: str | None = None,
        name: str = "openai",
        *,
        silent_seconds: float = SILENT_SECONDS,
        idle_seconds: float = IDLE_SECONDS,
    ):
        self.name = name
        client = openai.AsyncOpenAI(
            api_key=api_key, base_url=base_url, max_retries=0, http_client=unsent(silent_seconds)
        )
        # OpenAI's newer models refuse `max_tokens`; other servers often know nothing else.
        own = client.base_url.host.endswith("openai.com")
        self._limit = "max_completion_tokens" if own else "max_tokens"
        self._upstream = Upstream(
            name, client, _RAW_ARGUMENTS, silent_seconds=silent_seconds, idle_seconds=idle_seconds
        )

    async def ask(self, prompt: Prompt, on_text: OnText | None = None, on_opaque: OnOpaque | None = None) -> Answer:
        """Ask once; see `Provider.ask`."""
        names = requests.names(prompt)
        body = requests.body(prompt, names, limit=self._limit, streaming=on_text is not None)
        if on_text is None:
            return answers.whole(await self._upstream.ask(_PATH, body), names)
        pieces = answers.Pieces(on_text, on_opaque)
        whole = await self._upstream.stream(_PATH, body, pieces.take)
        if whole is None:
            return pieces.answer(names)
        answer = answers.whole(whole, names)
        if on_opaque is not None:
            for part in answer.opaque:
                on_opaque(part)
        if answer.text:
            on_text(answer.text)
        return answer

    async def close(self) -> None:
        """Close the connections."""
        await self._upstream.close()
