from collections.abc import Iterator

import pytest

from tests.hostile.upstream import Upstream, running
from tests.stack import Stack


@pytest.fixture(scope="session")
def upstream() -> Iterator[Upstream]:
    """A provider that tests script, with a running Toolgate that asks it."""
    with running() as started:
        yield started


@pytest.fixture(scope="session")
def stack(upstream: Upstream) -> Stack:
    """The same Toolgate; its default model is the demo one, as everywhere."""
    return upstream.stack
