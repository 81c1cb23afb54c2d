"""`Test`: one request to a service's own address, with its credential, on the way and within the time of a call."""

import time
from typing import Any

from services.credentials import Credential
from services.models import Service
from tenants.people.encryption import Undecipherable
from tools.network import egress


async def test(service: Service) -> dict[str, Any]:
    """`{ok, status, ms, detail}`: whether it answers, and does not refuse the credential."""
    began = time.monotonic()
    status, detail = None, ""
    try:
        answer = await egress.request(
            "GET",
            service.url + "/" if service.url.count("/") == 2 else service.url,
            headers={"Accept": "application/json"} | credential_of(service).headers(),
            connect_seconds=min(10.0, service.timeout),
            seconds=service.timeout,
            most=0,
        )
        status = answer.status
        detail = _words(status)
    except Undecipherable:
        detail = "The credential cannot be read any more; set it again."
    except egress.EgressFailed as failed:
        detail = str(failed)
    ok = status is not None and status < 500 and status not in (401, 403, 407, 429)
    return {"ok": ok, "status": status, "ms": round((time.monotonic() - began) * 1000), "detail": detail}


def _words(status: int) -> str:
    if status in (401, 403, 407):
        return "It answers, and refuses the credential."
    if status >= 500:
        return "It answers that it fails."
    if status == 429:
        return "It answers that it has no requests left for now."
    return "It answers."


def credential_of(service: Service) -> Credential:
    """As whom a service is called."""
    return Credential(service.identity, service.header, service.secret)
