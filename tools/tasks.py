"""What a worker is told to do with calls: messages carry ids and nothing else."""

import logging
import uuid
from concurrent.futures import Future
from typing import Any

from celery import shared_task

from tools.invocation import background
from tools.invocation.execution import execute

log = logging.getLogger(__name__)


@shared_task(name="tools.execute_local")
def execute_local(tenant_id: str, user_id: str, call_id: str) -> None:
    """Run a call of a transactional tool, keeping this thread until it is done."""
    background.submit(execute(uuid.UUID(tenant_id), uuid.UUID(user_id), uuid.UUID(call_id))).result()


@shared_task(name="tools.execute_remote")
def execute_remote(tenant_id: str, user_id: str, call_id: str) -> None:
    """Start a call of a remote-bound tool and give the thread back."""
    call = execute(uuid.UUID(tenant_id), uuid.UUID(user_id), uuid.UUID(call_id))
    background.submit(background.in_remote_slot(call)).add_done_callback(_report)


def _report(done: Future[Any]) -> None:
    if not done.cancelled() and (error := done.exception()) is not None:
        log.error("call left to the sweeper", exc_info=error)
