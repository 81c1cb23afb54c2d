"""Single sign-on, as far as the database knows: whose a domain is, and who the person is that a provider identified.

A person is an issuer and a subject, within one tenant. An address alone never makes somebody a person that is known.
"""

import uuid
from typing import NamedTuple

from django.db import connection as django_connection
from django.db import transaction

from tenants.errors import Refused
from tenants.login.second_factor import passkeys
from tenants.models import Membership, SignOnIdentity, SignOnProvider, User
from tenants.people import recorded
from tenants.people.changes import record_all
from tenants.scope import transactions

# Nobody, where a tenant's scope is entered before it is known who logs in.
NOBODY = uuid.UUID(int=0)


class Person(NamedTuple):
    """Somebody as a provider has identified them; `address` is empty unless it counts as theirs."""

    issuer: str
    subject: str
    address: str
    name: str


class Admitted(NamedTuple):
    """What came of it: `in` and `joined` are yes, all else is no; see admit_person.sql."""

    outcome: str
    user_id: uuid.UUID | None
    was: str | None
    role: str | None


def find(domain: str) -> tuple[uuid.UUID, uuid.UUID] | None:
    """The tenant and the provider of a domain that the operator has confirmed; None: there is none."""
    with django_connection.cursor() as cursor:
        cursor.execute("SELECT tenant_id, provider_id FROM find_sign_on(%s)", [domain])
        row = cursor.fetchone()
    return (row[0], row[1]) if row else None


def provider(tenant_id: uuid.UUID, provider_id: uuid.UUID) -> SignOnProvider | None:
    """A provider of a tenant."""
    with transactions.scope(tenant_id, NOBODY):
        return SignOnProvider.objects.filter(tenant_id=tenant_id, pk=provider_id).first()


def admit(found: SignOnProvider, person: Person, role: str | None) -> Admitted:
    """Let the person in, with the role that they are given (None: none), and put on record what changed by it."""
    with transactions.scope(found.tenant_id, NOBODY):
        with django_connection.cursor() as cursor:
            cursor.execute(
                "SELECT outcome, whose, was, present FROM admit_person(%s, %s, %s, %s, %s, %s, %s)",
                [found.pk, person.issuer, person.subject, person.address, role, bool(found.role_claim), person.name],
            )
            admitted = Admitted(*cursor.fetchone())
        if admitted.outcome in ("in", "joined") and admitted.user_id and admitted.was != admitted.role:
            _record(found.tenant_id, admitted.user_id, admitted)
    return admitted


def _record(tenant_id: uuid.UUID, user_id: uuid.UUID, admitted: Admitted) -> None:
    row = Membership.objects.select_related("user").get(tenant_id=tenant_id, user_id=user_id)
    after = recorded.member(row)
    before = None
    if admitted.was is not None:
        row.role = admitted.was
        before = recorded.member(row)
    record_all([(before, after)])


def connect(tenant_id: uuid.UUID, user_id: uuid.UUID, person: Person) -> bool:
    """Have the person be this member, who is logged in; False when they are another one already. Within the scope."""
    known = SignOnIdentity.objects.filter(tenant_id=tenant_id, issuer=person.issuer, subject=person.subject).first()
    if known is not None:
        return known.user_id == user_id
    with transaction.atomic():
        SignOnIdentity.objects.filter(tenant_id=tenant_id, issuer=person.issuer, user_id=user_id).delete()
        SignOnIdentity.objects.create(
            tenant_id=tenant_id, issuer=person.issuer, subject=person.subject, user_id=user_id
        )
    return True


class OnlyWayIn(Refused):
    """There would be no way left by which the member could log in."""

    status = 409
    code = "only_way_in"

    def __init__(self) -> None:
        super().__init__(
            "This is your only way to log in: your account has no password and no passkey. It stays connected. An "
            "owner of the tenant can remove you as a member instead."
        )


def disconnect(tenant_id: uuid.UUID, user: User, issuer: str) -> None:
    """The member does not log in by this issuer any more, until they connect again. Within the scope; raises OnlyWayIn.

    Sessions that it began go on until they end.
    """
    if not user.has_usable_password() and not passkeys.of(user):
        raise OnlyWayIn
    SignOnIdentity.objects.filter(tenant_id=tenant_id, issuer=issuer, user_id=user.pk).delete()


def connected(tenant_id: uuid.UUID, user_id: uuid.UUID) -> list[SignOnIdentity]:
    """At which providers the member is known. Within the scope."""
    return list(SignOnIdentity.objects.filter(tenant_id=tenant_id, user_id=user_id))
