"""Prompts and resources of a tenant's MCP servers, for whoever may use a tool of them.

Lists come out of the last snapshot. A prompt is called `service.prompt`; a resource has the address that its server
gives it, unless two services have the same: then `toolgate://services/{slug}/resources/{address}`, percent-encoded.
"""

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

# In linear time, whatever a server's template is.
import re2  # type: ignore[import-untyped]

from services.credentials import COLUMNS, Credential
from services.mcp import reading
from services.mcp.reading import Server
from services.prompts.prompting import concerns
from tenants.scope.transactions import Connection, TenantScope, transaction
from tools.gates.policy import Policy
from tools.invocation import evaluation

# What a resource, a prompt or a completion may take.
SECONDS = 10.0
MAX_URI = 4096
_SERVERS = f"""
    SELECT {COLUMNS}, s.timeout, s.mcp FROM services s WHERE s.kind = 'mcp' AND s.enabled ORDER BY s.slug"""
_OWN = re.compile(r"toolgate://services/([^/]+)/resources/(.+)")
_EXPRESSION = re.compile(r"\{([+#./;?&]?)[^{}]*\}")
# What each kind of expression of a template may stand for; the others are a part of one segment.
_EXPANDED = {"+": ".+", "#": "(#.*)?", "/": "(/[^?#]*)?", ".": r"(\.[^/?#]*)?", "?": r"(\?[^#]*)?", "&": "(&[^#]*)?"}

Entry = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Offering:
    server: Server
    seconds: float
    mcp: dict[str, Any]

    def entries(self, kind: str) -> list[Entry]:
        """What the last snapshot has of `resources`, `templates` or `prompts`."""
        return list(self.mcp.get(kind) or ())


async def prompts(connection: Connection, policy: Policy) -> list[Entry]:
    """MCP `Prompt`s of the services that the policy's member may use."""
    found = await _offerings(connection, policy)
    return [each | {"name": f"{offering.server.slug}.{each['name']}"} for offering in found
            for each in offering.entries("prompts")]  # fmt: skip


async def resources(connection: Connection, policy: Policy) -> list[Entry]:
    """MCP `Resource`s of the services that the policy's member may use."""
    return _addressed(await _offerings(connection, policy), "resources", "uri")


async def resource_templates(connection: Connection, policy: Policy) -> list[Entry]:
    """MCP `ResourceTemplate`s of the services that the policy's member may use."""
    return _addressed(await _offerings(connection, policy), "templates", "uriTemplate")


async def get_prompt(
    scope: TenantScope, policy: Policy, name: str, arguments: dict[str, str], answers: Entry | None = None
) -> Entry:
    """A `GetPromptResult` as the server gives it. With `answers`, which may be empty or hold what goes on with an
    earlier request (`inputResponses`, `requestState`), an `InputRequiredResult`, too. Raises LookupError and
    ToolError."""
    offering, own = await _prompt(scope, policy, name)
    params = {"name": own, "arguments": arguments, **(answers or {})}
    asks = answers is not None
    return await reading.ask(scope, offering.server, "prompts/get", params, offering.seconds, asks=asks)


async def read_resource(scope: TenantScope, policy: Policy, uri: str, answers: Entry | None = None) -> Entry:
    """A `ReadResourceResult` as the server gives it: data of a stranger; `answers` as for a prompt. Raises LookupError
    and ToolError."""
    offering, own = await _resource(scope, policy, uri)
    params = {"uri": own, **(answers or {})}
    asks = answers is not None
    return await reading.ask(scope, offering.server, "resources/read", params, offering.seconds, asks=asks)


async def complete(scope: TenantScope, policy: Policy, ref: Entry, argument: Entry, context: Entry | None) -> Entry:
    """A `CompleteResult`, an empty one of a server that completes nothing. Raises LookupError and ToolError."""
    if ref.get("type") == "ref/prompt":
        offering, own = await _prompt(scope, policy, str(ref.get("name")))
        ref = {**ref, "name": own}
    else:
        offering, own = await _resource(scope, policy, str(ref.get("uri")))
        ref = {**ref, "uri": own}
    if not offering.mcp.get("completions"):
        return {"completion": {"values": [], "total": 0, "hasMore": False}}
    params = {"ref": ref, "argument": argument} | ({} if context is None else {"context": context})
    return await reading.ask(scope, offering.server, "completion/complete", params, offering.seconds)


async def _offerings(connection: Connection, policy: Policy) -> list[_Offering]:
    """The MCP servers of the connection's tenant that the policy's member may use a tool of."""
    rows = await (await connection.execute(_SERVERS.encode())).fetchall()
    offered = [tool.name for tool in evaluation.offered(policy)] if rows else []
    return [
        _Offering(
            Server(str(row["service_id"]), row["slug"], row["url"], Credential.of_row(row)),
            min(SECONDS, row["timeout"]),
            row["mcp"],
        )
        for row in rows
        if concerns(row["slug"], policy, offered)
    ]


async def _scoped(scope: TenantScope, policy: Policy) -> list[_Offering]:
    async with transaction(scope) as connection:
        return await _offerings(connection, policy)


async def _prompt(scope: TenantScope, policy: Policy, name: str) -> tuple[_Offering, str]:
    slug, _, own = name.partition(".")
    for offering in await _scoped(scope, policy):
        if offering.server.slug == slug and any(each["name"] == own for each in offering.entries("prompts")):
            return offering, own
    raise LookupError(f"There is no prompt {name:.100}.")


async def _resource(scope: TenantScope, policy: Policy, uri: str) -> tuple[_Offering, str]:
    """The one service whose snapshot has the address, or a template of it, and what the service calls it."""
    found = await _scoped(scope, policy) if len(uri) <= MAX_URI else []
    slug = None
    if (own := _OWN.fullmatch(uri)) is not None:
        slug, uri = unquote(own[1]), unquote(own[2])
        found = [offering for offering in found if offering.server.slug == slug]
    listed = [each for each in found if any(entry["uri"] == uri for entry in each.entries("resources"))]
    holders = listed or [
        each for each in found if any(_fits(entry["uriTemplate"], uri) for entry in each.entries("templates"))
    ]
    if len(holders) != 1:
        raise LookupError(f"There is no resource {uri:.200}.")
    return holders[0], uri


def _fits(template: str, uri: str) -> bool:
    """Whether the address is one of the template's, or the template itself."""
    if template == uri:
        return True
    pattern, end = "", 0
    for expression in _EXPRESSION.finditer(template):
        pattern += re.escape(template[end : expression.start()]) + _EXPANDED.get(expression[1], "[^/?#]+")
        end = expression.end()
    try:
        return re2.fullmatch(pattern + re.escape(template[end:]), uri) is not None
    except re2.error:
        return False


def _addressed(found: list[_Offering], kind: str, key: str) -> list[Entry]:
    """Entries with addresses that name one service each."""
    times = Counter(each[key] for offering in found for each in offering.entries(kind))
    return [
        each if times[each[key]] == 1 else {**each, key: _own(offering.server.slug, each[key])}
        for offering in found
        for each in offering.entries(kind)
    ]


def _own(slug: str, address: str) -> str:
    # Expressions of a template stay expressions.
    return f"toolgate://services/{slug}/resources/{quote(address, safe='{}+,*')}"
