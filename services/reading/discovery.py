"""What is at an address that somebody pasted: a descriptor, an OpenAPI document or an MCP server.

It is asked at most three times, through the egress guard and within bounds, and no tool is called. An MCP server is
asked for its list of tools besides, where a page shows it.
"""

import asyncio
import json
import re
from dataclasses import dataclass, field, replace
from typing import Any

import orjson
from yarl import URL

from services import fetching, snapshots
from services.errors import AnswersEvents, InvalidService, NothingFound, SourceFailed
from services.mcp import connection, listing
from services.mcp.errors import OLD_TRANSPORT, HttpFailed, McpFailed
from services.offers import documents, openapi
from services.offers.openapi import Choice
from services.offers.openapi.servers import with_defaults
from tools.network import egress

MOST_ANSWER = 256 * 1024
CONNECT_SECONDS, SECONDS = 5.0, 10.0
# All that is tried, together.
ALL_SECONDS = 30.0
# Of a suggestion: there is space left for a number, and for the names of tools.
MOST_SLUG = 24
WELL_KNOWN = "/openapi.json"
_INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "Toolgate", "version": "1"},
    },
}
_MCP_HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
_NO_SLUG = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Found:
    """What an address, or a text, turned out to be; `url` is where its tools would be called.

    `document` is the address of what was read; `text` is what was pasted instead. `choices` are the operations of an
    OpenAPI document.
    """

    kind: str
    url: str
    title: str = ""
    document: str = ""
    text: str = ""
    choices: list[Choice] = field(default_factory=list)
    tools: list[dict[str, Any]] = field(default_factory=list)
    needs_credential: bool = False

    @property
    def slug(self) -> str:
        """A slug to begin with: of the title, else of the host."""
        host = (URL(self.url).host or "").removeprefix("www.").removeprefix("api.") if self.url else ""
        for words in (self.title, host.partition(".")[0]):
            made = _NO_SLUG.sub("-", words.lower()).strip("-").lstrip("0123456789-")
            if len(made) > MOST_SLUG:
                made = made[:MOST_SLUG].rpartition("-")[0] or made[:MOST_SLUG]
            if made:
                return made
        return ""


async def look(address: str) -> Found:
    """What is at an address; raises InvalidService for one that may not be asked, and NothingFound."""
    try:
        async with asyncio.timeout(ALL_SECONDS):
            return await _look(address.strip())
    except TimeoutError:
        raise NothingFound("The address did not answer in time.") from None


async def _look(address: str) -> Found:
    tried, events = [], False
    try:
        return await asyncio.to_thread(of_text, await fetching.fetch(address, "url"), address)
    except AnswersEvents:
        events = True
    except (SourceFailed, NothingFound) as nothing:
        tried.append(f"As a document: {nothing.detail}")
    found = await _mcp(address)
    if isinstance(found, Found):
        return found
    if events:
        raise NothingFound(OLD_TRANSPORT)
    tried.append(f"As an MCP server: {found}")
    known = str(URL(address).origin()) + WELL_KNOWN
    if URL(address).path != WELL_KNOWN:
        try:
            return await asyncio.to_thread(of_text, await fetching.fetch(known, "url"), known)
        except (SourceFailed, NothingFound) as nothing:
            tried.append(f"{WELL_KNOWN} of the same host: {nothing.detail}")
    why = {each.partition(": ")[2] for each in tried}
    said = why.pop() if len(why) == 1 else " ".join(tried)
    raise NothingFound(f"There is no descriptor, OpenAPI document or MCP server that can be read. {said}")


