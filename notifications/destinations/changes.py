"""Destinations as their person manages them: made, renamed, removed. Within the person's tenant scope."""

import re
import unicodedata
import uuid

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from notifications.channels import registry
from notifications.channels.interface import Accepted
from notifications.destinations.errors import DestinationTaken, NoSuchDestination, RefusedDestination
from notifications.errors import InvalidTarget
from notifications.models import Destination
from notifications.outbox import GROUPS
from tenants.people.changes import Kind, record
from tenants.people.encryption import encrypt
from tenants.people.principal import Principal
from tools.stores import folded

# What the record of changes says of one: neither what a person calls it nor where it leads.
DESTINATION = Kind(
    target="destination",
    name="channel",
    fields=("reminders", "verified_at", "removed_at"),
    secrets=("secret", "destination", "name"),
)
# Of one person, removed ones not counted.
MOST = 50
LONGEST_NAME = 64
# What `message` means by its inbox.
INBOX = "inbox"
_NAME = re.compile(r"[\w][\w .,'()&+-]*")


def own(principal: Principal) -> QuerySet[Destination]:
    """The caller's destinations that are not removed, newest first."""
    found = Destination.objects.filter(tenant_id=principal.tenant_id, user_id=principal.user_id, removed_at=None)
    return found.order_by("-created_at", "-id")


def make(
    principal: Principal, *, name: str, channel: str, destination: str, reminders: bool = False
) -> tuple[Destination, Accepted]:
    """A new destination, not verified yet, and what its channel made of it: a secret that was made is shown once.

    Raises RefusedDestination, DestinationTaken.
    """
    found = registry.find(channel)
    if found is None:
        listed = ", ".join(each.slug for each in registry.channels())
        raise RefusedDestination(f"There is no such channel. There are {listed}.", "channel")
    checked = _name(name)
    try:
        accepted = found.accept(destination)
    except InvalidTarget as invalid:
        raise RefusedDestination(str(invalid), "destination") from None
    if channel == "email" and accepted.destination in GROUPS:
        raise RefusedDestination("Give an e-mail address of yours.", "destination")
    if own(principal).count() >= MOST:
        raise DestinationTaken(f"A person has up to {MOST} destinations. Remove one that you do not need.")
    row = Destination(name=checked, folded=folded(checked), channel=channel, reminders=reminders)
    row.tenant_id, row.user_id = principal.tenant_id, principal.user_id
    row.destination = accepted.destination
    row.secret = encrypt(accepted.secret) if accepted.secret else ""
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:
        raise DestinationTaken("You have a destination of this name already.", "name") from None
    row.refresh_from_db()
    record(None, DESTINATION.of(row))
    return row, accepted


def change(
    principal: Principal, id: uuid.UUID, *, name: str | None = None, reminders: bool | None = None
) -> Destination:
    """Change what a destination is called, or whether reminders go to it; where it leads never changes.

    Raises NoSuchDestination, RefusedDestination, DestinationTaken.
    """
    row = locked(principal, id)
    before = DESTINATION.of(row)
    if name is not None:
        row.name = _name(name)
        row.folded = folded(row.name)
    if reminders is not None:
        row.reminders = reminders
    try:
        with transaction.atomic():
            row.save(update_fields=["name", "folded", "reminders"])
    except IntegrityError:
        raise DestinationTaken("You have a destination of this name already.", "name") from None
    record(before, DESTINATION.of(row))
    return row


def remove(principal: Principal, id: uuid.UUID) -> None:
    """Remove a destination, with its secret: what waits for it is not delivered any more. Raises NoSuchDestination."""
    row = locked(principal, id)
    before = DESTINATION.of(row)
    Destination.objects.filter(pk=id).update(removed_at=Now(), secret="", token_hash="")
    row.refresh_from_db()
    record(before, DESTINATION.of(row))


def locked(principal: Principal, id: uuid.UUID) -> Destination:
    """One of the caller's destinations, locked until the transaction ends. Raises NoSuchDestination."""
    row = own(principal).select_for_update().filter(pk=id).first()
    if row is None:
        raise NoSuchDestination
    return row


def _name(name: str) -> str:
    checked = " ".join(unicodedata.normalize("NFC", name).split())
    if not 0 < len(checked) <= LONGEST_NAME or not _NAME.fullmatch(checked) or len(folded(checked)) > 200:
        raise RefusedDestination(
            f"A name has 1 to {LONGEST_NAME} letters, digits, spaces and .,'()&+-_ and begins with a letter or digit.",
            "name",
        )
    if folded(checked) == INBOX:
        raise RefusedDestination("The name inbox stands for your inbox.", "name")
    return checked
