"""What an MCP server offers at the moment: its lists, page by page, bounded, as one document."""

from typing import Any

import orjson

from services.errors import SourceFailed
from services.mcp.connection import Connection
from services.mcp.errors import METHOD_NOT_FOUND, HttpFailed, Malformed, McpFailed, Rejected
from services.offers.definition import MAX_TOOLS

MAX_PAGES = 200
MAX_BYTES = 16 * 1024 * 1024
# The list of each request, how many of it are read, and what the document calls it.
_LISTS = {
    "resources/list": ("resources", 1000, "resources"),
    "resources/templates/list": ("resourceTemplates", 200, "templates"),
    "prompts/list": ("prompts", 500, "prompts"),
}


async def read(connection: Connection) -> dict[str, Any]:
    """The document that `services.offers.mcp` reads. Raises McpFailed, EgressFailed."""
    budget = _Budget()
    found: dict[str, Any] = {"tools": await tools(connection, budget)}
    about = connection.session.about
    capabilities = about.get("capabilities") if isinstance(about.get("capabilities"), dict) else {}
    for method, (member, most, name) in _LISTS.items():
        has = method.partition("/")[0] in (capabilities or {})
        found[name] = (await _listed(connection, method, member, budget, most))[:most] if has else []
    found["revision"] = connection.session.revision
    found["about"] = {
        "server": _server(about),
        "instructions": about.get("instructions"),
        "completions": "completions" in (capabilities or {}),
    }
    return found


async def tools(connection: Connection, budget: "_Budget | None" = None) -> list[Any]:
    """The server's tools; one more than a service may have when it has more. Raises McpFailed, EgressFailed."""
    try:
        return await _listed(connection, "tools/list", "tools", budget or _Budget(), MAX_TOOLS)
    except Rejected as rejected:
        # It has none, only resources or prompts.
        if rejected.code == METHOD_NOT_FOUND:
            return []
        raise


class _Budget:
    """What all lists of a server may have together."""

    def __init__(self) -> None:
        self.bytes, self.pages = MAX_BYTES, MAX_PAGES

    def spend(self, page: Any) -> None:
        self.bytes -= len(orjson.dumps(page))
        self.pages -= 1
        if self.bytes < 0:
            raise Malformed(f"What it offers has more than {MAX_BYTES:,} bytes.")
        if self.pages < 0:
            raise Malformed(f"Its lists have more than {MAX_PAGES} pages.")


async def _listed(connection: Connection, method: str, member: str, budget: _Budget, most: int) -> list[Any]:
    found: list[Any] = []
    params: dict[str, Any] = {}
    seen: set[str] = set()
    while True:
        page = await connection.request(method, params)
        budget.spend(page)
        listed = page.get(member)
        if not isinstance(listed, list):
            raise Malformed(f"It answered {method} without {member}.")
        found += listed
        cursor = page.get("nextCursor")
        if not isinstance(cursor, str) or len(found) > most:
            return found
        if cursor in seen:
            raise Malformed(f"The pages of its {member} come back to one that was read.")
        seen.add(cursor)
        params = {"cursor": cursor}


def _server(about: dict[str, Any]) -> dict[str, Any]:
    """Its name and version, which 2026-07-28 has in `_meta`."""
    meta = about.get("_meta")
    inner = meta.get("io.modelcontextprotocol/serverInfo") if isinstance(meta, dict) else None
    given = about.get("serverInfo") or inner
    return given if isinstance(given, dict) else {}


def as_refusal(failed: Exception) -> SourceFailed:
    """Why a server cannot be added or read again, for its owner."""
    if isinstance(failed, HttpFailed):
        words = _status_words(failed)
    elif isinstance(failed, Rejected):
        words = f"The server answered with the error {failed.code}: {failed.said}"
    elif isinstance(failed, McpFailed):
        words = f"This is no MCP server that Toolgate can speak to. {failed}"
    else:
        words = f"The server: {failed}"
    return SourceFailed(words, "url")


def _status_words(failed: HttpFailed) -> str:
    if failed.status in (401, 403, 407):
        return f"The server refuses the credential, or wants one (HTTP {failed.status})."
    if 300 <= failed.status < 400:
        return f"The server answered with a redirect (HTTP {failed.status}), which is not followed."
    said = f" It said: {failed.said}" if failed.said else ""
    return f"The server failed, or is no MCP server (HTTP {failed.status}).{said}"
