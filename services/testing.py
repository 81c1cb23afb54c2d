"""`Test`: one request to a service's own address, as who tests it, on the way and within the time of a call.

An MCP server is asked for the first page of its tools.
"""

import time
from typing import Any

from services.credentials import Credential, CredentialError, resolver
from services.mcp.connection import once
from services.mcp.errors import HttpFailed, McpFailed
from services.mcp.listing import as_refusal
from services.models import Service
from tenants.scope.transactions import TenantScope
from tools.network import egress


async def test(service: Service, scope: TenantScope) -> dict[str, Any]:
    """`{ok, status, ms, detail}`: whether it answers, and does not refuse the credential."""
    if service.kind == Service.Kind.MCP:
        return await _test_server(service, scope)
    began = time.monotonic()
    status, detail = None, ""
    try:
        credential = await resolver.headers(scope, Credential.of(service))
        answer = await egress.request(
            "GET",
            service.url + "/" if service.url.count("/") == 2 else service.url,
            headers={"Accept": "application/json"} | credential,
            connect_seconds=min(10.0, service.timeout),
            seconds=service.timeout,
            most=0,
        )
        status = answer.status
        detail = _words(status)
    except CredentialError as failed:
        detail = str(failed)
    except egress.EgressFailed as failed:
        detail = str(failed)
    ok = status is not None and status < 500 and status not in (401, 403, 407, 429)
    return {"ok": ok, "status": status, "ms": round((time.monotonic() - began) * 1000), "detail": detail}


async def _test_server(service: Service, scope: TenantScope) -> dict[str, Any]:
    began = time.monotonic()
    ok, status = False, None
    try:
        headers = await resolver.headers(scope, Credential.of(service))
        async with once(service.url, headers, service.timeout) as connection:
            await connection.request("tools/list", {})
            ok, status, detail = True, 200, f"It answers, in the revision {connection.session.revision}."
    except CredentialError as failed:
        detail = str(failed)
    except (McpFailed, egress.EgressFailed) as failed:
        status = failed.status if isinstance(failed, HttpFailed) else None
        detail = as_refusal(failed).detail
    return {"ok": ok, "status": status, "ms": round((time.monotonic() - began) * 1000), "detail": detail}


def _words(status: int) -> str:
    if status in (401, 403, 407):
        return "It answers, and refuses the credential."
    if status >= 500:
        return "It answers that it fails."
    if status == 429:
        return "It answers that it has no requests left for now."
    return "It answers."
