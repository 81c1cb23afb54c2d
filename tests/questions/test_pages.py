"""The pages where questions are answered, and the form that is made of a question's schema."""

from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.http import QueryDict

from approvals.web import question_forms
from audit.calls.rows import ToolCall
from audit.models import Origin
from tests.database import rows
from tests.pages.call_rows import signed_in
from tests.people import Cast, Person
from tests.questions.asking import NAME, PAGE, Asking, Workers, asks
from tools.invocation import invoke
from tools.questions import Question

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name", "default": "Ada"},
        "born": {"type": "string", "format": "date"},
        "age": {"type": "integer"},
        "ready": {"type": "boolean", "default": True},
        "colour": {"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"]},
        "size": {"type": "string", "oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]},
        "many": {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]}},
        "deep": {"type": "object"},
    },
    "required": ["name"],
}


async def _call(workers: Workers, tenant: Cast, *questions: Question) -> tuple[ToolCall, list[dict[str, Any]]]:
    workers.install(Asking(asks(*questions)))
    begun = await invoke.begin(tenant.alice.scope, "asking", {}, origin=Origin.API)
    await workers.work(tenant.alice)
    return begun.call, rows("SELECT * FROM questions WHERE call_id = %(id)s ORDER BY position", id=begun.call.id)


class _Client:
    """Somebody who is logged in, off this event loop."""

    def __init__(self, person: Person) -> None:
        self._person = person
        self._client: Any = None

    async def ask(self, method: str, *given: Any, **more: Any) -> Any:
        def do() -> Any:
            self._client = self._client or signed_in(self._person)
            return getattr(self._client, method)(*given, **more)

        return await sync_to_async(do)()

    async def get(self, *given: Any, **more: Any) -> Any:
        return await self.ask("get", *given, **more)

    async def post(self, *given: Any, **more: Any) -> Any:
        return await self.ask("post", *given, **more)


async def test_a_question_is_answered_by_its_form(tenant: Cast, workers: Workers) -> None:
    call, [question] = await _call(workers, tenant, Question("all", "Who <b>are</b> you?", SCHEMA))
    alice = _Client(tenant.alice)
    path = f"/questions/{question['id']}/"
    shown = await alice.get(path)
    page = shown.content.decode()
    assert shown.status_code == 200 and "Who &lt;b&gt;are&lt;/b&gt; you?" in page
    assert 'value="Ada"' in page and 'type="date"' in page and "Green" in page and "Large" in page
    assert "Give it no password" in page
    wrong = await alice.post(path, {"action": "accept", "field.name": "Ada", "field.age": "old"})
    assert (wrong.status_code, "age" in wrong.content.decode()) == (422, True)
    sent = {"action": "accept", "field.name": "Ada", "field.age": "36", "field.ready": "true", "field.many": ["a", "b"]}
    assert (await alice.post(path, sent)).status_code == 302
    [row] = rows("SELECT content, via, action FROM questions WHERE id = %(id)s", id=question["id"])
    content = {"name": "Ada", "age": 36, "ready": True, "many": ["a", "b"]}
    assert row == {"content": content, "via": "page", "action": "accept"}
    history = (await alice.get(f"/history/{call.id}/")).content.decode()
    assert "What it asked its user" in history and "Answered" in history and "over page" in history
    assert "Answered. The call goes on." in (await alice.get(path)).content.decode()
    again = await alice.post(path, sent)
    assert (again.status_code, "answered before" in again.content.decode()) == (409, True)


async def test_a_page_to_visit_says_where_it_leads_and_that_toolgate_does_not_see_it(
    tenant: Cast, workers: Workers
) -> None:
    _, [question] = await _call(workers, tenant, PAGE)
    page = (await _Client(tenant.alice).get(f"/questions/{question['id']}/")).content.decode()
    assert 'href="https://example.com/log-in"' in page and 'rel="noopener noreferrer"' in page
    assert "<strong>example.com</strong>" in page


async def test_nobody_else_sees_a_question(tenant: Cast, workers: Workers) -> None:
    _, [question] = await _call(workers, tenant, NAME)
    for person in (tenant.bob, tenant.carol, tenant.olga):
        client = _Client(person)
        assert (await client.get(f"/questions/{question['id']}/")).status_code == 404
        declined = await client.post(f"/questions/{question['id']}/", {"action": "decline"})
        assert declined.status_code == 404
        assert NAME.message not in (await client.get("/questions/")).content.decode()
    assert NAME.message in (await _Client(tenant.alice).get("/questions/")).content.decode()


async def test_inside_the_chat_the_form_alone_is_sent(tenant: Cast, workers: Workers) -> None:
    _, [question] = await _call(workers, tenant, NAME)
    alice = _Client(tenant.alice)
    path = f"/questions/{question['id']}/"
    part = (await alice.get(path, headers={"HX-Request": "true"})).content.decode()
    assert "<html" not in part and "hx-post" in part
    answered = await alice.post(path, {"action": "decline"}, headers={"HX-Request": "true"})
    assert (answered.status_code, "Declined" in answered.content.decode()) == (200, True)


@pytest.mark.parametrize(
    ("sent", "content"),
    [
        ("", {"ready": False}),
        ("field.name=&field.born=", {"ready": False}),
        ("field.age=1.5&field.deep=%7B%22a%22:1%7D", {"age": 1.5, "ready": False, "deep": {"a": 1}}),
        ("field.age=x&field.size=s&field.many=a", {"age": "x", "ready": False, "size": "s", "many": ["a"]}),
        ("field.name=a%0D%0Ab&action=accept&name=no", {"name": "a\nb", "ready": False}),
    ],
)
def test_what_a_form_holds_is_the_answer(sent: str, content: dict[str, Any]) -> None:
    assert question_forms.content(SCHEMA, QueryDict(sent)) == content


@pytest.mark.parametrize("schema", [{}, {"properties": []}, {"properties": {"x": True}}, {"properties": {"x": {}}}])
def test_a_form_can_be_made_of_any_schema(schema: dict[str, Any]) -> None:
    assert [field.kind for field in question_forms.fields(schema)] in ([], ["json"])
