"""Whether services still offer what was accepted: all of them in turn, and one whose tool has just failed.

Beat asks for a share of all services each minute, so that each is looked at every ROUND minutes. Each look is a message
of its own in the lane of what waits for others: a slow service keeps no other waiting, and a tenant with a thousand
keeps no other tenant's. What changed is closed until an owner has accepted it, as with a refresh by hand.
"""

import asyncio
import logging
import time
import uuid
from typing import Any

from asgiref.sync import sync_to_async
from django.db import connections
from redis.exceptions import RedisError

from services import changes
from services.changes import Source
from services.errors import NoSuchService
from services.models import Service
from services.reading import sources
from tenants.errors import Refused
from tenants.scope import transactions
from tenants.scope.transactions import TenantScope
from tools.network import messages

log = logging.getLogger(__name__)

CHECK, LOOK = "services.check_drift", "services.look_again"
# How many shares there are, one of them a minute, and how many services of one share are looked at.
ROUND = 15
MOST = 2000
SEND_SECONDS = 2.0
_NOBODY = uuid.UUID(int=0)
# A service that is used with each person's own account is looked at when a call of one of them fails; one that follows
# the catalogue is asked nothing.
_SHARE = """
    SELECT tenant_id, slug FROM services
    WHERE enabled AND (kind = 'mcp' OR source_url <> '')
        AND (identity <> 'oauth_user' OR source_url LIKE 'catalogue:%%')
        AND (('x' || substr(md5(id::text), 1, 7))::bit(28)::int %% %s) = %s
    ORDER BY md5(id::text) LIMIT %s"""


async def check() -> int:
    """Ask the workers to look at the services whose turn it is; how many there are."""
    share = int(time.time() / 60) % ROUND
    due = await transactions.fetch(_SHARE, [ROUND, share, MOST], login="system")
    if due:
        try:
            async with asyncio.timeout(SEND_SECONDS):
                await messages.send([(LOOK, [str(row["tenant_id"]), row["slug"]]) for row in due])
        except (RedisError, OSError, TimeoutError) as away:
            log.warning("services are looked at in the next round", extra={"why": type(away).__name__})
    return len(due)


async def look_again(scope: TenantScope, slug: str) -> None:
    """Take a new snapshot of a service in the name of the scope's user; one that cannot be read stays as it is."""
    try:
        service = await _within(scope, changes.found, slug)
        source = await sources.again(service, {}, scope)
        if source.text != service.source:
            await _within(scope, _take, slug, service.url, source)
    except NoSuchService:
        return
    except Refused as refused:
        log.info("service cannot be read again", extra={"service": slug, "why": refused.detail[:300]})


async def look_as_nobody(tenant_id: uuid.UUID, slug: str) -> None:
    """The same in nobody's name."""
    await look_again(TenantScope(tenant_id, _NOBODY), slug)


def _take(slug: str, url: str, source: Source) -> Service | None:
    # Somebody may have moved it meanwhile: what was read is then not what it offers.
    return changes.refresh(slug, source) if changes.found(slug, lock=True).url == url else None


async def _within(scope: TenantScope, work: Any, *arguments: Any) -> Any:
    """What `work` returns, with the ORM in the scope, in a thread."""

    def scoped() -> Any:
        try:
            with transactions.scope(*scope):
                return work(*arguments)
        finally:
            connections["default"].close()

    return await sync_to_async(scoped)()
