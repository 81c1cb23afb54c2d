"""Anthropic's messages, through the official SDK."""

import re
from typing import Any

import anthropic

from gateway.providers.anthropic import answers, requests
from gateway.providers.anthropic.blocks import FAMILY
from gateway.providers.interface import Answer, Family, OnOpaque, OnText, Prompt, Unsupported
from gateway.providers.translation import managed
from gateway.providers.transport import streams
from gateway.providers.transport.upstream import IDLE_SECONDS, SILENT_SECONDS, Upstream, unsent

_PATH = "/v1/messages"
_COUNT_PATH = "/v1/messages/count_tokens"
_RAW_INPUT = streams.raw_member(b"input")
_BETA = re.compile(r"[A-Za-z0-9._-]{1,100}")


class AnthropicProvider:
    """An adapter to the messages API at `base_url`, by default Anthropic's own.

    `isolated`: nothing of the environment goes along; `guarded`: the address is a tenant's.
    """

    family: Family = FAMILY

    def __init__(
        self,
        api_key: str,
        base_url: str | None = None,
        name: str = "anthropic",
        *,
        silent_seconds: float = SILENT_SECONDS,
        idle_seconds: float = IDLE_SECONDS,
        isolated: bool = False,
        guarded: bool = False,
    ):
        self.name = name
        client = anthropic.AsyncAnthropic(
            api_key=api_key, base_url=base_url, max_retries=0, http_client=unsent(silent_seconds)
        )
        if isolated:
            # What the SDK takes of the environment is the operator's.
            client.auth_token = None
            client._custom_headers = {}
        self._upstream = Upstream(
            name, client, _RAW_INPUT, silent_seconds=silent_seconds, idle_seconds=idle_seconds, guarded=guarded
        )

    async def ask(self, prompt: Prompt, on_text: OnText | None = None, on_opaque: OnOpaque | None = None) -> Answer:
        """Ask once; see `Provider.ask`."""
        names = managed.names(prompt)
        body = requests.body(prompt, names)
        headers = _headers(prompt)
        if on_text is None:
            return answers.read(await self._upstream.ask(_PATH, body, headers), names)
        body["stream"] = True
        pieces = answers.Pieces(on_text, on_opaque)
        whole = await self._upstream.stream(_PATH, body, pieces.take, headers)
        if whole is None:
            return pieces.answer(names)
        answer = answers.read(whole, names)
        if on_opaque is not None:
            for part in answer.opaque:
                on_opaque(part)
        if answer.text:
            on_text(answer.text)
        return answer

    async def count_tokens(self, prompt: Prompt) -> int:
        """How many tokens the prompt has as input. Raises ProviderError and Unsupported as `ask` does."""
        body = requests.counted(prompt, managed.names(prompt))
        counted = await self._upstream.ask(_COUNT_PATH, body, _headers(prompt))
        return streams.count(counted.get("input_tokens"))

    async def close(self) -> None:
        """Close the connections."""
        await self._upstream.close()


def _headers(prompt: Prompt) -> dict[str, str]:
    """The headers of this request alone: the betas that it switches on. Raises Unsupported."""
    options = prompt.options
    betas: Any = options.extra.get(requests.BETAS) if options.family == FAMILY else None
    if not betas:
        return {}
    if not isinstance(betas, list) or not all(isinstance(beta, str) and _BETA.fullmatch(beta) for beta in betas):
        raise Unsupported("betas: Input should be a list of names of betas", requests.BETAS)
    return {"anthropic-beta": ",".join(betas)}
