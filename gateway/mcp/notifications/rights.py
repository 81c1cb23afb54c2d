"""Whether what a tenant's members may do has changed: looked for once in a process, for all who listen there."""

import asyncio
import logging
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakKeyDictionary

from psycopg import Error

from tenants.scope.transactions import TenantScope, transaction

log = logging.getLogger(__name__)

# How often the tenant's version is read while somebody listens.
SECONDS = 0.5
_VERSION = b"SELECT rights_version(%s) AS version"
_NOBODY = uuid.UUID(int=0)


class Watch:
    """One tenant's: `next` is set at the next change, and is another event from then on."""

    def __init__(self, tenant_id: uuid.UUID):
        self.next = asyncio.Event()
        self.listeners = 0
        self._tenant_id = tenant_id
        self._looking = asyncio.get_running_loop().create_task(self._look())

    def end(self) -> None:
        """Look no more."""
        self._looking.cancel()

    async def _look(self) -> None:
        known: uuid.UUID | None = None
        while True:
            try:
                async with transaction(TenantScope(self._tenant_id, _NOBODY)) as connection:
                    row = await (await connection.execute(_VERSION, [self._tenant_id])).fetchone()
                assert row is not None
                if known is not None and row["version"] != known:
                    self.next.set()
                    self.next = asyncio.Event()
                known = row["version"]
            except (Error, OSError, TimeoutError) as away:
                # Whoever listens looks again by itself, if less often.
                log.debug("rights not looked at", extra={"why": type(away).__name__})
            await asyncio.sleep(SECONDS)


_watches: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[uuid.UUID, Watch]] = WeakKeyDictionary()


@contextmanager
def watching(tenant_id: uuid.UUID) -> Iterator[Watch]:
    """The tenant's watch, which goes on as long as somebody is inside."""
    watches = _watches.setdefault(asyncio.get_running_loop(), {})
    if tenant_id not in watches:
        watches[tenant_id] = Watch(tenant_id)
    watch = watches[tenant_id]
    watch.listeners += 1
    try:
        yield watch
    finally:
        watch.listeners -= 1
        if not watch.listeners:
            watch.end()
            del watches[tenant_id]
