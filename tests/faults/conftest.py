"""The house that the fault tests share, and the table at their end."""

from collections.abc import Iterator

import pytest

from tests.faults import arrows, journal, report
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


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what the storms found."""
    reports = [each for outcome in ("passed", "failed") for each in terminalreporter.stats.get(outcome, [])]
    lines = [
        value for each in reports if each.when == "call" for name, value in each.user_properties if name == "storm"
    ]
    for line in report.table(lines):
        terminalreporter.write_line(line)
