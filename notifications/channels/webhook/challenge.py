"""Asks an endpoint to prove that it wants a person's messages: it answers a signed challenge with the challenge."""

import hmac
import secrets
import time
import uuid
from datetime import UTC, datetime

import orjson

from notifications.channels.webhook.delivery import CONNECT_SECONDS, SECONDS
from notifications.channels.webhook.signature import sign
from notifications.errors import Undelivered
from tools.network import egress

TYPE = "destination.challenge"
_MOST = 1000


async def pose(id: uuid.UUID, url: str, secret: str) -> None:
    """Post a challenge, signed as every message; the endpoint answers 2xx with it, bare or as `{"challenge": …}`.

    Raises Undelivered, in words for whoever made the destination.
    """
    challenge, message_id, timestamp = secrets.token_urlsafe(32), str(uuid.uuid4()), int(time.time())
    event = {"type": TYPE, "timestamp": datetime.now(UTC), "data": {"id": str(id), "challenge": challenge}}
    data = orjson.dumps(event, option=orjson.OPT_UTC_Z)
    headers = {
        "Content-Type": "application/json",
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": sign(secret, message_id, timestamp, data),
    }
    try:
        answer = await egress.request(
            "POST", url, data=data, headers=headers, connect_seconds=CONNECT_SECONDS, seconds=SECONDS, most=_MOST
        )
    except egress.EgressFailed as failed:
        raise Undelivered(str(failed)) from None
    if not 200 <= answer.status < 300:
        raise Undelivered(f"The endpoint answered HTTP {answer.status}.")
    if not hmac.compare_digest(_answered(answer.body), challenge.encode()):
        raise Undelivered("The endpoint did not answer with the challenge that it was sent, in `data.challenge`.")


def _answered(body: bytes) -> bytes:
    try:
        read = orjson.loads(body)
    except orjson.JSONDecodeError:
        return body.strip()
    said = read.get("challenge") if isinstance(read, dict) else read
    return said.encode() if isinstance(said, str) else b""
