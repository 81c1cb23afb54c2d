"""A count that comes late: Redis that is silent is given up, and a process that stands still is no silence of Redis."""

import asyncio
import os
import signal
import tempfile
import threading
import uuid
from pathlib import Path
from typing import Any

import pytest
from django.test import override_settings

from gateway.embedded.services.together import EmbeddedServices
from tests.waiting import PATIENCE_SECONDS
from tools.gates import rate_counter
from tools.gates.rate_counter import LimitsUnavailable


def _charge() -> dict[str, Any]:
    return {"tenant_id": uuid.uuid4(), "user_id": uuid.uuid4(), "tool": "save_note", "rate": "3/m"}


async def _be_busy() -> None:
    """Have the event loop stand still again and again."""
    while True:
        threading.Event().wait(0.15)
        await asyncio.sleep(0)


async def test_a_process_that_is_busy_while_it_connects_and_counts_has_its_count() -> None:
    busy = asyncio.create_task(_be_busy())
    assert (await rate_counter.charge(**_charge())).remaining == 2
    busy.cancel()


async def test_a_process_that_stands_still_for_longer_than_redis_may_has_its_count() -> None:
    charge = _charge()
    await rate_counter.charge(**charge)
    counting = asyncio.create_task(rate_counter.charge(**charge))
    await asyncio.sleep(0)
    threading.Event().wait(2.5)
    assert (await counting).remaining == 1


async def test_a_redis_that_falls_silent_is_given_up_also_by_those_that_connect_anew() -> None:
    services = EmbeddedServices(Path(tempfile.mkdtemp(prefix="toolgate-limit-")), durable=False, postgres=False)
    with services, override_settings(REDIS_URL=services.redis_url):
        assert services.valkey is not None and services.valkey.pid is not None
        charge = _charge()
        await rate_counter.charge(**charge)
        os.kill(services.valkey.pid, signal.SIGSTOP)
        async with asyncio.timeout(PATIENCE_SECONDS):
            for _ in range(2):
                with pytest.raises(LimitsUnavailable, match="TimeoutError"):
                    await rate_counter.charge(**charge)
        os.kill(services.valkey.pid, signal.SIGCONT)
        # It counts what it had been told meanwhile, though that was refused.
        assert (await rate_counter.charge(**charge)).limit == 3
