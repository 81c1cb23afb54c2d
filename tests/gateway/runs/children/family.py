"""Runs that begin others, driven by this process alone."""

import asyncio
import inspect
import json
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from gateway.runs.lifecycle import beginning, driving, following
from gateway.runs.lifecycle.beginning import ChildrenOfRuns
from gateway.runs.preparation import ChatRequest
from gateway.runs.view import RunView, body
from tests.database import rows
from tests.people import Cast, Person
from tests.waiting import PATIENCE_SECONDS, eventually

MAIL = 'call: send_email {"to": "bob@example.com", "subject": "Hello", "body": "Hello."}'


def subagent(task: str, **more: Any) -> str:
    """A line of the demo model's script that gives a task to a child."""
    return f"call: subagent {json.dumps({'task': task, **more})}"


async def begun(person: Person, *lines: str, **more: Any) -> RunView:
    """A run of a script, driven here."""
    return await beginning.begin(person.principal, ChatRequest("\n".join(lines), **more))


async def ended(person: Person, *lines: str, **more: Any) -> dict[str, Any]:
    """What a run of a script answers at its end, or when it waits for humans."""
    view = await begun(person, *lines, **more)
    return await answered(person, view)


async def answered(person: Person, view: RunView) -> dict[str, Any]:
    """What a run answers at its end, or when it waits for humans, once nobody drives a run of the person's any more."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        await following.until_rest(person.scope, view)
    answer = body(view)
    # A request waits as soon as its turn is committed, and the runs above it may be about to be let go of.
    await eventually(lambda: _at_rest(tree(person)))
    return answer


def _at_rest(runs: list[dict[str, Any]]) -> bool:
    return not {run["id"] for run in runs} & {*driving.driven_here} and "in_progress" not in {
        run["status"] for run in runs
    }


@asynccontextmanager
async def lost(patch: pytest.MonkeyPatch, owner: Any, name: str, *, times: int = 1) -> AsyncIterator[None]:
    """Inside, nobody does what a function is called for. The end waits until it was called so often: whoever calls it
    has committed the rows that say so before."""
    called: list[Any] = []
    awaited = inspect.iscoroutinefunction(getattr(owner, name))

    def note(*args: Any, **kwargs: Any) -> None:
        called.append(args)

    async def note_later(*args: Any, **kwargs: Any) -> None:
        called.append(args)

    with patch.context() as replaced:
        replaced.setattr(owner, name, note_later if awaited else note)
        yield
        await eventually(lambda: len(called) >= times)


async def asked(cast: Cast, patch: pytest.MonkeyPatch, *tasks: str, agent: str) -> list[uuid.UUID]:
    """The calls of a run of alice's that gives out tasks, none of which has begun its child."""
    async with lost(patch, ChildrenOfRuns, "begin", times=len(tasks)):
        await begun(cast.alice, *map(subagent, tasks), agent=agent)
    found = "SELECT id FROM tool_calls WHERE tenant_id = %(t)s AND status = 'queued' ORDER BY position"
    queued = [row["id"] for row in rows(found, t=cast.id)]
    assert len(queued) == len(tasks)
    return queued


def tree(person: Person) -> list[dict[str, Any]]:
    """The person's runs, the first begun first."""
    return rows("SELECT * FROM runs WHERE user_id = %(u)s ORDER BY created_at, id", u=person.principal.user_id)
