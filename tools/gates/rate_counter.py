"""How often something may be done: sliding windows, exact over all processes, in one Redis command for each question.

For each window (a tenant's user and a tool, or the requests of a tenant, a person, a key) Redis keeps the times at
which something was let through, no more of them than the limit. A call is let through when fewer than the limit are
younger than the window, so no window of that length, wherever it begins, has more. What several windows bound is let
through when each has room, and counted in all of them or in none. Times are those of Redis' own clock. What is refused
leaves no trace.
"""

import hashlib
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass

from redis.exceptions import NoScriptError

from tools.network import redis

_RATE = re.compile(r"(\d+)/(\d*)([smhd])?")
_PERIODS = {"s": 1, "m": 60, "h": 60 * 60, "d": 24 * 60 * 60}
# KEYS: lists of times in microseconds, oldest first. ARGV: the windows' length in microseconds, 1 to count the call or
# 0 to only look, and the limit of each. Answers for each whether the call fits, how many are in the window, and the
# microseconds until one of them makes room. A time is written with %.0f, since Lua would round it to 14 digits.
_SCRIPT = """
local window, clock = tonumber(ARGV[1]), redis.call('TIME')
local moments, counts, answer, fit = {}, {}, {}, true
for place, key in ipairs(KEYS) do
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
  moments[place], counts[place] = now, counted
  fit = fit and counted < tonumber(ARGV[2 + place])
end
for place, key in ipairs(KEYS) do
  local now, counted, limit = moments[place], counts[place], tonumber(ARGV[2 + place])
  local fits = counted < limit
  if fit and ARGV[2] == '1' then
    redis.call('RPUSH', key, string.format('%.0f', now))
    redis.call('PEXPIRE', key, math.ceil(window / 1000) + 1)
    counted = counted + 1
  end
  local leaving = redis.call('LINDEX', key, math.max(0, counted - limit))
  answer[#answer + 1] = fits and 1 or 0
  answer[#answer + 1] = counted
  answer[#answer + 1] = leaving and leaving + window - now or fits and 0 or window
end
return answer
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

    Raises WrongRate for what is no rate, and LimitsUnavailable when Redis is away or does not answer in its time.
    """
    try:
        limit, window = _read(rate)
    except ValueError as error:
        raise WrongRate(f"ValueError: {error}") from None
    [charged] = await charge_all({f"toolgate:rate:{tenant_id}:{user_id}:{tool}": limit}, window, count=count)
    return charged


async def charge_all(limits: Mapping[str, int], seconds: int, *, count: bool = True) -> list[Charge]:
    """Count one in each of the windows, named by their keys, when it fits into all of them; in their order.

    Raises LimitsUnavailable when Redis is away or does not answer in its time, two seconds (`tools.network.redis`).
    """
    try:
        found = await _run(len(limits), *limits, seconds * 1_000_000, int(count), *limits.values())
    except Exception as error:
        raise LimitsUnavailable(type(error).__name__) from error
    answers = zip(limits.values(), *(found[which::3] for which in range(3)), strict=True)
    return [
        Charge(fits == 1, limit, max(0, limit - counted), -(-wait // 1_000_000))
        for limit, fits, counted, wait in answers
    ]


async def _run(*arguments: str | int) -> list[int]:
    """The script's answer; its text is sent only to a Redis that does not have it. Those who ask at a time are answered
    in their order, in one round trip."""
    try:
        answer: list[int] = await redis.ask("EVALSHA", _SHA, *arguments)
    except NoScriptError:
        answer = await redis.ask("EVAL", _SCRIPT, *arguments)
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


def within(rate: str, other: str) -> bool:
    """Whether a rate surely lets no more through than the other: no more calls, in no shorter time."""
    (calls, seconds), (more, less) = _read(rate), _read(other)
    return calls <= more and seconds >= less
