"""The access token that a service is called with, refreshed before its time is over: once, however many callers wait.

read ─ good ──────────────────────────────────────────── its token
  └─── old, or refused by the service ─ claim ─┬─ mine ── ask the server ─┬─ tokens: store, read again
                                               │                          ├─ refused: end it, unless it is newer
                                               │                          └─ no answer: release, and say why
                                               └─ another's ─ wait ─ read again, or say why
"""

import asyncio
import logging
import time
import uuid

import psycopg

from services.credentials import recorded, rows
from services.credentials.errors import CredentialUnavailable, NotConnected
from services.credentials.rows import Row
from services.credentials.stored import Credential
from services.oauth import discovery, grants
from services.oauth.errors import GrantRefused, OAuthFailed, ServerUnusable
from services.oauth.grants import Client, Tokens
from services.oauth.server import Server, of_endpoints
from tenants.people.encryption import Undecipherable, decrypt
from tenants.scope.transactions import TenantScope

log = logging.getLogger(__name__)

# How long before its end a token is refreshed: a call that begins with it may last.
AHEAD_SECONDS = 60
# A token that was refreshed within these, and is refused, is refused for another reason than its age.
PAUSE_SECONDS = 10
# How long others wait for who refreshes, and how often they look.
WAIT_SECONDS, LOOK_SECONDS = rows.LEASE_SECONDS + 5, 0.1
# What a server has given is written even if the database is away for a moment: the old token may be used up.
_STORE_ATTEMPTS, _STORE_PAUSE = 6, 0.5
# How often a connection that disappears at once is opened.
_OPENINGS = 5
_ENDED = "Your connection to the service {} has ended there, or was withdrawn."
_refreshing: dict[tuple[asyncio.AbstractEventLoop, uuid.UUID], asyncio.Task[str]] = {}


async def current(scope: TenantScope, credential: Credential) -> str:
    """The token to call the service with. Raises CredentialError."""
    until = time.monotonic() + WAIT_SECONDS
    while True:
        row = await _row(scope, credential)
        token = _readable(credential, row.access_token)
        if token and (not row.old or (row.new and not row.expired)):
            return token
        if token and row.new:
            raise CredentialUnavailable(credential.slug, "Its server has given a token that is over already.")
        if not _renewable(credential, row):
            if token and not row.expired:
                return token
            over = "It is over, and the authorization server gave nothing to refresh it with."
            await recorded.ended(scope, credential, row, over)
            raise NotConnected(credential.slug, _ENDED.format(credential.slug))
        problem = await _renewed(scope, credential, row)
        if problem and token and not row.expired:
            # It is good for a little longer than we like.
            return token
        if problem or time.monotonic() > until:
            raise CredentialUnavailable(credential.slug, problem or "It is being refreshed, which takes long.")


async def newer(scope: TenantScope, credential: Credential, rejected: str) -> str | None:
    """Another token than the one that the service refused; None when a newer one would not help.

    Raises CredentialError.
    """
    until = time.monotonic() + WAIT_SECONDS
    while True:
        row = await _row(scope, credential)
        token = _readable(credential, row.access_token)
        if token and token != rejected:
            return token
        if token and (row.new or not _renewable(credential, row)):
            return None
        problem = await _renewed(scope, credential, row)
        if problem or time.monotonic() > until:
            raise CredentialUnavailable(credential.slug, problem or "It is being refreshed, which takes long.")


async def server_of(credential: Credential) -> Server:
    """The authorization server that an owner has named. Raises OAuthFailed."""
    given = credential.oauth
    if "token_endpoint" in given:
        return of_endpoints(
            given["token_endpoint"],
            given.get("authorization_endpoint", ""),
            given.get("revocation_endpoint", ""),
            given.get("issuer", ""),
        )
    return await discovery.server(given["issuer"])


async def _row(scope: TenantScope, credential: Credential) -> Row:
    """The connection; for the tenant's own one is opened. Raises CredentialError."""
    for _ in range(_OPENINGS):
        row = await rows.read(scope, credential, ahead=AHEAD_SECONDS, pause=PAUSE_SECONDS)
        if row is not None and not _matches(credential, row):
            row = None
        if row is None and not credential.personal and credential.service_id is not None:
            try:
                await rows.open_placeholder(scope, credential, await server_of(credential))
            except OAuthFailed as failed:
                raise CredentialUnavailable(credential.slug, str(failed)) from None
            continue
        if row is None:
            raise NotConnected(credential.slug)
        if row.ended_at is not None:
            raise NotConnected(credential.slug, _ENDED.format(credential.slug))
        return row
    raise CredentialUnavailable(credential.slug, "Its authorization server changes all the time.")


def _matches(credential: Credential, row: Row) -> bool:
    """Whether the row's tokens are for what the service is now: from its server, and for its resource."""
    given = credential.oauth
    named = given.get("issuer")
    if not named and "token_endpoint" in given:
        named = of_endpoints(given["token_endpoint"], "", "", "").issuer
    if named and named != row.issuer:
        return False
    if row.resource == credential.resource:
        return True
    return "resource" not in given and bool(row.resource) and discovery.covers(row.resource, credential.resource)


