"""A destination proves once that it is its person's: by the link in an e-mail, a test in Slack, a webhook's challenge.

    e-mail    a link is sent there; it is used once, within a day, by the person who made the destination
    Slack     a test message is taken by the webhook, whose URL is a secret
    webhook   the endpoint answers a signed challenge with the challenge

What a network is waited for is outside every transaction.
"""

import hashlib
import secrets
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db.models.functions import Now

from notifications.channels import registry
from notifications.channels.interface import Message
from notifications.channels.webhook import challenge
from notifications.destinations.changes import DESTINATION, locked, own
from notifications.destinations.errors import AskedTooOften, NoSuchDestination, NotVerified
from notifications.errors import Undelivered
from notifications.events import Words
from notifications.models import Destination
from tenants.people.changes import record
from tenants.people.encryption import Undecipherable, decrypt
from tenants.people.principal import Principal
from tenants.scope import transactions

LINK_SECONDS = 24 * 3600
# One destination is asked once in so many seconds, and one person's at most so often in an hour.
PAUSE_SECONDS, MOST_AN_HOUR = 60, 20
PATH = "/settings/destinations/"
_LINK = Words(
    headline="Confirm that messages may come here",
    text="{user} wants messages from Toolgate sent to this address. If that is you, open the link while you are logged "
    "in, and confirm. If it is not, do nothing: no message will come.",
    link="Confirm",
    closing="The link can be used once, within a day.",
)
_TEST = Words(
    headline="Messages from Toolgate come here",
    text="{user} has chosen this channel for messages from Toolgate.",
    link="Open the settings",
)


async def ask(principal: Principal, id: uuid.UUID) -> Destination:
    """Have a destination prove itself, and return it: verified, or of e-mail waiting for its link to be used.

    One that is verified stays so. Raises NoSuchDestination, AskedTooOften, and NotVerified when it did not.
    """
    row, token = await sync_to_async(_begin)(principal, id)
    if row.verified_at is not None:
        return row
    try:
        if row.channel == "webhook":
            await challenge.pose(row.id, row.destination, _secret(row))
        else:
            await _deliver(principal, row, token)
    except Undelivered as problem:
        raise NotVerified(f"It is not verified: {problem}") from None
    return row if row.channel == "email" else await sync_to_async(_prove)(principal, row)


def by_link(principal: Principal, token: str) -> Destination | None:
    """The caller's destination that a link verifies; None for one that is used, too old, or somebody else's."""
    since = datetime.now(UTC) - timedelta(seconds=LINK_SECONDS)
    return own(principal).filter(token_hash=_hashed(token), asked_at__gt=since, verified_at=None).first()


def confirm(principal: Principal, token: str) -> Destination | None:
    """Verify the caller's destination by its link, once; None as of `by_link`. Within the person's scope."""
    found = by_link(principal, token)
    row = own(principal).select_for_update().filter(pk=found.pk, token_hash=_hashed(token)).first() if found else None
    return None if row is None or row.verified_at is not None else _verified(row)


def _begin(principal: Principal, id: uuid.UUID) -> tuple[Destination, str]:
    with transactions.scope(principal.tenant_id, principal.user_id):
        row = locked(principal, id)
        if row.verified_at is not None:
            return row, ""
        now = datetime.now(UTC)
        if row.asked_at is not None and (now - row.asked_at).total_seconds() < PAUSE_SECONDS:
            raise AskedTooOften(f"It was asked a moment ago. Try again in {PAUSE_SECONDS} seconds.", PAUSE_SECONDS)
        asked = Destination.objects.filter(
            tenant_id=principal.tenant_id, user_id=principal.user_id, asked_at__gt=now - timedelta(hours=1)
        )
        if asked.count() >= MOST_AN_HOUR:
            raise AskedTooOften(f"You have had {MOST_AN_HOUR} destinations asked in an hour. Try again later.", 3600)
        token = secrets.token_urlsafe(32)
        row.asked_at, row.token_hash = now, _hashed(token) if row.channel == "email" else ""
        row.save(update_fields=["asked_at", "token_hash"])
        return row, token


async def _deliver(principal: Principal, row: Destination, token: str) -> None:
    channel = registry.find(row.channel)
    if channel is None:
        raise Undelivered(f"This installation has no channel called {row.channel}.")
    path = f"{PATH}verify/{token}/" if row.channel == "email" else PATH
    payload: dict[str, Any] = {
        "url": f"{settings.PUBLIC_URL}{path}",
        "user": {"id": str(principal.user_id), "username": principal.username},
    }
    words = (_LINK if row.channel == "email" else _TEST).about(payload)
    await channel.deliver(
        Message(uuid.uuid4(), "destination.test", datetime.now(UTC), payload, words, row.destination, _secret(row))
    )


def _secret(row: Destination) -> str:
    try:
        return decrypt(row.secret) if row.secret else ""
    except Undecipherable:
        raise Undelivered("Its secret cannot be decrypted any more. Remove it, and make a new one.") from None


def _prove(principal: Principal, asked: Destination) -> Destination:
    """Verify what has proved itself, unless it was removed or asked again meanwhile."""
    with transactions.scope(principal.tenant_id, principal.user_id):
        row = own(principal).select_for_update().filter(pk=asked.pk, asked_at=asked.asked_at).first()
        if row is None:
            raise NoSuchDestination
        return row if row.verified_at is not None else _verified(row)


def _verified(row: Destination) -> Destination:
    before = DESTINATION.of(row)
    Destination.objects.filter(pk=row.pk).update(verified_at=Now(), token_hash="", disabled_because="")
    row.refresh_from_db()
    record(before, DESTINATION.of(row))
    return row


def _hashed(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
