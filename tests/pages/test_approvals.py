"""The approver's queue without a script: who sees it, what it lists, and its forms."""

import html
import json
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from approvals.pages import PAGE
from audit.identifiers import uuid7
from tests.approvals.api import assert_untouched, decide, decision_rows, overdue, request_row
from tests.approvals.requests import EDITED, INPUT, held
from tests.browser.sessions import session_of
from tests.people import Cast, Person
from tests.stack import Stack
from tests.tenants.browser import token_of

SCRIPT = {"Accept": "application/json"}


def signed_in(person: Person) -> Client:
    """A client that is logged in."""
    client = Client()
    client.cookies["sessionid"] = session_of(person)
    return client


@contextmanager
def browsing(stack: Stack, person: Person) -> Iterator[httpx.Client]:
    """A browser without scripts, logged in at a running Toolgate."""
    with httpx.Client(base_url=stack.url, timeout=60, cookies={"sessionid": session_of(person)}) as browser:
        yield browser


def send(browser: httpx.Client, request: uuid.UUID, verdict: str, **form: str) -> httpx.Response:
    """Open a request's page and press one of its buttons; `form` is what was typed, or `seen` instead of the page's."""
    page = browser.get(f"/approvals/{request}/").text
    seen = re.search(r'name="seen" value="(\w+)"', page)
    fields = {"csrfmiddlewaretoken": token_of(page), "seen": seen[1] if seen else "", "verdict": verdict}
    return browser.post(f"/approvals/{request}/", data=fields | form)


def ids(page: str) -> list[uuid.UUID]:
    """The cards of a page, in order."""
    return [uuid.UUID(found) for found in re.findall(r'id="request-([0-9a-f-]{36})"', page)]


def offers(page: str) -> list[str]:
    """What the page's buttons decide."""
    return re.findall(r'name="verdict" value="(\w+)"', page)


def made_at(moment: datetime) -> uuid.UUID:
    """A request's id as it would have been made then."""
    return uuid.UUID(int=(int(moment.timestamp() * 1000) << 80) | (uuid7().int & ((1 << 80) - 1)))


# --- who sees it -----------------------------------------------------------------------------------------------------
def test_members_are_told_where_their_own_requests_stand(tenant: Cast) -> None:
    held(tenant.alice)
    answer = signed_in(tenant.alice).get("/approvals/")
    assert answer.status_code == 403
    page = answer.content.decode()
    assert "What waits on your own behalf stands in your chat" in page
    assert ids(page) == []
    assert 'href="/approvals/"' not in signed_in(tenant.alice).get("/history/").content.decode()


@pytest.mark.parametrize(
    ("reader", "buttons"), [("carol", ["approve", "deny"]), ("olga", ["approve", "deny"]), ("dana", [])]
)
def test_approvers_owners_and_auditors_read_and_the_first_two_decide(
    tenant: Cast, reader: str, buttons: list[str]
) -> None:
    request = held(tenant.alice)
    page = signed_in(getattr(tenant, reader)).get("/approvals/").content.decode()
    assert ids(page) == [request]
    assert offers(page) == buttons
    assert ("You may read this, but not decide about it." in page) == (not buttons)


def test_ones_own_request_can_only_be_withdrawn(tenant: Cast) -> None:
    held(tenant.carol)
    page = signed_in(tenant.carol).get("/approvals/").content.decode()
    assert offers(page) == ["withdraw"]
    assert "somebody else has to decide" in page


def test_the_link_in_the_bar_counts_what_waits(tenant: Cast, other_tenant: Cast) -> None:
    held(other_tenant.alice)
    badge = re.compile(r'id="waiting" data-count="(\d+)" (hidden)?>([^<]*)<')
    client = signed_in(tenant.carol)
    assert badge.search(client.get("/history/").content.decode()).groups() == ("0", "hidden", "")  # type: ignore[union-attr]
    for _ in range(101):
        held(tenant.alice)
    with CaptureQueriesContext(connection) as captured:
        page = client.get("/history/").content.decode()
    assert badge.search(page).groups() == ("100", None, "99+")  # type: ignore[union-attr]
    assert len([each for each in captured.captured_queries if '"approval_requests"' in each["sql"]]) == 1


def test_a_request_is_there_for_its_readers_and_for_who_asked(tenant: Cast, other_tenant: Cast) -> None:
    path = f"/approvals/{held(tenant.alice)}/"
    statuses = {
        name: signed_in(getattr(tenant, name)).get(path).status_code
        for name in ("alice", "bob", "carol", "dana", "olga")
    }
    assert statuses == {"alice": 200, "bob": 404, "carol": 200, "dana": 200, "olga": 200}
    assert signed_in(other_tenant.carol).get(path).status_code == 404
    assert Client().get(path).status_code == 302


