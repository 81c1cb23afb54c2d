"""Providers that tenants name, on this machine."""

from collections.abc import AsyncIterator, Iterator
from ipaddress import ip_network

import pytest
from django.test import override_settings

from gateway.providers.routing import clients
from tests.gateway.routing import upstream as upstreams
from tests.gateway.routing.upstream import Upstream


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    """A provider; tenants may name its address."""
    local = (frozenset[str](), (ip_network("127.0.0.1/32"),))
    with override_settings(TOOLGATE_EGRESS_ALLOW=local), upstreams.running() as running:
        yield running


@pytest.fixture(autouse=True)
async def _closed_clients() -> AsyncIterator[None]:
    """Close what an asynchronous test opened on its event loop."""
    yield
    await clients.close()
