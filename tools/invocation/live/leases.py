"""Keeps alive the leases of what this process is at, with one statement for all of them every few seconds."""

import asyncio
import logging
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import LiteralString

from django.conf import settings

from tenants.scope import transactions

log = logging.getLogger(__name__)


class Leases:
    """The rows that this process holds, each under a fence; `renewal` is the SQL function that prolongs them.

    `on_lost` is told the id of a row that somebody else holds by now.
    """

    def __init__(self, renewal: LiteralString):
        self._renewal = renewal
        self._held: dict[uuid.UUID, int] = {}
        self.on_lost: Callable[[uuid.UUID], None] | None = None

    @contextmanager
    def held(self, row_id: uuid.UUID, fence: int) -> Iterator[None]:
        """Keep the row's lease alive inside."""
        self._held[row_id] = fence
        try:
            yield
        finally:
            if self._held.get(row_id) == fence:
                del self._held[row_id]

    def __len__(self) -> int:
        return len(self._held)

    async def keep(self) -> None:
        """Renew for ever, three times within a lease; a database that is away costs a round, not the loop."""
        while True:
            await asyncio.sleep(settings.RUN_LEASE_SECONDS / 3)
            if not self._held:
                continue
            held = dict(self._held)
            try:
                rows = await transactions.fetch(
                    self._renewal, [list(held), list(held.values()), settings.RUN_LEASE_SECONDS]
                )
            except Exception as error:
                log.warning("leases not renewed", extra={"why": type(error).__name__})
                continue
            kept = {row["id"] for row in rows}
            for row_id in held.keys() - kept:
                if self._held.get(row_id) == held[row_id] and self.on_lost is not None:
                    self.on_lost(row_id)


leases = Leases("SELECT renew_call_leases(%s, %s, %s) AS id")
