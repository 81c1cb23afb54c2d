"""Posts an event as JSON to one endpoint."""

import time

import orjson

from notifications.channels.interface import Message
from notifications.channels.webhook.signature import sign
from notifications.errors import TargetGone, Undelivered
from tools.network import egress

CONNECT_SECONDS, SECONDS = 5.0, 10.0


def body(message: Message) -> bytes:
    """The event as its receiver reads it, the same at each attempt."""
    event = {"type": message.event, "timestamp": message.created_at, "data": message.payload}
    return orjson.dumps(event, option=orjson.OPT_UTC_Z)


async def deliver(message: Message) -> None:
    """Post the message to its endpoint. Raises Undelivered; no redirect is followed, the answer's body is not read."""
    message_id, timestamp, data = str(message.id), int(time.time()), body(message)
    headers = {
        "Content-Type": "application/json",
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": sign(message.secret, message_id, timestamp, data),
    }
    try:
        answer = await egress.request(
            "POST", message.destination, data=data, headers=headers,
            connect_seconds=CONNECT_SECONDS, seconds=SECONDS, most=0,
        )  # fmt: skip
    except egress.EgressFailed as failed:
        raise Undelivered(str(failed)) from None
    if answer.status == 410:
        raise TargetGone("The endpoint answered HTTP 410: it wants no more messages.")
    if not 200 <= answer.status < 300:
        raise Undelivered(f"The endpoint answered HTTP {answer.status}.")
