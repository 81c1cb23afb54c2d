"""Deciding by the forms of a request's card, without a script; and what a script is answered."""

import html
import json
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

from tests.approvals.api import assert_untouched, decide, decision_rows, request_row
from tests.approvals.requests import EDITED, held
from tests.browser.sessions import session_of
from tests.pages.test_approvals import ids, offers
from tests.people import Cast, Person
from tests.stack import Stack
from tests.tenants.browser import token_of

SCRIPT = {"Accept": "application/json"}


@contextmanager
def browsing(stack: Stack, person: Person) -> Iterator[httpx.Client]:
    """A browser without scripts, logged in at a running Toolgate."""
    with httpx.Client(base_url=stack.url, cookies={"sessionid": session_of(person)}) as browser:
        yield browser


def send(browser: httpx.Client, request: uuid.UUID, verdict: str, **form: str) -> httpx.Response:
    """Open a request's page and press one of its buttons; `form` is what was typed, or `seen` instead of the page's."""
    page = browser.get(f"/approvals/{request}/").text
    seen = re.search(r'name="seen" value="(\w+)"', page)
    fields = {"csrfmiddlewaretoken": token_of(page), "seen": seen[1] if seen else "", "verdict": verdict}
    return browser.post(f"/approvals/{request}/", data=fields | form)


def test_one_press_of_approve_decides(stack: Stack, tenant: Cast) -> None:
    request = held(tenant.alice)
    with browsing(stack, tenant.carol) as browser:
        answer = send(browser, request, "approve", reason=" Fine. ")
        assert (answer.status_code, answer.headers["Location"]) == (302, f"/approvals/{request}/")
        page = browser.get(answer.headers["Location"]).text
    assert "Approved by you" in page and offers(page) == []
    assert request_row(request)["status"] == "approved"
    assert [(each["verdict"], each["reason"], each["via"], each["edit"]) for each in decision_rows(request)] == [
        ("approve", "Fine.", "page", None)
    ]


def test_deny_ends_the_call_with_the_reason(stack: Stack, tenant: Cast) -> None:
    request = held(tenant.alice)
    with browsing(stack, tenant.olga) as browser:
        assert send(browser, request, "deny", reason="Too much.").status_code == 302
    row = request_row(request)
    assert (row["status"], row["error_code"]) == ("denied", "approval_denied")
    assert row["error_message"].endswith("The reason given: Too much.")


def test_who_asked_withdraws_on_the_requests_own_page(stack: Stack, tenant: Cast) -> None:
    request = held(tenant.alice)
    with browsing(stack, tenant.alice) as browser:
        assert send(browser, request, "withdraw").status_code == 302
    assert (request_row(request)["status"], request_row(request)["error_code"]) == ("cancelled", "cancelled")


def test_edited_arguments_are_what_is_approved(stack: Stack, tenant: Cast) -> None:
    request = held(tenant.alice)
    with browsing(stack, tenant.carol) as browser:
        assert send(browser, request, "approve", arguments=json.dumps(EDITED)).status_code == 302
        page = browser.get(f"/approvals/{request}/").text
    assert request_row(request)["approved_input"] == EDITED
    [decision] = decision_rows(request)
    assert [(each["op"], each["path"]) for each in decision["edit"]] == [("replace", "/content"), ("add", "/tags")]
    assert "<del>Two</del><ins>Three</ins> litres" in page


def test_arguments_that_were_left_as_they_are_are_no_edit(stack: Stack, tenant: Cast) -> None:
    request = held(tenant.alice, input={"title": "a\u202eb", "content": "x\ny"})
    with browsing(stack, tenant.carol) as browser:
        box = re.search(r"<textarea[^>]*name=\"arguments\"[^>]*>([^<]*)<", browser.get(f"/approvals/{request}/").text)
        assert box is not None and "\\u202e" in box[1]
        typed = html.unescape(box[1]).replace("\n", "\r\n")
        assert send(browser, request, "approve", arguments=typed).status_code == 302
    row = request_row(request)
    assert (row["status"], row["approved_input"], decision_rows(request)[0]["edit"]) == ("approved", None, None)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ('{"title": "a"', "not valid JSON"),
        ("[]", "must be a JSON object"),
        ('{"title": 5, "content": "b"}', "arguments.title"),
        ('{"title": "a", "title": "b", "content": "c"}', "occurs twice"),
        ('{"title": "a", "content": "b", "more": 1}', "more"),
    ],
)
def test_an_edit_that_the_tool_does_not_take_is_said_at_the_field_and_kept(
    stack: Stack, tenant: Cast, typed: str, said: str
) -> None:
    request = held(tenant.alice)
    with browsing(stack, tenant.carol) as browser:
        answer = send(browser, request, "approve", arguments=typed, reason="because")
    assert answer.status_code == 400
    page = html.unescape(answer.text)
    trouble = re.search(r'class="trouble"[^>]*>(.*?)</p>', page, re.DOTALL)
    assert trouble is not None and said in trouble[1]
    assert typed in page and ">because</textarea>" in page and 'aria-invalid="true"' in page
    assert_untouched(request)


