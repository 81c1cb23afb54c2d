"""A tool of an MCP server as a `Tool`: one `tools/call` in the worker."""

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable
from typing import Any

from services.credentials import CredentialError, RefusedThere, resolver
from services.execution.tool import SHARE, Declared, Endpoint, ServiceTool
from services.mcp import asking, listing, results
from services.mcp.connection import Connection, connected
from services.mcp.errors import HEADER_MISMATCH, INVALID_PARAMS, METHOD_NOT_FOUND, HttpFailed, McpFailed, Rejected
from services.mcp.exchange import Message
from services.offers import marks, mcp
from tenants.scope.transactions import TenantScope
from tools.errors import ToolCallRejected
from tools.interface import ToolContext, ToolResult
from tools.network.egress import EgressFailed

# Takes a new snapshot of the service of this slug.
LookAgain = Callable[[TenantScope, str], Awaitable[None]]

# Errors that may come of another definition: parameters, an unknown tool, another place of a header.
_OF_THE_TOOL = (INVALID_PARAMS, METHOD_NOT_FOUND, HEADER_MISMATCH)
# How long looking may take once a call has failed, and how long the next failure that says nothing is not looked into.
LOOK_SECONDS, LOOK_PAUSE = 5.0, 10.0


class McpTool(ServiceTool):
    """One that is called over the Model Context Protocol, through the egress guard."""

    def __init__(self, declared: Declared, endpoint: Endpoint, look_again: LookAgain | None = None):
        super().__init__(declared)
        self._endpoint, self._look_again = endpoint, look_again

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        """Output: content, structured content and `_meta` of the server's result, as they came.

        A question of the server to its user is raised as InputRequired; the call is made again with the answer.
        """
        self.check(params)
        began = time.monotonic()
        scope, credential = TenantScope(ctx.tenant_id, ctx.user_id), self._endpoint.credential
        try:
            headers = await resolver.headers(scope, credential)
            try:
                return await self._with(headers, params, ctx, began)
            except HttpFailed as failed:
                newer = await resolver.refreshed(scope, credential, headers) if failed.status == 401 else None
                if newer is None:
                    raise
            # What was refused has had no effect.
            return await self._with(newer, params, ctx, began)
        except CredentialError as failed:
            raise failed.as_tool_error() from None
        except (McpFailed, EgressFailed) as failed:
            if credential.personal and isinstance(failed, HttpFailed) and failed.status in RefusedThere.STATUSES:
                raise RefusedThere(credential.slug, failed.status, failed.missing).as_tool_error() from None
            elapsed = time.monotonic() - began
            raise results.as_error(self.name, failed, elapsed, idempotent=self.idempotent) from None

    async def _with(
        self, headers: dict[str, str], params: dict[str, Any], ctx: ToolContext, began: float
    ) -> ToolResult:
        key = self._endpoint.key(ctx.tenant_id, headers)
        seconds = ctx.seconds * SHARE - (time.monotonic() - began)
        async with connected(key, ctx.user_id, self._endpoint.url, headers, seconds) as connection:
            return await self._called(connection, params, ctx)

    async def _called(self, connection: Connection, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        http = self._endpoint.http
        questions = asking.Questions(ctx, repeatable=self.idempotent)
        asked = {"name": http["tool"], "arguments": params}
        try:
            result = await asking.until_complete(
                lambda more: connection.request(
                    "tools/call",
                    asked | more,
                    headers=marks.of_arguments(http["headers"], params),
                    progress=_reporter(ctx),
                    logged=_logger(ctx, self.name.partition(".")[0]),
                    answer=questions.answer,
                ),
                questions,
            )
            found = results.output(self.name, result)
        except Rejected as rejected:
            if rejected.code in _OF_THE_TOOL:
                await self._compare(connection, ctx, rejected.said)
            raise
        except ToolCallRejected as failed:
            # Some say in a result that they do not have the tool.
            if connection.session.known.looked_at + LOOK_PAUSE < time.monotonic():
                await self._compare(connection, ctx, failed.message)
            raise
        note = results.mismatch(self.name, found, http.get("output"))
        if questions.unanswered:
            note += results.UNANSWERED
        return ToolResult(found, results.shown(self.name, found) + note)

    async def _compare(self, connection: Connection, ctx: ToolContext, said: str) -> None:
        """Raise ToolCallRejected where the server does not offer the tool any more as it was accepted."""
        connection.session.known.looked_at = time.monotonic()
        slug, upstream = self.name.partition(".")[0], self._endpoint.http["tool"]
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                present = mcp.hash_of(slug, await listing.tools(connection), upstream)
        except (McpFailed, EgressFailed, TimeoutError):
            # The call has failed all the same; the next look may find out.
            return
        if bound(present, self._endpoint.url) == self.binding or self._look_again is None:
            return
        await self._look_again(TenantScope(ctx.tenant_id, ctx.user_id), slug)
        raise ToolCallRejected(
            f"{self.name} is not offered any more as it was accepted, so it is closed until an owner has read what"
            f" changed (/settings/services/). The call failed: {said}"
        )


def bound(definition: str, url: str) -> str:
    """As `services.catalogue` makes a binding."""
    return hashlib.sha256(f"{definition} {url}".encode()).hexdigest()


def _reporter(ctx: ToolContext) -> Callable[[Message], None]:
    """Passes a server's progress on to whoever watches the call."""

    def report(said: Message) -> None:
        progress, total, message = (said.get(name) for name in ("progress", "total", "message"))
        if (done := _number(progress)) is not None:
            ctx.report(done, _number(total), message[:500] if isinstance(message, str) else None)

    return report


def _logger(ctx: ToolContext, slug: str) -> Callable[[Message], None]:
    """Passes a server's log messages on to the client that made the call, under the name of its service."""

    def write(said: Message) -> None:
        level, logger = said.get("level"), said.get("logger")
        if isinstance(level, str) and "data" in said:
            ctx.log(level, said["data"], f"{slug}: {logger}" if isinstance(logger, str) and logger else slug)

    return write


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
