"""`GET /v1/models`: the known models of the configured providers, and the caller's agents, without asking upstream."""

import asyncio
from typing import Any

import psycopg

from gateway.compat import http
from gateway.compat.http import Scope, Send
from gateway.compat.serving import authenticated
from gateway.process.request_ids import request_id
from gateway.runs import loop, repository
from gateway.runs.errors import Unavailable
from tenants.errors import Refused
from tenants.scope.transactions import TenantScope, transaction


async def answer(scope: Scope, send: Send) -> None:
    """The list, or one of them by its name; in OpenAI's shape, which Anthropic's SDK reads too."""
    headers = http.headers(scope)
    identity = request_id(headers.get("x-request-id", ""))
    try:
        if scope["method"] != "GET":
            raise _Refused("Models can only be read.", 405)
        principal = await authenticated(headers)
        async with transaction(TenantScope(principal.tenant_id, principal.user_id)) as connection:
            agents = await repository.agent_slugs(connection)
        names = await asyncio.to_thread(loop.providers().models)
        found = [_model(name, name.partition("/")[0]) for name in names]
        found += [_model(slug, "toolgate") for slug in agents]
        wanted = scope["path"].removeprefix("/v1/models").strip("/")
        if not wanted:
            body: dict[str, Any] = {"object": "list", "data": found, "has_more": False}
            body |= {"first_id": found[0]["id"] if found else None, "last_id": found[-1]["id"] if found else None}
        else:
            body = next((model for model in found if model["id"] == wanted), {})
            if not body:
                raise _Refused(f"There is no model {ascii(wanted)[:200]}.", 404)
        await http.send_json(send, 200, body, identity)
    except Refused as refusal:
        await _refuse(send, refusal, identity)
    except psycopg.OperationalError:
        await _refuse(send, Unavailable(), identity)


class _Refused(Refused):
    def __init__(self, detail: str, status: int):
        super().__init__(detail)
        self.status = status
        self.code = "model_not_found" if status == 404 else "invalid_request"


async def _refuse(send: Send, refusal: Refused, identity: str) -> None:
    error = {"message": refusal.detail, "type": "invalid_request_error", "param": None, "code": refusal.code}
    await http.send_json(send, refusal.status, {"type": "error", "error": error}, identity)


def _model(name: str, owner: str) -> dict[str, Any]:
    """A model as both vendors' SDKs read it."""
    shape = {"id": name, "object": "model", "created": 0, "owned_by": owner}
    return {**shape, "type": "model", "display_name": name, "created_at": "1970-01-01T00:00:00Z"}
