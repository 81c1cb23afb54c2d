"""How many statements the hot paths cost: a number that grows here costs every request."""

import asyncio
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from django.db import connections
from django.test import Client
from django.test.utils import CaptureQueriesContext

from audit.models import Origin
from gateway.runs import lifecycle
from gateway.runs.preparation import ChatRequest
from gateway.runs.watching.wakeups import waits
from tenants.login.authentication import by_key
from tests.people import Cast
from tests.stack import Stack
from tools.invocation import wakeups
from tools.invocation.invoke import invoke

NOTE = 'call: save_note {"title": "a", "content": "b"}'
# Asked every so often, or once a connection, whatever is being answered.
BESIDE = ("renew_", "run_marks", "SET plan_cache_mode")
# With BEGIN, the walls and COMMIT of each transaction. A list that does not fill its page is looked for in older months
# too, by one more statement.
PINS = {"chat": 10, "chat with a tool": 20, "call without a chat": 17, "list": 6, "detail": 5}


@contextmanager
def _counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The statements that the asynchronous pool sends."""
    sent: list[str] = []
    execute, many = psycopg.AsyncCursor.execute, psycopg.AsyncCursor.executemany

    async def one(self: Any, query: Any, *args: Any, **kwargs: Any) -> Any:
        text = query.decode() if isinstance(query, bytes) else str(query)
        if not any(name in text for name in BESIDE):
            sent.append(" ".join(text.split())[:80])
        return await execute(self, query, *args, **kwargs)

    async def several(self: Any, query: Any, values: Any, **kwargs: Any) -> Any:
        sent.append(f"{' '.join(query.decode().split())[:80]} …")
        return await many(self, query, values, **kwargs)

    with monkeypatch.context() as patched:
        patched.setattr(psycopg.AsyncCursor, "execute", one)
        patched.setattr(psycopg.AsyncCursor, "executemany", several)
        yield sent


async def _chat(tenant: Cast, content: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    await _listening()
    with _counted(monkeypatch) as sent:
        principal = await by_key(tenant.alice.key)
        assert principal is not None
        view = await lifecycle.begin(principal, ChatRequest(content))
        await lifecycle.until_rest(tenant.alice.scope, view)
    assert view.run.status == "completed"
    return sent


async def _listening() -> None:
    """Return when this process hears hints, so that no call waits for the poll."""
    run_id = uuid.uuid4()
    with waits().for_run(run_id) as wake_up:
        while not wake_up.is_set():
            await wakeups.publish(run_id)
            await asyncio.sleep(0.01)


async def test_a_chat_without_tools(tenant: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    await by_key(tenant.alice.key)
    sent = await _chat(tenant, "hello", monkeypatch)
    assert len(sent) <= PINS["chat"], sent


async def test_a_chat_with_one_tool(stack: Stack, tenant: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    await asyncio.to_thread(stack.chat, tenant.alice, NOTE)
    sent = await _chat(tenant, NOTE, monkeypatch)
    assert len(sent) <= PINS["chat with a tool"], sent


async def test_a_call_without_a_chat(stack: Stack, tenant: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    await _listening()
    arguments = {"title": "a", "content": "b"}
    with _counted(monkeypatch) as sent:
        call = await invoke(tenant.alice.scope, "save_note", arguments, origin=Origin.API, wait=60)
    assert call.status == "success"
    assert len(sent) <= PINS["call without a chat"], sent


def _get(tenant: Cast, path: str) -> list[str]:
    client = Client(headers=tenant.alice.headers)
    assert client.get(path).status_code == 200
    with CaptureQueriesContext(connections["default"]) as queries:
        assert client.get(path).status_code == 200
    return [query["sql"] for query in queries.captured_queries]


def test_a_page_of_the_history_costs_the_same_however_long(stack: Stack, tenant: Cast) -> None:
    stack.chat(tenant.alice, NOTE)
    few = _get(tenant, "/api/v1/tool-calls/")
    stack.chat(tenant.alice, "\n".join([NOTE] * 29))
    assert len(_get(tenant, "/api/v1/tool-calls/")) == len(few)
    assert len(few) <= PINS["list"], few


def test_one_call_of_the_history(stack: Stack, tenant: Cast) -> None:
    call = stack.chat(tenant.alice, NOTE).json()["tool_calls"][0]["id"]
    sent = _get(tenant, f"/api/v1/tool-calls/{call}/")
    assert len(sent) <= PINS["detail"], sent
