"""What follows a commit: who decides or answers waits for it a moment, and no longer."""

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any

# A broker that is away holds nobody up for longer; the sweeper finds what was not published.
PATIENCE_SECONDS = 1.0
_under_way: set[asyncio.Task[None]] = set()


async def publish(publishing: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Do all of it at once; what is not done within a second goes on in the background."""
    tasks = {asyncio.create_task(each) for each in publishing}
    _under_way.update(tasks)
    for task in tasks:
        task.add_done_callback(_under_way.discard)
    await asyncio.wait(tasks, timeout=PATIENCE_SECONDS)
