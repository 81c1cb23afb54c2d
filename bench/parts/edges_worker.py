"""The worker of `bench.parts.edges`: sends itself MESSAGES messages of a task that sleeps; ends after the last."""

import asyncio
import os
import signal
from typing import Any

from celery import Celery
from celery.signals import worker_ready

from tools.network import messages
from tools.worker import background
from tools.worker.background import Lane
from tools.worker.broker import Messaging

app = Celery("bench", amqp=Messaging, broker=os.environ["REDIS_URL"])
app.conf.update(
    worker_pool="tools.worker.pool:TaskPool",
    worker_prefetch_multiplier=128,
    task_ignore_result=True,
    broker_transport_options={"global_keyprefix": "toolgate:"},
)
_left = int(os.environ["MESSAGES"])


@background.task("bench.taken", Lane.LOCAL)
async def taken(tenant_id: str, number: str) -> None:
    """For as long as a look at the database takes."""
    global _left
    await asyncio.sleep(0.001)
    _left -= 1
    if not _left:
        os.kill(os.getpid(), signal.SIGTERM)


@worker_ready.connect  # type: ignore[untyped-decorator]
def _send(**signal: Any) -> None:
    count = int(os.environ["MESSAGES"])
    background.submit(messages.send([("bench.taken", ["tenant", str(number)]) for number in range(count)]))
