from collections.abc import Iterator

import pytest

from tests.services.api import OUTSIDE, Api, serving
from tests.stack import Stack


@pytest.fixture(scope="session")
def stack() -> Iterator[Stack]:
    """A Toolgate that may call the APIs of these tests."""
    with Stack(TOOLGATE_EGRESS_ALLOW=OUTSIDE) as running:
        yield running


@pytest.fixture
def api() -> Api:
    """An API that answers 404 until a test says otherwise."""
    return Api()


@pytest.fixture
def url(api: Api) -> Iterator[str]:
    """Its address."""
    with serving(api) as address:
        yield address
