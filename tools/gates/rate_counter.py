"""How often a tenant's user may call a tool: a sliding window, exact over all processes, in one Redis command a call.

For each tenant, user and tool Redis keeps the times at which calls were let through, no more of them than the limit.
A call is let through when fewer than the limit are younger than the window, so no window of that length, wherever it
begins, has more. Times are those of Redis' own clock. A refused call leaves no trace.
"""

import asyncio
import hashlib
import re
import uuid
from dataclasses import dataclass

from redis.exceptions import NoScriptError

from tools.network import redis

# How long a call waits for its count; Redis being slower is Redis being away.
SECONDS = 2.0
_RATE = re.compile(r"(\d+)/(\d*)([smhd])?")
_PERIODS = {"s": 1, "m": 60, "h": 60 * 60, "d": 24 * 60 * 60}
# KEYS: a list of times in microseconds, oldest first. ARGV: the limit, the window in microseconds, and 1 to count the
# call or 0 to only look. Answers whether the call fits, how many are in the window, and the microseconds until one of
# them makes room. A time is written with %.0f, since Lua would round it to 14 digits.
_SCRIPT = """
local key, limit, window = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local newest = tonumber(redis.call('LINDEX', key, -1) or 0)
if newest > now + window then
  redis.call('DEL', key)  -- the clock was set back by more than a window: nobody is kept out until it is there again
elseif newest > now then
  now = newest  -- the clock was set back a little: times never go down, so that none leaves its window too early
end
local counted = redis.call('LLEN', key)
local first, beyond = 0, counted
while first < beyond do
  local middle = math.floor((first + beyond) / 2)
  if tonumber(redis.call('LINDEX', key, middle)) <= now - window then first = middle + 1 else beyond = middle end
end
if first > 0 then
  redis.call('LTRIM', key, first, -1)
  counted = counted - first
end
local fits = counted < limit
if fits and ARGV[3] == '1' then
  redis.call('RPUSH', key, string.format('%.0f', now))
  redis.call('PEXPIRE', key, math.ceil(window / 1000) + 1)
  counted = counted + 1
end
local leaving = redis.call('LINDEX', key, math.max(0, counted - limit))
return {fits and 1 or 0, counted, leaving and leaving + window - now or fits and 0 or window}
"""
_SHA = hashlib.sha1(_SCRIPT.encode(), usedforsecurity=False).hexdigest()


class LimitsUnavailable(Exception):
    """The limits cannot be counted: Redis is away, or the rate is none."""


class WrongRate(LimitsUnavailable):
    """What was set as a rate is none, so that no call is known to be within it."""


@dataclass(frozen=True, slots=True)
class Charge:
    """A counted call: `remaining` calls are left of `limit`, and in `reset` seconds one more will be."""

    allowed: bool
    limit: int
    remaining: int
    reset: int


async def charge(*, tenant_id: uuid.UUID, user_id: uuid.UUID, tool: str, rate: str, count: bool = True) -> Charge:
    """Count one call when it fits into `rate` ("30/m"), or with `count=False` only look whether it would.

    Raises WrongRate for what is no rate, and LimitsUnavailable when Redis is away or does not answer within SECONDS.
    """
    try:
        limit, window = _read(rate)
    except ValueError as error:
        raise WrongRate(f"ValueError: {error}") from None
    try:
        key = f"toolgate:rate:{tenant_id}:{user_id}:{tool}"
        async with asyncio.timeout(SECONDS):
            fits, counted, wait = await _run(key, limit, window * 1_000_000, int(count))
    except Exception as error:
        raise LimitsUnavailable(type(error).__name__) from error
    return Charge(fits == 1, limit, max(0, limit - counted), -(-wait // 1_000_000))


async def _run(*arguments: str | int) -> list[int]:
    """The script's answer; its text is sent only to a Redis that does not have it."""
    client = redis.client()
    try:
        answer: list[int] = await client.evalsha(_SHA, 1, *arguments)
    except NoScriptError:
        answer = await client.eval(_SCRIPT, 1, *arguments)
    return answer


def readable(rate: str) -> bool:
    """Whether a call can be counted by the rate; one that cannot is refused."""
    try:
        _read(rate)
    except ValueError:
        return False
    return True


def _read(rate: str) -> tuple[int, int]:
    """Calls and seconds of a rate such as "30/m" or "5/10s"."""
    read = _RATE.fullmatch(rate)
    if read is None or (read[2] and not int(read[2])):
        raise ValueError(f"{rate!r} is no rate")
    count, several, period = read.groups()
    return int(count), int(several or 1) * _PERIODS[period or "s"]
