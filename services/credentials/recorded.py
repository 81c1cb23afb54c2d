"""A user connects, disconnects, or has to connect again: each with its entry in the ledger, in one transaction.

That tokens are refreshed changes nothing that anybody decided, and is not recorded.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from asgiref.sync import sync_to_async
from django.db import connections

from services.credentials import rows
from services.credentials.rows import Row
from services.credentials.stored import Credential
from services.models import Connection
from services.oauth.grants import Tokens
from services.oauth.server import Server
from tenants.people.changes import Said, record
from tenants.scope import transactions
from tenants.scope.transactions import TenantScope

_END = """
    UPDATE connections SET ended_at = now(), access_token = '', refresh_token = '', refreshing_until = NULL,
        fence = fence + 1, problem = %s WHERE id = %s AND fence = %s RETURNING id"""
# The same client at the same server: its new tokens come instead. Whether revoking the old ones would end the new ones,
# too, is for each server to say, and they do not say.
_REPLACE = """UPDATE SET resource = excluded.resource, server = excluded.server, client_secret = excluded.client_secret,
        access_token = excluded.access_token, refresh_token = excluded.refresh_token, scope = excluded.scope,
        expires_at = excluded.expires_at, fence = connections.fence + 1, refreshing_until = NULL, ended_at = NULL,
        problem = '', connected_at = now(), refreshed_at = NULL"""
_OTHERS = f"DELETE FROM connections WHERE {rows.OWN} AND (issuer <> %(issuer)s OR client_id <> %(client_id)s)"


@sync_to_async
def connected(
    scope: TenantScope, credential: Credential, server: Server, client: tuple[str, str], tokens: Tokens, resource: str
) -> None:
    """Keep the tokens of a user who has connected, instead of any others; `client` is its id and encrypted secret."""
    kept = rows.encrypted(tokens) | {"scope": tokens.scope if tokens.scope is not None else credential.scope}
    values = rows.opening(scope, credential, server, client, kept, resource)
    with _within(scope):
        before = _said(credential, _present(scope, credential))
        _execute(_OTHERS, values)
        _execute(rows.OPEN.format(_REPLACE), values)
        record(before, _said(credential, _present(scope, credential)))


@sync_to_async
def disconnected(scope: TenantScope, credential: Credential) -> bool:
    """Forget the connection; a trigger sees to it that its server is told. False when there is none."""
    with _within(scope):
        present = _present(scope, credential)
        if present is None:
            return False
        before = _said(credential, present)
        present.delete()
        record(before, None)
    return True


@sync_to_async
def ended(scope: TenantScope, credential: Credential, row: Row, problem: str) -> bool:
    """The user has to connect again; False when somebody else has written since."""
    with _within(scope):
        before = _said(credential, _present(scope, credential))
        if not _execute(_END, [problem, row.id, row.fence]):
            return False
        record(before, _said(credential, _present(scope, credential)))
    return True


@contextmanager
def _within(scope: TenantScope) -> Iterator[None]:
    """A transaction of the user, on a connection that nobody keeps."""
    try:
        with transactions.scope(*scope):
            yield
    finally:
        connections["default"].close()


def _present(scope: TenantScope, credential: Credential) -> Connection | None:
    mine = rows.own(scope, credential)
    found = Connection.objects.select_for_update().filter(service_id=mine["service"], user_id=mine["user"])
    return found.first()


def _said(credential: Credential, row: Connection | None) -> Said | None:
    if row is None:
        return None
    values = {
        "user_id": None if row.user_id is None else str(row.user_id),
        "state": "connected" if row.ended_at is None else "ended",
        **{name: getattr(row, name) for name in ("issuer", "client_id", "scope", "resource")},
    }
    return Said(row.tenant_id, "connection", row.id, credential.slug, values, {"token": row.access_token})


def _execute(statement: str, values: Any) -> int:
    with connections["default"].cursor() as cursor:
        cursor.execute(statement, values)
        return int(cursor.rowcount)
