"""Approvals over Responses: what waits is an item, what is said to it is another, and the answer goes on."""

import json
import os
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import openai
import psycopg
import pytest

from tenants.scope.routing import on_login
from tests.compat.test_responses import ask, kinds, shown
from tests.database import rows
from tests.hostile.upstream import Upstream, completion, streamed
from tests.people import Cast, Person
from tests.waiting import PATIENCE_SECONDS, until
from tools.models import ToolSetting

Client = Callable[[Person], openai.OpenAI]

MAIL = ("e1", "send_email", '{"to": "bob@example.com", "subject": "Hello", "body": "Hi Bob"}')
TWICE = ("e2", "send_email", '{"to": "eve@example.com", "subject": "Hello", "body": "Hi Eve"}')


def said(request: Any, yes: bool, **more: Any) -> Any:
    return {"type": "mcp_approval_response", "approval_request_id": request.id, "approve": yes, **more}


def decide(upstream: Upstream, person: Person, request: Any, verdict: str = "approve") -> None:
    url = f"{upstream.stack.url}/api/v1/approvals/{approval_of(request)}/{verdict}/"
    answer = httpx.post(url, json={}, headers=person.headers)
    assert answer.status_code == 200, answer.text


def approval_of(request: Any) -> uuid.UUID:
    return uuid.UUID(request.id.removeprefix("mcpr_"))


def status_of(request: Any) -> str:
    found = rows("SELECT status FROM approval_requests WHERE id = %(id)s", id=approval_of(request))
    return str(found[0]["status"])


def tool_results(script: Any, turn: int) -> list[Any]:
    """What the model was told of its calls."""
    return [json.loads(content) for role, content in shown(script, turn) if role == "tool"]


def test_what_waits_for_a_human_is_an_approval_request(upstream: Upstream, client: Client, tenant: Cast) -> None:
    script = upstream.script(completion("I write.", MAIL))
    response = ask(client(tenant.alice), script.name)
    assert (response.status, response.toolgate["status"]) == ("completed", "requires_action")
    assert kinds(response) == ["message", "message", "mcp_approval_request"]
    request = response.output[2]
    assert (request.name, request.server_label, json.loads(request.arguments)["to"]) == (
        "send_email", "toolgate", "bob@example.com",
    )  # fmt: skip
    assert status_of(request) == "pending"
    assert str(approval_of(request)) in response.output_text
    assert client(tenant.alice).responses.retrieve(response.id).output == response.output


def test_a_stream_ends_with_the_approval_request(upstream: Upstream, client: Client, tenant: Cast) -> None:
    script = upstream.script(streamed({"content": "I write."}, {"tool_calls": [_delta(MAIL)]}, finish="tool_calls"))
    events = list(ask(client(tenant.alice), script.name, stream=True))
    done = [event.item.type for event in events if event.type == "response.output_item.done"]
    assert done == ["message", "message", "mcp_approval_request"] == kinds(events[-1].response)
    assert (events[-1].type, events[-1].response.toolgate["status"]) == ("response.completed", "requires_action")


def _delta(call: tuple[str, str, str]) -> dict[str, Any]:
    return {"index": 0, "id": call[0], "function": {"name": call[1], "arguments": call[2]}}


@pytest.mark.parametrize("stream", [False, True])
def test_a_yes_after_the_approvers_yes_gives_the_answer_to_the_real_result(
    upstream: Upstream, client: Client, tenant: Cast, stream: bool
) -> None:
    script = upstream.script(completion("I write.", MAIL), completion("It is sent."))
    alice = client(tenant.alice)
    first = ask(alice, script.name)
    request = first.output[-1]
    decide(upstream, tenant.carol, request)
    second = ask(alice, [said(request, True)], previous_response_id=first.id, stream=stream)
    if stream:
        second = list(second)[-1].response
    assert (second.output_text, kinds(second)) == ("It is sent.", ["message"])
    assert shown(script, 1)[:2] == [("user", script.name), ("assistant", ["send_email"])]
    assert [result["ok"] for result in tool_results(script, 1)] == [True]
    # The run that waited ended without asking the model once more, and shows what came of its call.
    assert len(script.asked) == 2
    again: Any = alice.responses.retrieve(first.id)
    assert kinds(again) == ["message", "mcp_call"]
    assert (again.output[1].status, again.output[1].approval_request_id) == ("completed", request.id)


