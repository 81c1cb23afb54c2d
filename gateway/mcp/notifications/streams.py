"""The standing stream of a client of the revisions with `initialize`, which is told there what has changed."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import orjson

from gateway.http import stopping
from gateway.http.asgi import Request
from gateway.mcp.errors import TooManyStreams
from gateway.mcp.exchange import Exchange
from gateway.mcp.process import process
from tenants.errors import Refused
from tenants.limits.streams import STREAMS

# How often the resources are looked at, and the client's key; how often an idle stream says that it is there.
LOOK_SECONDS, KEEP_ALIVE_SECONDS = 60.0, 15.0
# Of one key or token in this process.
MOST = 16
EVENT_STREAM = "text/event-stream"
_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}
_open: Counter[tuple[object, ...]] = Counter()


async def serve(request: Request, under_way: Exchange) -> None:
    """Answer with the stream, until the client hangs up, its key is not valid any more, or the process stops.

    Raises TooManyStreams and TooManyOpenStreams.
    """
    with counted(under_way):
        # What looks at resources is loaded with the SDK.
        await process().manager()
        await request.stream(_events(request, under_way), EVENT_STREAM, _HEADERS)


@contextmanager
def counted(under_way: Exchange) -> Iterator[None]:
    """Count a stream of the exchange's key while it is open; raises TooManyStreams and TooManyOpenStreams."""
    whose = (under_way.principal.tenant_id, under_way.principal.user_id, under_way.principal.key_id)
    if _open[whose] >= MOST:
        raise TooManyStreams(MOST)
    with STREAMS.open(under_way.principal):
        _open[whose] += 1
        try:
            yield
        finally:
            _open[whose] -= 1
            if not _open[whose]:
                del _open[whose]


async def _events(request: Request, under_way: Exchange) -> AsyncIterator[bytes]:
    from gateway.mcp.notifications import subscriptions

    ends = [asyncio.ensure_future(request.hung_up()), asyncio.ensure_future(stopping.begun().wait())]
    looked = float("-inf")
    try:
        while True:
            if looked + LOOK_SECONDS <= time.monotonic():
                looked = time.monotonic()
                try:
                    await under_way.check_key()
                except Refused:
                    return
                for uri in await subscriptions.changed(under_way):
                    said = {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri}}
                    yield b"event: message\r\ndata: %b\r\n\r\n" % orjson.dumps(said)
            yield b": keep-alive\n\n"
            done, _ = await asyncio.wait(ends, timeout=KEEP_ALIVE_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if done:
                return
    finally:
        for each in ends:
            each.cancel()
