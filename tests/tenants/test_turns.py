"""Few connections work at a time, and whoever takes long keeps nobody waiting."""

import asyncio

import pytest
from django.conf import settings
from psycopg_pool import PoolTimeout

from tenants.scope import transactions, turns
from tenants.scope.turns import Turns
from tests.waiting import PATIENCE_SECONDS


async def _idle() -> None:
    """Let every task that can go on do so."""
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.fixture
def for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody takes long."""
    monkeypatch.setattr(turns, "MOMENT_SECONDS", 10 * PATIENCE_SECONDS)


@pytest.fixture
async def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pool of two connections of which one works at a time."""
    monkeypatch.setattr(settings, "DATABASE_POOL_SIZE", 2)
    monkeypatch.setattr(settings, "DATABASE_AT_ONCE", 1)


@pytest.mark.usefixtures("for_ever")
async def test_so_many_have_a_turn_and_the_others_get_theirs_in_order() -> None:
    of_two = Turns(2)
    had: list[int] = []

    async def wait(number: int) -> object:
        turn = await of_two.take()
        had.append(number)
        return turn

    waiting = [asyncio.create_task(wait(number)) for number in range(5)]
    await _idle()
    assert had == [0, 1]
    of_two.end(await waiting[1])
    await _idle()
    assert had == [0, 1, 2]
    of_two.end(await waiting[0])
    of_two.end(await waiting[2])
    await _idle()
    assert had == [0, 1, 2, 3, 4]


@pytest.mark.usefixtures("for_ever")
async def test_who_is_cancelled_gives_up_their_place_or_their_turn() -> None:
    of_one = Turns(1)
    first = await of_one.take()
    waiting = [asyncio.create_task(of_one.take()) for _ in range(4)]
    await _idle()
    waiting[0].cancel()
    await _idle()
    of_one.end(first)
    # It has its turn, and is told of both at once.
    waiting[1].cancel()
    await _idle()
    assert [each.done() for each in waiting] == [True, True, True, False]
    of_one.end(await waiting[2])
    await waiting[3]
    assert waiting[0].cancelled()
    assert waiting[1].cancelled()


async def test_who_takes_long_keeps_nobody_waiting_and_gives_no_second_turn_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    of_one = Turns(1)
    for_long = await of_one.take()
    second = await of_one.take()
    monkeypatch.setattr(turns, "MOMENT_SECONDS", 10 * PATIENCE_SECONDS)
    of_one.end(for_long)
    third = asyncio.create_task(of_one.take())
    await _idle()
    assert not third.done()
    of_one.end(second)
    await third


@pytest.mark.usefixtures("at_once", "for_ever")
async def test_statements_wait_for_the_one_that_works() -> None:
    async with transactions.borrowed():
        waits = asyncio.create_task(transactions.fetch("SELECT 1 AS one"))
        await _idle()
        assert not waits.done()
    assert await waits == [{"one": 1}]


@pytest.mark.usefixtures("at_once")
async def test_a_transaction_that_waits_for_a_lock_keeps_no_statement_waiting() -> None:
    async with transactions.borrowed():
        assert await transactions.fetch("SELECT 1 AS one") == [{"one": 1}]


@pytest.mark.usefixtures("at_once")
async def test_a_pool_without_a_free_connection_is_given_up_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "DATABASE_POOL_SECONDS", 1)
    async with transactions.borrowed(), transactions.borrowed():
        with pytest.raises(PoolTimeout):
            await transactions.fetch("SELECT 1")
    assert await transactions.fetch("SELECT 1 AS one") == [{"one": 1}]
