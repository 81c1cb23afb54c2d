"""A log that nobody touched is intact, and every kind of entry is part of it."""

import pytest

from audit import statements
from tests.audit.whole import World, make_log


@pytest.fixture(scope="module")
def log() -> World:
    return make_log()


def test_a_log_that_nobody_touched_is_intact(log: World) -> None:
    with log.owner() as connection:
        found, summary = log.verified(connection)
    assert [str(finding) for finding in found] == []
    print(summary)


def test_entries_of_version_3_vouch_for_every_column_of_a_call() -> None:
    assert statements.gaps(3) == frozenset()
    assert statements.gaps(2) == {"time_limit_ms", "fence", "output_bytes", "queued_at", "started_at"}
