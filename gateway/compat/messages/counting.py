"""`POST /v1/messages/count_tokens`: how many tokens a request would have as input, managed tools and hidden rounds too.

A provider that counts is asked. For others it is an estimate, of four bytes of JSON a token.
"""

import logging
from dataclasses import replace
from typing import Any

import orjson
import psycopg

from approvals.requests import rights
from gateway.compat import http
from gateway.compat.http import Receive, Scope, Send
from gateway.compat.messages import api
from gateway.compat.serving import FAILED, MAX_BODY_BYTES, authenticated, names_model
from gateway.process.request_ids import request_id
from gateway.providers.errors import ProviderError, ProviderRateLimited
from gateway.providers.interface import Prompt, Unsupported
from gateway.providers.registry import UnknownModel
from gateway.runs import loop, repository
from gateway.runs.errors import NoSuchAgent, NoSuchModel, Unavailable
from gateway.runs.prompting import continuity, serialization
from gateway.runs.prompting.client_request import BadRequest, ClientRequest
from tenants.errors import Refused
from tenants.scope.transactions import TenantScope, transaction
from tools.invocation import evaluation

log = logging.getLogger(__name__)

BYTES_A_TOKEN = 4


class _ProviderFailed(Refused):
    def __init__(self, error: ProviderError):
        super().__init__(error.message)
        self.status = 429 if isinstance(error, ProviderRateLimited) else 502
        self.code = "provider_error"


async def answer(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer one request: `{"input_tokens": n}`."""
    headers = http.headers(scope)
    identity = request_id(headers.get("x-request-id", ""))
    try:
        principal = await authenticated(headers)
        given = http.parsed(await http.body(headers, receive, MAX_BODY_BYTES))
        request = api.SURFACE.parse_count(given)
        tokens = await _count(TenantScope(principal.tenant_id, principal.user_id), request)
        await http.send_json(send, 200, {"input_tokens": tokens}, identity)
    except http.ClientGone:
        return
    except Refused as refusal:
        await _refuse(send, refusal, identity)
    except psycopg.OperationalError:
        await _refuse(send, Unavailable(), identity)
    except Exception:
        log.exception("request failed")
        await http.send_json(send, 500, api.SURFACE.error(500, "internal_error", FAILED), identity)


async def _refuse(send: Send, refusal: Refused, identity: str) -> None:
    body = api.SURFACE.error(refusal.status, refusal.code, refusal.detail, refusal.field)
    await http.send_json(send, refusal.status, body, identity)


async def _count(tenant_scope: TenantScope, request: ClientRequest) -> int:
    named = names_model(request)
    async with transaction(tenant_scope) as connection:
        row = await repository.context(connection, tenant_scope.user_id, None if named else request.model)
        if row is None or row["agent_id"] is None:
            raise NoSuchAgent(None if named else request.model)
        shown, _ = await continuity.restored(connection, tenant_scope.user_id, request.messages)
    try:
        provider, model = loop.providers().resolve(request.model if named else loop.model_of(row["model"]))
    except UnknownModel as unknown:
        raise NoSuchModel(unknown.message) from None
    tools = tuple(tool.spec for tool in evaluation.offered(rights.from_row(row, row).policy))
    prompt = Prompt(
        model=model,
        messages=tuple(shown),
        system=loop.system_of(row["instructions"], bool(tools)),
        tools=tools,
        client_tools=request.client_tools,
        options=request.options,
    )
    count: Any = getattr(provider, "count_tokens", None)
    if count is None:
        return _estimate(request, prompt)
    try:
        counted: int = await count(prompt)
    except ProviderError as error:
        raise _ProviderFailed(error) from None
    except Unsupported as refusal:
        raise BadRequest(refusal.message, refusal.field) from None
    return counted


def _estimate(request: ClientRequest, prompt: Prompt) -> int:
    size = len(serialization.dumps(replace(request, messages=prompt.messages))) + len(prompt.system)
    size += sum(len(tool.description) + len(orjson.dumps(tool.parameters)) for tool in prompt.tools)
    return -(-size // BYTES_A_TOKEN)