def test_what_somebody_changed_meanwhile_is_not_approved_unseen(stack: Stack, tenant: Cast) -> None:
    request = held(tenant.alice, approvals_needed=2)
    with browsing(stack, tenant.carol) as browser:
        seen = re.search(r'name="seen" value="(\w+)"', browser.get(f"/approvals/{request}/").text)
        assert seen is not None
        assert decide(stack, tenant.olga, request, "approve", arguments=EDITED).status_code == 200
        answer = send(browser, request, "approve", seen=seen[1])
        assert answer.status_code == 409
        assert "may have changed them" in answer.text
        assert [each["user_id"] for each in decision_rows(request)] == [tenant.olga.principal.user_id]
        assert send(browser, request, "approve").status_code == 302
    assert request_row(request)["status"] == "approved"


@pytest.mark.parametrize(("person", "status"), [("alice", 403), ("bob", 404), ("dana", 403)])
@pytest.mark.parametrize("verdict", ["approve", "deny"])
def test_nobody_decides_without_the_right(stack: Stack, tenant: Cast, person: str, status: int, verdict: str) -> None:
    request = held(tenant.alice)
    seen = request_row(request)["params_hash"]
    with browsing(stack, getattr(tenant, person)) as browser:
        token = token_of(browser.get("/history/").text)
        form = {"csrfmiddlewaretoken": token, "verdict": verdict, "seen": seen}
        assert browser.post(f"/approvals/{request}/", data=form).status_code == status
    assert_untouched(request)


def test_an_owner_does_not_approve_their_own(stack: Stack, tenant: Cast) -> None:
    request = held(tenant.olga)
    with browsing(stack, tenant.olga) as browser:
        answer = send(browser, request, "approve", seen=request_row(request)["params_hash"])
    assert answer.status_code == 403 and "somebody else has to decide" in answer.text
    assert_untouched(request)


def test_a_form_without_its_token_or_verdict_changes_nothing(stack: Stack, tenant: Cast, other_tenant: Cast) -> None:
    request = held(tenant.alice)
    with browsing(stack, tenant.carol) as browser:
        browser.get("/approvals/")
        assert browser.post(f"/approvals/{request}/", data={"verdict": "approve"}).status_code == 403
        assert send(browser, request, "explode").status_code == 400
        assert send(browser, request, "approve", reason="\x07").status_code == 400
    with browsing(stack, other_tenant.carol) as browser:
        form = {"csrfmiddlewaretoken": token_of(browser.get("/history/").text), "verdict": "approve"}
        assert browser.post(f"/approvals/{request}/", data=form).status_code == 404
    assert_untouched(request)


def test_a_script_gets_the_card_and_why_its_verdict_was_refused(stack: Stack, tenant: Cast) -> None:
    request = held(tenant.alice)
    with browsing(stack, tenant.carol) as browser:
        answer = browser.get(f"/approvals/{request}/", headers=SCRIPT)
        assert "Accept" in answer.headers["Vary"]
        assert (ids(answer.json()["card"]), answer.json()["refused"]) == ([request], None)
        decide(stack, tenant.olga, request, "deny")
        form = {"csrfmiddlewaretoken": token_of(answer.json()["card"]), "verdict": "deny"}
        late = browser.post(f"/approvals/{request}/", data=form, headers=SCRIPT)
    assert (late.status_code, late.json()["refused"]["code"]) == (409, "already_decided")
    assert f"Denied by {tenant.olga.username}" in late.json()["card"]
