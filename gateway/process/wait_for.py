"""`asyncio.wait_for` of Python 3.11, mended: it loses a cancellation.

One that comes between the end of what is waited for and the waiter's next step is forgotten there, and whoever was
cancelled goes on: a stream goes on although its client has hung up. Python 3.12 does not. psycopg's pool waits so for a
connection, and redis-py writes each command so.
"""

import asyncio
import asyncio.tasks
import sys
from collections.abc import Awaitable
from typing import TypeVar

Result = TypeVar("Result")


def mend() -> None:
    """Have all libraries of this process wait without losing a cancellation."""
    if sys.version_info < (3, 12):
        asyncio.wait_for = asyncio.tasks.wait_for = wait_for  # type: ignore[assignment]


async def wait_for(work: Awaitable[Result], timeout: float | None) -> Result:
    """What `work` returns, waited for in the task that asks. Raises TimeoutError after `timeout` seconds."""
    async with asyncio.timeout(timeout):
        return await work
