"""Notes how long each file of tests took, in pytest's cache: `make test-changed` fills its time by it.

Hooks of pytest's, in tests/conftest.py.
"""

from collections import defaultdict

import pytest

NOTED = "toolgate/seconds"
_seconds: defaultdict[str, float] = defaultdict(float)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add a test, its fixtures included, to its file."""
    _seconds[report.nodeid.partition("::")[0]] += report.duration


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Note the files that were run as a whole, once for all pytest workers."""
    config = session.config
    is_part = any("::" in each for each in config.args) or config.option.keyword or config.option.markexpr
    cache = getattr(config, "cache", None)
    if is_part or session.testsfailed or session.shouldstop or hasattr(config, "workerinput") or cache is None:
        return
    known = cache.get(NOTED, {})
    cache.set(NOTED, known | {file: round(seconds, 1) for file, seconds in _seconds.items()})
