"""A round of sealing in the worker, and its alarm, which `/metrics` of the web processes shows.

The alarm in Redis may be lost, like a wake-up: each round that is refused sets it again, one that is not takes it away.
"""

import logging
from contextlib import suppress

from redis.exceptions import RedisError

from audit.log import sealing, witness
from audit.log.errors import SealingRefused
from gateway.process.environment import WrongSetting
from tools.network import redis

log = logging.getLogger(__name__)

REFUSED = "toolgate:ledger:refused"
# It outlasts some rounds, so that a worker that is started anew does not hide it.
REFUSED_SECONDS = 60


async def seal() -> sealing.Sealed | None:
    """Seal what waits; None, and an alarm, when that was refused."""
    try:
        sealed = await sealing.seal()
    except (SealingRefused, WrongSetting) as refusal:
        # A key file that cannot be read is a wrong setting, found out only now.
        log.error("sealing refused", extra={"reason": str(refusal)})
        with suppress(RedisError, OSError):
            await redis.client().set(REFUSED, str(refusal), ex=REFUSED_SECONDS)
        return None
    if not sealed.busy:
        with suppress(RedisError, OSError):
            await redis.client().delete(REFUSED)
    return sealed


async def tell_witness() -> None:
    """Let the witness have the newest checkpoint."""
    await witness.tell()


async def refused() -> bool | None:
    """Whether the last rounds were refused; None when Redis cannot be asked."""
    try:
        return bool(await redis.client().exists(REFUSED))
    except (RedisError, OSError):
        return None
