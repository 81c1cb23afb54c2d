"""Celery's connection to Redis: what a worker holds without having begun it is noted in its memory, and nowhere else.

Kombu's own channel notes each message in Redis until it is acknowledged, in two round trips a message, and gives it out
again an hour later. Nothing waits for that here: a message only names a row of PostgreSQL, and the sweeper sends again
what nobody took within seconds.
"""

import logging
import ssl
from collections import OrderedDict, defaultdict
from typing import Any, Protocol

from celery.app.amqp import AMQP
from kombu import Connection
from kombu.transport import redis, virtual
from kombu.utils.json import dumps

from tools.worker import background

log = logging.getLogger(__name__)


class Takes(Protocol):
    """Who takes a queue's messages in the place of Celery's consumer, which is left the others (`others_of`)."""

    def consume(self, queue: str) -> None:
        """Begin, unless it has."""

    def cancel(self, queue: str) -> None:
        """Take nothing more."""


# That of this process, if it is a worker with our pool.
taker: Takes | None = None
SCHEMES = ("redis", "rediss")
# What everybody else who reads REDIS_URL does; kombu verifies nothing unless it is told to.
_VERIFIED = {"ssl_cert_reqs": ssl.CERT_REQUIRED}


class _Held(virtual.QoS):
    """Messages that are not acknowledged, in memory; acknowledging one costs no command."""

    def restore_unacked(self) -> list[Any]:  # type: ignore[override]
        """Give all of them back to their queues, first in turn, when the process ends. One that only lost its broker
        still has them in its pool."""
        self._flush()  # type: ignore[attr-defined]
        # What is popped from the right comes next.
        delivered: OrderedDict[str, Any] = self._delivered  # type: ignore[assignment]
        held = list(reversed(delivered.values()))
        delivered.clear()
        if not background.is_draining():
            return []
        queues: dict[str, list[str]] = defaultdict(list)
        for message in held:
            queues[message.delivery_info["routing_key"]].append(dumps(message._raw))
        channel: Any = self.channel
        try:
            with channel.conn_or_acquire() as client:
                for queue, messages in queues.items():
                    client.rpush(queue, *messages)
        except channel.connection_errors as away:
            log.warning("messages left to the sweeper", extra={"messages": len(held), "why": type(away).__name__})
        return []


def others_of(queue: str) -> str:
    """Beside a queue, the list of what was in it and is for Celery's consumer; like one of its other priorities."""
    return f"{queue}{redis.Channel.sep}others"


class _Channel(redis.Channel):
    # Without it kombu takes no QoS of ours, and writes each message down.
    ack_emulation = False
    _reads = False

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.QoS = _Held  # type: ignore[assignment]

    def basic_consume(self, queue: str, *args: Any, **kwargs: Any) -> Any:
        """As kombu's."""
        done = super().basic_consume(queue, *args, **kwargs)
        if taker is not None and queue in self.active_queues:
            taker.consume(queue)
        return done

    def _basic_cancel(self, consumer_tag: str) -> Any:
        queue = self._tag_to_queue.get(consumer_tag)
        if taker is not None and queue in self.active_queues:
            taker.cancel(queue)
        return super()._basic_cancel(consumer_tag)  # type: ignore[misc]

    def _brpop_start(self, timeout: Any = None) -> None:
        self._reads = taker is not None
        try:
            super()._brpop_start(timeout)  # type: ignore[misc]
        finally:
            self._reads = False

    def _q_for_pri(self, queue: str, pri: int) -> str:
        key: str = super()._q_for_pri(queue, pri)  # type: ignore[misc]
        return others_of(queue) if self._reads and key == queue else key


class Transport(redis.Transport):
    """Kombu's transport over Redis, with such a channel."""

    Channel = _Channel


class BrokerConnection(Connection):
    """Looks for a lost broker every second, where kombu's own pauses grow to half a minute."""

    def __init__(self, hostname: Any = "localhost", *given: Any, **options: Any):
        if str(hostname).startswith("rediss:"):
            options["ssl"] = options.get("ssl") or _VERIFIED
        super().__init__(hostname, *given, **options)

    def get_transport_cls(self) -> Any:
        """Ours for Redis, and kombu's for any other broker, which messages are not sent to."""
        return Transport if self.transport_cls in SCHEMES else super().get_transport_cls()

    def ensure_connection(self, *args: Any, **options: Any) -> Connection:  # type: ignore[override]
        """As kombu's, with pauses of a second."""
        pauses = {"interval_start": 1, "interval_step": 0, "interval_max": 1}
        return super().ensure_connection(*args, **pauses | options)


class Messaging(AMQP):
    """Celery's messaging over such connections."""

    Connection = BrokerConnection
