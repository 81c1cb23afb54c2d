"""The rate limit: never more than the limit in any window, by a model, by the clock, and over a restart of Redis."""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import override_settings
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from redis import Redis

from gateway.embedded.services.together import EmbeddedServices
from tests.conftest import ROOT
from tools.gates import rate_counter
from tools.gates.rate_counter import Charge, LimitsUnavailable

SECOND = 1_000_000
WINDOW = 10 * SECOND


def asked(**more: Any) -> dict[str, Any]:
    """The arguments of a charge that shares its count with no other test's."""
    return {"tenant_id": uuid.uuid4(), "user_id": uuid.uuid4(), "tool": "save_note", "rate": "3/m"} | more


def key(charge: dict[str, Any]) -> str:
    """Where the charge is counted."""
    return f"toolgate:rate:{charge['tenant_id']}:{charge['user_id']}:{charge['tool']}"


def let_through(redis: Redis, charge: dict[str, Any], *seconds_ago: float) -> None:
    """Count calls as if they had been let through so long ago."""
    seconds, micro = redis.time()  # type: ignore[misc]
    redis.rpush(key(charge), *(int(seconds * SECOND + micro - ago * SECOND) for ago in seconds_ago))


@pytest.fixture
def redis() -> Iterator[Redis]:
    """A client of the test's Redis."""
    with Redis.from_url(settings.REDIS_URL) as client:
        yield client


class Model:
    """The same limit, slowly: all times at which a call was let through."""

    def __init__(self) -> None:
        self.times: list[int] = []

    def charge(self, now: int, limit: int, count: bool) -> tuple[bool, int, int]:
        """Whether the call fits, how many are in the window, and microseconds until one of them makes room."""
        if self.times and self.times[-1] > now + WINDOW:
            self.times = []
        now = max([now, *self.times])
        inside = [time for time in self.times if time > now - WINDOW]
        fits = len(inside) < limit
        if fits and count:
            self.times.append(now)
            inside.append(now)
        leaving = inside[max(0, len(inside) - limit)] + WINDOW - now if inside else 0
        return fits, len(inside), leaving


STEPS = st.lists(
    st.tuples(
        st.one_of(st.integers(0, 3 * SECOND), st.integers(-2 * SECOND, 0), st.integers(-3 * WINDOW, 3 * WINDOW)),
        st.integers(1, 5),
        st.booleans(),
    ),
    max_size=60,
)


@hypothesis_settings(max_examples=150, deadline=None)
@given(steps=STEPS)
def test_the_script_answers_as_the_model_does_whatever_the_clock_and_the_limit_do(
    steps: list[tuple[int, int, bool]],
) -> None:
    timed = rate_counter._SCRIPT.replace("redis.call('TIME')", "{ARGV[4], ARGV[5]}")
    assert timed != rate_counter._SCRIPT
    model, name, now = Model(), f"toolgate:rate:{uuid.uuid4()}", 1_700_000_000 * SECOND
    with Redis.from_url(settings.REDIS_URL) as client:
        script = client.register_script(timed)
        for passed, limit, count in steps:
            now += passed
            answer = script([name], [WINDOW, int(count), limit, *divmod(now, SECOND)])
            assert answer == list(map(int, model.charge(now, limit, count)))


@hypothesis_settings(max_examples=100, deadline=None)
@given(pauses=st.lists(st.integers(0, 4 * SECOND), max_size=60), limit=st.integers(1, 5))
def test_no_window_wherever_it_begins_has_more_calls_than_the_limit(pauses: list[int], limit: int) -> None:
    timed = rate_counter._SCRIPT.replace("redis.call('TIME')", "{ARGV[4], ARGV[5]}")
    name, now, passed = f"toolgate:rate:{uuid.uuid4()}", 1_700_000_000 * SECOND, []
    with Redis.from_url(settings.REDIS_URL) as client:
        script = client.register_script(timed)
        for pause in pauses:
            now += pause
            if script([name], [WINDOW, 1, limit, *divmod(now, SECOND)])[0]:
                passed.append(now)
        assert client.llen(name) <= limit
    assert all(later - earlier >= WINDOW for earlier, later in zip(passed, passed[limit:], strict=False))


