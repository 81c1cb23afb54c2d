"""Sends the newest checkpoint to the witness, so that the operator alone cannot withdraw it.

A head covers all heads before it, so only the newest is sent. What fails is sent again with the next
round, and no sealing ever waits for it.
"""

import asyncio
import logging

import aiohttp
from django.conf import settings

from audit.log import checkpoints
from tenants.scope import transactions

log = logging.getLogger(__name__)

SECONDS = 10
_NEWEST = "SELECT id, size, note, created_at, witnessed_at FROM ledger_checkpoints ORDER BY id DESC LIMIT 1"
_WITNESSED = "UPDATE ledger_checkpoints SET witnessed_at = now() WHERE id = %s AND witnessed_at IS NULL RETURNING id"
_sending = asyncio.Lock()


async def tell() -> bool:
    """POST the newest checkpoint to TOOLGATE_WITNESS_URL unless the witness has it; returns whether it has it now.

    The body is a line of the checkpoint file; any 2xx means that it was accepted, and no redirect is followed.
    """
    if not settings.TOOLGATE_WITNESS_URL or _sending.locked():
        return False
    async with _sending:
        newest = next(iter(await transactions.fetch(_NEWEST, login="system")), None)
        if newest is None or newest["witnessed_at"] is not None:
            return newest is not None
        body = checkpoints.record(newest["created_at"], newest["note"])
        try:
            status = await _posted(settings.TOOLGATE_WITNESS_URL, body)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            # Its text may name the URL, and with it a password in it.
            log.warning("witness not reached", extra={"size": newest["size"], "error": type(error).__name__})
            return False
        if not 200 <= status < 300:
            log.warning("witness refused", extra={"size": newest["size"], "status": status})
            return False
        await transactions.fetch(_WITNESSED, [newest["id"]], login="system")
        return True


async def _posted(url: str, body: bytes) -> int:
    timeout = aiohttp.ClientTimeout(total=SECONDS)
    async with (
        aiohttp.ClientSession(timeout=timeout, cookie_jar=aiohttp.DummyCookieJar()) as http,
        http.post(url, data=body, headers={"Content-Type": "application/json"}, allow_redirects=False) as answer,
    ):
        return answer.status
