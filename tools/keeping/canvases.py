"""The canvas of one of one's own conversations: its versions, and a link that shows one of them for a minute.

A link is signed and nowhere stored. It names a version, its tenant and its user, and replaces the session: the browser
runs what it opens in an origin of its own, which has none. Opening it asks once more whether its user is still a
member.
"""

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

from django.core import signing
from django.db.models import QuerySet
from django.urls import reverse

from tenants.login.authentication import once_more
from tenants.people.principal import Principal
from tenants.scope import transactions
from tools.keeping.errors import CanvasLinkExpired, NoSuchCanvas
from tools.models import CanvasVersion

LIFETIME = timedelta(minutes=1)
_SALT = "toolgate.canvas"
_LONGEST = 400


def own(principal: Principal, conversation_id: uuid.UUID) -> QuerySet[CanvasVersion]:
    """The versions of the canvas of a conversation of the caller's, newest first."""
    versions = CanvasVersion.objects.filter(tenant_id=principal.tenant_id, user_id=principal.user_id)
    return versions.filter(conversation_id=conversation_id).order_by("-version")


def every(principal: Principal) -> QuerySet[CanvasVersion]:
    """The versions of all canvases of the caller's."""
    return CanvasVersion.objects.filter(tenant_id=principal.tenant_id, user_id=principal.user_id)


def link(version: CanvasVersion) -> tuple[str, datetime]:
    """The path that shows a version, and when it expires."""
    token = _signer().sign_object([each.hex for each in (version.tenant_id, version.user_id, version.id)])
    return reverse("canvas", args=[token]), datetime.now(UTC).replace(microsecond=0) + LIFETIME


def opened(token: str) -> CanvasVersion:
    """The version that a link shows. Raises NoSuchCanvas and CanvasLinkExpired."""
    try:
        ids: Any = _signer().unsign_object(token[:_LONGEST], max_age=LIFETIME)
    except signing.SignatureExpired:
        raise CanvasLinkExpired from None
    except signing.BadSignature:
        raise NoSuchCanvas from None
    tenant_id, user_id, version_id = (uuid.UUID(each) for each in ids)
    if once_more(tenant_id, user_id, None) is None:
        raise NoSuchCanvas
    with transactions.scope(tenant_id, user_id):
        version = CanvasVersion.objects.filter(tenant_id=tenant_id, user_id=user_id, pk=version_id).first()
    if version is None:
        raise NoSuchCanvas
    return version


def _signer() -> signing.TimestampSigner:
    return signing.TimestampSigner(salt=_SALT, sep=".")