async def test_a_call_counts_for_as_long_as_the_window_and_no_longer(redis: Redis) -> None:
    charge = asked()
    let_through(redis, charge, 61, 30, 20)
    let_in = await rate_counter.charge(**charge)
    assert let_in == Charge(True, 3, 0, let_in.reset)
    assert 0 < let_in.reset <= 30
    refused = await rate_counter.charge(**charge)
    assert (refused.allowed, refused.remaining) == (False, 0)
    assert 0 < refused.reset <= 30
    assert redis.llen(key(charge)) == 3


async def test_across_the_end_of_a_minute_no_more_than_the_limit_pass(redis: Redis) -> None:
    # Ten just before, as a limit by the calendar's minute would let ten more through just after.
    charge = asked(rate="10/m")
    let_through(redis, charge, *[4.0] * 10)
    assert [(await rate_counter.charge(**charge)).allowed for _ in range(10)] == [False] * 10


async def test_what_is_refused_and_what_only_looks_is_not_counted(redis: Redis) -> None:
    charge = asked()
    assert await rate_counter.charge(**charge, count=False) == Charge(True, 3, 3, 0)
    assert redis.exists(key(charge)) == 0
    assert [(await rate_counter.charge(**charge)).remaining for _ in range(3)] == [2, 1, 0]
    for count in (True, False):
        refused = await rate_counter.charge(**charge, count=count)
        assert (refused.allowed, refused.remaining) == (False, 0)
    assert redis.llen(key(charge)) == 3


async def test_a_lower_limit_counts_what_was_let_through_under_the_higher(redis: Redis) -> None:
    charge = asked()
    let_through(redis, charge, 40, 30, 20)
    refused = await rate_counter.charge(**charge | {"rate": "2/m"})
    # Room for one comes when two have left.
    assert (refused.allowed, refused.remaining) == (False, 0)
    assert 20 < refused.reset <= 30


async def test_nothing_is_left_in_redis_when_the_window_is_over(redis: Redis) -> None:
    charge = asked(rate="5/h")
    await rate_counter.charge(**charge)
    assert 0 < redis.pttl(key(charge)) <= 3_600_001  # type: ignore[operator]


async def test_a_hundred_at_once_are_charged_exactly() -> None:
    charge = asked(rate="30/d")
    charges = await asyncio.gather(*(rate_counter.charge(**charge) for _ in range(100)))
    assert sum(each.allowed for each in charges) == 30
    assert sorted(each.remaining for each in charges if each.allowed) == list(range(30))


@pytest.mark.parametrize("rate", ["", "often", "m/30", "3/0m"])
async def test_a_rate_that_is_none_counts_nothing_and_lets_nothing_through(redis: Redis, rate: str) -> None:
    charge = asked(rate=rate)
    with pytest.raises(LimitsUnavailable, match="ValueError"):
        await rate_counter.charge(**charge)
    assert redis.exists(key(charge)) == 0


async def test_a_limit_of_none_lets_nothing_through() -> None:
    assert await rate_counter.charge(**asked(rate="0/m")) == Charge(False, 0, 0, 60)


async def test_a_redis_that_forgot_the_script_is_sent_it_again(redis: Redis) -> None:
    charge = asked()
    await rate_counter.charge(**charge)
    redis.script_flush()
    assert (await rate_counter.charge(**charge)).remaining == 1


async def test_a_redis_without_persistence_begins_at_zero_after_a_restart_and_counts_at_once() -> None:
    services = EmbeddedServices(Path(tempfile.mkdtemp(prefix="toolgate-limit-")), durable=False, postgres=False)
    with services, override_settings(REDIS_URL=services.redis_url):
        charge = asked()
        assert [(await rate_counter.charge(**charge)).allowed for _ in range(4)] == [True] * 3 + [False]
        assert services.valkey is not None
        services.valkey.stop()
        with pytest.raises(LimitsUnavailable):
            await rate_counter.charge(**charge)
        services.valkey.restart()
        # Three more in the same minute: what Redis kept in memory alone is lost with it.
        assert [(await rate_counter.charge(**charge)).allowed for _ in range(4)] == [True] * 3 + [False]


