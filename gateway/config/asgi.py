"""The ASGI application: Django, before it bare callables for the hottest route, /v1 and /mcp; Channels for sockets."""

import os
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway.config.settings")
import django
from django.conf import settings
from django.core.asgi import get_asgi_application

django.setup()

from tools import registry  # noqa: E402

# Before anybody is served: a tool that is not usable would be a 500 for everybody.
registry.require()
django_application = get_asgi_application()

from approvals.web.consumers import ApprovalsConsumer  # noqa: E402
from gateway.compat import app as compatible  # noqa: E402
from gateway.mcp import app as mcp  # noqa: E402
from gateway.operations import health  # noqa: E402
from gateway.process import gc_tuning  # noqa: E402
from gateway.providers.routing import clients as routing_clients  # noqa: E402
from gateway.rest.chat import fast  # noqa: E402
from gateway.runs import loop  # noqa: E402
from gateway.runs.lifecycle import stopping  # noqa: E402
from gateway.runs.watching import wakeups  # noqa: E402
from gateway.server import (  # noqa: E402
    bodies,
    cors,
    hsts,
)
from gateway.web.inbox_socket import InboxConsumer  # noqa: E402
from tenants.scope import transactions  # noqa: E402
from tools.network import clients, redis  # noqa: E402

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
SOCKETS = {"/ws/approvals/": ApprovalsConsumer.as_asgi(), "/ws/inbox/": InboxConsumer.as_asgi()}


@cors.shared
@hsts.secured
async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """Hand a request to whoever answers it."""
    if scope["type"] == "lifespan":
        await _lifespan(receive, send)
    elif scope["type"] == "http":
        await bodies.bounded(_http, scope, receive, send)
    elif scope["type"] == "websocket" and scope["path"] in SOCKETS:
        await SOCKETS[scope["path"]](scope, receive, send)
    elif scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1000})


async def _http(scope: Scope, receive: Receive, send: Send) -> None:
    if fast.takes(scope):
        await fast.chat(scope, receive, send)
    elif compatible.takes(scope):
        await compatible.answer(scope, receive, send)
    elif mcp.takes(scope):
        await mcp.answer(scope, receive, send)
    else:
        await django_application(scope, receive, send)  # type: ignore[arg-type]


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            health.warn()
            gc_tuning.settle()
            if not settings.DEVELOPMENT:
                mcp.prepare()
            # Before anybody is served: what the first call says, and its end, would not be heard.
            await wakeups.waits().listening()
            await send({"type": "lifespan.startup.complete"})
        else:
            # Whatever fails here, the leases run out and the sweeper finds what was left.
            endings = (
                mcp.close,
                stopping.release_all,
                loop.providers().close,
                routing_clients.close,
                clients.close,
                redis.close,
                transactions.close_pools,
            )
            for ending in endings:
                with suppress(Exception):
                    await ending()
            await send({"type": "lifespan.shutdown.complete"})
            return
