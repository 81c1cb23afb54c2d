"""The approver's queue without a script: who sees it, and what it lists; and a call's story in the history."""

import html
import re
import uuid
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from approvals.web.pages import PAGE
from audit.identifiers import uuid7
from tests.approvals.api import decide, overdue, request_row
from tests.approvals.requests import EDITED, INPUT, held
from tests.browser.sessions import session_of
from tests.people import Cast, Person
from tests.stack import Stack


def signed_in(person: Person) -> Client:
    """A client that is logged in."""
    client = Client()
    client.cookies["sessionid"] = session_of(person)
    return client


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


@pytest.mark.parametrize("query", ["tab=x", "user=%27--", "older_than=x", "outcome=x&tab=decided", "after=1"])
def test_a_filter_that_makes_no_sense_narrows_nothing_and_is_no_error(tenant: Cast, query: str) -> None:
    held(tenant.alice)
    assert signed_in(tenant.carol).get(f"/approvals/?{query}").status_code == 200


def test_a_page_costs_the_same_queries_however_many_cards_it_has(tenant: Cast) -> None:
    client = signed_in(tenant.carol)
    counts = []
    # The first request notes the session.
    client.get("/settings/")
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
