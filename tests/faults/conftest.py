"""The deployment that the fault tests share, and the table at their end."""

from collections.abc import Iterator

import pytest

from tests.faults import arrows, journal, money, report
from tests.faults.deployment import Deployment
from tests.faults.remote import Remote


@pytest.fixture(scope="package")
def deployment() -> Iterator[Deployment]:
    """One deployment for all faults of a pytest worker; each test leaves it standing."""
    with Deployment() as standing:
        journal.install(standing.services.database_owner_url)
        arrows.install(standing.services.database_owner_url)
        money.install(standing.superuser_url)
        yield standing


@pytest.fixture
def remote() -> Iterator[Remote]:
    """A remote that counts."""
    counting = Remote()
    yield counting
    counting.close()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what the storms and the trees found, and what a tree went through."""
    reports = [each for outcome in ("passed", "failed") for each in terminalreporter.stats.get(outcome, [])]
    found = [(name, value) for each in reports if each.when == "call" for name, value in each.user_properties]
    for line in report.table([value for name, value in found if name == "storm"]):
        terminalreporter.write_line(line)
    for line in (line for name, value in found if name in ("trees", "transcript") for line in value):
        terminalreporter.write_line(line)
