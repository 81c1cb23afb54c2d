"""Whether Toolgate lives, and whether it can do its work."""

import asyncio
import logging
import os
from typing import Any

from django.http import HttpRequest, JsonResponse

from gateway.runs import loop
from tenants.scope import transactions
from tools.network import redis

HEARTBEAT = "toolgate:worker"
HEARTBEAT_SECONDS = 5

log = logging.getLogger(__name__)


def warn() -> None:
    """Say at start what the configuration lacks."""
    if fault := loop.providers().fault():
        log.warning("%s", fault)


async def beat() -> None:
    """A worker's heartbeat, for ever."""
    while True:
        try:
            await redis.client().set(HEARTBEAT, os.getpid(), ex=HEARTBEAT_SECONDS * 3)
        except Exception:
            # Redis is away: readiness says so by itself.
            await asyncio.sleep(1)
            continue
        await asyncio.sleep(HEARTBEAT_SECONDS)


async def _database() -> None:
    await transactions.fetch("SELECT 1 AS one")


async def _worker() -> None:
    if await redis.client().get(HEARTBEAT) is None:
        raise LookupError("no worker has been heard of lately")


async def _broker() -> None:
    await redis.client().ping()


async def checks() -> dict[str, str]:
    """Each thing that a call needs: "ok", or the kind of fault."""
    probes: dict[str, Any] = {"database": _database(), "broker": _broker(), "worker": _worker()}
    async with asyncio.timeout(5):
        answers = await asyncio.gather(*probes.values(), return_exceptions=True)
    return {
        name: "ok" if not isinstance(answer, BaseException) else type(answer).__name__
        for name, answer in zip(probes, answers, strict=True)
    }


async def healthz(request: HttpRequest) -> JsonResponse:
    """200 while this process answers."""
    return JsonResponse({"status": "ok"})


async def readyz(request: HttpRequest) -> JsonResponse:
    """200 when database, broker and a worker are there, else 503."""
    try:
        found = await checks()
    except TimeoutError:
        found = {"database": "timeout"}
    ready = all(answer == "ok" for answer in found.values())
    body: dict[str, Any] = {"status": "ready" if ready else "not ready", "checks": found}
    if fault := loop.providers().fault():
        # It serves, and every request without a model of its own is refused.
        body["warnings"] = [fault]
    return JsonResponse(body, status=200 if ready else 503)
