from collections.abc import Iterator
from ipaddress import ip_network

import pytest
from django.test import override_settings

from tests.connections.authorization import HOST, AuthorizationServer, authorization_server
from tests.services.api import Api, serving
from tests.waiting import PATIENCE_SECONDS


@pytest.fixture(scope="module")
def server() -> Iterator[AuthorizationServer]:
    """A real authorization server."""
    from services.connections import flow

    with authorization_server(flow.redirect_uri()) as running:
        yield running


@pytest.fixture(autouse=True)
def _steered(request: pytest.FixtureRequest) -> None:
    """As the last test found it, not as it left it."""
    if "server" in request.fixturenames:
        request.getfixturevalue("server").control(access=3600, delay=0)


@pytest.fixture(autouse=True)
def _outside(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The operator lets the servers of these tests be reached, and a machine that is busy is no server that hangs."""
    for seconds in ("CONNECT_SECONDS", "SECONDS"):
        monkeypatch.setattr(f"services.oauth.exchange.{seconds}", PATIENCE_SECONDS)
    with override_settings(TOOLGATE_EGRESS_ALLOW=(frozenset(), (ip_network(f"{HOST}/32"),))):
        yield


@pytest.fixture
def api() -> Api:
    """An API, or a server that lies, as the test says."""
    return Api()


@pytest.fixture
def url(api: Api) -> Iterator[str]:
    """Its address."""
    with serving(api) as address:
        yield address
