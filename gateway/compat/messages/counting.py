"""`POST /v1/messages/count_tokens`: how many tokens a request would have as input, managed tools and hidden rounds too.

A provider that counts is asked. For others it is an estimate, of four bytes of JSON a token.
"""

from dataclasses import replace
from typing import Any

import orjson

from approvals.requests import callers_rights
from gateway.compat import media
from gateway.compat.messages import api
from gateway.compat.serving import authenticated, names_model, read
from gateway.compat.vendor_errors import VendorForm
from gateway.http import asgi, request_limits
from gateway.http.asgi import Answer, Receive, Request, Scope, Send
from gateway.providers.errors import ProviderError, ProviderRateLimited
from gateway.providers.interface import Prompt, Unsupported
from gateway.providers.registry import UnknownModel
from gateway.providers.routing import resolution
from gateway.runs import loop, reading
from gateway.runs.errors import NoSuchAgent, NoSuchModel
from gateway.runs.prompting import continuity, serialization
from gateway.runs.prompting.client_request import BadRequest, ClientRequest
from tenants.errors import Refused
from tenants.scope.transactions import TenantScope, transaction
from tenants.switches.errors import Killed
from tenants.switches.on import Subject, killed
from tools.offering import offer

BYTES_A_TOKEN = 4


class _ProviderFailed(Refused):
    def __init__(self, error: ProviderError):
        super().__init__(error.message)
        self.status = 429 if isinstance(error, ProviderRateLimited) else 502
        self.code = "provider_error"


async def answer(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer one request: `{"input_tokens": n}`."""
    await asgi.serve(VendorForm(api.API.error), scope, receive, send, _answer)


async def _answer(request: Request) -> None:
    principal = await authenticated(request.headers)
    await request_limits.admit(principal, changes=False)
    asked = media.checked(api.API.parse_count(await read(request)))
    tokens = await _count(TenantScope(principal.tenant_id, principal.user_id), asked)
    await request.answer(Answer(200, {"input_tokens": tokens}))


async def _count(tenant_scope: TenantScope, request: ClientRequest) -> int:
    named = names_model(request)
    async with transaction(tenant_scope) as connection:
        row = await reading.context(connection, tenant_scope.user_id, None if named else request.model)
        if row is None or row["agent_id"] is None:
            raise NoSuchAgent(None if named else request.model)
        shown, _ = await continuity.restored(connection, tenant_scope.user_id, request.messages)
    routing = resolution.remembered(tenant_scope.tenant_id, row["rights_version"], row["model_routing"])
    try:
        found = routing.resolve(request.model if named else row["model"], loop.providers())
    except UnknownModel as unknown:
        raise NoSuchModel(unknown.message) from None
    policy = callers_rights.from_row(row, row).policy
    # The provider may be asked.
    if (switch := killed(policy.switches, Subject(tenant_scope.user_id, row["slug"], found.name))) is not None:
        raise Killed(switch)
    offered = offer.of_agent(policy, row)
    tools = offered.specs
    prompt = Prompt(
        model=found.model,
        messages=tuple(shown),
        system=loop.system_of(row["instructions"], bool(tools), searches=offered.searches),
        tools=tools,
        client_tools=request.client_tools,
        options=request.options,
    )
    try:
        count: Any = getattr(found.adapter, "count_tokens", None)
        if count is None:
            return _estimate(request, prompt)
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
