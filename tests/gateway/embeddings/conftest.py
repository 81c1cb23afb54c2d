"""The provider that tests of embeddings ask is that of named providers."""

from tests.gateway.routing.conftest import _closed_clients, upstream

__all__ = ["_closed_clients", "upstream"]
