"""`GET /v1/responses/{id}`: one of the caller's responses, as far as it has come by now."""

import uuid
from typing import Any

import psycopg

from gateway import records
from gateway.errors import NoSuchResponse, Unavailable
from gateway.middleware import request_id
from gateway.surfaces import http, kept, replies
from gateway.surfaces import responses_ids as ids
from gateway.surfaces.http import Scope, Send
from gateway.surfaces.responses import SURFACE
from gateway.surfaces.serving import authenticated
from gateway.view import from_rows
from tenants.errors import Refused
from tenants.principal import Principal
from tenants.scoping import Scope as Walls
from tenants.scoping import transaction

PREFIX = "/v1/responses/"
NOBODY = "0" * 32


async def answer(scope: Scope, send: Send) -> None:
    """The response that the path names."""
    headers = http.headers(scope)
    identity = request_id(headers.get("x-request-id", ""))
    try:
        principal = await authenticated(headers)
        body = await _response(principal, scope["path"].removeprefix(PREFIX).rstrip("/"))
        await http.send_json(send, 200, body, identity)
    except Refused as refusal:
        error = SURFACE.error(refusal.status, refusal.code, refusal.detail, refusal.field)
        await http.send_json(send, refusal.status, error, identity)
    except psycopg.OperationalError:
        error = SURFACE.error(Unavailable.status, Unavailable.code, Unavailable().detail)
        await http.send_json(send, Unavailable.status, error, identity)


async def _response(principal: Principal, response_id: str) -> dict[str, Any]:
    walls = Walls(principal.tenant_id, principal.user_id)
    run_id = uuid.UUID(ids.run_of_response(response_id) or NOBODY)
    async with transaction(walls) as connection:
        row = await records.run(connection, walls, run_id)
        request = await records.request(connection, run_id)
        if row is None or request is None or row["surface"] != SURFACE.name:
            raise NoSuchResponse(response_id, "response_id")
        view = from_rows(row, await records.turns(connection, run_id), await records.calls(connection, run_id))
    body = SURFACE.whole(replies.reply(view, kept.loads(request), int(row["created_at"].timestamp())))
    if row["status"] == "failed":
        return {**body, "error": {"code": row["error_code"], "message": row["error_message"]}}
    return body
