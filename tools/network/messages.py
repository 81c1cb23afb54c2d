"""Celery's messages, published on the event loop: what `app.send_task` would send, without a thread or a second client.

A message is one of protocol 2 as kombu's Redis transport writes it, so that any Celery worker takes it. The test holds
each field to what the installed Celery sends.
"""

import base64
import os
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

import orjson
from celery import current_app
from celery.utils.nodenames import anon_nodename

from audit.identifiers import uuid4
from tools.network import redis

# What Celery adds to the arguments of a task that nothing follows.
_NOTHING_FOLLOWS = {"callbacks": None, "errbacks": None, "chain": None, "chord": None}
# Where a message is not the same as the last one of its task; no task's name looks like it.
_DIFFERS = "\0"
# A task, and its arguments.
Message = tuple[str, Sequence[str]]


async def send(messages: Sequence[Message]) -> None:
    """Give the workers all messages, in order, with one command.

    Raises RedisError, OSError or TimeoutError when the broker is away; it may have taken them all the same.
    """
    if messages:
        app: Any = current_app._get_current_object()  # type: ignore[attr-defined]
        key, queue = _destination(app)
        sender = _sender(os.getpid()), app.thread_oid, queue
        await redis.ask("LPUSH", key, *(_message(_parts(task, *sender), list(given)) for task, given in messages))


@lru_cache(maxsize=8)
def _destination(app: Any) -> tuple[str, str]:
    """The key of the list that messages are put in, and its queue."""
    queue = app.conf.task_default_queue
    return app.conf.broker_transport_options.get("global_keyprefix", "") + queue, queue


@lru_cache(maxsize=8)
def _sender(pid: int) -> str:
    """As whom the process of this id sends."""
    return anon_nodename()


def _message(parts: Sequence[bytes], arguments: list[str]) -> bytes:
    task_id = str(uuid4()).encode()
    body = base64.b64encode(orjson.dumps([arguments, {}, _NOTHING_FOLLOWS]))
    said = orjson.dumps(repr(arguments))[1:-1]
    differing = (body, task_id, task_id, said, task_id, str(uuid4()).encode(), b"")
    return b"".join(chain.from_iterable(zip(parts, differing, strict=True)))


@lru_cache(maxsize=64)
def _parts(task: str, sender: str, reply_to: str, queue: str) -> list[bytes]:
    """What all messages of a task have in common, in the pieces between its body, id, root's id, arguments in words,
    correlation id and delivery tag."""
    message = {
        "body": _DIFFERS,
        "content-encoding": "utf-8",
        "content-type": "application/json",
        "headers": {
            "lang": "py",
            "task": task,
            "id": _DIFFERS,
            "shadow": None,
            "eta": None,
            "expires": None,
            "group": None,
            "group_index": None,
            "retries": 0,
            "timelimit": [None, None],
            "root_id": _DIFFERS,
            "parent_id": None,
            "argsrepr": _DIFFERS,
            "kwargsrepr": "{}",
            "origin": sender,
            "ignore_result": True,
            "replaced_task_nesting": 0,
            "stamped_headers": None,
            "stamps": {},
        },
        "properties": {
            "correlation_id": _DIFFERS,
            "reply_to": reply_to,
            "delivery_mode": 2,
            "delivery_info": {"exchange": "", "routing_key": queue},
            "priority": 0,
            "body_encoding": "base64",
            "delivery_tag": _DIFFERS,
        },
    }
    return orjson.dumps(message).split(orjson.dumps(_DIFFERS)[1:-1])
