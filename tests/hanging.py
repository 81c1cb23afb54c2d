"""Says where a test hangs, and ends what hangs when it is over. pytest-timeout knows no tasks, and watches no longer
once a test has failed.

Hooks of pytest's, in tests/conftest.py, and how event loops end.
"""

import asyncio
import asyncio.runners
import faulthandler
import gc
import signal
import sys
from collections.abc import Iterator
from types import AsyncGeneratorType, FrameType
from typing import Any

import pytest

# For a whole teardown, then again and again for each fixture that goes on waiting: far more than any takes.
TEARDOWN_SECONDS = 200.0
AGAIN_SECONDS = 60.0
# Then what was cancelled and goes on is cancelled again.
CANCEL_SECONDS = 5.0


@pytest.hookimpl(wrapper=True)
def pytest_timeout_set_timer() -> Iterator[None]:
    """Have a test that hangs fail with the stacks of all tasks on standard error."""
    begun = yield
    fails: Any = signal.getsignal(signal.SIGALRM)

    def end(number: int, frame: FrameType | None) -> None:
        print(*waiting(), sep="\n", file=sys.stderr)
        fails(number, frame)

    signal.signal(signal.SIGALRM, end)
    return begun


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """Have a fixture that hangs fail, with the stacks of all threads and tasks on standard error."""

    def end(number: int, frame: FrameType | None) -> None:
        faulthandler.dump_traceback(file=sys.__stderr__ or 2)
        print(*waiting(), sep="\n", file=sys.__stderr__, flush=True)
        pytest.fail(f"the teardown of {item.nodeid} hangs")

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, TEARDOWN_SECONDS, AGAIN_SECONDS)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def waiting() -> list[str]:
    """Where each task of the running loop waits, outermost first; nothing without a loop."""
    try:
        tasks = asyncio.all_tasks()
    except RuntimeError:
        return []
    lines = []
    for task in tasks:
        lines.append(f"Task {task.get_name()}:")
        at: Any = task.get_coro()
        while at is not None:
            if frame := getattr(at, "cr_frame", None) or getattr(at, "ag_frame", None):
                lines.append(f'  File "{frame.f_code.co_filename}", line {frame.f_lineno} in {frame.f_code.co_name}')
            at = getattr(at, "cr_await", None) or getattr(at, "ag_await", None) or _generator_of(at)
    return lines


def _generator_of(step: object) -> AsyncGeneratorType[Any, Any] | None:
    """The asynchronous generator, such as a fixture, that this is a step of."""
    if type(step).__name__ != "async_generator_asend":
        return None
    return next((each for each in gc.get_referents(step) if isinstance(each, AsyncGeneratorType)), None)


def cancel_all_tasks(loop: asyncio.AbstractEventLoop) -> None:
    """As asyncio has it at the end of a loop, but again until none is left.

    A worker of psycopg's pool that is cancelled in the middle of its work takes that for a failure of this piece of
    work, and waits for the next one: nobody would cancel it again.
    """
    while tasks := asyncio.all_tasks(loop):
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.wait(tasks, timeout=CANCEL_SECONDS))
        for task in tasks:
            if task.done() and not task.cancelled() and (failed := task.exception()) is not None:
                loop.call_exception_handler({"message": "a task failed at its end", "exception": failed, "task": task})


asyncio.runners._cancel_all_tasks = cancel_all_tasks  # type: ignore[attr-defined]
