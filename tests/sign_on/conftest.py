from collections.abc import Iterator
from ipaddress import ip_network
from typing import TYPE_CHECKING

import pytest
from django.test import Client, override_settings

from tests.services.api import OUTSIDE, Api, serving
from tests.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from tests.sign_on.provider import Provider


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> "Iterator[Provider]":
    """A provider that the operator lets be reached, with times and windows that no slow machine lets end within a
    test."""
    from tests.sign_on.provider import Provider

    for seconds in ("CONNECT_SECONDS", "SECONDS"):
        monkeypatch.setattr(f"services.oauth.exchange.{seconds}", PATIENCE_SECONDS)
    api = Api()
    with (
        serving(api) as address,
        override_settings(
            TOOLGATE_EGRESS_ALLOW=(frozenset(), (ip_network(f"{OUTSIDE}/32"),)),
            LOGIN_ATTEMPTS="1000/d",
            SECOND_FACTOR_ATTEMPTS=("50/d",),
        ),
    ):
        yield Provider(api, address)


@pytest.fixture
def browser() -> Client:
    """A browser that is not logged in."""
    from tests.pages.browsing import InProcess

    return InProcess()


@pytest.fixture
def another() -> Client:
    """One more."""
    from tests.pages.browsing import InProcess

    return InProcess()
