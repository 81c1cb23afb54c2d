"""What a user has connected, and could: one row for each service that people connect to, without any token."""

from typing import Any

from tenants.scope.transactions import TenantScope, transaction

EXPIRED, NEEDED, CONNECTED = "expired", "needs_connecting", "connected"
_LIST = """
    SELECT s.slug, s.description, s.url, s.oauth, c.id, c.issuer, c.resource, c.scope, c.connected_at, c.refreshed_at,
        c.used_at, c.problem, c.expires_at, c.refresh_token <> '' AS lasts,
        c.ended_at IS NOT NULL OR (c.refresh_token = '' AND c.expires_at <= now()) AS over
    FROM services s LEFT JOIN connections c
        ON c.tenant_id = s.tenant_id AND c.service_id = s.id AND c.user_id = %(user)s
    WHERE (s.enabled OR c.id IS NOT NULL) AND s.identity = 'oauth_user'
    ORDER BY s.slug"""


async def of_user(scope: TenantScope) -> list[dict[str, Any]]:
    """The scope's user's connections, by slug; also what could be connected."""
    async with transaction(scope) as connection:
        found = await (await connection.execute(_LIST.encode(), {"user": scope.user_id})).fetchall()
    return [_shown(row) for row in found]


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    state = NEEDED if row["id"] is None else EXPIRED if row["over"] else CONNECTED
    return {
        "service": row["slug"],
        "description": row["description"],
        "url": row["url"],
        "state": state,
        "issuer": row["issuer"] or row["oauth"].get("issuer"),
        "scopes": (row["scope"] or "").split() if row["id"] is not None else row["oauth"].get("scopes", []),
        "resource": row["resource"] or None,
        "connected_at": row["connected_at"],
        "last_used_at": row["used_at"],
        # While it refreshes itself, only the server knows.
        "expires_at": None if row["lasts"] else row["expires_at"],
        "problem": row["problem"] or None,
    }
