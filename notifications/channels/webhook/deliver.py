"""Approvals told to a tenant's own endpoint, signed as the Standard Webhooks specification 1.0.0 says.

Source: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
"""

import base64
import hashlib
import hmac
import secrets
import time
from typing import Any

import orjson

from approvals.notifications.errors import GivenUp, ReceiverGone, Undelivered
from approvals.notifications.links import page_of
from tenants.people.encryption import Undecipherable, decrypt
from tools.network import egress

PREFIX = "whsec_"
CONNECT_SECONDS, SECONDS = 5.0, 10.0


def new_secret() -> str:
    """A fresh secret as the specification writes it: "whsec_" and 32 random bytes in base64."""
    return PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def sign(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """The `webhook-signature` of a message."""
    key = base64.b64decode(secret.removeprefix(PREFIX))
    digest = hmac.digest(key, f"{message_id}.{timestamp}.".encode() + body, hashlib.sha256)
    return f"v1,{base64.b64encode(digest).decode()}"


def body(notice: dict[str, Any]) -> bytes:
    """The message, the same at each attempt; neither the arguments nor what the conversation led up to are in it."""
    message = {
        "type": f"approval.{notice['event']}",
        "timestamp": notice["created_at"],
        "data": {
            "id": notice["request_id"],
            "status": "pending" if notice["event"] == "requested" else notice["event"],
            "tool": notice["tool_name"],
            "tier": notice["tier"],
            "user": {"id": notice["requester_id"], "username": notice["requester"]},
            "run_id": notice["run_id"],
            "created_at": notice["requested_at"],
            "expires_at": notice["expires_at"],
            "url": page_of(notice["request_id"]),
        },
    }
    return orjson.dumps(message, option=orjson.OPT_UTC_Z)


async def deliver(notice: dict[str, Any]) -> None:
    """Send a notice to its endpoint. Raises Undelivered; no redirect is followed, and the answer's body is not read."""
    if not notice["enabled"]:
        raise GivenUp("The endpoint was switched off.")
    try:
        secret = decrypt(notice["secret"])
    except Undecipherable:
        raise Undelivered("The endpoint's secret cannot be decrypted with TOOLGATE_ENCRYPTION_KEYS.") from None
    message_id, timestamp, message = str(notice["id"]), int(time.time()), body(notice)
    headers = {
        "Content-Type": "application/json",
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": sign(secret, message_id, timestamp, message),
    }
    try:
        answer = await egress.request(
            "POST", notice["url"], data=message, headers=headers,
            connect_seconds=CONNECT_SECONDS, seconds=SECONDS, most=0,
        )  # fmt: skip
    except egress.EgressFailed as failed:
        raise Undelivered(str(failed)) from None
    if answer.status == 410:
        raise ReceiverGone("The endpoint answered HTTP 410: it wants no more messages.")
    if not 200 <= answer.status < 300:
        raise Undelivered(f"The endpoint answered HTTP {answer.status}.")
