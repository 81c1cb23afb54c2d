"""Connecting an account: to the authorization server's pages, and back with a code that is exchanged for tokens.

    begin ── the address to go to ── (the server's pages) ── back ── finish

An attempt is used once, within MINUTES, by the user who began it in the tenant where they did, in the same session. One
that was begun with an API key has no session: whoever comes back with it is asked first (`confirm`).
"""

import hashlib
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from psycopg.types.json import Jsonb

from services.connections.errors import AttemptRefused, NoSuchService, ServerFailed
from services.credentials import COLUMNS, Credential, recorded, tokens
from services.oauth import authorization, discovery, grants, registration
from services.oauth.authorization import Attempt
from services.oauth.errors import GrantRefused, OAuthFailed
from services.oauth.grants import Client
from services.oauth.server import Server
from tenants.people.encryption import Undecipherable, decrypt, encrypt
from tenants.scope.transactions import TenantScope, transaction

MINUTES = 10
CALLBACK = "/connections/callback/"
DOCUMENT = "/connections/client.json"
# Attempts of one user; older ones are forgotten.
MOST_ATTEMPTS = 20
AGAIN = "Begin again at Settings, My connections."

_SERVICE = f"SELECT {COLUMNS} FROM services s WHERE s.slug = %s AND s.enabled AND s.identity = 'oauth_user'"
# Whoever has connected can end that, whatever became of the service.
_ANY = f"SELECT {COLUMNS} FROM services s WHERE s.slug = %s AND s.identity = 'oauth_user'"
_OF_ATTEMPT = f"SELECT {COLUMNS} FROM services s WHERE s.id = %s AND s.enabled AND s.identity = 'oauth_user'"
_BEGIN = f"""
    INSERT INTO connection_attempts (id, tenant_id, service_id, user_id, state_hash, session_hash, verifier, server,
        client_id, client_secret, resource, expires_at)
    VALUES (%(id)s, %(tenant)s, %(service)s, %(user)s, %(state)s, %(session)s, %(verifier)s, %(server)s, %(client_id)s,
        %(secret)s, %(resource)s, now() + interval '{MINUTES} minutes') RETURNING expires_at"""
_FORGET = """
    DELETE FROM connection_attempts WHERE user_id = %s AND (expires_at <= now() OR id IN (
        SELECT id FROM connection_attempts WHERE user_id = %s ORDER BY expires_at DESC OFFSET %s))"""
_LOOK = """
    SELECT session_hash, service_id, server FROM connection_attempts
    WHERE state_hash = %s AND user_id = %s AND expires_at > now()"""
_TAKE = "DELETE FROM connection_attempts WHERE state_hash = %s AND user_id = %s RETURNING *, expires_at > now() AS good"
_REGISTERED = """
    SELECT client_id, client_secret FROM service_clients WHERE service_id = %s AND issuer = %s AND redirect_uri = %s"""
_REGISTER = """
    INSERT INTO service_clients (id, tenant_id, service_id, issuer, redirect_uri, client_id, client_secret)
    VALUES (%s, %s, %s, %s, %s, %s, %s) ON CONFLICT (tenant_id, service_id) DO UPDATE SET issuer = excluded.issuer,
        redirect_uri = excluded.redirect_uri, client_id = excluded.client_id, client_secret = excluded.client_secret"""


@dataclass(frozen=True, slots=True)
class Returned:
    """What a browser brought back from an authorization server, none of it trusted."""

    state: str
    code: str = ""
    error: str = ""
    iss: str | None = None

    @classmethod
    def of(cls, query: Mapping[str, Any]) -> "Returned":
        """Out of a query or a form."""

        def text(name: str) -> str:
            return str(query.get(name) or "")[:8192]

        return cls(text("state"), text("code"), text("error"), text("iss") if "iss" in query else None)


def redirect_uri() -> str:
    """Where authorization servers send people back to."""
    return f"{settings.PUBLIC_URL}{CALLBACK}"


def client_document() -> dict[str, Any]:
    """What Toolgate publishes about itself as a client; its address is the client's id."""
    return {"client_id": _document_url(), "client_uri": settings.PUBLIC_URL, **registration.about(redirect_uri())}


async def begin(scope: TenantScope, slug: str, session: str | None) -> dict[str, Any]:
    """`{authorize_url, expires_at, scopes}` for the user of the scope; `session` is the key of their browser session.

    Raises NoSuchService, ServerFailed.
    """
    credential = await _credential(scope, _SERVICE, slug) if "\x00" not in slug else None
    if credential is None:
        raise NoSuchService
    attempt = Attempt()
    try:
        server, resource, scopes = await _server(credential)
        client = await _client(scope, credential, server, scopes)
        url = authorization.url(
            server,
            attempt,
            client_id=client.id,
            redirect_uri=redirect_uri(),
            scope=scopes,
            resource=resource,
        )
    except OAuthFailed as failed:
        raise ServerFailed(f"{credential.slug} cannot be connected: {failed}") from None
    except Undecipherable:
        raise ServerFailed(
            f"{credential.slug} cannot be connected: an owner has to set its credential again."
        ) from None
    values = {
        "id": uuid.uuid4(),
        "tenant": scope.tenant_id,
        "service": credential.service_id,
        "user": scope.user_id,
        "state": _hash(attempt.state),
        "session": None if session is None else _hash(session),
        "verifier": encrypt(attempt.verifier),
        "server": Jsonb(server.as_json()),
        "client_id": client.id,
        "secret": encrypt(client.secret) if client.secret else "",
        "resource": resource,
    }
    async with transaction(scope) as connection:
        row = await (await connection.execute(_BEGIN.encode(), values)).fetchone()
        await connection.execute(_FORGET.encode(), [scope.user_id, scope.user_id, MOST_ATTEMPTS])
    assert row is not None
    return {"authorize_url": url, "expires_at": row["expires_at"], "scopes": scopes.split()}


