"""What tests of the inbox ask and look at."""

import asyncio
import json
from typing import Any

from django.test import Client

from notifications.inbox import entries
from tenants.scope.transactions import transaction
from tests.database import rows
from tests.people import Person


def ask(who: Person, method: str, path: str, body: Any = None) -> Any:
    """A request to the API with the person's key."""
    client = Client(headers={"Authorization": f"Bearer {who.key}"})
    text = "" if body is None else json.dumps(body)
    return client.generic(method, f"/api/v1/{path}", text, content_type="application/json")


async def tell(who: Person, title: str, **more: Any) -> Any:
    """Put an entry into the person's inbox; its id."""
    fields = {"kind": "message", "key": title} | more
    async with transaction(who.scope) as connection:
        return await entries.put(connection, *who.scope, title=title, **fields)


def inbox_of(who: Person) -> list[dict[str, Any]]:
    """The person's entries, oldest first."""
    return rows(
        "SELECT * FROM inbox_entries WHERE tenant_id = %(t)s AND user_id = %(u)s ORDER BY created_at, id",
        t=who.scope.tenant_id,
        u=who.scope.user_id,
    )


def streamed(client: Client, path: str) -> list[bytes]:
    """The lines of a file that is made while it is sent."""
    answer: Any = client.get(path)

    async def read() -> list[bytes]:
        return [piece async for piece in answer.streaming_content]

    return b"".join(asyncio.run(read())).splitlines()
