"""The worker's pool: bounded, acknowledged when started, fair to tenants, and in order when the worker ends."""

import signal
from collections.abc import Iterator

import pytest
from django.test import override_settings

from tests.tools.workers import Queue
from tests.waiting import PATIENCE_SECONDS, until
from tools.network import messages
from tools.worker.slots import Slots


@pytest.fixture
def queue() -> Iterator[Queue]:
    """A broker where no worker listens but those of the test, which this process publishes to."""
    with Queue() as queue, override_settings(REDIS_URL=queue.url):
        yield queue


# --- whose turn it is ------------------------------------------------------------------------------------------------
def _taken(slots: Slots[int], count: int) -> list[str]:
    return [found[0] for found in (slots.take() for _ in range(count)) if found is not None]


def test_free_slots_go_round_the_tenants_and_a_tenants_jobs_in_order() -> None:
    slots = Slots[int](4)
    for number in range(1000):
        slots.add("busy", number)
    assert [slots.take() for _ in range(5)] == [("busy", 0), ("busy", 1), ("busy", 2), ("busy", 3), None]
    slots.add("late", 1000)
    slots.add("later", 1001)
    for _ in range(4):
        slots.release("busy")
    assert [slots.take() for _ in range(5)] == [("busy", 4), ("late", 1000), ("later", 1001), ("busy", 5), None]


def test_no_tenant_takes_the_last_eighth_and_alone_it_leaves_it_free() -> None:
    slots = Slots[int](16)
    for number in range(100):
        slots.add("busy", number)
    assert _taken(slots, 100) == ["busy"] * 14
    slots.add("other", 0)
    assert slots.take() == ("other", 0)
    slots.release("busy")
    assert slots.take() == ("busy", 14)
    assert slots.take() is None


@pytest.mark.parametrize("count", [1, 2, 7])
def test_where_slots_are_few_one_tenant_may_take_them_all(count: int) -> None:
    slots = Slots[int](count)
    for number in range(9):
        slots.add("only", number)
    assert _taken(slots, 9) == ["only"] * count


# --- in a worker -----------------------------------------------------------------------------------------------------
async def test_a_tenant_with_a_thousand_calls_queued_delays_anothers_by_one_call_a_slot(queue: Queue) -> None:
    await messages.send([("tests.local", ["busy", str(number)]) for number in range(1000)])
    await messages.send([("tests.local", ["late", "0"])])
    queue.start("--concurrency", "8")
    # Everything is with the worker, and nothing more may start: seven, as the eighth slot is another tenant's.
    assert sorted(queue.noted("started", 8)) == sorted([*(f"busy:{number}" for number in range(7)), "late:0"])
    until(lambda: queue.waiting() == 0, queue.log)
    queue.redis.set("gate", 1)
    ended = queue.noted("ended", 1001)
    assert len(set(ended)) == 1001


async def test_remote_calls_that_wait_keep_no_local_one_waiting_and_no_more_run_than_have_slots(queue: Queue) -> None:
    # More than have slots: a tenant's are 448.
    await messages.send([("tests.remote", ["busy", str(number)]) for number in range(500)])
    await messages.send([("tests.local", ["busy", "local"])])
    queue.start("--concurrency", "4")
    until(lambda: "busy:local" in queue.noted("started", 449), queue.log)
    until(lambda: queue.waiting() == 0, queue.log)
    assert queue.redis.llen("started") == 449
    queue.redis.set("gate", 1)
    assert len(set(queue.noted("ended", 501))) == 501


async def test_a_message_that_comes_again_while_the_first_waits_is_dropped(queue: Queue) -> None:
    first = [("tests.local", ["a", "held"]), ("tests.local", ["a", "waits"])]
    await messages.send([*first, first[1], first[1]])
    # It has got all of them when it begins this one.
    await messages.send([("tests.remote", ["a", "last"])])
    worker = queue.start("--concurrency", "1")
    until(lambda: "a:last" in queue.noted("started", 2), queue.log)
    queue.redis.set("gate", 1)
    queue.noted("ended", 3)
    queue.end(worker, signal.SIGTERM)
    ended = [each for each in queue.noted("ended", 3) if each != "a:last"]
    assert (ended, queue.waiting()) == (["a:held", "a:waits"], 0)


async def test_a_worker_that_is_stopped_ends_what_runs_and_gives_back_what_waits(queue: Queue) -> None:
    await messages.send([("tests.local", ["a", str(number)]) for number in range(10)])
    # It has got all of them when it begins this one.
    await messages.send([("tests.remote", ["a", "last"])])
    worker = queue.start("--concurrency", "2")
    until(lambda: "a:last" in queue.noted("started", 3), queue.log)
    worker.send_signal(signal.SIGTERM)
    until(lambda: "begins nothing more" in queue.log(), queue.log)
    queue.redis.set("gate", 1)
    worker.wait(PATIENCE_SECONDS)
    assert sorted(queue.noted("ended", 3)) == ["a:0", "a:1", "a:last"]
    assert queue.waiting() == 8
    # What came later waits behind what was given back.
    await messages.send([("tests.local", ["a", "late"])])
    queue.start("--concurrency", "1")
    assert queue.noted("ended", 12)[3:] == [*(f"a:{number}" for number in range(2, 10)), "a:late"]


async def test_a_task_that_fails_gives_its_slot_back_and_what_is_none_of_ours_is_celerys(queue: Queue) -> None:
    await messages.send([("tests.failing", ["a"]), ("tests.unheard_of", []), ("tests.plain", ["plain"])])
    await messages.send([("tests.local", ["a", "after"])])
    queue.redis.set("gate", 1)
    worker = queue.start("--concurrency", "1")
    assert queue.noted("ended", 1) == ["a:after"]
    queue.end(worker, signal.SIGTERM)
    assert queue.waiting() == 0
    assert "tests.failing left to the sweeper" in queue.log()
    assert "tests.unheard_of" in queue.log()
    assert sorted(queue.noted("started", 2)) == ["a:after", "plain"]


async def test_the_threads_of_celery_run_the_same_tasks(queue: Queue) -> None:
    await messages.send([("tests.local", ["a", str(number)]) for number in range(3)])
    queue.redis.set("gate", 1)
    queue.start("--pool", "threads", "--concurrency", "2")
    assert sorted(queue.noted("ended", 3)) == ["a:0", "a:1", "a:2"]