_PROCESS = """
import asyncio, os, sys, uuid
import django
django.setup()
from tools.gates import rate_counter
from tools.gates.rate_counter import LimitsUnavailable
tenant, user, rate = uuid.UUID(sys.argv[1]), uuid.UUID(sys.argv[2]), sys.argv[3]

async def charge():
    while True:
        try:
            return (await rate_counter.charge(tenant_id=tenant, user_id=user, tool="save_note", rate=rate)).allowed
        except LimitsUnavailable:
            print("away", flush=True)

async def main():
    for line in sys.stdin:
        asked = [await charge() for _ in range(int(line))]
        print(sum(asked), flush=True)

asyncio.run(main())
"""


def test_three_processes_have_no_more_than_the_limit_in_a_window_with_redis_killed_in_it() -> None:
    tenant, user = str(uuid.uuid4()), str(uuid.uuid4())
    services = EmbeddedServices(Path(tempfile.mkdtemp(prefix="toolgate-limit-")), postgres=False)
    with services, ExitStack() as stack:
        environment = os.environ | {"REDIS_URL": services.redis_url}
        command = [sys.executable, "-c", _PROCESS, tenant, user, "20/h"]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "cwd": ROOT}
        running = [stack.enter_context(subprocess.Popen(command, env=environment, **pipes)) for _ in range(3)]
        for each in running:
            stack.callback(each.kill)

        def ask(times: int) -> None:
            """Each of the three asks so often, all at once."""
            for each in running:
                each.stdin.write(f"{times}\n")
                each.stdin.flush()

        def let_through() -> list[int]:
            """How many each of them was let do."""
            said = []
            for each in running:
                while (line := each.stdout.readline().strip()) == "away":
                    pass
                said.append(int(line))
            return said

        ask(5)
        assert let_through() == [5, 5, 5]
        assert services.valkey is not None and services.valkey.pid is not None
        os.kill(services.valkey.pid, signal.SIGKILL)
        # Asked while it is away, and let through by none.
        ask(5)
        for each in running:
            assert each.stdout.readline() == "away\n"
        services.valkey.restart()
        assert sum(let_through()) == 5
        ask(20)
        assert let_through() == [0, 0, 0]
        # An orderly restart, too.
        services.valkey.stop()
        services.valkey.restart()
        ask(20)
        assert let_through() == [0, 0, 0]
        for each in running:
            each.stdin.close()


async def test_a_redis_that_is_killed_while_its_disk_is_busy_has_written_all_that_was_let_through() -> None:
    services = EmbeddedServices(Path(tempfile.mkdtemp(prefix="toolgate-limit-")), postgres=False)
    with services, override_settings(REDIS_URL=services.redis_url):
        assert services.valkey is not None and services.valkey.pid is not None
        charge, counted = asked(rate="1000000/h"), 0
        with Redis.from_url(services.redis_url) as client:
            client.set("much", os.urandom(8_000_000))
            # A Redis that waits for the disk once a second begins to within these, and answers meanwhile.
            until = time.monotonic() + 2.5
            while time.monotonic() < until:
                waits = client.info("persistence")["aof_pending_bio_fsync"]  # type: ignore[index]
                counted += (await rate_counter.charge(**charge)).allowed
                if waits:
                    break
        os.kill(services.valkey.pid, signal.SIGKILL)
        services.valkey.restart()
        with Redis.from_url(services.redis_url) as client:
            assert client.llen(key(charge)) == counted


async def test_what_several_windows_bound_is_counted_in_all_of_them_or_in_none(redis: Redis) -> None:
    wide, narrow = f"toolgate:test:{uuid.uuid4()}", f"toolgate:test:{uuid.uuid4()}"
    limits = {wide: 5, narrow: 2}
    assert [each.remaining for each in await rate_counter.charge_all(limits, 60)] == [4, 1]
    assert [each.remaining for each in await rate_counter.charge_all(limits, 60)] == [3, 0]
    refused = await rate_counter.charge_all(limits, 60)
    assert [(each.allowed, each.remaining) for each in refused] == [(True, 3), (False, 0)]
    assert 0 < refused[1].reset <= 60
    assert (redis.llen(wide), redis.llen(narrow)) == (2, 2)
