"""Requests of the API in this process."""

import json
import uuid
from typing import Any

from django.test import Client

from tests.database import rows
from tests.people import Cast, Person

AGENTS = "/api/v1/agents/"


def ask(who: Person, method: str, path: str, body: Any = None, **headers: str) -> Any:
    """The answer to a request with the person's key."""
    client = Client(headers={"Authorization": f"Bearer {who.key}"})
    text = body if isinstance(body, str) else "" if body is None else json.dumps(body)
    return client.generic(method, path, text, content_type="application/json", headers=headers)


def refusal(answer: Any) -> tuple[int, str, str | None]:
    """The status of a refusal, its code, and the field at fault."""
    body = answer.json()
    return answer.status_code, body["code"], body.get("field")


def recorded(tenant: Cast) -> list[tuple[str, str, str, dict[str, Any]]]:
    """The changes on record: target, name, action, and what changed."""
    found = rows("SELECT * FROM setting_changes WHERE tenant_id = %(t)s ORDER BY id", t=tenant.id)
    return [(each["target"], each["name"], each["action"], each["changes"]) for each in found]


def agents(tenant: Cast) -> dict[str, dict[str, Any]]:
    """The tenant's agents as they are stored, by slug."""
    return {each["slug"]: each for each in rows("SELECT * FROM agents WHERE tenant_id = %(t)s", t=tenant.id)}


def versions(tenant: Cast, slug: str) -> list[tuple[int, uuid.UUID | None, str]]:
    """The versions of an agent that are stored: number, who made it, and over which way."""
    found = rows(
        "SELECT v.* FROM agent_versions v JOIN agents a ON a.id = v.agent_id"
        " WHERE a.tenant_id = %(t)s AND a.slug = %(s)s ORDER BY number",
        t=tenant.id,
        s=slug,
    )
    return [(each["number"], each["actor_id"], each["via"]) for each in found]
