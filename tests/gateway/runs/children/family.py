"""Runs that begin others, driven by this process alone."""

import asyncio
import json
from typing import Any

from gateway.runs import lifecycle
from gateway.runs.preparation import ChatRequest
from gateway.runs.view import RunView, body
from tests.database import rows
from tests.people import Person
from tests.waiting import PATIENCE_SECONDS

MAIL = 'call: send_email {"to": "bob@example.com", "subject": "Hello", "body": "Hello."}'


def subagent(task: str, **more: Any) -> str:
    """A line of the demo model's script that gives a task to a child."""
    return f"call: subagent {json.dumps({'task': task, **more})}"


async def begun(person: Person, *lines: str, **more: Any) -> RunView:
    """A run of a script, driven here."""
    return await lifecycle.begin(person.principal, ChatRequest("\n".join(lines), **more))


async def ended(person: Person, *lines: str, **more: Any) -> dict[str, Any]:
    """What a run of a script answers at its end, or when it waits for humans."""
    view = await begun(person, *lines, **more)
    return await answered(person, view)


async def answered(person: Person, view: RunView) -> dict[str, Any]:
    """What a run answers at its end, or when it waits for humans."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        await lifecycle.until_rest(person.scope, view)
    return body(view)


def tree(person: Person) -> list[dict[str, Any]]:
    """The person's runs, the first begun first."""
    return rows("SELECT * FROM runs WHERE user_id = %(u)s ORDER BY created_at, id", u=person.principal.user_id)
