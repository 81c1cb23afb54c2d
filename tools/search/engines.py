"""The search engines that an operator can configure; each asks its own API and returns SearchResults."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import aiohttp

from tools.errors import ToolExecutionError
from tools.interface import Setting
from tools.search.fetch import get_json
from tools.search.results import MAX_RESULTS, SearchResult, results

BRAVE_URL = "https://api.search.brave.com"
SERPAPI_URL = "https://serpapi.com"


class Engine(Protocol):
    """A search engine; `name` is shown to people."""

    @property
    def name(self) -> str:
        """The engine's name for people."""
        ...

    async def search(self, http: aiohttp.ClientSession, query: str, seconds: float) -> list[SearchResult]:
        """At most MAX_RESULTS results within `seconds`; raises ToolTimeout or ToolExecutionError."""
        ...


@dataclass(frozen=True, slots=True)
class Brave:
    """Brave Search; `url` without the path /res/v1/web/search."""

    key: str = field(repr=False)
    url: str = BRAVE_URL
    name: str = "Brave Search"

    async def search(self, http: aiohttp.ClientSession, query: str, seconds: float) -> list[SearchResult]:
        """See Engine."""
        answer = await get_json(
            http,
            self.name,
            self.url.rstrip("/") + "/res/v1/web/search",
            params={"q": query, "count": str(MAX_RESULTS)},
            headers={"X-Subscription-Token": self.key},
            seconds=seconds,
        )
        web = _object(self.name, answer).get("web", {})
        rows = web.get("results") if isinstance(web, dict) else None
        return results(rows, title="title", url="url", snippet="description")


@dataclass(frozen=True, slots=True)
class SerpApi:
    """SerpAPI's Google results; `url` without the path /search.json."""

    key: str = field(repr=False)
    url: str = SERPAPI_URL
    name: str = "SerpAPI"

    async def search(self, http: aiohttp.ClientSession, query: str, seconds: float) -> list[SearchResult]:
        """See Engine."""
        answer = await get_json(
            http,
            self.name,
            self.url.rstrip("/") + "/search.json",
            params={"engine": "google", "q": query, "num": str(MAX_RESULTS), "api_key": self.key},
            seconds=seconds,
        )
        rows = _object(self.name, answer).get("organic_results")
        return results(rows, title="title", url="link", snippet="snippet")


@dataclass(frozen=True, slots=True)
class SearXng:
    """A SearXNG instance with its JSON format enabled; `url` without the path /search."""

    url: str
    name: str = "SearXNG"

    async def search(self, http: aiohttp.ClientSession, query: str, seconds: float) -> list[SearchResult]:
        """See Engine."""
        answer = await get_json(
            http, self.name, self.url.rstrip("/") + "/search", params={"q": query, "format": "json"}, seconds=seconds
        )
        return results(_object(self.name, answer).get("results"), title="title", url="url", snippet="content")


# What an operator configures them with.
SETTINGS = (
    Setting("BRAVE_API_KEY", "the key of Brave Search", secret=True, default=""),
    Setting("BRAVE_BASE_URL", "in place of Brave's own address", default=BRAVE_URL),
    Setting("SERPAPI_API_KEY", "the key of SerpAPI", secret=True, default=""),
    Setting("SERPAPI_BASE_URL", "in place of SerpAPI's own address", default=SERPAPI_URL),
    Setting("SEARXNG_URL", "the address of a SearXNG with its json format enabled", default=""),
)


def configured(settings: Mapping[str, str]) -> Engine | None:
    """The first engine that there is what it needs for: Brave, SerpAPI, SearXNG; None for none."""
    if settings["BRAVE_API_KEY"]:
        return Brave(settings["BRAVE_API_KEY"], settings["BRAVE_BASE_URL"])
    if settings["SERPAPI_API_KEY"]:
        return SerpApi(settings["SERPAPI_API_KEY"], settings["SERPAPI_BASE_URL"])
    if settings["SEARXNG_URL"]:
        return SearXng(settings["SEARXNG_URL"])
    return None


def _object(name: str, answer: Any) -> dict[str, Any]:
    if not isinstance(answer, dict):
        raise ToolExecutionError(f"{name} answered something that is not a list of results.")
    return answer
