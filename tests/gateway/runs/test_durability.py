"""What is on disk before anything comes of it, and what may be lost with all that came of it."""

import asyncio
import os
from collections.abc import Iterator
from typing import Any

import httpx
import psycopg
import pytest
from asgiref.sync import sync_to_async

from gateway.providers.interface import Answer
from gateway.runs import loop
from gateway.runs.lifecycle import beginning, following
from gateway.runs.preparation import ChatRequest
from tests.database import rows
from tests.gateway.runs.children.family import MAIL
from tests.gateway.runs.ports import Model, Providers
from tests.people import Cast
from tests.stack import Stack
from tests.waiting import PATIENCE_SECONDS

NOTE = 'call: save_note {"title": "a", "content": "b"}'
# Notes of each write who says whether its transaction waits for the disk: `session` is the transaction itself, which
# only ever says no. (This PostgreSQL is told never to wait.)
NOTED = """
    CREATE TABLE waited (tenant_id uuid, what text, said_by text);
    CREATE FUNCTION note_waited() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
    BEGIN
        INSERT INTO waited VALUES (NEW.tenant_id, TG_TABLE_NAME || coalesce(to_jsonb(NEW) ->> 'role', '')
            || coalesce(to_jsonb(NEW) ->> 'number', '') || coalesce(to_jsonb(NEW) ->> 'kind', ''),
            (SELECT source FROM pg_settings WHERE name = 'synchronous_commit'));
        RETURN NEW;
    END $$;
    CREATE TRIGGER note_waited BEFORE INSERT ON messages FOR EACH ROW EXECUTE FUNCTION note_waited();
    CREATE TRIGGER note_waited BEFORE INSERT ON turns FOR EACH ROW EXECUTE FUNCTION note_waited();
    CREATE TRIGGER note_waited BEFORE INSERT ON ledger_entries FOR EACH ROW EXECUTE FUNCTION note_waited()"""


@pytest.fixture(scope="module", autouse=True)
def noted() -> Iterator[None]:
    with psycopg.connect(os.environ["DATABASE_OWNER_URL"], autocommit=True) as connection:
        connection.execute(NOTED)
        yield
        for table in ("messages", "turns", "ledger_entries"):
            connection.execute(f"DROP TRIGGER note_waited ON {table}".encode())
        connection.execute("DROP FUNCTION note_waited(); DROP TABLE waited")


def _not_waited_for(cast: Cast) -> set[str]:
    """The writes of the tenant's that a crash of the database may undo after they are committed."""
    found = rows("SELECT what, said_by FROM waited WHERE tenant_id = %(t)s", t=cast.id)
    assert {"messagesuser", "turns1"} <= {each["what"] for each in found}
    return {each["what"] for each in found if each["said_by"] == "session"}


def test_a_whole_answer_waits_for_the_disk_once_it_is_told_and_before_an_effect(stack: Stack, tenant: Cast) -> None:
    assert stack.chat(tenant.alice, NOTE).json()["tool_calls"][0]["status"] == "success"
    assert _not_waited_for(tenant) == {"messagesuser", "turns1", "ledger_entriesproposed"}


def test_a_chat_waits_for_the_disk_at_its_end(stack: Stack, tenant: Cast) -> None:
    body = {"model": "offline/demo", "messages": [{"role": "user", "content": "hello"}]}
    answer = httpx.post(f"{stack.url}/v1/chat/completions", json=body, headers=tenant.alice.headers)
    assert answer.status_code == 200
    assert _not_waited_for(tenant) == {"messagesuser"}


def test_who_watches_a_run_is_told_of_nothing_that_could_be_lost(stack: Stack, tenant: Cast) -> None:
    body = {"content": NOTE, "stream": True}
    assert "run.completed" in httpx.post(f"{stack.url}/api/v1/chat", json=body, headers=tenant.alice.headers).text
    assert _not_waited_for(tenant) == set()


def test_a_run_under_a_key_is_not_lost(stack: Stack, tenant: Cast) -> None:
    headers = tenant.alice.headers | {"Idempotency-Key": "once"}
    assert httpx.post(f"{stack.url}/api/v1/chat", json={"content": NOTE}, headers=headers).status_code == 200
    assert _not_waited_for(tenant) == set()


def test_a_call_that_waits_for_a_human_is_not_lost(stack: Stack, tenant: Cast) -> None:
    assert stack.chat(tenant.alice, MAIL).json()["status"] == "requires_action"
    assert _not_waited_for(tenant) == {"messagesuser"}


class _Crashing(Model):
    """While it is asked, the database forgets the run, as when it crashes before the run is on disk."""

    name = "openai"
    family: Any = "openai"

    def __init__(self, tenant: Cast):
        super().__init__(Answer("Hello.", (), "stop"))
        self._tenant = tenant

    async def ask(self, prompt: Any, on_text: Any = None, on_opaque: Any = None) -> Answer:
        for table in ("messages", "runs", "conversations"):
            query = f"DELETE FROM {table} WHERE tenant_id = %(t)s RETURNING id"
            await sync_to_async(rows)(query, t=self._tenant.id)
        return self._answers.popleft()


async def test_whoever_waits_for_a_run_that_is_lost_is_told_to_send_it_again(
    tenant: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "providers", lambda: Providers(_Crashing(tenant)))
    view = await beginning.begin(tenant.alice.principal, ChatRequest("hello"))
    async with asyncio.timeout(PATIENCE_SECONDS):
        await following.until_rest(tenant.alice.scope, view)
    assert (view.run.status, view.run.error_code, view.run.error_status) == ("failed", "run_lost", 503)
    assert "send it again" in (view.run.error_message or "")
