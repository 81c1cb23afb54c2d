"""Calls of tools without a chat, as a client makes them."""

from typing import Any

import httpx

from tests.database import rows
from tests.people import Cast, Person
from tests.stack import Stack

NOTE = {"title": "Milk", "content": "Two litres"}


MAIL = {"to": "bob@example.com", "subject": "Hello", "body": "Hi Bob"}


def call(stack: Stack, person: Person, tool: str, arguments: Any, *, key: str = "", **more: Any) -> httpx.Response:
    """One call as a person."""
    headers = person.headers | ({"Idempotency-Key": key} if key else {})
    body = {"arguments": arguments, **more}
    return httpx.post(f"{stack.url}/api/v1/tools/{tool}/calls", json=body, headers=headers)


def recorded(tenant: Cast) -> list[dict[str, Any]]:
    """The tenant's calls, as the table holds them."""
    return rows("SELECT * FROM tool_calls WHERE tenant_id = %(t)s ORDER BY id", t=tenant.id)


def notes(tenant: Cast) -> int:
    """How many notes the tenant has."""
    return len(rows("SELECT id FROM notes WHERE tenant_id = %(t)s", t=tenant.id))


def entries(call_id: Any) -> list[str]:
    """The kinds of the call's ledger entries, in order."""
    query = "SELECT kind FROM ledger_entries WHERE call_id = %(id)s ORDER BY seq"
    return [row["kind"] for row in rows(query, id=call_id)]


def held(stack: Stack, person: Person, **more: Any) -> dict[str, Any]:
    """A mail that waits for a human."""
    answer = call(stack, person, "send_email", MAIL, **more)
    assert answer.status_code == 202, answer.text
    body: dict[str, Any] = answer.json()
    assert body["status"] == "awaiting_approval"
    return body
