"""Passkeys: keys in a device or a password manager, which prove that they are there and that their user unlocked them.

They are rows of allauth's, which only their user's own scope sees; nothing in them is secret. A passkey is both factors
at once: what one has, and what one knows or is. The browser is told to ask for the second always.
"""

import json
import secrets
import time
import uuid
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib.sessions.backends.base import SessionBase
from django.utils import timezone
from fido2.server import Fido2Server
from fido2.utils import websafe_decode, websafe_encode
from fido2.webauthn import (
    AttestedCredentialData,
    AuthenticationResponse,
    PublicKeyCredentialRpEntity,
    PublicKeyCredentialUserEntity,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

from tenants.models import User

KIND = Authenticator.Type.WEBAUTHN
# What the session waits for, once, for so long.
PENDING = "passkey_challenge"
PENDING_SECONDS = 300
# Of one user.
MOST = 20
LONGEST_ANSWER = 64 * 1024
_VERIFIED = UserVerificationRequirement.REQUIRED


class Passkey(NamedTuple):
    """A user's passkey, as they call it."""

    id: int
    name: str
    created_at: Any
    last_used_at: Any


def possible() -> bool:
    """Whether browsers do this where Toolgate is: at a name, over HTTPS, or at localhost."""
    parts = urlsplit(settings.PUBLIC_URL)
    host = parts.hostname or ""
    numeric = ":" in host or host.replace(".", "").isdigit()
    return not numeric and (parts.scheme == "https" or host == "localhost" or host.endswith(".localhost"))


def of(user: User) -> list[Passkey]:
    """The user's passkeys, oldest first. This and all below: within the user's scope."""
    return [Passkey(row.pk, row.data["name"], row.created_at, row.last_used_at) for row in _rows(user)]


def begin_adding(session: SessionBase, user: User) -> dict[str, Any]:
    """What the browser needs to make a passkey, as JSON."""
    entity = PublicKeyCredentialUserEntity(id=user.pk.bytes, name=user.username, display_name=user.username)
    options, state = _server().register_begin(
        entity, [_credential(row) for row in _rows(user)], ResidentKeyRequirement.REQUIRED, _VERIFIED
    )
    _wait(session, "add", state)
    return dict(options)


def add(session: SessionBase, user: User, name: str, answer: str) -> bool:
    """Keep the passkey that the browser made; False when it is not what was asked for, or one too many."""
    state, given = _awaited(session, "add"), _read(answer)
    if state is None or given is None:
        return False
    try:
        made = _server().register_complete(state, given).credential_data
    except Exception:
        # Whatever anybody sends is read by a library.
        return False
    rows = list(Authenticator.objects.select_for_update().filter(user_id=user.pk, type=KIND))
    if made is None or len(rows) >= MOST or any(_credential(row).credential_id == made.credential_id for row in rows):
        return False
    data = {"name": name, "credential": websafe_encode(bytes(made)), "counter": 0}
    Authenticator.objects.create(user=user, type=KIND, data=data)
    return True


def rename(user: User, id: int, name: str) -> bool:
    """Call a passkey otherwise; False: the user has none of that id."""
    row = Authenticator.objects.select_for_update().filter(user_id=user.pk, type=KIND, pk=id).first()
    if row is None:
        return False
    row.data["name"] = name
    row.save(update_fields=["data"])
    return True


def remove(user: User, id: int) -> bool:
    """Forget a passkey; False: the user has none of that id."""
    removed, _ = Authenticator.objects.filter(user_id=user.pk, type=KIND, pk=id).delete()
    return bool(removed)


def begin_using(session: SessionBase) -> dict[str, Any]:
    """What the browser needs to use any passkey that it has for Toolgate, as JSON."""
    options, state = _server().authenticate_begin(user_verification=_VERIFIED)
    _wait(session, "use", state)
    return dict(options)


def whose(answer: str) -> uuid.UUID | None:
    """The user that an answer says it is of; nothing is proved by that."""
    given = _read(answer)
    try:
        return uuid.UUID(bytes=websafe_decode(given["response"]["userHandle"])) if given else None
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def use(session: SessionBase, user: User, answer: str) -> bool:
    """Whether one of the user's passkeys answered what the session asked; it answers no second time."""
    state, given = _awaited(session, "use"), _read(answer)
    if state is None or given is None:
        return False
    # Locked: of two copies of one device, the second sees what the first has counted.
    rows = list(Authenticator.objects.select_for_update().filter(user_id=user.pk, type=KIND))
    try:
        used = _server().authenticate_complete(state, [_credential(row) for row in rows], given)
        counter = AuthenticationResponse.from_dict(given).response.authenticator_data.counter
    except Exception:
        # As above; a wrong signature, origin or challenge is a ValueError.
        return False
    row = next(row for row in rows if _credential(row).credential_id == used.credential_id)
    known = int(row.data.get("counter", 0))
    if (counter or known) and counter <= known:
        # A copy: the device counts each use, and this number was used. Those that do not count say 0.
        return False
    row.data["counter"] = counter
    row.last_used_at = timezone.now()
    row.save(update_fields=["data", "last_used_at"])
    return True


def _rows(user: User) -> list[Authenticator]:
    return list(Authenticator.objects.filter(user_id=user.pk, type=KIND).order_by("id"))


def _credential(row: Authenticator) -> AttestedCredentialData:
    return AttestedCredentialData(websafe_decode(row.data["credential"]))


def _server() -> Fido2Server:
    parts = urlsplit(settings.PUBLIC_URL)
    origin = f"{parts.scheme}://{parts.netloc}"
    entity = PublicKeyCredentialRpEntity(name="Toolgate", id=parts.hostname or "")
    return Fido2Server(entity, verify_origin=lambda given: secrets.compare_digest(given.encode(), origin.encode()))


def _wait(session: SessionBase, purpose: str, state: Any) -> None:
    session[PENDING] = {"purpose": purpose, "state": state, "until": time.time() + PENDING_SECONDS}


def _awaited(session: SessionBase, purpose: str) -> Any:
    """What the session waits for, which it does no more; None: nothing, or not for this."""
    pending = session.pop(PENDING, None)
    if pending is None or pending["purpose"] != purpose or pending["until"] < time.time():
        return None
    return pending["state"]


def _read(answer: str) -> dict[str, Any] | None:
    if len(answer) > LONGEST_ANSWER:
        return None
    try:
        given = json.loads(answer)
    except (ValueError, RecursionError):
        return None
    return given if isinstance(given, dict) else None
