"""Whether this process hears what the channel layer tells: all its sockets share one connection to Redis.

A connection whose other side has vanished is silent for ever, and one that came back may have lost what it was
subscribed to. So while there are sockets, this process sends itself a message every few seconds. When it does not hear
one, it takes a new layer as soon as Redis answers, and its sockets begin anew: of what changed meanwhile, nothing was
heard.
"""

import asyncio
import logging
from contextlib import suppress
from typing import Any, Protocol

from channels import DEFAULT_CHANNEL_LAYER
from channels.layers import channel_layers, get_channel_layer

from tools.network import redis

log = logging.getLogger(__name__)

# How often it speaks to itself, and how long the message may take.
EVERY_SECONDS = 5.0
PATIENCE_SECONDS = 2.0


class Listener(Protocol):
    """Who listens to the channel layer."""

    def listen_anew(self) -> None:
        """Listen to the layer of now, and take it that something was missed."""


class Hearing:
    """The listeners of an event loop; `begin` and `end` say from when to when one listens."""

    def __init__(self) -> None:
        self._listeners: set[Listener] = set()
        self._watch: asyncio.Task[None] | None = None

    def begin(self, listener: Listener) -> None:
        """Have it listen anew whenever nothing is heard."""
        self._listeners.add(listener)
        if self._watch is None:
            self._watch = asyncio.create_task(self._keep_hearing())

    def end(self, listener: Listener) -> None:
        """Forget it; without listeners, nobody looks."""
        self._listeners.discard(listener)
        if not self._listeners and self._watch is not None:
            self._watch.cancel()
            self._watch = None

    async def _keep_hearing(self) -> None:
        while not over():
            why = await _deafness()
            await _redis_answers()
            if not over():
                log.warning("sockets heard nothing, and listen anew", extra={"why": why})
                await self._listen_anew()
                await asyncio.sleep(EVERY_SECONDS)

    async def _listen_anew(self) -> None:
        old = get_channel_layer()
        channel_layers.set(DEFAULT_CHANNEL_LAYER, channel_layers.make_backend(DEFAULT_CHANNEL_LAYER))
        for listener in self._listeners:
            listener.listen_anew()
        with suppress(Exception):
            async with asyncio.timeout(PATIENCE_SECONDS):
                await old.flush()


HEARING = Hearing()


async def _deafness() -> str:
    """Return once this process does not hear itself, whatever the reason; its name."""
    layer = get_channel_layer()
    try:
        channel = await layer.new_channel()
        speaking = asyncio.create_task(_speak(layer, channel))
        try:
            # It always receives, since who is cancelled there leaves the channel, and in no other way.
            while not over():
                async with asyncio.timeout(EVERY_SECONDS + PATIENCE_SECONDS):
                    await layer.receive(channel)
        finally:
            speaking.cancel()
    except Exception as reason:
        return type(reason).__name__
    return "over"


async def _speak(layer: Any, channel: str) -> None:
    """Speak until it cannot: then nothing is heard."""
    with suppress(Exception):
        while not over():
            await layer.send(channel, {"type": "spoken"})
            if not over():
                await asyncio.sleep(EVERY_SECONDS)


async def _redis_answers() -> None:
    while not over():
        with suppress(*redis.AWAY):
            await redis.client().ping()
            return
        await asyncio.sleep(PATIENCE_SECONDS)


def over() -> bool:
    """Whether this task was cancelled; Python 3.11 may lose that in `wait_for`, and so in each command to Redis."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
