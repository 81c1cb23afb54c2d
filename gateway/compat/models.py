"""`GET /v1/models`: the models that the caller may use, as far as they are known, and the agents whose model is one of
those, without asking upstream."""

import asyncio
from typing import Any

from gateway.compat.serving import authenticated
from gateway.compat.vendor_errors import VendorForm, of_nobody
from gateway.http import asgi, request_limits
from gateway.http.asgi import Answer, Receive, Request, Scope, Send
from gateway.providers.routing import listing, resolution
from gateway.runs import loop, reading
from tenants.errors import Refused
from tenants.scope.transactions import TenantScope, transaction


async def answer(scope: Scope, receive: Receive, send: Send) -> None:
    """The list, or one of them by its name; in OpenAI's shape, which Anthropic's SDK reads too."""

    async def handle(request: Request) -> None:
        if scope["method"] != "GET":
            raise _Refused("Models can only be read.", 405)
        principal = await authenticated(request.headers)
        await request_limits.admit(principal, changes=False)
        found = await _models(TenantScope(principal.tenant_id, principal.user_id))
        wanted = scope["path"].removeprefix("/v1/models").strip("/")
        if not wanted:
            body: dict[str, Any] = {"object": "list", "data": found, "has_more": False}
            body |= {"first_id": found[0]["id"] if found else None, "last_id": found[-1]["id"] if found else None}
        else:
            body = next((model for model in found if model["id"] == wanted), {})
            if not body:
                raise _Refused(f"There is no model {ascii(wanted)[:200]}.", 404)
        await request.answer(Answer(200, body))

    await asgi.serve(VendorForm(of_nobody), scope, receive, send, handle)


async def _models(tenant_scope: TenantScope) -> list[dict[str, Any]]:
    async with transaction(tenant_scope) as connection:
        agents = await reading.agents(connection)
        routing = await resolution.read(connection, tenant_scope)
    names = await asyncio.to_thread(listing.models, routing, loop.providers())
    usable = [slug for slug, model in agents if listing.is_usable(routing, loop.providers(), model)]
    return [*(_model(name, name.partition("/")[0]) for name in names), *(_model(slug, "toolgate") for slug in usable)]


class _Refused(Refused):
    def __init__(self, detail: str, status: int):
        super().__init__(detail)
        self.status = status
        self.code = "model_not_found" if status == 404 else "invalid_request"


def _model(name: str, owner: str) -> dict[str, Any]:
    """A model as both vendors' SDKs read it."""
    shape = {"id": name, "object": "model", "created": 0, "owned_by": owner}
    return {**shape, "type": "model", "display_name": name, "created_at": "1970-01-01T00:00:00Z"}
