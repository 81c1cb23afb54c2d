"""Ends what hangs when a test is over: pytest-timeout watches no longer once a test has failed.

A hook of pytest's, in tests/conftest.py.
"""

import faulthandler
import signal
import sys
from collections.abc import Iterator
from types import FrameType

import pytest

# For a whole teardown, then again and again for each fixture that goes on waiting: far more than any takes.
TEARDOWN_SECONDS = 200.0
AGAIN_SECONDS = 60.0


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """Have a fixture that hangs fail, with the stacks of all threads on standard error."""

    def end(number: int, frame: FrameType | None) -> None:
        faulthandler.dump_traceback(file=sys.__stderr__ or 2)
        pytest.fail(f"the teardown of {item.nodeid} hangs")

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, TEARDOWN_SECONDS, AGAIN_SECONDS)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
