"""The one place that retries a model request: after 429, 5xx, lost connections, time-outs and garbled answers."""

import asyncio
import random
from collections.abc import Awaitable, Callable

from gateway.providers.errors import ProviderError
from gateway.providers.interface import Answer, OnOpaque, OnText, Opaque, Prompt, Provider

RETRIES = 2
FIRST_PAUSE = 0.5
LONGEST_WAIT = 30.0


async def ask(
    provider: Provider,
    prompt: Prompt,
    on_text: OnText | None = None,
    on_opaque: OnOpaque | None = None,
    *,
    seconds: float,
    on_restart: Callable[[], None] | None = None,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> Answer:
    """Ask, and ask again up to twice where that may help, within `seconds` in all.

    A `Retry-After` is honoured when it fits into the time left and into LONGEST_WAIT; otherwise the failure is
    raised at once. `on_restart` is called before the next attempt when text of the failed one was already passed
    on, so that the caller can void it; without it, that text remains, and its attempt is the last.

    Raises the last ProviderError, or TimeoutError when `seconds` are over.
    """
    if seconds <= 0:
        raise TimeoutError
    clock = asyncio.get_running_loop().time
    end = clock() + seconds
    spoken = False

    def hear(text: str) -> None:
        nonlocal spoken
        spoken = True
        if on_text is not None:
            on_text(text)

    def see(part: Opaque) -> None:
        nonlocal spoken
        spoken = True
        if on_opaque is not None:
            on_opaque(part)

    async def ask_once() -> Answer:
        return await provider.ask(prompt) if on_text is None else await provider.ask(prompt, hear, see)

    async with asyncio.timeout(seconds):
        for attempt in range(RETRIES):
            try:
                return await ask_once()
            except ProviderError as error:
                pause = _pause(error, attempt)
                if not error.retryable or pause > LONGEST_WAIT or pause >= end - clock():
                    raise
                if spoken and on_restart is None:
                    raise
            await sleep(pause)
            if spoken and on_restart is not None:
                on_restart()
            spoken = False
        return await ask_once()


def _pause(error: ProviderError, attempt: int) -> float:
    """Seconds until the next attempt: as long as the provider asked, else doubling, with jitter."""
    if error.retry_after is not None:
        return error.retry_after + random.uniform(0, 0.1)
    return FIRST_PAUSE * (1 << attempt) * random.uniform(0.5, 1.0)
