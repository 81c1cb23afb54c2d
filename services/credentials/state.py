"""What a member's rights hold of their connections: by service, whether it may be called in their name."""

from typing import Any

from tools.gates.policy import ConnectionState

# A column beside those of tools.gates.policy: the services that each user connects to, and how far this one has.
COLUMN = """
    (SELECT jsonb_object_agg(s.slug, jsonb_build_array(
            CASE WHEN c.id IS NULL THEN 'none' WHEN c.ended_at IS NOT NULL THEN 'ended' ELSE 'connected' END,
            CASE WHEN c.refresh_token = '' THEN extract(epoch FROM c.expires_at) END))
        FROM services s LEFT JOIN connections c
            ON c.tenant_id = s.tenant_id AND c.service_id = s.id AND c.user_id = m.user_id
        WHERE s.tenant_id = m.tenant_id AND s.identity = 'oauth_user') AS connections"""


def from_row(row: dict[str, Any] | None) -> dict[str, Any]:
    """`connections` of a policy, out of a row that holds COLUMN."""
    found = (row and row["connections"]) or {}
    return {"connections": {slug: ConnectionState(*values) for slug, values in found.items()}}
