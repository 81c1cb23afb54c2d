"""That this web process stops: streams that nothing ends by itself end then, so that nobody waits for them."""

import asyncio
from weakref import WeakKeyDictionary

_events: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Event] = WeakKeyDictionary()


def begun() -> asyncio.Event:
    """Set once the server of this event loop takes no more requests."""
    return _events.setdefault(asyncio.get_running_loop(), asyncio.Event())
