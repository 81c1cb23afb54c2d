"""Embedding in the background what is due: notes and memories that were written, or whose words have changed.

A round goes from author to author, a batch each, and the next one goes on where it ended. An author who is refused, or
whose provider fails, is left alone for a while. Nothing that is saved waits for any of this.
"""

import asyncio
import logging
import time
import uuid

from django.conf import settings

from gateway.embeddings import asking
from gateway.embeddings.asking import Model
from gateway.embeddings.errors import EmbeddingFailed, EmbeddingRefused
from tenants.scope.transactions import TenantScope
from tools.stores import embeddings
from tools.stores.embeddings import Taken

log = logging.getLogger(__name__)

# Texts in one request, how long that may take, and how long a round takes before it leaves the rest to the next one.
BATCH, ASKING_SECONDS, ROUND_SECONDS = 64, 60.0, 2.0
# How long an author is left alone who was refused.
REFUSED_SECONDS = 300.0
_FIRST = TenantScope(uuid.UUID(int=0), uuid.UUID(int=0))


class Rounds:
    """The rounds of one process: where the last one ended, and who is left alone until when."""

    def __init__(self) -> None:
        self._last = _FIRST
        self._resting: dict[TenantScope, float] = {}
        self._under_way = False

    async def go(self) -> int:
        """One round, unless one is under way in this process; how many vectors it has stored."""
        if self._under_way or not settings.TOOLGATE_EMBEDDINGS or not await embeddings.comparable():
            return 0
        self._under_way = True
        try:
            return await self._go()
        finally:
            self._under_way = False

    async def _go(self) -> int:
        stored, until = 0, time.monotonic() + ROUND_SECONDS
        since_first = 0 if self._last == _FIRST else -1
        while time.monotonic() < until:
            found = await embeddings.next_due(self._last)
            if found is None:
                # Once through all of them; again only if that was of use.
                self._last = _FIRST
                if since_first == stored:
                    break
                since_first = stored
                continue
            self._last = found
            if self._rests(found):
                continue
            try:
                stored += await embed(found)
            except EmbeddingRefused as refusal:
                self._resting[found] = time.monotonic() + REFUSED_SECONDS
                level = logging.WARNING if isinstance(refusal, EmbeddingFailed) else logging.INFO
                log.log(level, "not embedded: %s", refusal, extra={"tenant_id": str(found.tenant_id)})
        return stored

    def _rests(self, scope: TenantScope) -> bool:
        until = self._resting.get(scope)
        if until is not None and until < time.monotonic():
            del self._resting[scope]
            return False
        return until is not None


async def embed(scope: TenantScope) -> int:
    """Embed one batch of an author's; how many vectors were stored. Raises EmbeddingRefused, and then what was taken is
    due again later."""
    model = await asking.model_for(scope)
    taken = await embeddings.take(scope, model.source, BATCH)
    if not taken:
        return 0
    return await _stored(scope, model, taken)


async def _stored(scope: TenantScope, model: Model, taken: list[Taken]) -> int:
    try:
        async with asyncio.timeout(ASKING_SECONDS):
            vectors = await asking.vectors(scope, model, [each.words for each in taken])
    except TimeoutError:
        await embeddings.put_back(scope, taken, embeddings.AGAIN_SECONDS, counts=True)
        raise EmbeddingFailed("The provider did not answer in time.") from None
    except EmbeddingFailed as failed:
        if failed.of_text and len(taken) > 1:
            # One that the provider does not take keeps no other from its vector.
            half = len(taken) // 2
            return await _tried(scope, model, taken[:half]) + await _tried(scope, model, taken[half:])
        await embeddings.put_back(scope, taken, embeddings.AGAIN_SECONDS, counts=True)
        raise
    except EmbeddingRefused:
        await embeddings.put_back(scope, taken, embeddings.AGAIN_SECONDS, counts=False)
        raise
    return await embeddings.store(scope, model.source, taken, vectors)


async def _tried(scope: TenantScope, model: Model, taken: list[Taken]) -> int:
    try:
        return await _stored(scope, model, taken)
    except EmbeddingFailed as failed:
        log.warning("not embedded: %s", failed, extra={"tenant_id": str(scope.tenant_id), "texts": len(taken)})
        return 0


_rounds = Rounds()


async def go() -> int:
    """One round of this process."""
    return await _rounds.go()


async def begin() -> None:
    """When a worker starts: have embedded again what another model than the operator's has made vectors of."""
    if settings.TOOLGATE_EMBEDDINGS and (found := await embeddings.mark_outdated(settings.TOOLGATE_EMBEDDINGS)):
        log.info("to be embedded again", extra={"embeddings": found})
