"""`POST /api/v1/chat` with a bearer key, without Django's request cycle: the same service at a fraction of the cost.

Anything else about a request (a session, an Origin, another method) goes to
Django, whose `ChatView` answers the same.
"""

import asyncio
from contextlib import nullcontext

from gateway.http import asgi, problems, request_limits
from gateway.http.asgi import Answer, Receive, Request, Scope, Send
from gateway.http.authentication import remembered
from gateway.rest.chat import answers, parsing
from gateway.runs.errors import Leaving
from gateway.runs.lifecycle import beginning, following
from gateway.runs.watching import events
from tenants.limits.streams import STREAMS
from tenants.scope.transactions import TenantScope

PATH = "/api/v1/chat"
_FORM = problems.Problems()


def takes(scope: Scope) -> bool:
    """Whether the request is one that `chat` answers."""
    if scope["path"] != PATH or scope["method"] != "POST":
        return False
    names = {name for name, _ in scope["headers"]}
    return b"authorization" in names and b"origin" not in names and b"transfer-encoding" not in names


async def chat(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer one request."""
    await asgi.serve(_FORM, scope, receive, send, _chat)


async def _chat(request: Request) -> None:
    """Authenticate, parse, one service call, serialise."""
    principal = await remembered(request.headers, "chat")
    await request_limits.admit(principal)
    body = await request.body(parsing.MAX_BODY_BYTES, parsing.too_large)
    parsed = parsing.chat(body, request.headers)
    with STREAMS.open(principal) if parsed.request.streams else nullcontext():
        run = await beginning.begin(principal, parsed.request, lambda: remembered(request.headers, "chat", anew=True))
        tenant_scope = TenantScope(principal.tenant_id, principal.user_id)
        if parsed.request.streams:
            pieces = answers.stream(tenant_scope, run, events.START, parsed.wait)
            await request.stream(pieces, asgi.EVENT_STREAM, answers.STREAM_HEADERS)
            return
    try:
        await following.until_rest(tenant_scope, run, parsed.wait)
    except asyncio.CancelledError:
        # This process ends; the run goes on in another, and the idempotency key finds it there.
        raise Leaving from None
    status, content, headers = answers.at_rest(run)
    kind = "application/json" if status < 400 else problems.CONTENT_TYPE
    await request.answer(Answer(status, content, headers, kind))