def test_a_client_that_keeps_no_state_with_us_says_yes_too(upstream: Upstream, client: Client, tenant: Cast) -> None:
    script = upstream.script(completion("I write.", MAIL), completion("It is sent."), completion("Bye."))
    alice = client(tenant.alice)
    question: Any = {"role": "user", "content": script.name}
    first = ask(alice, [question], store=False)
    decide(upstream, tenant.carol, first.output[-1])
    items = [question, *first.output, said(first.output[-1], True)]
    second = ask(alice, items, store=False)
    assert second.output_text == "It is sent."
    assert [result["ok"] for result in tool_results(script, 1)] == [True]
    # What was said before is not said again.
    ask(alice, [*items, *second.output, question], store=False)
    assert shown(script, 2)[1:] == [*shown(script, 1)[1:], ("assistant", "It is sent."), ("user", script.name)]


def test_nobody_says_yes_in_their_own_name(upstream: Upstream, client: Client, tenant: Cast) -> None:
    script = upstream.script(completion("I write.", MAIL), completion("No."))
    alice = client(tenant.alice)
    first = ask(alice, script.name)
    request = first.output[-1]
    with pytest.raises(openai.PermissionDeniedError, match="approver or an owner") as refused:
        ask(alice, [said(request, True)], previous_response_id=first.id)
    assert (refused.value.code, status_of(request), len(script.asked)) == ("own_request", "pending", 1)
    # An approver who asks is no exception.
    of_carol = ask(client(tenant.carol), upstream.script(completion("", MAIL)).name)
    with pytest.raises(openai.PermissionDeniedError):
        ask(client(tenant.carol), [said(of_carol.output[-1], True)], previous_response_id=of_carol.id)
    assert status_of(of_carol.output[-1]) == "pending"


def test_a_no_of_the_one_who_asked_withdraws_the_request(upstream: Upstream, client: Client, tenant: Cast) -> None:
    script = upstream.script(completion("I write.", MAIL), completion("Then not."))
    alice = client(tenant.alice)
    first = ask(alice, script.name)
    request = first.output[-1]
    second = ask(alice, [said(request, False, reason="changed my mind")], previous_response_id=first.id)
    assert (second.output_text, status_of(request)) == ("Then not.", "cancelled")
    assert tool_results(script, 1)[0]["error"]["code"] == "cancelled"


def test_a_denied_call_is_what_the_model_is_told(upstream: Upstream, client: Client, tenant: Cast) -> None:
    script = upstream.script(completion("I write.", MAIL), completion("Pity."))
    alice = client(tenant.alice)
    first = ask(alice, script.name)
    decide(upstream, tenant.carol, first.output[-1], "deny")
    ask(alice, [said(first.output[-1], True)], previous_response_id=first.id)
    assert tool_results(script, 1)[0]["error"]["code"] == "approval_denied"


def test_an_expired_request_goes_on_without_its_call(upstream: Upstream, client: Client, tenant: Cast) -> None:
    script = upstream.script(completion("I write.", MAIL), completion("Too late."))
    alice = client(tenant.alice)
    first = ask(alice, script.name)
    _overdue(first.output[-1])
    ask(alice, [said(first.output[-1], True)], previous_response_id=first.id)
    assert (tool_results(script, 1)[0]["error"]["code"], status_of(first.output[-1])) == ("approval_expired", "expired")


def _overdue(request: Any) -> None:
    with psycopg.connect(os.environ["DATABASE_OWNER_URL"]) as owner:
        owner.execute("UPDATE approval_requests SET expires_at = now() WHERE id = %s", [approval_of(request)])


