"""The way of one log-in: to the provider's pages, and back with a code that becomes claims.

An attempt is kept in the browser's session, encrypted, is used once, within MINUTES, and says what it was begun for:
`log-in`, `connect` (an account that is logged in), `confirm` (that it is still the same person), or `test`.
"""

import json
import secrets
import time
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from asgiref.sync import async_to_sync
from django.conf import settings
from django.contrib.sessions.backends.base import SessionBase
from django.urls import reverse
from yarl import URL

from gateway.sign_on import claims, discovery, id_tokens
from gateway.sign_on.errors import ProviderFailed, SignOnRefused
from services.oauth import authorization, grants
from services.oauth.authorization import Attempt
from services.oauth.errors import OAuthFailed
from services.oauth.grants import Client
from tenants.login import sign_on
from tenants.login.sign_on import Person
from tenants.models import SignOnProvider
from tenants.people.encryption import Undecipherable, decrypt, encrypt

MINUTES = 10
ATTEMPT = "single_sign_on"
SCOPE = "openid email profile"
AGAIN = "Begin again at the log-in page."
HELPER = "An owner of the tenant can look at its settings for single sign-on."


@dataclass(frozen=True, slots=True)
class Begun:
    """What the session keeps of an attempt."""

    tenant: str
    provider: str
    purpose: str
    following: str
    until: float
    user: str = ""
    state: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    nonce: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48), repr=False)


@dataclass(frozen=True, slots=True)
class Identified:
    """Somebody who came back: what they began, who they are, and what role their claims give them."""

    begun: Begun
    provider: SignOnProvider
    person: Person
    role: str | None
    second_factor: bool
    claims: dict[str, Any]


def redirect_uri() -> str:
    """Where providers send people back to."""
    return f"{settings.PUBLIC_URL}{reverse('single-sign-on-callback')}"


def begin(
    session: SessionBase,
    provider: SignOnProvider,
    *,
    purpose: str,
    following: str = "/",
    user: str = "",
    hint: str = "",
) -> str:
    """The address to go to; the attempt is in the session then. Raises ProviderFailed."""
    begun = Begun(str(provider.tenant_id), str(provider.pk), purpose, following, time.time() + 60 * MINUTES, user)
    try:
        found = async_to_sync(discovery.provider)(provider.issuer)
        where = authorization.url(
            found.server,
            Attempt(begun.state, begun.verifier),
            client_id=provider.client_id,
            redirect_uri=redirect_uri(),
            scope=SCOPE,
            resource="",
        )
    except OAuthFailed as failed:
        raise ProviderFailed(f"Single sign-on of {provider.domain} does not work: {failed} {HELPER}") from None
    asked = {"nonce": begun.nonce, "login_hint": hint} | ({"prompt": "login", "max_age": "0"} if _anew(begun) else {})
    session[ATTEMPT] = encrypt(json.dumps(asdict(begun)))
    return str(URL(where).update_query({name: value for name, value in asked.items() if value}))


def finish(session: SessionBase, returned: Mapping[str, Any], user: str) -> Identified:
    """Who came back with this query, as the session that began it. Raises SignOnRefused, ProviderFailed."""
    begun = _taken(session, str(returned.get("state") or ""))
    if begun is None or begun.until < time.time() or begun.user != (user if begun.user else ""):
        raise SignOnRefused(
            f"This log-in was not begun in this browser, or it is over, or it was used already. {AGAIN}"
        )
    provider = sign_on.provider(uuid.UUID(begun.tenant), uuid.UUID(begun.provider))
    if provider is None or not (provider.enabled or begun.purpose == "test"):
        raise SignOnRefused(f"This single sign-on is not in use any more. {AGAIN}")
    try:
        found = async_to_sync(_claims)(provider, begun, returned)
        role = claims.role(provider, found)
    except OAuthFailed as failed:
        raise ProviderFailed(f"{provider.domain} did not log you in. {failed} {HELPER}") from None
    except Undecipherable:
        raise ProviderFailed(f"The client secret of {provider.domain} cannot be read. {HELPER}") from None
    methods = found.get("amr")
    proven = isinstance(methods, list) and "mfa" in methods
    return Identified(begun, provider, claims.person(provider, found), role, proven, found)


def _taken(session: SessionBase, state: str) -> Begun | None:
    """The session's attempt, which is over by this, whatever comes of it."""
    kept = session.pop(ATTEMPT, None)
    if kept is None:
        return None
    session.save()
    try:
        begun = Begun(**json.loads(decrypt(kept)))
    except (Undecipherable, ValueError, TypeError):
        return None
    return begun if state and secrets.compare_digest(begun.state.encode(), state.encode()) else None


async def _claims(provider: SignOnProvider, begun: Begun, returned: Mapping[str, Any]) -> dict[str, Any]:
    """All that the provider says of the person. Raises OAuthFailed, Undecipherable."""
    found = await discovery.provider(provider.issuer)
    iss = str(returned["iss"]) if "iss" in returned else None
    authorization.check_issuer(found.server, iss)
    code, error = str(returned.get("code") or ""), str(returned.get("error") or "")
    if error or not code or len(code) > grants.MAX_TOKEN:
        raise SignOnRefused(_words_of(error))
    client = Client(provider.client_id, decrypt(provider.client_secret) if provider.client_secret else "")
    token, access = await grants.identified(
        found.server, client, code, verifier=begun.verifier, redirect_uri=redirect_uri()
    )
    keys = await discovery.keys(found)
    said = id_tokens.claims(token, keys, issuer=provider.issuer, client_id=provider.client_id, nonce=begun.nonce)
    if _anew(begun):
        id_tokens.check_fresh(said)
    if found.userinfo and ("email" not in said or (provider.role_claim and provider.role_claim not in said)):
        more = await discovery.userinfo(found, access)
        # What is about another person is about nobody.
        if more.get("sub") == said["sub"]:
            said = more | said
    return said


def _anew(begun: Begun) -> bool:
    return begun.purpose == "confirm"


def _words_of(error: str) -> str:
    if error == "access_denied":
        return f"You, or your provider, said no: you are not logged in. {AGAIN}"
    return f"The provider did not log you in. {AGAIN}"
