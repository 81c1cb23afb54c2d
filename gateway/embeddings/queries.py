"""The vector of what is searched for, within the time that a search has for it."""

import asyncio
import logging

import psycopg
from django.conf import settings

from gateway.embeddings import asking
from gateway.embeddings.errors import EmbeddingFailed, EmbeddingRefused
from tenants.scope.transactions import TenantScope
from tools.invocation.live.circuit import circuits
from tools.stores import Meaning, embeddings

log = logging.getLogger(__name__)

# A search does not wait longer: its words alone find something, too.
SECONDS = 2.0
# What a tenant's failures count under, as a tool's do.
_CIRCUIT = "embeddings"


class QueryMeanings:
    """See `tools.invocation.ports.Meanings`."""

    def configured(self) -> bool:
        """Whether TOOLGATE_EMBEDDINGS names a model."""
        return bool(settings.TOOLGATE_EMBEDDINGS)

    async def of(self, scope: TenantScope, words: str) -> Meaning | None:
        """The vector of some words, or None."""
        if not self.configured() or not circuits.lets_through(scope.tenant_id, _CIRCUIT):
            return None
        try:
            async with asyncio.timeout(SECONDS):
                if not await embeddings.comparable():
                    return None
                model = await asking.model_for(scope)
                [vector] = await asking.vectors(scope, model, [words[: embeddings.LONGEST]])
        except (EmbeddingFailed, TimeoutError) as error:
            circuits.failed(scope.tenant_id, _CIRCUIT)
            log.warning("searched by words alone: %s", error or "no vector in time")
        except (EmbeddingRefused, psycopg.Error) as error:
            log.info("searched by words alone: %s", error)
        else:
            circuits.succeeded(scope.tenant_id, _CIRCUIT)
            return Meaning(model.source, vector, settings.TOOLGATE_EMBEDDINGS_LEAST)
        return None
