"""Services with OAuth credentials, and people who connect to them, in this process."""

import asyncio
from contextlib import suppress
from typing import Any

from django.db import connections

from services import changes
from services.changes import NewService, Source
from services.connections import flow
from services.connections.flow import Returned
from services.credentials import Credential, resolver
from services.models import Service
from tenants.scope import transactions
from tests.connections.authorization import CLIENT, MACHINE, AuthorizationServer
from tests.database import rows
from tests.people import Cast, Person
from tests.services.api import TRADING

SESSION = "the key of a session"
DOCUMENT = changes.text_of(TRADING, "descriptor")


def add(tenant: Cast, url: str, credential: dict[str, Any], slug: str = "desk", on: bool = True) -> Service:
    """A service of the tenant, its tools enabled."""
    wanted = NewService.read({"slug": slug, "kind": "http", "url": url, "credential": credential})
    with transactions.scope(tenant.id, tenant.olga.principal.user_id):
        added = changes.add(tenant.id, wanted, Source("http", DOCUMENT))
        for tool in ("get_market_context", "execute_trade", "get_order") if on else ():
            changes.change_tool(slug, tool, {"enabled": True})
    with suppress(Exception):
        connections["default"].close()
    return added


def change(tenant: Cast, slug: str = "desk", **given: Any) -> Service:
    """What an owner changes of it."""
    with transactions.scope(tenant.id, tenant.olga.principal.user_id):
        return changes.change(slug, given)


def of_user(server: AuthorizationServer, **more: Any) -> dict[str, Any]:
    """A credential that each user has of their own."""
    return {"type": "oauth_user", "issuer": server.issuer, "scopes": ["orders:read", "orders:write"], **CLIENT, **more}


def of_client(server: AuthorizationServer, **more: Any) -> dict[str, Any]:
    """The tenant's own."""
    return {"type": "oauth_client", "issuer": server.issuer, **MACHINE, **more}


async def connect(server: AuthorizationServer, person: Person, slug: str = "desk", login: str = "ada") -> None:
    """Connect the person's account, as in a browser."""
    begun = await flow.begin(person.scope, slug, SESSION)
    back = await asyncio.to_thread(server.accept, begun["authorize_url"], login)
    assert await flow.finish(person.scope, Returned.of(back), SESSION) == slug


async def headers(service: Service, person: Person) -> dict[str, str]:
    """What a call in the person's name is sent with."""
    return await resolver.headers(person.scope, Credential.of(service))


def token_of(sent: dict[str, str]) -> str:
    """The bearer in headers."""
    assert set(sent) == {"Authorization"}
    return sent["Authorization"].removeprefix("Bearer ")


def kept(tenant: Cast) -> list[dict[str, Any]]:
    """The tenant's connections, as the database has them."""
    return rows("SELECT * FROM connections WHERE tenant_id = %(tenant)s ORDER BY user_id NULLS FIRST", tenant=tenant.id)


def expire(tenant: Cast) -> None:
    """Every access token of the tenant is over."""
    rows(
        "UPDATE connections SET expires_at = now() - interval '1 minute', refreshed_at = NULL"
        " WHERE tenant_id = %(tenant)s RETURNING 1",
        tenant=tenant.id,
    )
