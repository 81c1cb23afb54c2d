"""What an approver approves over Responses: the arguments that they have seen."""

import json
from collections.abc import Callable
from typing import Any

import httpx
import openai
import pytest

from audit.canonical import sha256_hex
from tenants.scope.routing import on_login
from tests.compat.test_responses import ask
from tests.compat.test_responses_approvals import MAIL, approval_of, said, status_of
from tests.database import rows
from tests.hostile.upstream import Upstream, completion
from tests.people import Cast, Person
from tools.models import ToolSetting

Client = Callable[[Person], openai.OpenAI]
EDITED = {"to": "eve@example.com", "subject": "Hello", "body": "Hi Eve"}


def _edited(upstream: Upstream, client: Client, tenant: Cast) -> tuple[Any, Any]:
    """A mail that needs two, approved by olga with other arguments; the script's name, and the approval request."""
    with on_login("operator"):
        ToolSetting.objects.create(tenant_id=tenant.id, tool_name="send_email", approvals_needed=2)
    script = upstream.script(completion("I write.", MAIL), completion("Done."), completion("Done."))
    request = ask(client(tenant.alice), script.name).output[-1]
    url = f"{upstream.stack.url}/api/v1/approvals/{approval_of(request)}/approve/"
    answer = httpx.post(url, json={"arguments": EDITED}, headers=tenant.olga.headers, timeout=30)
    assert answer.json()["status"] == "pending", answer.text
    return script, request


def _decisions(request: Any) -> list[Any]:
    found = rows("SELECT user_id FROM approval_decisions WHERE request_id = %(id)s", id=approval_of(request))
    return [each["user_id"] for each in found]


@pytest.mark.parametrize("named", [False, True])
def test_an_edit_that_the_second_approver_has_not_seen_is_not_approved(
    upstream: Upstream, client: Client, tenant: Cast, named: bool
) -> None:
    script, request = _edited(upstream, client, tenant)
    # What the item shows is what the model sent.
    assert request.params_hash == sha256_hex(json.loads(request.arguments))
    question: Any = {"role": "user", "content": f"{script.name} ok"}
    more = {"seen": request.params_hash} if named else {}
    asked = len(script.asked)
    with pytest.raises(openai.UnprocessableEntityError) as refused:
        ask(client(tenant.carol), [said(request, True, **more), question])
    body = refused.value.response.json()
    assert (body["error"]["code"], body["error"]["type"]) == ("arguments_changed", "invalid_request_error")
    now = body["toolgate"]["approval"]
    assert (now["approved_input"], now["params_hash"], now["status"]) == (EDITED, sha256_hex(EDITED), "pending")
    assert (status_of(request), _decisions(request)) == ("pending", [tenant.olga.scope.user_id])
    assert len(script.asked) == asked
    # With what the answer shows, the same person approves it.
    ask(client(tenant.carol), [said(request, True, seen=now["params_hash"]), question])
    assert status_of(request) == "approved"


def test_nothing_is_done_when_one_of_several_was_edited_unseen(
    upstream: Upstream, client: Client, tenant: Cast
) -> None:
    script, edited = _edited(upstream, client, tenant)
    untouched = ask(client(tenant.bob), upstream.script(completion("I write.", MAIL)).name).output[-1]
    question: Any = {"role": "user", "content": f"{script.name} ok"}
    with pytest.raises(openai.UnprocessableEntityError):
        ask(client(tenant.carol), [said(untouched, True), said(edited, True), question])
    assert (status_of(untouched), _decisions(untouched)) == ("pending", [])


def test_a_denial_needs_no_look_and_one_that_names_what_it_saw_is_held_to_it(
    upstream: Upstream, client: Client, tenant: Cast
) -> None:
    script, request = _edited(upstream, client, tenant)
    question: Any = {"role": "user", "content": f"{script.name} ok"}
    with pytest.raises(openai.UnprocessableEntityError):
        ask(client(tenant.carol), [said(request, False, seen=request.params_hash), question])
    assert status_of(request) == "pending"
    ask(client(tenant.carol), [said(request, False), question])
    assert status_of(request) == "denied"
