"""Telling authorization servers which tokens are not used any more (RFC 7009): after the fact, until they know.

`connection_ended`, a trigger, has written down what is to be told, whatever ended the connection.
"""

import asyncio
import logging
import uuid
from collections.abc import Collection
from typing import Any

from redis.exceptions import RedisError

from services.oauth import grants
from services.oauth.errors import GrantRefused, OAuthFailed
from services.oauth.grants import Client
from services.oauth.server import Server
from tenants.people.encryption import Undecipherable, decrypt
from tenants.scope import transactions
from tenants.scope.transactions import TenantScope, transaction
from tools.network import messages

log = logging.getLogger(__name__)

BATCH = 200
LEASE_SECONDS = 120
FIRST_PAUSE, LONGEST_PAUSE, GIVE_UP = 30, 3600, 24
SEND_SECONDS = 1.0
TASK = "services.revoke"
_NOBODY = uuid.UUID(int=0)
_DUE = "SELECT tenant_id FROM token_revocations WHERE due_at <= now() GROUP BY tenant_id ORDER BY min(due_at) LIMIT %s"
_CLAIM = """
    UPDATE token_revocations SET attempts = attempts + 1, due_at = now() + make_interval(secs => %s)
    WHERE id IN (SELECT id FROM token_revocations WHERE due_at <= now() ORDER BY due_at LIMIT %s
        FOR UPDATE SKIP LOCKED) RETURNING *"""
_DONE = "DELETE FROM token_revocations WHERE id = %s AND attempts = %s"
_LATER = "UPDATE token_revocations SET due_at = now() + make_interval(secs => %s) WHERE id = %s AND attempts = %s"


async def send_due() -> int:
    """Ask the workers to tell servers what is due, for how many tenants."""
    due = await transactions.fetch(_DUE, [BATCH], login="system")
    await ask([row["tenant_id"] for row in due])
    return len(due)


async def ask(tenants: Collection[uuid.UUID]) -> None:
    """The same for tenants that something was written for; a broker that is away leaves it to the sweeper."""
    if not tenants:
        return
    try:
        async with asyncio.timeout(SEND_SECONDS):
            await messages.send([(TASK, [str(tenant_id)]) for tenant_id in tenants])
    except (RedisError, OSError, TimeoutError) as away:
        log.warning("revocations left to the sweeper", extra={"tenants": len(tenants), "why": type(away).__name__})


async def revoke_due(tenant_id: uuid.UUID) -> None:
    """Tell servers what is due in a tenant; those that do not answer are asked again later, up to GIVE_UP times."""
    scope = TenantScope(tenant_id, _NOBODY)
    async with transaction(scope) as connection:
        due = await (await connection.execute(_CLAIM.encode(), [LEASE_SECONDS, BATCH])).fetchall()
    await asyncio.gather(*(_revoke(scope, row) for row in due))


async def _revoke(scope: TenantScope, row: dict[str, Any]) -> None:
    try:
        await _settle(scope, row, await _problem(row))
    except Exception:
        log.exception("revocation left to the next sweep", extra={"revocation": str(row["id"])})


async def _problem(row: dict[str, Any]) -> OAuthFailed | None:
    """Why the server does not know yet; None when it does, or there is no use in telling it again."""
    server = Server.of_json(row["server"])
    try:
        client = Client(row["client_id"], decrypt(row["client_secret"]) if row["client_secret"] else "")
        for column in ("refresh_token", "access_token"):
            if row[column]:
                await grants.revoke(server, client, decrypt(row[column]), column)
    except (GrantRefused, Undecipherable) as refused:
        log.info("token not revoked", extra={"issuer": server.issuer, "why": str(refused)})
        return None
    except OAuthFailed as failed:
        return failed
    return None


async def _settle(scope: TenantScope, row: dict[str, Any], problem: OAuthFailed | None) -> None:
    over = problem is None or row["attempts"] >= GIVE_UP
    if problem is not None and over:
        log.warning("token not revoked", extra={"issuer": row["server"]["issuer"], "why": str(problem)})
    pause = min(FIRST_PAUSE * 2 ** min(row["attempts"], 16), LONGEST_PAUSE)
    async with transaction(scope) as connection:
        mine = [row["id"], row["attempts"]]
        await connection.execute(*((_DONE.encode(), mine) if over else (_LATER.encode(), [pause, *mine])))
