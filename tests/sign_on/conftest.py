from collections.abc import Iterator
from ipaddress import ip_network
from typing import TYPE_CHECKING

import pytest
from django.test import Client, override_settings

from tests.services.api import OUTSIDE, Api, serving

if TYPE_CHECKING:
    from tests.sign_on.provider import Provider


@pytest.fixture
def provider() -> "Iterator[Provider]":
    """A provider that the operator lets be reached, with windows that no slow machine lets end within a test."""
    from tests.sign_on.provider import Provider

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
