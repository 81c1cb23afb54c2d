"""The webhook by which another system, such as a monitoring one, sets a tenant's alert level.

Messages are signed as Standard Webhooks has it. One that is older than the last that was accepted is refused, so that
nobody can send an old one again.
"""

import hmac
import time
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.db import router, transaction

from approvals.errors import BadSignature, InvalidRule, NoSuchWebhook, StaleMessage
from approvals.models import AlertLevel, AlertWebhook
from approvals.rules import access_conditions
from notifications.channels.webhook.signature import new_secret, sign
from tenants.people import changes
from tenants.people.encryption import Undecipherable, decrypt, encrypt
from tenants.scope import transactions

WEBHOOK = changes.Kind(
    target="alert_webhook", name="", fields=(), secrets=("secret",), raises=lambda _, after: after is not None
)
PATH = "/webhooks/alert-level/"
# How far a message's time may be from now, in seconds.
TOLERANCE = 300
MAX_ID = 255
_NOBODY = uuid.UUID(int=0)
_FIELDS = {"level", "reason"}


def url(tenant_id: uuid.UUID) -> str:
    """Where messages are sent."""
    return f"{settings.PUBLIC_URL}{PATH}{tenant_id}"


def find(tenant_id: uuid.UUID) -> AlertWebhook:
    """The tenant's; raises NoSuchWebhook."""
    found = AlertWebhook.objects.filter(tenant_id=tenant_id).first()
    if found is None:
        raise NoSuchWebhook
    return found


def make(tenant_id: uuid.UUID) -> tuple[AlertWebhook, str]:
    """The tenant's webhook with a new secret, which is nowhere else in the clear; an older secret ends."""
    secret = new_secret()
    with transaction.atomic(using=router.db_for_write(AlertWebhook)):
        found = AlertWebhook.objects.select_for_update().filter(tenant_id=tenant_id).first()
        before = WEBHOOK.of(found) if found else None
        values = {"secret": encrypt(secret), "created_at": datetime.now(UTC)}
        made, _ = AlertWebhook.objects.update_or_create(tenant_id=tenant_id, defaults=values)
        changes.record(before, WEBHOOK.of(made))
    return made, secret


def remove(tenant_id: uuid.UUID) -> None:
    """Messages are refused from now on; the level stays as it is. Raises NoSuchWebhook."""
    with transaction.atomic(using=router.db_for_write(AlertWebhook)):
        found = AlertWebhook.objects.select_for_update().filter(tenant_id=tenant_id).first()
        if found is None:
            raise NoSuchWebhook
        changes.record(WEBHOOK.of(found), None)
        found.delete()


def receive(
    tenant_id: uuid.UUID, headers: Mapping[str, str], body: bytes, read: Callable[[bytes], dict[str, Any]]
) -> AlertLevel | None:
    """Do what a message says; None when it is the last one again, and nothing changes.

    `read` makes an object of the body, once its signature is known to be right. Raises BadSignature, StaleMessage,
    InvalidRule, and what `read` raises.
    """
    message_id, sent, signatures = (headers.get(f"webhook-{name}", "") for name in ("id", "timestamp", "signature"))
    if not (0 < len(message_id) <= MAX_ID and message_id.isascii() and message_id.isprintable()):
        raise BadSignature
    if not (0 < len(sent) <= 12 and sent.isascii() and sent.isdigit()):
        raise BadSignature
    with transactions.scope(tenant_id, _NOBODY), changes.acting(None, "webhook"):
        # Locked: of two messages at the same time the later one counts.
        found = AlertWebhook.objects.select_for_update().filter(tenant_id=tenant_id).first()
        if found is None or not _is_signed(found, message_id, int(sent), signatures, body):
            raise BadSignature
        if abs(time.time() - int(sent)) > TOLERANCE:
            raise StaleMessage(f"Its webhook-timestamp is more than {TOLERANCE} seconds from now.")
        if message_id == found.last_id:
            return None
        if found.last_sent is not None and int(sent) <= found.last_sent:
            raise StaleMessage("Its webhook-timestamp is not later than that of the last message that was accepted.")
        given = read(body)
        if unknown := sorted(set(given) - _FIELDS):
            raise InvalidRule(f"A message has level and reason, and not {unknown[0][:100]!a}.", "level")
        level = access_conditions.alert(tenant_id, given.get("level"), given.get("reason", ""))
        found.last_id, found.last_sent = message_id, int(sent)
        found.save(update_fields=["last_id", "last_sent"])
    return level


def _is_signed(webhook: AlertWebhook, message_id: str, sent: int, signatures: str, body: bytes) -> bool:
    try:
        wanted = sign(decrypt(webhook.secret), message_id, sent, body).encode()
    except Undecipherable:
        return False
    # Whoever is about to change the secret may sign with both.
    return any(hmac.compare_digest(each.encode(), wanted) for each in signatures.split(" ")[:10])
