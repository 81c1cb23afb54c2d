"""The house that the fault tests share, and the table at their end."""

from collections.abc import Iterator

import pytest

from tests.faults import arrows, journal
from tests.faults.house import House
from tests.faults.remote import Remote


@pytest.fixture(scope="package")
def house() -> Iterator[House]:
    """One house for all faults of a pytest worker; each test leaves it standing."""
    with House() as standing:
        journal.install(standing.services.database_owner_url)
        arrows.install(standing.services.database_owner_url)
        yield standing


@pytest.fixture
def remote() -> Iterator[Remote]:
    """A remote that counts."""
    counting = Remote()
    yield counting
    counting.close()
