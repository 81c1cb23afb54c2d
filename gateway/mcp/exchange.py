"""One request to `/mcp` on its way through the SDK: whose it is, and whether its client still listens."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

import orjson

from audit.calls.rows import ToolCall
from tenants.people.principal import Principal
from tenants.scope.transactions import TenantScope
from tools.invocation.invoke import Begun

# Where the ASGI scope of the request has it.
KEY = "toolgate.exchange"


async def _unchecked() -> None:
    """Of an exchange that ends before its key can."""


@dataclass(slots=True)
class Exchange:
    """`gone`: the client has hung up, which in this protocol means that it does not want the result any more.

    `session` is what the client calls itself, empty when it does not. `check_key` raises Refused once the client's key
    or token is not valid any more. `streams` is set once the answer has begun as a stream of events, to which `write`
    adds bytes.

    Where `gateway.mcp.calls.direct` has begun a call: `beginning` records it, `looked` is the call as it was seen last,
    and `known` says that the client can cancel it. `after` is left once the request is answered.
    """

    principal: Principal
    session: str = ""
    check_key: Callable[[], Awaitable[object]] = _unchecked
    gone: bool = False
    streams: asyncio.Event = field(default_factory=asyncio.Event)
    write: Callable[[bytes], Awaitable[None]] | None = None
    beginning: "asyncio.Task[Begun] | None" = None
    looked: ToolCall | None = None
    known: bool = False
    after: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def say(self, message: dict[str, Any]) -> None:
        """Send a JSON-RPC message of our own to the client, beside what the SDK sends it."""
        await self.streams.wait()
        assert self.write is not None
        await self.write(b"event: message\r\ndata: %b\r\n\r\n" % orjson.dumps(message))

    def name_of(self, *what: object) -> str:
        """Where Redis has something of this client's: its key, and what it calls itself."""
        # A string and an integer are different ids.
        named = repr((self.session, *what)).encode("utf-8", "backslashreplace")
        digest = hashlib.sha256(named).hexdigest()
        return f"toolgate:mcp:{self.principal.tenant_id}:{self.principal.user_id}:{self.principal.key_id}:{digest}"

    @property
    def tenant_scope(self) -> TenantScope:
        """The tenant scope of what it does."""
        return TenantScope(self.principal.tenant_id, self.principal.user_id)


def of(context: Any) -> Exchange:
    """The exchange of an SDK's request context."""
    found: Exchange = context.request.scope[KEY]
    return found
