"""One bounded question to a search engine over HTTP."""

import asyncio
import json
import time
from collections.abc import Mapping
from typing import Any

import aiohttp

from tools.errors import ToolExecutionError, ToolTimeout

MAX_BYTES = 1024 * 1024
MAX_SECONDS = 10.0
_CHUNK = 64 * 1024


async def get_json(
    http: aiohttp.ClientSession,
    engine: str,
    url: str,
    *,
    params: Mapping[str, str],
    headers: Mapping[str, str] | None = None,
    seconds: float,
) -> Any:
    """The JSON that `url` answers, whatever its type, within `seconds` (at most MAX_SECONDS) and MAX_BYTES unpacked.

    No redirect is followed. Raises ToolTimeout or ToolExecutionError, whose messages name the engine only: the URL
    and the headers hold the operator's key and addresses.
    """
    started = time.monotonic()
    try:
        async with asyncio.timeout(min(seconds, MAX_SECONDS)):
            body = await _body(http, engine, url, params, headers)
    except TimeoutError:
        elapsed = time.monotonic() - started
        raise ToolTimeout(f"{engine} did not answer within {elapsed:.1f} seconds.", elapsed) from None
    # ValueError: an address or a key that the operator mistyped so that no request can be made of it.
    except (aiohttp.ClientError, OSError, ValueError):
        raise ToolExecutionError(f"{engine} could not be reached, or cut its answer off.") from None
    try:
        return json.loads(body.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        raise ToolExecutionError(f"{engine} answered something that is not JSON.") from None


async def _body(
    http: aiohttp.ClientSession,
    engine: str,
    url: str,
    params: Mapping[str, str],
    headers: Mapping[str, str] | None,
) -> bytes:
    async with http.get(
        url, params=params, headers={"Accept": "application/json", **(headers or {})}, allow_redirects=False
    ) as response:
        if response.status != 200:
            raise ToolExecutionError(_refusal(engine, response.status))
        body = bytearray()
        # aiohttp unpacks piece by piece as it is read, so a small packed body cannot become a large one in memory.
        async for chunk in response.content.iter_chunked(_CHUNK):
            body += chunk
            if len(body) > MAX_BYTES:
                raise ToolExecutionError(f"{engine} answered more than {MAX_BYTES:,} bytes.")
        return bytes(body)


def _refusal(engine: str, status: int) -> str:
    if status in {401, 403}:
        return f"{engine} refused the configured key (HTTP {status}); the operator must check it."
    if status == 429:
        return f"{engine} has no requests left for now (HTTP 429)."
    if 300 <= status < 400:
        return f"{engine} answered with a redirect (HTTP {status}), which is not followed."
    return f"{engine} failed with HTTP {status}."
