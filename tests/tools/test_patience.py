"""How long others may take: in their time, and not while this process itself stands still."""

import asyncio
import threading

import pytest

from tests.waiting import PATIENCE_SECONDS
from tools.network.patience import within


async def _answer(turns: int) -> str:
    for _ in range(turns):
        await asyncio.sleep(0)
    return "answer"


async def _fail() -> None:
    await asyncio.sleep(0)
    raise ValueError("no")


async def test_what_comes_in_its_time_is_returned_or_raised() -> None:
    assert await within(PATIENCE_SECONDS, _answer(0)) == "answer"
    assert await within(PATIENCE_SECONDS, _answer(3)) == "answer"
    with pytest.raises(ValueError, match="no"):
        await within(PATIENCE_SECONDS, _fail())


async def test_what_never_comes_is_given_up_and_cancelled() -> None:
    working = asyncio.ensure_future(asyncio.Event().wait())
    async with asyncio.timeout(PATIENCE_SECONDS):
        with pytest.raises(TimeoutError):
            await within(0.05, working)
    await asyncio.wait({working})
    assert working.cancelled()


async def test_what_is_given_up_may_end_otherwise_and_nobody_is_told(caplog: pytest.LogCaptureFixture) -> None:
    async def stubborn() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise ValueError("no") from None

    working = asyncio.ensure_future(stubborn())
    with pytest.raises(TimeoutError):
        await within(0.05, working)
    await asyncio.wait({working})
    del working
    await asyncio.sleep(0)
    assert caplog.records == []


async def test_time_in_which_the_event_loop_stands_still_does_not_count() -> None:
    async def stand_still() -> None:
        for _ in range(4):
            threading.Event().wait(0.2)
            await asyncio.sleep(0)

    still = asyncio.create_task(stand_still())
    assert await within(0.4, _answer(6)) == "answer"
    await still


async def test_who_is_cancelled_cancels_what_it_waits_for() -> None:
    working = asyncio.ensure_future(asyncio.Event().wait())
    waiting = asyncio.create_task(within(PATIENCE_SECONDS, working))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait({waiting, working})
    assert waiting.cancelled() and working.cancelled()