def _renewable(credential: Credential, row: Row) -> bool:
    return not credential.personal or bool(row.refresh_token)


def _readable(credential: Credential, encrypted: str) -> str:
    try:
        return decrypt(encrypted) if encrypted else ""
    except Undecipherable:
        raise CredentialUnavailable(credential.slug, _unreadable(credential)) from None


def _unreadable(credential: Credential) -> str:
    who = "Connect again" if credential.personal else "An owner has to set it again"
    return f"It cannot be read any more. {who}."


async def _renewed(scope: TenantScope, credential: Credential, row: Row) -> str:
    """Once there may be newer tokens: why there are none, or "". One task for all who wait in this process."""
    key = asyncio.get_running_loop(), row.id
    task = _refreshing.get(key)
    if task is None:
        # Not the caller's: who goes away in the middle would lose what the server gives only once.
        task = _refreshing[key] = asyncio.create_task(_renew(scope, credential, row))
        task.add_done_callback(lambda done: _refreshing.pop(key, None))
    return await asyncio.shield(task)


async def _renew(scope: TenantScope, credential: Credential, row: Row) -> str:
    if not await rows.claim(scope, row):
        return await _wait(scope, credential, row)
    try:
        server, secret, tokens = await _asked(credential, row)
    except OAuthFailed as failed:
        if credential.personal and isinstance(failed, GrantRefused) and failed.error == "invalid_grant":
            # Or somebody else has used it meanwhile: then this writes nothing, and the caller reads again.
            await recorded.ended(scope, credential, row, str(failed))
            return ""
        problem = str(failed)
        if isinstance(failed, GrantRefused):
            problem += " An owner of the tenant can check the service's credential."
    except Undecipherable:
        problem = _unreadable(credential)
    except Exception:
        log.exception("token not refreshed", extra={"connection": str(row.id)})
        problem = "Refreshing it failed unexpectedly; the operator finds why in the log."
    else:
        if not await _stored(scope, row, server, secret, tokens):
            await _withdrawn(scope, credential, row, server, secret, tokens)
        return ""
    log.info("token not refreshed", extra={"connection": str(row.id), "why": problem})
    await rows.release(scope, row, problem)
    return problem


async def _asked(credential: Credential, row: Row) -> tuple[Server, str, Tokens]:
    """The server, the client's encrypted secret, and what the server gave. Raises OAuthFailed, Undecipherable."""
    # Where an owner gave the client, its secret may have been replaced since.
    secret = credential.secret if "client_id" in credential.oauth else row.client_secret
    client = Client(row.client_id, decrypt(secret) if secret else "")
    server = Server.of_json(dict(row.server))
    if credential.personal:
        found = await grants.refreshed(server, client, decrypt(row.refresh_token), resource=row.resource)
        return server, secret, found
    try:
        found = await grants.for_client(server, client, scope=credential.scope, resource=row.resource)
    except ServerUnusable:
        # It may have moved since it was discovered.
        moved = await server_of(credential)
        if moved == server:
            raise
        server = moved
        found = await grants.for_client(server, client, scope=credential.scope, resource=row.resource)
    return server, secret, found


async def _stored(scope: TenantScope, row: Row, server: Server, secret: str, tokens: Tokens) -> bool:
    for attempt in range(_STORE_ATTEMPTS):
        try:
            return await rows.store(scope, row, server, secret, tokens)
        except psycopg.OperationalError:
            if attempt == _STORE_ATTEMPTS - 1:
                raise
        await asyncio.sleep(_STORE_PAUSE)
    return False


async def _withdrawn(
    scope: TenantScope, credential: Credential, row: Row, server: Server, secret: str, tokens: Tokens
) -> None:
    """Tell the server that tokens are not used which came for a connection that had ended meanwhile."""
    present = await rows.read(scope, credential, ahead=AHEAD_SECONDS, pause=PAUSE_SECONDS)
    # Where it has newer ones of the same grant, these may not be revoked alone.
    if not server.revocation_endpoint or (present is not None and present.id == row.id and present.ended_at is None):
        return
    client = Client(row.client_id, decrypt(secret) if secret else "")
    for token, hint in ((tokens.refresh, "refresh_token"), (tokens.access, "access_token")):
        try:
            if token:
                await grants.revoke(server, client, token, hint)
        except OAuthFailed as failed:
            log.warning("token not revoked", extra={"connection": str(row.id), "why": str(failed)})


async def _wait(scope: TenantScope, credential: Credential, row: Row) -> str:
    """Until another process has newer tokens: why it got none, or ""."""
    until = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < until:
        found = await rows.read(scope, credential, ahead=AHEAD_SECONDS, pause=PAUSE_SECONDS)
        if found is None or found.id != row.id or found.fence != row.fence:
            return ""
        if not found.refreshing:
            return found.problem
        await asyncio.sleep(LOOK_SECONDS)
    return "It is being refreshed, which takes long."
