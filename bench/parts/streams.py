"""`python -m bench.parts.streams [COUNT]`: a compatible API's first token, and what COUNT idle streams (1,000) cost.

The first token is measured at concurrency 1 against the provider, asked directly by the same load generator. Then COUNT
streams are opened whose provider says one word and falls silent, and the memory of the one web process is read.
"""

import asyncio
import sys
import time

import uvloop

from bench.rig import machine
from bench.rig.measure import measure, median
from bench.rig.stack import Stack
from bench.scenarios import DIRECT_STREAM, V1_STREAM, request_text

HOLD = V1_STREAM.body | {"model": "openai/hold"}
ROUNDS = 3
SECONDS = 3.0
PATIENCE_SECONDS = 50.0
# As many are opened at once.
OPENING = 100


def main() -> int:
    """Measure and print."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    with Stack() as stack:
        measure(stack, V1_STREAM.plan(stack, 4, 1.0))
        direct = median([measure(stack, DIRECT_STREAM.plan(stack, 1, 1.0)) for _ in range(ROUNDS)])
        ours = median([measure(stack, V1_STREAM.plan(stack, 1, SECONDS, 0.5)) for _ in range(ROUNDS)])
        added = ours["first_p50"] - direct["first_p50"]
        print(
            f"First token at c1, p50: provider {direct['first_p50']:.2f} ms, "
            f"through Toolgate {ours['first_p50']:.2f} ms, added {added:.2f} ms; errors {ours['errors']}"
        )
        before = machine.memory(stack.pids["web"])["pss_mib"]
        opened, seconds, beside = uvloop.run(_hold(stack, count))
        after = machine.memory(stack.pids["web"])["pss_mib"]
        print(
            f"{opened:,} of {count:,} idle streams open after {seconds:.1f} s: web {before:.0f} → {after:.0f} MiB PSS, "
            f"{1024 * (after - before) / max(1, opened):.0f} KiB each; a chat beside them took {beside:.0f} ms"
        )
    return 0


async def _hold(stack: Stack, count: int) -> tuple[int, float, float]:
    """How many streams got their first word, after how many seconds; and the p50 of chats beside them, in ms."""
    began = time.perf_counter()
    requests = [request_text(stack.ports["web"], V1_STREAM.path, HOLD, key) for key in stack.keys]
    first = V1_STREAM.first.encode()
    opened = 0
    done = asyncio.Event()

    door = asyncio.Semaphore(OPENING)

    async def stream(number: int) -> None:
        nonlocal opened
        async with door:
            reader, writer = await asyncio.open_connection("127.0.0.1", stack.ports["web"])
            writer.write(requests[number % len(requests)].encode())
            held = b""
            while first not in held:
                piece = await reader.read(65_536)
                if not piece or b" 503 " in held:
                    print(f"stream {number}: {held[:300]!r}", file=sys.stderr)
                    return
                held += piece
        opened += 1
        if opened == count:
            done.set()
        await asyncio.sleep(PATIENCE_SECONDS)

    streams = [asyncio.create_task(stream(number)) for number in range(count)]
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await done.wait()
    except TimeoutError:
        pass
    seconds = time.perf_counter() - began
    beside = (await asyncio.to_thread(measure, stack, V1_STREAM.plan(stack, 1, 2.0)))["p50"]
    for each in streams:
        each.cancel()
    return opened, seconds, beside


if __name__ == "__main__":
    sys.exit(main())
