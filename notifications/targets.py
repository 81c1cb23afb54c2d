"""Targets as owners manage them: made, changed, switched off and on, and tried. Within the tenant's scope."""

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction

from notifications import events
from notifications.channels import registry
from notifications.channels.interface import Accepted, Message
from notifications.errors import InvalidTarget, Undelivered
from notifications.events import Words
from notifications.models import NotificationTarget
from notifications.outbox import GROUPS
from tenants.errors import Refused
from tenants.models import User
from tenants.people import raising
from tenants.people.changes import Kind, Said, record
from tenants.people.encryption import Undecipherable, decrypt, encrypt
from tenants.people.principal import Principal
from tenants.scope.transactions import TenantScope
from tenants.scope.transactions import transaction as in_tenant


def _sends_more(before: Said | None, after: Said | None) -> bool:
    """It is sent to, and was not, or of more events: what a tenant's people do reaches somebody else."""
    if not raising.is_on(after) or after is None:
        return False
    return (
        not raising.is_on(before) or before is None or bool(set(after.values["events"]) - set(before.values["events"]))
    )


# What the record of changes says of a target: who gets a message is a person's address, and so not said.
TARGET = Kind(
    target="notification_target",
    name="channel",
    fields=("events", "enabled"),
    secrets=("secret", "destination"),
    raises=_sends_more,
)
# Of one tenant.
MOST = 50
_ONE = "SELECT channel, destination, secret FROM notification_targets WHERE id = %s"
_ADDRESS = "SELECT email FROM users WHERE id = %s"
_TRIAL = Words(
    headline="A test of Toolgate's notifications",
    text="{user} tries whether messages arrive here. Nothing else has happened.",
    link="Open the settings",
)


class NoSuchTarget(Refused):
    """The tenant has no such notification target."""

    status = 404
    code = "not_found"

    def __init__(self) -> None:
        super().__init__("There is no such notification target.")


class RefusedTarget(Refused):
    """The channel, destination or events of a notification target are not possible."""

    code = "invalid_target"


class TargetTaken(Refused):
    """The tenant has a target for that destination, or as many targets as it may have."""

    status = 409
    code = "target_taken"


def make(
    principal: Principal, *, channel: str, destination: str, wanted: Sequence[str], name: str = "", enabled: bool = True
) -> tuple[NotificationTarget, Accepted]:
    """A new target, and what its channel made of the destination: a secret that was made is shown once.

    Raises RefusedTarget, TargetTaken.
    """
    found = registry.find(channel)
    if found is None:
        listed = ", ".join(each.slug for each in registry.channels())
        raise RefusedTarget(f"There is no such channel. There are {listed}.", "channel")
    _check_events(wanted)
    try:
        accepted = found.accept(destination)
    except InvalidTarget as invalid:
        raise RefusedTarget(str(invalid), "destination") from None
    _check_address(principal, channel, accepted.destination)
    if NotificationTarget.objects.filter(tenant_id=principal.tenant_id).count() >= MOST:
        raise TargetTaken(f"A tenant has up to {MOST} targets. Change one that is switched off.")
    try:
        with transaction.atomic():
            row = NotificationTarget.objects.create(
                tenant_id=principal.tenant_id,
                channel=channel,
                name=name,
                destination=accepted.destination,
                secret=encrypt(accepted.secret) if accepted.secret else "",
                events=list(wanted),
                enabled=enabled,
            )
    except IntegrityError:
        raise TargetTaken("The tenant has a target for this already: change that one.", "destination") from None
    record(None, TARGET.of(row))
    return row, accepted


def change(principal: Principal, target_id: uuid.UUID, **given: Any) -> NotificationTarget:
    """Change the `name`, `events` or `enabled` of a target. Raises NoSuchTarget, RefusedTarget."""
    found = NotificationTarget.objects.filter(tenant_id=principal.tenant_id, pk=target_id)
    row = found.select_for_update().first()
    if row is None:
        raise NoSuchTarget
    if "events" in given:
        _check_events(given["events"])
    before = TARGET.of(row)
    for field, value in given.items():
        setattr(row, field, value)
    if given.get("enabled"):
        row.disabled_because = ""
        given["disabled_because"] = ""
    row.save(update_fields=list(given))
    record(before, TARGET.of(row))
    return row


async def try_out(principal: Principal, target_id: uuid.UUID) -> str:
    """Send a message to the target now, whether it is switched on or not; why it did not arrive, or nothing.

    Where a target stands for members, to the caller's own address. Raises NoSuchTarget.
    """
    async with in_tenant(TenantScope(principal.tenant_id, principal.user_id)) as connection:
        row = await (await connection.execute(_ONE, [target_id])).fetchone()
        own = await (await connection.execute(_ADDRESS, [principal.user_id])).fetchone()
    if row is None:
        raise NoSuchTarget
    destination = row["destination"]
    if row["channel"] == "email" and destination in GROUPS:
        destination = own["email"] if own else ""
        if not destination:
            return "Your account has no e-mail address. The operator of this Toolgate can enter one."
    payload = {
        "url": f"{settings.PUBLIC_URL}/settings/notifications/",
        "user": {"id": str(principal.user_id), "username": principal.username},
    }
    channel = registry.find(row["channel"])
    if channel is None:
        return f"This installation has no channel called {row['channel']}."
    try:
        secret = decrypt(row["secret"]) if row["secret"] else ""
    except Undecipherable:
        return "The target's secret cannot be decrypted any more. Make a new target, and switch this one off."
    words = _TRIAL.about(payload)
    try:
        await channel.deliver(
            Message(uuid.uuid4(), "notification.test", datetime.now(UTC), payload, words, destination, secret)
        )
    except Undelivered as problem:
        return str(problem)
    return ""


def _check_events(wanted: Sequence[str]) -> None:
    known = {each.name for each in events.declared()}
    unknown = sorted({*wanted} - known)
    if unknown or not wanted:
        what = f"There is no event called {unknown[0]}." if unknown else "Choose at least one event."
        raise RefusedTarget(f"{what} There are {', '.join(sorted(known))}.", "events")


def _check_address(principal: Principal, channel: str, destination: str) -> None:
    """Owners have mail sent to members; it would else go to whomever they name, from the operator's server."""
    if channel != "email" or destination in GROUPS:
        return
    if not User.objects.filter(memberships__tenant_id=principal.tenant_id, email__iexact=destination).exists():
        raise RefusedTarget(
            f"No member has this address. E-mail goes to {' and '.join(GROUPS)}, or to the address of a member. "
            "The operator of this Toolgate can enter another one in the admin.",
            "destination",
        )
