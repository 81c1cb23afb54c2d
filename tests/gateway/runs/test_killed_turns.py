"""A kill switch that is put on while a model is answering a turn."""

import asyncio
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from gateway.providers.interface import Answer, SuggestedCall
from gateway.runs import loop
from gateway.runs.lifecycle import beginning, following
from gateway.runs.preparation import ChatRequest
from tenants.scope import transactions
from tenants.switches import changes as switches
from tenants.switches.changes import NewSwitch
from tests.database import rows
from tests.gateway.runs.ports import Model, Providers
from tests.people import Cast
from tests.waiting import PATIENCE_SECONDS


class _Stopped(Model):
    """Has its agent stopped after the first half of its text."""

    name = "openai"
    family: Any = "openai"

    def __init__(self, tenant: Cast):
        call = SuggestedCall("1", "save_note", '{"title": "a", "content": "b"}')
        super().__init__(Answer("One, two.", (call,), "tool_calls"), Answer("Never asked for.", (), "stop"))
        self._tenant = tenant

    async def ask(self, prompt: Any, on_text: Any = None, on_opaque: Any = None) -> Answer:
        self.asked.append(prompt)
        assert on_text is not None
        on_text("One, ")
        await sync_to_async(self._stop)()
        on_text("two.")
        return self._answers.popleft()

    def _stop(self) -> None:
        with transactions.scope(*self._tenant.olga.scope):
            switches.put_on(self._tenant.id, NewSwitch("agent", "default", "It wrote to the wrong customers"))


async def test_a_turn_that_is_being_answered_is_said_to_its_end_and_nothing_of_it_acts(
    tenant: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = _Stopped(tenant)
    monkeypatch.setattr(loop, "providers", lambda: Providers(model))
    view = await beginning.begin(tenant.alice.principal, ChatRequest("hello", streams=True))
    async with asyncio.timeout(PATIENCE_SECONDS):
        await following.until_rest(tenant.alice.scope, view)
    assert (view.run.status, view.run.error_code) == ("failed", "killed")
    assert "It wrote to the wrong customers" in (view.run.error_message or "")
    assert len(model.asked) == 1
    assert [turn["text"] for turn in rows("SELECT text FROM turns WHERE tenant_id = %(t)s", t=tenant.id)] == [
        "One, two."
    ]
    calls = rows("SELECT status, error_code, started_at FROM tool_calls WHERE tenant_id = %(t)s", t=tenant.id)
    assert calls == [{"status": "error", "error_code": "killed", "started_at": None}]
    assert rows("SELECT id FROM notes WHERE tenant_id = %(t)s", t=tenant.id) == []
