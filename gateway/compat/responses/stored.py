"""`GET /v1/responses/{id}`: one of the caller's responses, as far as it has come by now."""

import uuid
from typing import Any

from gateway.compat import replies
from gateway.compat.responses import ids
from gateway.compat.responses.api import API
from gateway.compat.serving import authenticated
from gateway.compat.vendor_errors import VendorForm
from gateway.http import asgi
from gateway.http.asgi import Answer, Receive, Request, Scope, Send
from gateway.runs import reading
from gateway.runs.errors import NoSuchResponse
from gateway.runs.prompting import serialization
from gateway.runs.view import from_rows
from tenants.people.principal import Principal
from tenants.scope.transactions import TenantScope, transaction

PREFIX = "/v1/responses/"
NOBODY = "0" * 32


async def answer(scope: Scope, receive: Receive, send: Send) -> None:
    """The response that the path names."""

    async def handle(request: Request) -> None:
        principal = await authenticated(request.headers)
        body = await _response(principal, scope["path"].removeprefix(PREFIX).rstrip("/"))
        await request.answer(Answer(200, body))

    await asgi.serve(VendorForm(API.error), scope, receive, send, handle)


async def _response(principal: Principal, response_id: str) -> dict[str, Any]:
    tenant_scope = TenantScope(principal.tenant_id, principal.user_id)
    run_id = uuid.UUID(ids.run_of_response(response_id) or NOBODY)
    async with transaction(tenant_scope) as connection:
        run = await reading.run(connection, tenant_scope, run_id)
        request = await reading.request(connection, run_id)
        if run is None or request is None or run.surface != API.name:
            raise NoSuchResponse(response_id, "response_id")
        view = from_rows(run, await reading.turns(connection, run_id), await reading.calls(connection, run_id))
    assert run.created_at is not None
    body = API.body(replies.reply(view, serialization.loads(request), int(run.created_at.timestamp())))
    if run.status == "failed":
        return {**body, "error": {"code": run.error_code, "message": run.error_message}}
    return body