def test_a_question_in_between_finds_the_call_still_waiting(upstream: Upstream, client: Client, tenant: Cast) -> None:
    script = upstream.script(completion("I write.", MAIL), completion("It waits."), completion("Sent."))
    alice = client(tenant.alice)
    first = ask(alice, script.name)
    second = ask(alice, f"{script.name} and?", previous_response_id=first.id)
    assert tool_results(script, 1)[0]["error"]["code"] == "approval_pending"
    decide(upstream, tenant.carol, first.output[-1])
    ask(alice, [said(first.output[-1], True)], previous_response_id=second.id)
    assert tool_results(script, 2)[0]["ok"] is True


def test_of_two_requests_each_is_answered_on_its_own(upstream: Upstream, client: Client, tenant: Cast) -> None:
    script = upstream.script(completion("I write.", MAIL, TWICE), completion("One is sent."))
    alice = client(tenant.alice)
    first = ask(alice, script.name)
    one, other = first.output[-2:]
    decide(upstream, tenant.carol, one)
    ask(alice, [said(one, True)], previous_response_id=first.id)
    results = tool_results(script, 1)
    assert (results[0]["ok"], results[1]["error"]["code"]) == (True, "approval_pending")
    # Nothing is done when one of them must be refused.
    with pytest.raises(openai.PermissionDeniedError):
        ask(alice, [said(one, False), said(other, True)], previous_response_id=first.id)
    assert status_of(other) == "pending"


def test_an_approver_decides_over_responses_as_in_the_queue(upstream: Upstream, client: Client, tenant: Cast) -> None:
    script = upstream.script(completion("I write.", MAIL), completion("Done."), completion("It is sent."))
    alice, carol = client(tenant.alice), client(tenant.carol)
    first = ask(alice, script.name)
    request = first.output[-1]
    ask(carol, [said(request, True, reason="Bob waits."), {"role": "user", "content": f"{script.name} ok"}])
    decision = rows("SELECT * FROM approval_decisions WHERE request_id = %(id)s", id=approval_of(request))
    assert [(each["verdict"], each["reason"], each["via"]) for each in decision] == [("approve", "Bob waits.", "api")]
    assert ask(alice, [said(request, True)], previous_response_id=first.id).output_text == "It is sent."


def test_nobody_answers_for_others(upstream: Upstream, client: Client, tenant: Cast, other_tenant: Cast) -> None:
    script = upstream.script(completion("I write.", MAIL))
    request = ask(client(tenant.alice), script.name).output[-1]
    question: Any = {"role": "user", "content": script.name}
    for person in (tenant.bob, other_tenant.carol):
        for yes in (True, False):
            with pytest.raises(openai.NotFoundError):
                ask(client(person), [question, said(request, yes)])
    with pytest.raises(openai.PermissionDeniedError):
        ask(client(tenant.dana), [question, said(request, True)])
    assert (status_of(request), len(script.asked)) == ("pending", 1)


def test_an_answer_waits_until_the_approved_call_has_run(upstream: Upstream, client: Client, tenant: Cast) -> None:
    with on_login("operator"):
        ToolSetting.objects.create(tenant_id=tenant.id, tool_name="save_note", tier="elevated")
    alice = client(tenant.alice)
    note = 'call: save_note {"title": "a", "content": "b"}'
    first = ask(alice, note, model="offline/demo")
    with ThreadPoolExecutor() as pool, psycopg.connect(os.environ["DATABASE_OWNER_URL"]) as holder:
        # The worker cannot write the note for as long as somebody holds its table.
        holder.execute("LOCK TABLE notes IN ACCESS EXCLUSIVE MODE")
        decide(upstream, tenant.carol, first.output[-1])
        more = {"previous_response_id": first.id, "model": "offline/demo"}
        answering = pool.submit(ask, alice, [said(first.output[-1], True)], **more)
        _until_somebody_waits_for_notes()
        assert not answering.done()
        holder.commit()
        assert "a" in answering.result(PATIENCE_SECONDS).output_text
    saved = rows("SELECT title FROM notes WHERE user_id = %(id)s", id=tenant.alice.scope.user_id)
    assert [note["title"] for note in saved] == ["a"]


def _until_somebody_waits_for_notes() -> None:
    query = (
        "SELECT 1 AS it FROM pg_locks WHERE relation = 'notes'::regclass AND NOT granted"
        " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    )
    until(lambda: rows(query))
