"""Invitations: links that make somebody a member, once. A link is shown once; only its hash is stored."""

import hashlib
import secrets
import unicodedata
import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection, connections, router, transaction
from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils import timezone

from tenants.members.errors import (
    AccountExists,
    AlreadyMember,
    InvalidAddress,
    InvitationEnded,
    NoSuchInvitation,
    NotTheirInvitation,
    TooManyInvitations,
)
from tenants.models import Invitation, Membership, User
from tenants.people import accounts, changes, recorded
from tenants.people.changes import record
from tenants.scope import transactions

DAYS, LONGEST_DAYS = 7, 30
# That owners of one tenant make in 24 hours: each may be a mail to a stranger.
MOST = 100
# A token has 43 characters; nothing longer need be hashed.
LONGEST_TOKEN = 100


@dataclass(frozen=True, slots=True)
class Offer:
    """An invitation as whoever has its link sees it; `email` is empty when it is for anybody, `inviter` None when it is
    the operator's."""

    id: uuid.UUID
    tenant_id: uuid.UUID
    tenant_name: str
    email: str
    role: str
    inviter: str | None
    expires_at: datetime


def open_ones(tenant_id: uuid.UUID) -> QuerySet[Invitation]:
    """Those that can be accepted still, newest first."""
    return Invitation.objects.filter(
        Q(created_by=None) | Q(created_by__memberships__role="owner", created_by__memberships__tenant_id=tenant_id),
        tenant_id=tenant_id,
        accepted_at=None,
        revoked_at=None,
        expires_at__gt=timezone.now(),
    ).order_by("-created_at", "-id")


def make(
    tenant_id: uuid.UUID, by: uuid.UUID | None, *, role: str, email: str = "", days: int = DAYS
) -> tuple[Invitation, str]:
    """Invite whoever has the link, or the person with this address alone; the row, and the link.

    Within the tenant's scope, by an owner; `by` None: by the operator. Raises InvalidAddress, AlreadyMember,
    TooManyInvitations.
    """
    using = router.db_for_write(Invitation)
    token = secrets.token_urlsafe(32)
    with transaction.atomic(using=using):
        if by is not None:
            _check_number(tenant_id, using)
        address = address_for(tenant_id, email)
        row = Invitation.objects.create(
            tenant_id=tenant_id,
            created_by_id=by,
            token_hash=digest(token),
            email=address,
            role=role,
            expires_at=timezone.now() + timedelta(days=days),
        )
        record(None, recorded.INVITATION.of(row))
    return row, f"{settings.PUBLIC_URL}{reverse('invitation', args=[token])}"


def address_for(tenant_id: uuid.UUID, email: str) -> str:
    """The address as it is stored. Raises InvalidAddress, and AlreadyMember when a member has it."""
    address = _address(email)
    if address and Membership.objects.filter(tenant_id=tenant_id, user__email__iexact=address).exists():
        raise AlreadyMember
    return address


def revoke(tenant_id: uuid.UUID, invitation_id: uuid.UUID) -> None:
    """End an invitation at once; nothing happens to one that has ended. Raises NoSuchInvitation."""
    with transaction.atomic(using=router.db_for_write(Invitation)):
        found = Invitation.objects.filter(tenant_id=tenant_id, pk=invitation_id)
        row = found.select_for_update(of=("self",)).first()
        if row is None:
            raise NoSuchInvitation
        if row.accepted_at is not None or row.revoked_at is not None:
            return
        before = recorded.INVITATION.of(row)
        row.revoked_at = timezone.now()
        row.save(update_fields=["revoked_at"])
        record(before, recorded.INVITATION.of(row))


def look(token: str) -> Offer:
    """What a link offers. Raises InvitationEnded."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, tenant_id, tenant_name, email, role, inviter, expires_at FROM find_invitation(%s)",
            [digest(token)],
        )
        found = cursor.fetchone()
    if found is None:
        raise InvitationEnded
    return Offer(*found)


def accept(token: str, user_id: uuid.UUID) -> Offer:
    """Make the user a member; the offer that they took.

    Raises InvitationEnded, NotTheirInvitation, and AlreadyMember, which leaves the invitation as it was.
    """
    return _accepted(token, user_id)


def join(token: str, *, username: str, password: str) -> tuple[Offer, uuid.UUID]:
    """Make an account and a member of it; the offer, and the id of the new user.

    Raises InvitationEnded, AccountExists, and AccountRefused for a name or password against the rules.
    """
    offer = look(token)
    user = accounts.new(username, email=offer.email)
    accounts.set_password(user, password)
    return _accepted(token, user.pk, user.username, user.password), user.pk


def digest(token: str) -> bytes:
    """SHA-256 of a link's token."""
    return hashlib.sha256(token[:LONGEST_TOKEN].encode("utf-8", "surrogatepass")).digest()


def _accepted(token: str, user_id: uuid.UUID, username: str | None = None, password: str | None = None) -> Offer:
    offer = look(token)
    with transactions.scope(offer.tenant_id, user_id), changes.acting(user_id, "page"):
        before = recorded.INVITATION.of(Invitation.objects.get(pk=offer.id))
        with connection.cursor() as cursor:
            cursor.execute("SELECT accept_invitation(%s, %s, %s, %s)", [digest(token), user_id, username, password])
            [outcome] = cursor.fetchone()
        if outcome != "joined":
            raise _refusal(outcome)
        member = Membership.objects.select_related("user").get(tenant_id=offer.tenant_id, user_id=user_id)
        record(None, recorded.member(member))
        record(before, recorded.INVITATION.of(Invitation.objects.get(pk=offer.id)))
    return offer


def _refusal(outcome: str) -> Exception:
    if outcome == "member":
        return AlreadyMember()
    if outcome == "address":
        return NotTheirInvitation()
    return AccountExists("username" if outcome == "taken" else "email") if outcome != "ended" else InvitationEnded()


def _address(text: str) -> str:
    """The address as it is stored. Raises InvalidAddress, also for one that only looks like another."""
    address = User.objects.normalize_email(text.strip())
    if not address:
        return ""
    try:
        accounts.check_field(Invitation, "email", address)
    except accounts.AccountRefused:
        raise InvalidAddress from None
    if unicodedata.normalize("NFKC", address) != address:
        raise InvalidAddress
    return address


def _check_number(tenant_id: uuid.UUID, using: str) -> None:
    """Raises TooManyInvitations; two at once are counted one after the other."""
    number = uuid.uuid5(tenant_id, "invitations").int % 2**63
    with connections[using].cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [number])
    of_owners = Invitation.objects.filter(tenant_id=tenant_id, created_by__isnull=False)
    if of_owners.filter(created_at__gt=timezone.now() - timedelta(days=1)).count() >= MOST:
        raise TooManyInvitations(MOST)