async def listed(server: Found) -> Found:
    """The same MCP server with the tools that it lists to somebody without a credential; it may want one for that."""
    if server.kind != "mcp" or server.needs_credential:
        return server
    try:
        async with asyncio.timeout(SECONDS), connection.once(server.url, {}, SECONDS) as connected:
            tools = await listing.tools(connected)
    except (McpFailed, egress.EgressFailed, egress.EgressRefused, TimeoutError) as failed:
        wants_one = isinstance(failed, HttpFailed) and failed.status in (401, 403)
        return replace(server, needs_credential=wants_one)
    offered = [each for each in tools if isinstance(each, dict) and isinstance(each.get("name"), str)]
    return replace(
        server, tools=[{"name": each["name"], "description": str(each.get("description", ""))} for each in offered]
    )


def of_text(text: str, address: str = "") -> Found:
    """What a document is, whose address is given when it was fetched; raises NothingFound, InvalidService."""
    try:
        document = documents.decoded(text, "url")
    except InvalidService as unreadable:
        raise NothingFound(unreadable.detail) from None
    origin = str(URL(address).origin()) if address else ""
    pasted = "" if address else documents.as_json(text, "url")
    if isinstance(document, dict) and "openapi" in document:
        info = document.get("info")
        title = info.get("title") if isinstance(info, dict) else None
        words = title if isinstance(title, str) else ""
        url = _server(document, address) or origin
        return Found("openapi", url, words[:200], address, pasted, choices=openapi.choices(document))
    if isinstance(document, dict) and ({"tools", "endpoints"} & set(document)):
        offer = snapshots.read("http", "a", document, [])
        tools = [{"name": tool.name, "description": tool.given["description"]} for tool in offer.tools]
        name = document.get("name")
        return Found("http", origin, name[:200] if isinstance(name, str) else "", address, pasted, tools=tools)
    if isinstance(document, dict) and "swagger" in document:
        raise NothingFound("It is a Swagger 2 document; OpenAPI 3.0 to 3.2 can be read.")
    raise NothingFound("It is JSON, but neither a descriptor nor an OpenAPI document.")


def _server(document: dict[str, Any], address: str) -> str:
    """The first server that the document names, where that is an address once variables have their defaults."""
    servers = document.get("servers")
    first = servers[0] if isinstance(servers, list) and servers and isinstance(servers[0], dict) else {}
    given = with_defaults(first.get("url"), first.get("variables"))
    if not isinstance(given, str) or "{" in given:
        return ""
    try:
        joined = URL(address).join(URL(given)) if address else URL(given)
        return str(egress.check(joined)).rstrip("/") if not joined.query_string and not joined.fragment else ""
    except (ValueError, egress.EgressRefused):
        return ""


async def _mcp(address: str) -> Found | str:
    """The MCP server at an address, or why it is none: `initialize` is sent, and nothing after it."""
    try:
        answer = await egress.request(
            "POST",
            address,
            data=json.dumps(_INITIALIZE).encode(),
            headers=_MCP_HEADERS,
            connect_seconds=CONNECT_SECONDS,
            seconds=SECONDS,
            most=MOST_ANSWER,
        )
    except egress.EgressRefused as refused:
        raise InvalidService(str(refused), "url") from None
    except egress.EgressFailed as failed:
        return str(failed)
    if answer.status == 401:
        # Whoever refuses `initialize` without a credential may well be one.
        return Found("mcp", address, needs_credential=True)
    for message in _messages(answer.body.decode("utf-8", "replace")):
        if isinstance(message, dict) and message.get("jsonrpc") == "2.0" and ({"result", "error"} & set(message)):
            result = message.get("result")
            about = result.get("serverInfo") if isinstance(result, dict) else None
            name = about.get("title") or about.get("name") if isinstance(about, dict) else ""
            return Found("mcp", address, name[:200] if isinstance(name, str) else "")
    return f"It does not speak MCP (HTTP {answer.status})."


def _messages(text: str) -> list[Any]:
    """The JSON values in an answer that is JSON, or server-sent events."""
    lines = [line.removeprefix("data:") for line in text.splitlines() if line.startswith("data:")]
    found = []
    for each in [text, *lines]:
        try:
            found.append(orjson.loads(each))
        except ValueError:
            continue
    return found
