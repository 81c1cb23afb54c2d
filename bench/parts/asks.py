"""`python -m bench.parts.asks`: the CPU of one question to a provider, in ms, beside its official SDK.

The provider is the fake one; it speaks chat completions, so the SDK is OpenAI's. `floor` is a bare protocol on a socket
that reads the answer and understands nothing.
"""

import asyncio
import gc
import resource
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import openai
import orjson
import uvloop

from bench.rig import machine
from bench.rig.load import _is_whole
from gateway.embedded.services import ports
from gateway.providers.interface import Prompt, UserMessage
from gateway.providers.openai.provider import OpenAIProvider

ROOT = Path(__file__).resolve().parent.parent.parent
ASKS, TOGETHER, ROUNDS = 800, 16, 5
SAID = "What is on my list, and what did I forget?"
PROMPT = Prompt("chat", (UserMessage(SAID),))
MESSAGES: Any = [{"role": "user", "content": SAID}]
Ask = Callable[[], Awaitable[Any]]


class _Bare(asyncio.Protocol):
    """One connection that sends bytes and waits for a whole answer."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def ask(self, request: bytes) -> "asyncio.Future[None]":
        self._pieces = b""
        self._answered = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        return self._answered

    def data_received(self, data: bytes) -> None:
        self._pieces += data
        if _is_whole(self._pieces):
            self._answered.set_result(None)


def _bare(port: int, *, streamed: bool) -> Ask:
    body = orjson.dumps({"model": "chat", "messages": MESSAGES, "stream": streamed})
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n"
    idle: list[_Bare] = []

    async def ask() -> None:
        if not idle:
            idle.append((await asyncio.get_running_loop().create_connection(_Bare, "127.0.0.1", port))[1])
        connection = idle.pop()
        await connection.ask(head.encode() + body)
        idle.append(connection)

    return ask


def _sdk(client: openai.AsyncOpenAI, *, streamed: bool) -> Ask:
    async def whole() -> None:
        await client.chat.completions.create(model="chat", messages=MESSAGES)

    async def stream() -> None:
        async for _ in await client.chat.completions.create(model="chat", messages=MESSAGES, stream=True):
            pass

    return stream if streamed else whole


async def _ms_each(ask: Ask) -> float:
    async def several() -> None:
        for _ in range(ASKS // TOGETHER):
            await ask()

    await ask()
    before = _cpu()
    await asyncio.gather(*(several() for _ in range(TOGETHER)))
    return (_cpu() - before) * 1000 / ASKS


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def _measure(port: int) -> None:
    provider = OpenAIProvider("bench", f"http://127.0.0.1:{port}/v1")
    client = openai.AsyncOpenAI(
        api_key="bench", base_url=f"http://127.0.0.1:{port}/v1", http_client=openai.DefaultAioHttpClient()
    )
    ways: dict[str, dict[str, Ask]] = {
        "whole": {
            "Toolgate": lambda: provider.ask(PROMPT),
            "openai SDK over aiohttp": _sdk(client, streamed=False),
            "floor": _bare(port, streamed=False),
        },
        "streamed": {
            "Toolgate": lambda: provider.ask(PROMPT, lambda text: None),
            "openai SDK over aiohttp": _sdk(client, streamed=True),
            "floor": _bare(port, streamed=True),
        },
    }
    # As the web process does once it has started.
    gc.collect()
    gc.freeze()
    for kind, each in ways.items():
        rounds = [{name: await _ms_each(ask) for name, ask in each.items()} for _ in range(ROUNDS)]
        least = {name: min(sample[name] for sample in rounds) for name in each}
        print(f"  {kind:<10}" + "   ".join(f"{name} {ms:.3f} ms" for name, ms in least.items()))
    await provider.close()
    await client.close()


def main() -> None:
    """Print a line for whole answers, and one for streams: the least of several rounds."""
    port = ports.choose(None)
    fake = subprocess.Popen([sys.executable, "-m", "bench.rig.upstream", str(port)], cwd=ROOT)
    try:
        while machine.listener(port) is None and fake.poll() is None:
            time.sleep(0.05)
        uvloop.run(_measure(port))
    finally:
        fake.kill()
        fake.wait()


if __name__ == "__main__":
    main()
