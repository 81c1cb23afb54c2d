"""web_search: current information from the web, through the engine that the operator configured."""

import hashlib
from typing import Any, ClassVar

from tools.interface import Tier, Tool, ToolContext, ToolResult, held
from tools.labels import Label
from tools.search import demo
from tools.search.engines import SETTINGS, Engine, configured

_CACHE_SECONDS = 300
_SHOWN_QUERY = 80


class WebSearch(Tool):
    """Search the web; answers of the last five minutes come from the tenant's cache."""

    name = "web_search"
    description = (
        "Search the web for current information. Returns up to 8 results, each with a title, a URL and a snippet."
    )
    parameters: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "query": {
                "type": "string",
                "description": "The search query, as one would type it into a search engine.",
                "minLength": 1,
                "maxLength": 500,
            }
        },
        "required": ["query"],
        "additionalProperties": False,
    }
    tier = Tier.READ_ONLY
    labels = frozenset({Label.READS_UNTRUSTED})
    handles = frozenset({"http", "cache"})
    settings = SETTINGS
    rate = "10/m"
    idempotent = True
    parallel_safe = True

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        """Output: `{"results": [{"title", "url", "snippet"}]}`. Raises ToolTimeout or ToolExecutionError."""
        query: str = params["query"]
        engine = configured(ctx.settings)
        if engine is None:
            found = [result.as_json() for result in demo.search(query)]
            return _answer(query, found, f" (bundled demo set; configure an engine: {demo.HOW_TO_CONFIGURE})")
        key = _cache_key(engine, query)
        cached = await ctx.cache.get(key) if ctx.cache else None
        if isinstance(cached, list):
            return _answer(query, cached, f" from {engine.name} (cached)")
        results = await engine.search(held(ctx.http, "http"), query, ctx.seconds)
        found = [result.as_json() for result in results]
        if ctx.cache:
            await ctx.cache.set(key, found, _CACHE_SECONDS)
        return _answer(query, found, f" from {engine.name}")


def _cache_key(engine: Engine, query: str) -> str:
    return f"web_search:{hashlib.sha256(f'{engine.name}:{query}'.encode()).hexdigest()}"


def _answer(query: str, found: list[dict[str, str]], source: str) -> ToolResult:
    shown = " ".join(query.split())
    shown = shown if len(shown) <= _SHOWN_QUERY else shown[:_SHOWN_QUERY] + "…"
    count = "1 result" if len(found) == 1 else f"{len(found)} results"
    return ToolResult({"results": found}, f"{count} for “{shown}”{source}")