async def confirm(scope: TenantScope, returned: Returned) -> dict[str, str] | None:
    """What to ask before `finish`, `{service, server}`, of an attempt that was begun in no session; None: nothing."""
    async with transaction(scope) as connection:
        values = [_hash(returned.state), scope.user_id]
        row = await (await connection.execute(_LOOK.encode(), values)).fetchone()
    if row is None or row["session_hash"] is not None:
        return None
    credential = await _credential(scope, _OF_ATTEMPT, row["service_id"])
    return None if credential is None else {"service": credential.slug, "server": row["server"]["issuer"]}


async def finish(scope: TenantScope, returned: Returned, session: str | None) -> str:
    """Connect what came back, for the user of the scope; the service's slug. `session` None: the user was asked.

    Raises AttemptRefused, ServerFailed.
    """
    row = await _taken(scope, returned.state)
    if row is None or not row["good"]:
        raise AttemptRefused(f"This was not begun here by you, or it is over, or it was used already. {AGAIN}")
    begun_in = row["session_hash"]
    if (None if session is None else _hash(session)) != (None if begun_in is None else bytes(begun_in)):
        raise AttemptRefused(f"This was begun in another session. {AGAIN}")
    server = Server.of_json(row["server"])
    credential = await _credential(scope, _OF_ATTEMPT, row["service_id"])
    if credential is None:
        raise AttemptRefused(
            "The service is not there any more, or is switched off. An owner of the tenant can say why."
        )
    try:
        authorization.check_issuer(server, returned.iss)
        if returned.error or not returned.code:
            raise AttemptRefused(_refusal(credential.slug, returned.error))
        client = Client(row["client_id"], decrypt(row["client_secret"]) if row["client_secret"] else "")
        found = await grants.for_code(
            server,
            client,
            returned.code,
            verifier=decrypt(row["verifier"]),
            redirect_uri=redirect_uri(),
            resource=row["resource"],
        )
    except GrantRefused as failed:
        raise AttemptRefused(f"{credential.slug} was not connected. {failed} {AGAIN}") from None
    except OAuthFailed as failed:
        raise ServerFailed(f"{credential.slug} was not connected. {failed} {AGAIN}") from None
    except Undecipherable:
        raise AttemptRefused(f"The keys of this Toolgate were changed meanwhile. {AGAIN}") from None
    kept = row["client_id"], row["client_secret"]
    await recorded.connected(scope, credential, server, kept, found, row["resource"])
    return credential.slug


async def end(scope: TenantScope, slug: str) -> bool:
    """Disconnect the user of the scope; False when there is nothing. Raises NoSuchService."""
    credential = await _credential(scope, _ANY, slug) if "\x00" not in slug else None
    if credential is None:
        raise NoSuchService
    return await recorded.disconnected(scope, credential)


async def _credential(scope: TenantScope, statement: str, which: Any) -> Credential | None:
    async with transaction(scope) as connection:
        row = await (await connection.execute(statement.encode(), [which])).fetchone()
    return None if row is None else Credential.of_row(row)


async def _taken(scope: TenantScope, state: str) -> dict[str, Any] | None:
    """The attempt, which nobody can use any more."""
    async with transaction(scope) as connection:
        return await (await connection.execute(_TAKE.encode(), [_hash(state), scope.user_id])).fetchone()


async def _server(credential: Credential) -> tuple[Server, str, str]:
    """Where the user is sent, what the tokens will be for, and with which scopes. Raises OAuthFailed."""
    if {"issuer", "token_endpoint"} & set(credential.oauth):
        return await tokens.server_of(credential), credential.resource, credential.scope
    found = await discovery.protected(credential.url, mcp=credential.kind == "mcp")
    resource = str(credential.oauth.get("resource", "")) or found.resource
    return await discovery.server(found.issuer, strict=True), resource, credential.scope or found.scope


async def _client(scope: TenantScope, credential: Credential, server: Server, scopes: str) -> Client:
    """As whom Toolgate asks the server. Raises OAuthFailed, Undecipherable."""
    if given := credential.oauth.get("client_id"):
        return Client(given, decrypt(credential.secret) if credential.secret else "")
    if credential.oauth["registration"] == "metadata_document":
        if not server.documents or urlsplit(settings.PUBLIC_URL).scheme != "https":
            raise GrantRefused("it takes no metadata document as a client, or this Toolgate has no https address")
        return Client(_document_url())
    known = [credential.service_id, server.issuer, redirect_uri()]
    async with transaction(scope) as connection:
        row = await (await connection.execute(_REGISTERED.encode(), known)).fetchone()
    if row is not None:
        return Client(row["client_id"], decrypt(row["client_secret"]) if row["client_secret"] else "")
    client = await registration.register(server, redirect_uri(), scopes)
    secret = encrypt(client.secret) if client.secret else ""
    values = [uuid.uuid4(), scope.tenant_id, *known, client.id, secret]
    async with transaction(scope) as connection:
        await connection.execute(_REGISTER.encode(), values)
    return client


def _refusal(slug: str, error: str) -> str:
    if error == "access_denied":
        return f"{slug} was not connected: it was declined there."
    shown = error if error.isascii() and error.isprintable() and 0 < len(error) <= 100 else "without a code"
    return f"{slug} was not connected: the authorization server refused ({shown}). {AGAIN}"


def _document_url() -> str:
    return f"{settings.PUBLIC_URL}{DOCUMENT}"


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()
