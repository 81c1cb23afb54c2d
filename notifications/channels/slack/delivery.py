"""Posts a message to one incoming webhook."""

import re

import orjson

from notifications.channels.interface import Message
from notifications.channels.slack.words import text
from notifications.errors import TargetGone, Undelivered
from tools.network import egress

CONNECT_SECONDS, SECONDS = 5.0, 10.0
# What Slack answers where the webhook will never take a message again.
GONE = {"no_service", "no_active_hooks", "no_team", "team_disabled", "channel_is_archived", "channel_not_found"}
_CODE = re.compile(r"[a-z_]{1,40}")


async def deliver(message: Message) -> None:
    """Post the message. Raises Undelivered, and TargetGone when Slack says that the webhook is no more."""
    body = {"text": text(message.words, message.payload["url"])}
    if thread := message.payload.get("thread"):
        # A reply, to the message that Slack gave this time stamp.
        body["thread_ts"] = thread
    try:
        answer = await egress.request(
            "POST", message.secret, data=orjson.dumps(body),
            headers={"Content-Type": "application/json"},
            connect_seconds=CONNECT_SECONDS, seconds=SECONDS, most=100,
        )  # fmt: skip
    except egress.EgressFailed as failed:
        raise Undelivered(str(failed)) from None
    if 200 <= answer.status < 300:
        return
    said = answer.body.decode("ascii", "replace").strip()
    code = said if _CODE.fullmatch(said) else ""
    words = f"Slack answered HTTP {answer.status}{f' ({code})' if code else ''}"
    if answer.status == 410 or code in GONE:
        raise TargetGone(f"{words}: the webhook takes no more messages.")
    raise Undelivered(f"{words}.")
