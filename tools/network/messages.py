"""Celery's messages, published on the event loop: what `app.send_task` would send, without a thread or a second client.

A message is one of protocol 2 as kombu's Redis transport writes it, so that any Celery worker takes it. The test holds
each field to what the installed Celery sends.
"""

import base64
import uuid
from collections.abc import Sequence
from typing import Any

import orjson
from celery import current_app
from celery.utils.nodenames import anon_nodename

from tools.network import redis

# What Celery adds to the arguments of a task that nothing follows.
_NOTHING_FOLLOWS = {"callbacks": None, "errbacks": None, "chain": None, "chord": None}
# A task, and its arguments.
Message = tuple[str, Sequence[str]]


async def send(messages: Sequence[Message]) -> None:
    """Give the workers all messages, in order, with one command.

    Raises RedisError, OSError or TimeoutError when the broker is away; it may have taken them all the same.
    """
    if messages:
        app = current_app
        queue = app.conf.task_default_queue
        key = app.conf.broker_transport_options.get("global_keyprefix", "") + queue
        await redis.client().lpush(key, *(_message(app, queue, task, list(given)) for task, given in messages))


def _message(app: Any, queue: str, task: str, arguments: list[str]) -> bytes:
    task_id = str(uuid.uuid4())
    body = orjson.dumps([arguments, {}, _NOTHING_FOLLOWS])
    return orjson.dumps(
        {
            "body": base64.b64encode(body).decode(),
            "content-encoding": "utf-8",
            "content-type": "application/json",
            "headers": {
                "lang": "py",
                "task": task,
                "id": task_id,
                "shadow": None,
                "eta": None,
                "expires": None,
                "group": None,
                "group_index": None,
                "retries": 0,
                "timelimit": [None, None],
                "root_id": task_id,
                "parent_id": None,
                "argsrepr": repr(arguments),
                "kwargsrepr": "{}",
                "origin": anon_nodename(),
                "ignore_result": True,
                "replaced_task_nesting": 0,
                "stamped_headers": None,
                "stamps": {},
            },
            "properties": {
                "correlation_id": task_id,
                "reply_to": app.thread_oid,
                "delivery_mode": 2,
                "delivery_info": {"exchange": "", "routing_key": queue},
                "priority": 0,
                "body_encoding": "base64",
                "delivery_tag": str(uuid.uuid4()),
            },
        }
    )
