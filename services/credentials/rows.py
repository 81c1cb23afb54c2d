"""The rows of `connections`: one for each user of a service, or for the tenant; each function is a statement.

Who asks a server for newer tokens holds the row's lease (`claim`), over processes, and nobody holds a transaction while
a server is waited for. What it got is written only where nobody else has written since (`fence`).
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from psycopg.types.json import Jsonb

from services.credentials.stored import Credential
from services.oauth.grants import Tokens
from services.oauth.server import Server
from tenants.people.encryption import encrypt
from tenants.scope.transactions import TenantScope, transaction

# Longer than a server is waited for; a process that was lost keeps others waiting no longer.
LEASE_SECONDS = 30
# How exactly it is known when a connection was used last.
_USED_EVERY = "1 minute"
_COLUMNS = """id, issuer, resource, server, client_id, client_secret, access_token, refresh_token, expires_at, fence,
    ended_at, problem, expires_at <= now() + make_interval(secs => %(ahead)s) AS old,
    expires_at <= now() AS expired, refreshing_until > now() AS refreshing,
    refreshed_at > now() - make_interval(secs => %(pause)s) AS new"""
OWN = "service_id = %(service)s AND user_id IS NOT DISTINCT FROM %(user)s"
_READ = f"SELECT {_COLUMNS} FROM connections WHERE {OWN}"
_TOUCH = f"""
    UPDATE connections SET used_at = now()
    WHERE id = %s AND (used_at IS NULL OR used_at < now() - interval '{_USED_EVERY}')"""
_CLAIM = """
    UPDATE connections SET refreshing_until = now() + make_interval(secs => %s)
    WHERE id = %s AND fence = %s AND ended_at IS NULL AND (refreshing_until IS NULL OR refreshing_until <= now())
    RETURNING id"""
_RELEASE = "UPDATE connections SET refreshing_until = NULL, problem = %s WHERE id = %s AND fence = %s"
_STORE = """
    UPDATE connections SET access_token = %(access)s, refresh_token = %(refresh)s, client_secret = %(secret)s,
        expires_at = now() + make_interval(secs => %(seconds)s), scope = coalesce(%(scope)s, scope),
        server = %(server)s, fence = fence + 1, refreshing_until = NULL, refreshed_at = now(), problem = ''
    WHERE id = %(id)s AND fence = %(fence)s AND ended_at IS NULL RETURNING id"""
OPEN = """
    INSERT INTO connections (id, tenant_id, service_id, user_id, issuer, resource, server, client_id, client_secret,
        access_token, refresh_token, scope, expires_at, fence, problem)
    VALUES (%(id)s, %(tenant)s, %(service)s, %(user)s, %(issuer)s, %(resource)s, %(server)s, %(client_id)s, %(secret)s,
        %(access)s, %(refresh)s, %(scope)s, now() + make_interval(secs => %(seconds)s), 0, '')
    ON CONFLICT (tenant_id, service_id, user_id) DO {}"""
_OF_ANOTHER = f"DELETE FROM connections WHERE {OWN} AND (issuer <> %(issuer)s OR resource <> %(resource)s)"


@dataclass(frozen=True, slots=True)
class Row:
    """A connection; tokens are encrypted. `old`: newer tokens are due. `new`: it has just been refreshed."""

    id: uuid.UUID
    issuer: str
    resource: str
    server: Mapping[str, Any]
    client_id: str
    client_secret: str = field(repr=False)
    access_token: str = field(repr=False)
    refresh_token: str = field(repr=False)
    expires_at: datetime | None
    fence: int
    ended_at: datetime | None
    problem: str
    old: bool | None
    expired: bool | None
    refreshing: bool | None
    new: bool | None


def own(scope: TenantScope, credential: Credential) -> dict[str, Any]:
    """Whose row it is, as OWN takes it."""
    user = scope.user_id if credential.personal else None
    return {"tenant": scope.tenant_id, "service": credential.service_id, "user": user}


async def read(scope: TenantScope, credential: Credential, *, ahead: float, pause: float) -> Row | None:
    """The connection of the credential; `ahead` and `pause` are seconds that make it `old` and `new`."""
    async with transaction(scope) as connection:
        values = own(scope, credential) | {"ahead": ahead, "pause": pause}
        row = await (await connection.execute(_READ.encode(), values)).fetchone()
        if row is not None:
            await connection.execute(_TOUCH.encode(), [row["id"]])
    return None if row is None else Row(**row)


async def claim(scope: TenantScope, row: Row) -> bool:
    """Whether it is for the caller to ask for newer tokens."""
    return await _one(scope, _CLAIM, [LEASE_SECONDS, row.id, row.fence])


async def release(scope: TenantScope, row: Row, problem: str) -> None:
    """Let somebody else ask; `problem` is why there are no newer tokens."""
    async with transaction(scope) as connection:
        await connection.execute(_RELEASE.encode(), [problem, row.id, row.fence])


async def store(scope: TenantScope, row: Row, server: Server, secret: str, tokens: Tokens) -> bool:
    """Keep newer tokens; False when somebody else has written since. `secret` is encrypted."""
    values = encrypted(tokens) | {"id": row.id, "fence": row.fence, "secret": secret}
    return await _one(scope, _STORE, values | {"server": Jsonb(server.as_json())})


async def open_placeholder(scope: TenantScope, credential: Credential, server: Server) -> None:
    """A row without tokens, where there is none for this server and resource."""
    empty = {"access": "", "refresh": "", "seconds": 0, "scope": credential.scope}
    of_another = own(scope, credential) | {"issuer": server.issuer, "resource": credential.resource}
    async with transaction(scope) as connection:
        await connection.execute(_OF_ANOTHER.encode(), of_another)
        client = credential.oauth["client_id"], credential.secret
        values = opening(scope, credential, server, client, empty)
        await connection.execute(OPEN.format("NOTHING").encode(), values)


def opening(
    scope: TenantScope,
    credential: Credential,
    server: Server,
    client: tuple[str, str],
    tokens: Mapping[str, Any],
    resource: str | None = None,
) -> dict[str, Any]:
    """The values of OPEN; `client` is its id and encrypted secret, `tokens` as `encrypted` makes them."""
    return {
        **own(scope, credential),
        **tokens,
        "id": uuid.uuid4(),
        "issuer": server.issuer,
        "resource": credential.resource if resource is None else resource,
        "server": Jsonb(server.as_json()),
        "client_id": client[0],
        "secret": client[1],
    }


def encrypted(tokens: Tokens) -> dict[str, Any]:
    """Tokens as statements take them."""
    return {
        "access": encrypt(tokens.access),
        "refresh": encrypt(tokens.refresh) if tokens.refresh else "",
        "seconds": tokens.seconds,
        "scope": tokens.scope,
    }


async def _one(scope: TenantScope, statement: str, values: Any) -> bool:
    async with transaction(scope) as connection:
        return await (await connection.execute(statement.encode(), values)).fetchone() is not None
