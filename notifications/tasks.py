"""What a worker is asked to do with notifications: messages carry ids and nothing else."""

import logging
import uuid
from concurrent.futures import Future
from typing import Any

from celery import shared_task

from notifications import delivery
from tools.invocation import background

log = logging.getLogger(__name__)


@shared_task(name="notifications.deliver")
def deliver(tenant_id: str) -> None:
    """Deliver a tenant's notifications that are due; the thread is given back at once."""
    background.submit(delivery.deliver(uuid.UUID(tenant_id))).add_done_callback(_report)


def _report(done: Future[Any]) -> None:
    if not done.cancelled() and (error := done.exception()) is not None:
        log.error("notifications left to the sweeper", exc_info=error)
