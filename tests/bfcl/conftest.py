"""What the leaderboard has, read once; without its data these tests fail in CI and are skipped elsewhere."""

import pytest

from tests.bfcl import leaderboard


@pytest.fixture(scope="package")
def functions() -> list[leaderboard.Function]:
    leaderboard.need()
    return leaderboard.functions()


@pytest.fixture(scope="package")
def calls() -> list[leaderboard.Call]:
    leaderboard.need()
    return leaderboard.calls()
