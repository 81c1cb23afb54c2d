"""What is asked of an MCP server beside calls: a resource, a prompt, a completion. In the process that needs it."""

import time
import uuid
from collections import Counter
from dataclasses import dataclass, field

import orjson

from services.credentials import Credential, CredentialError, resolver
from services.mcp import results
from services.mcp.connection import connected
from services.mcp.errors import HttpFailed, Malformed, McpFailed, Rejected
from services.mcp.exchange import Message
from tenants.scope.transactions import TenantScope
from tools.errors import ToolExecutionError
from tools.network import clients
from tools.network.egress import EgressFailed

MAX_BYTES = 1024 * 1024
# What one tenant may have under way in this process: another's requests never wait for a slow server of theirs.
MOST_UNDER_WAY = 32
# Codes of what a server does not have.
_UNKNOWN = (-32002, -32602)
_under_way: Counter[uuid.UUID] = Counter()


@dataclass(frozen=True, slots=True)
class Server:
    """An MCP server of a tenant."""

    id: str
    slug: str
    url: str
    credential: Credential = field(repr=False)


async def ask(
    scope: TenantScope, server: Server, method: str, params: Message, seconds: float, *, asks: bool = False
) -> Message:
    """The result of a request without effects. No transaction may be open. With `asks` it may be one that asks for
    input (`resultType` is `input_required` then), for whoever sends the request again with the answers.

    Raises LookupError for what the server does not have, and ToolError, in words for the caller, without a result.
    """
    name = f"The service {server.slug}"
    if _under_way[scope.tenant_id] >= MOST_UNDER_WAY:
        raise ToolExecutionError(f"{name} was not asked: too many requests of this tenant wait for others.")
    began = time.monotonic()
    _under_way[scope.tenant_id] += 1
    try:
        result = await _asked(scope, server, method, params, seconds)
        asking = result.get("resultType") == "input_required"
        if result.get("resultType", "complete") != "complete" and not (asks and asking):
            raise Malformed("It asks for input, which cannot be given here.")
        if len(orjson.dumps(result)) > MAX_BYTES:
            raise Malformed(f"It answered more than {MAX_BYTES:,} bytes.")
        return {member: value for member, value in result.items() if asking or member != "resultType"}
    except CredentialError as failed:
        raise failed.as_tool_error() from None
    except (McpFailed, EgressFailed) as failed:
        if isinstance(failed, Rejected) and failed.code in _UNKNOWN:
            raise LookupError(failed.said) from None
        raise results.as_error(name, failed, time.monotonic() - began, idempotent=True) from None
    finally:
        _under_way[scope.tenant_id] -= 1
        if not _under_way[scope.tenant_id]:
            del _under_way[scope.tenant_id]


async def _asked(scope: TenantScope, server: Server, method: str, params: Message, seconds: float) -> Message:
    headers = await resolver.headers(scope, server.credential)
    for last in (False, True):
        key = scope.tenant_id, f"{server.id} {server.url}", clients.digest(headers)
        try:
            async with connected(key, scope.user_id, server.url, headers, seconds) as connection:
                return await connection.request(method, params)
        except HttpFailed as failed:
            newer = await resolver.refreshed(scope, server.credential, headers) if failed.status == 401 else None
            if last or newer is None:
                raise
            headers = newer
    raise AssertionError("unreachable")
