"""A run as an HTTP answer: one JSON body, or server-sent events."""

import asyncio
import uuid
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from math import inf
from typing import Any

from gateway.http.problems import problem
from gateway.runs.lifecycle import following
from gateway.runs.lifecycle.following import Patience
from gateway.runs.view import RunView, body
from gateway.runs.watching import events
from gateway.runs.watching.events import KEEP_ALIVE, Position
from gateway.runs.watching.wakeups import waits
from tenants.scope.transactions import TenantScope
from tools.invocation.live.progress import Progress

KEEP_ALIVE_SECONDS = 5.0
# A provider's own pause is spent on our retries; what is left to say is "not at once".
PROVIDER_RETRY_SECONDS = 10
# So many readers of one run are told of each change at once; each one more makes all of them wait so much longer
# between two deltas, so that one person's readers do not keep the process from everybody else.
MOST_AT_ONCE, PAUSE_SECONDS = 16, 0.001
_readers: Counter[uuid.UUID] = Counter()
_pause = asyncio.sleep
STREAM_HEADERS = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}


def at_rest(view: RunView) -> tuple[int, dict[str, Any], dict[str, str]]:
    """The answer for a run at rest: HTTP status, body and headers. A failed run is a problem document."""
    run = view.run
    if run.status == "failed":
        status = run.error_status or 500
        headers = {}
        if status == 429:
            seconds = PROVIDER_RETRY_SECONDS
            headers = {
                "Retry-After": str(seconds),
                "RateLimit-Policy": f'"provider";q=1;w={seconds}',
                "RateLimit": f'"provider";r=0;t={seconds}',
            }
        return (
            status,
            problem(status, run.error_code or "internal_error", run.error_message or "", run_id=str(view.id)),
            headers,
        )
    return (202 if view.suspended else 200), body(view), {}


@contextmanager
def _reading(run_id: uuid.UUID) -> Iterator[None]:
    """Count a reader of the run in this process."""
    _readers[run_id] += 1
    try:
        yield
    finally:
        _readers[run_id] -= 1
        if not _readers[run_id]:
            del _readers[run_id]


async def stream(scope: TenantScope, view: RunView, at: Position, wait: float = inf) -> AsyncGenerator[bytes, None]:
    """The run's events after a position, as they come, to the run's end, or until it has waited for humans for `wait`
    seconds."""
    patience = Patience(wait)
    far: dict[uuid.UUID, Progress] = {}

    def hear(said: Progress) -> None:
        far[said.call_id] = said
        changed.set()

    async with following.watching(scope, view) as changed:
        with waits().hearing(view.id, hear), _reading(view.id):
            while True:
                changed.clear()
                # All as it is at this moment: the run goes on while a slow client takes them.
                new, progressed, left = list(events.after(view, at)), list(far), patience.left(view)
                for event in new:
                    at = event.position
                    yield event.encode()
                # Nothing comes after the end.
                for call_id in () if at.ended else progressed:
                    yield events.progress(view.id, at, far.pop(call_id)).encode()
                if at.ended or left == 0:
                    return
                if (crowd := _readers[view.id]) > MOST_AT_ONCE:
                    # What comes meanwhile is one longer delta.
                    await _pause((crowd - MOST_AT_ONCE) * PAUSE_SECONDS)
                try:
                    async with asyncio.timeout(min(KEEP_ALIVE_SECONDS, left or KEEP_ALIVE_SECONDS)):
                        await changed.wait()
                except TimeoutError:
                    yield KEEP_ALIVE
