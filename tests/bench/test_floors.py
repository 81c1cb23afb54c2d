"""The floors end on any machine, however busy it is."""

import asyncio

import orjson
import pytest

from bench.floors.timing import timed


async def test_a_floor_of_which_nothing_is_done_in_time_counts_what_is_done_first(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    asked: list[int] = []

    async def once(number: int) -> None:
        asked.append(number)
        await asyncio.sleep(0)

    # No time to measure in: whatever is done is late.
    await timed(once, 2, 1e-9)
    found = orjson.loads(capsysbinary.readouterr().out)
    assert found["per_second"] >= 1 and found["p50"] > 0
    assert {0, 1} == set(asked)
