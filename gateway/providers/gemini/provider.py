"""Google's Gemini, through the official SDK."""

from urllib.parse import quote

from gateway.providers.errors import ProviderGarbled
from gateway.providers.gemini import answers, requests
from gateway.providers.gemini.upstream import GeminiUpstream
from gateway.providers.interface import Answer, Embedded, Family, OnOpaque, OnText, Prompt
from gateway.providers.translation import managed
from gateway.providers.transport.upstream import IDLE_SECONDS, SILENT_SECONDS

_COLLECTIONS = ("models", "tunedModels")


class GeminiProvider:
    """An adapter to the Gemini API at `base_url`, by default Google's own; `guarded`: the address is a tenant's."""

    family: Family = requests.FAMILY

    def __init__(
        self,
        api_key: str,
        base_url: str | None = None,
        name: str = "gemini",
        *,
        silent_seconds: float = SILENT_SECONDS,
        idle_seconds: float = IDLE_SECONDS,
        guarded: bool = False,
    ):
        self.name = name
        self._upstream = GeminiUpstream(
            name, api_key, base_url, silent_seconds=silent_seconds, idle_seconds=idle_seconds, guarded=guarded
        )

    async def ask(self, prompt: Prompt, on_text: OnText | None = None, on_opaque: OnOpaque | None = None) -> Answer:
        """Ask once; see `Provider.ask`.

        The API has no option for one call at a time, so only the first of several is used.
        """
        names = managed.names(prompt)
        body = requests.body(prompt, names)
        pieces = answers.Pieces(on_text, on_opaque)
        if on_text is None:
            pieces.take(await self._upstream.ask(_path(prompt.model, "generateContent"), body))
        else:
            path = _path(prompt.model, "streamGenerateContent?alt=sse")
            whole = await self._upstream.stream(path, body, pieces.take)
            pieces.take(whole or {})
        return pieces.answer(names, single=prompt.options.parallel_tool_calls is False)

    async def embed(self, model: str, texts: list[str]) -> Embedded:
        """The vectors of texts; see `Embeds.embed`. The API does not say how many tokens they have."""
        name = _path(model, "")[:-1]
        asked = [{"model": name, "content": {"parts": [{"text": text}]}} for text in texts]
        answer = await self._upstream.ask(f"{name}:batchEmbedContents", {"requests": asked})
        found = answer.get("embeddings")
        if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
            raise ProviderGarbled("The provider's answer has no embeddings.")
        return Embedded([each.get("values") for each in found])

    async def close(self) -> None:
        """Close the connections."""
        await self._upstream.close()


def _path(model: str, method: str) -> str:
    """The resource of a model, which may be named as `models/…` or `tunedModels/…`; no name leads elsewhere."""
    collection, _, name = model.rpartition("/")
    if collection not in _COLLECTIONS:
        collection, name = _COLLECTIONS[0], model
    return f"{collection}/{quote(name, safe='', errors='replace')}:{method}"
