"""A call's questions to its user, answered on a phone: in the chat, and on their page."""

import asyncio
from typing import Any

import pytest
from playwright.async_api import expect

from gateway.providers.interface import Answer
from gateway.runs import loop
from gateway.runs.lifecycle import beginning, driving, following
from gateway.runs.preparation import ChatRequest
from tests.browser.axe import violations
from tests.browser.driving import PHONE, Visit, sticking_out, tab_to
from tests.database import rows
from tests.gateway.runs.ports import Model, calling
from tests.people import Cast, Person
from tests.questions.asking import Asking, Workers, asks
from tests.waiting import PATIENCE_SECONDS
from tools.questions import Question

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name", "minLength": 2},
        "size": {"type": "string", "title": "Size", "oneOf": [{"const": "s", "title": "Small"}]},
        "ready": {"type": "boolean", "title": "Ready"},
    },
    "required": ["name"],
}


class _Providers:
    def __init__(self) -> None:
        self._model = Model(calling("asking", text="One moment."), Answer("Done."))

    def check(self, name: str) -> tuple[str, str]:
        return "played", name

    def resolve(self, name: str) -> tuple[Model, str]:
        return self._model, name


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> Workers:
    """Workers in this process with a tool that asks, and a model that calls it."""
    monkeypatch.setattr(loop, "providers", _Providers)
    made = Workers(monkeypatch)
    made.install(Asking(asks(Question("all", "Who are you, and which " + "x" * 80 + "?", SCHEMA))))
    return made


async def _waiting(person: Person, workers: Workers) -> tuple[str, dict[str, Any]]:
    """The conversation of a run that waits for an answer, and its question."""
    view = await beginning.begin(person.principal, ChatRequest("Hello.", model="demo/simple"))
    async with asyncio.timeout(PATIENCE_SECONDS):
        while view.id in driving.driven_here or not view.suspended:
            await workers.work(person)
            view = await following.look(person.scope, view.id)
            await asyncio.sleep(0.01)
    [question] = rows("SELECT * FROM questions WHERE run_id = %(id)s", id=view.id)
    return str(view.run.conversation_id), question


def _content(question: dict[str, Any]) -> Any:
    [row] = rows("SELECT content FROM questions WHERE id = %(id)s", id=question["id"])
    return row["content"]


async def test_a_question_is_answered_in_the_chat_on_a_phone(visit: Visit, tenant: Cast, workers: Workers) -> None:
    conversation, question = await _waiting(tenant.alice, workers)
    page = await visit(f"/?c={conversation}", tenant.alice, PHONE)
    form = page.locator("article.question form")
    await expect(form).to_be_visible()
    assert await sticking_out(page) == []
    await form.get_by_label("Your name (required)").fill("A")
    await form.get_by_role("button", name="Answer").click()
    # Refused beside the form, which keeps what was typed.
    await expect(form.get_by_role("alert")).to_contain_text("name")
    await expect(form.get_by_label("Your name (required)")).to_have_value("A")
    assert _content(question) is None
    await form.get_by_label("Your name (required)").fill("Ada")
    await form.get_by_label("Size").select_option("Small")
    await form.get_by_role("button", name="Answer").click()
    await expect(form).to_have_count(0)
    assert _content(question) == {"name": "Ada", "size": "s", "ready": False}


async def test_a_question_is_answered_on_its_page_by_keyboard(visit: Visit, tenant: Cast, workers: Workers) -> None:
    _, question = await _waiting(tenant.alice, workers)
    for scheme in ("light", "dark"):
        page = await visit("/questions/", tenant.alice, PHONE, scheme)
        assert (await sticking_out(page), await violations(page)) == ([], [])
    await page.get_by_label("Your name (required)").focus()
    await page.keyboard.type("Ada")
    await page.get_by_label("Ready").press("Space")
    await tab_to(page, "Answer")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("status")).to_have_text("Answered. The call goes on.")
    assert _content(question) == {"name": "Ada", "ready": True}
