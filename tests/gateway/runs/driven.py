"""Runs that this process seems to drive."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from gateway.runs.lifecycle.driving import Driven, driven_here
from gateway.runs.view import RunView
from tests.waiting import PATIENCE_SECONDS


@asynccontextmanager
async def driven(run: RunView) -> AsyncIterator[None]:
    """Inside, whoever follows the run watches this view, as it is changed here."""
    task = asyncio.create_task(asyncio.sleep(PATIENCE_SECONDS))
    driven_here[run.id] = Driven(run, task)
    try:
        yield
    finally:
        del driven_here[run.id]
        task.cancel()