# --- what it lists ---------------------------------------------------------------------------------------------------
def test_what_waits_longest_comes_first_and_pages_follow_each_other(tenant: Cast) -> None:
    made = [held(tenant.alice) for _ in range(PAGE + 3)]
    client = signed_in(tenant.carol)
    page = client.get("/approvals/").content.decode()
    assert ids(page) == made[:PAGE]
    address = re.search(r'id="more" href="([^"]+)"', page)
    assert address is not None
    rest = client.get(html.unescape(address[1])).content.decode()
    assert ids(rest) == made[PAGE:]
    assert 'id="more"' not in rest


def test_decided_and_overdue_requests_stand_apart_latest_first(stack: Stack, tenant: Cast) -> None:
    approved, denied, late, waiting = (held(tenant.alice) for _ in range(4))
    decide(stack, tenant.carol, approved, "approve")
    decide(stack, tenant.carol, denied, "deny", reason="No, <b>never</b>.")
    overdue(late)
    client = signed_in(tenant.dana)
    assert ids(client.get("/approvals/").content.decode()) == [waiting]
    page = client.get("/approvals/?tab=decided").content.decode()
    assert ids(page) == [late, denied, approved]
    for said in (
        "Expired: nobody decided in time",
        f"Denied by {tenant.carol.username}",
        "No, &lt;b&gt;never&lt;/b&gt;.",
    ):
        assert said in page
    assert ids(client.get("/approvals/?tab=decided&outcome=denied").content.decode()) == [denied]


def test_filters_narrow_by_tool_person_and_age(tenant: Cast) -> None:
    hours_ago = datetime.now(UTC) - timedelta(hours=2)
    old = held(tenant.alice, id=made_at(hours_ago), created_at=hours_ago)
    bobs = held(tenant.bob)
    task = held(tenant.alice, "add_task", input={"title": "x"})
    client = signed_in(tenant.carol)
    for query, found in (
        ("tool=save_note", [old, bobs]),
        (f"user={tenant.bob.username}", [bobs]),
        (f"user={tenant.alice.principal.user_id}&tool=add_task", [task]),
        ("older_than=1h", [old]),
        ("user=nobody", []),
    ):
        assert ids(client.get(f"/approvals/?{query}").content.decode()) == found, query


@pytest.mark.parametrize(
    "query", ["tab=x", "tool=%00", "user=%00", "user=%27--", "older_than=x", "outcome=x&tab=decided", "after=1"]
)
def test_a_filter_that_makes_no_sense_narrows_nothing_and_is_no_error(tenant: Cast, query: str) -> None:
    held(tenant.alice)
    assert signed_in(tenant.carol).get(f"/approvals/?{query}").status_code == 200


def test_a_page_costs_the_same_queries_however_many_cards_it_has(tenant: Cast) -> None:
    client = signed_in(tenant.carol)
    counts = []
    for more in (1, PAGE):
        for _ in range(more):
            held(tenant.alice)
        with CaptureQueriesContext(connection) as captured:
            assert client.get("/approvals/").status_code == 200
        counts.append(len(captured.captured_queries))
        assert not any("OFFSET" in each["sql"] for each in captured.captured_queries)
    assert counts[0] == counts[1]


def test_an_argument_cannot_pretend_to_be_another(tenant: Cast) -> None:
    held(tenant.alice, input={"title": "a\ntags: none", "content": '</pre><script src="//evil.example"></script>'})
    page = signed_in(tenant.carol).get("/approvals/").content.decode()
    assert re.findall(r'<span class="name">([^<]*)</span>', page) == ["title", "content"]
    assert (
        '<pre class="value" dir="auto" tabindex="0">a<span class="spelled line-end">↵</span>\ntags: none</pre>' in page
    )
    assert '<script src="//evil' not in page


# --- its forms -------------------------------------------------------------------------------------------------------
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
        assert "has changed the arguments meanwhile" in answer.text
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


# --- the call's page -------------------------------------------------------------------------------------------------
def test_the_history_tells_who_asked_who_decided_and_what_was_changed(stack: Stack, tenant: Cast) -> None:
    request = held(tenant.alice, approvals_needed=2)
    call = request_row(request)["call_id"]
    decide(stack, tenant.carol, request, "approve", reason="Fine.")
    decide(stack, tenant.olga, request, "approve", arguments=EDITED, reason="Three, please.")
    page = signed_in(tenant.dana).get(f"/history/{call}/").content.decode()
    story = html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", page)))
    for said in (
        f"{tenant.alice.username} asked on",
        "It needed 2 approvals.",
        f"{tenant.carol.username} approved",
        "It no longer counts: the arguments were changed afterwards.",
        f"{tenant.olga.username} approved with other arguments",
        "Three, please.",
        "Arguments, as an approver changed them",
        "Only these may run.",
        "It waits until",
    ):
        assert said in story, said
    assert "<del>Two</del><ins>Three</ins> litres" in page
    assert INPUT["content"] in story
