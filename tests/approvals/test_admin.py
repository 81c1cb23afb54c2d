"""The queue in the admin: operators see every tenant's requests, and decide only in their own name."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from django.utils.html import escape

from tenants.models import Membership
from tenants.scope.routing import on_login
from tests.approvals.admin import QUEUE, Admin, operator
from tests.approvals.api import assert_untouched, decide, decision_rows, ledger_kinds, overdue, request_row
from tests.approvals.requests import EDITED, held
from tests.people import Cast
from tests.stack import Stack

OWN = "This call was asked for in your own name: somebody else has to decide."
NO_APPROVER = "Only approvers and owners of this tenant decide about its approval requests."


@pytest.fixture
def admin(stack: Stack, tenant: Cast) -> Admin:
    """The browser of olga, an owner of the tenant who operates all of Toolgate."""
    operator(tenant.olga)
    return Admin(stack, tenant.olga)


def _listed(page: httpx.Response) -> list[str]:
    assert page.status_code == 200
    return re.findall(r'name="_selected_action" value="([0-9a-f-]{36})"', page.text)


def _seen(page: httpx.Response) -> dict[str, str]:
    return dict(re.findall(r'name="(seen-[0-9a-f-]{36})" value="(\w+)"', page.text))


def _choose(admin: Admin, verdict: str, requests: list[Any]) -> httpx.Response:
    return admin.post(
        QUEUE, {"action": f"{verdict}_chosen", "index": "0", "_selected_action": [str(each) for each in requests]}
    )


def _confirm(admin: Admin, verdict: str, requests: list[Any], **more: Any) -> httpx.Response:
    asked = _choose(admin, verdict, requests)
    form = {"action": f"{verdict}_chosen", "decided": "yes", **_seen(asked), **more}
    return admin.post(QUEUE, {**form, "_selected_action": [str(each) for each in requests]})


def test_operators_see_every_tenants_requests_and_others_none(
    admin: Admin, stack: Stack, tenant: Cast, other_tenant: Cast
) -> None:
    ours, theirs = held(tenant.alice), held(other_tenant.alice)
    found = _listed(admin.get())
    assert found.index(str(theirs)) < found.index(str(ours))
    for person in (tenant.carol, tenant.alice):
        answer = Admin(stack, person).get()
        assert answer.status_code == 403
        assert str(ours) not in answer.text


def test_by_tool_user_age_status_tenant_and_id(admin: Admin, tenant: Cast) -> None:
    old = held(tenant.bob, "add_task", created_at=datetime.now(UTC) - timedelta(minutes=30))
    new, late = held(tenant.alice), held(tenant.carol)
    overdue(late)
    within = {"tenant__id__exact": str(tenant.id)}
    for query, expected in [
        ({}, [late, new, old]), ({"tool": "add_task"}, [old]), ({"user": tenant.alice.username}, [new]),
        ({"older_than": "5m"}, [old]), ({"status": "pending"}, [new, old]), ({"status": "expired"}, [late]),
        ({"status": "denied"}, []), ({"q": str(new)}, [new]), ({"q": tenant.bob.username}, [old]),
        ({"older_than": "nonsense"}, [late, new, old]),
    ]:  # fmt: skip
        assert _listed(admin.get(**within, **query)) == [str(each) for each in expected], query
    assert [admin.get(**{name: "\x00"}).status_code for name in ("tool", "user", "q")] == [400, 400, 400]


def test_a_requests_page_shows_all_of_it_and_nothing_hides(admin: Admin, tenant: Cast) -> None:
    hostile = {"title": "a\u202eb\u200b", "content": "<script>alert(1)</script>" + " " * 5000 + "THE END"}
    request = held(
        tenant.alice, input=hostile, context=[{"role": "user", "text": "Save\u2066 it <b>now</b>.", "cut": 12345}]
    )
    text = admin.get(f"{QUEUE}{request}/change/").text
    for shown in ("a‹U+202E›b‹U+200B›", "&lt;script&gt;alert(1)&lt;/script&gt;", "THE END", "Save‹U+2066› it",
                  "12,345 more characters", tenant.alice.username, "0 of 1"):  # fmt: skip
        assert shown in text, shown
    assert "<script>alert(1)" not in text and "<b>now</b>" not in text
    assert not re.search("[\u202e\u200b\u2066]", text)


def test_nothing_can_be_added_changed_or_deleted(admin: Admin, tenant: Cast) -> None:
    request = held(tenant.alice)
    assert admin.get(f"{QUEUE}add/").status_code == 403
    assert admin.get(f"{QUEUE}{request}/delete/").status_code == 403
    page = f"{QUEUE}{request}/change/"
    assert admin.post(page, {"status": "approved", "_save": "Save"}).status_code == 403
    assert_untouched(request)


@pytest.mark.parametrize(
    ("verdict", "status", "entries"), [("approve", "approved", ["decided"]), ("deny", "denied", ["decided", "settled"])]
)
def test_the_buttons_decide_with_a_reason(
    admin: Admin, tenant: Cast, verdict: str, status: str, entries: list[str]
) -> None:
    request = held(tenant.alice)
    page = f"{QUEUE}{request}/change/"
    form = {"verdict": verdict, "reason": "It is\r\nfine.", **_seen(admin.get(page))}
    done = admin.post(f"{QUEUE}{request}/decide/", form, page)
    assert f"1 {status}." in done.text
    assert (request_row(request)["status"], ledger_kinds(request)) == (status, entries)
    found = [(each["verdict"], each["reason"], each["via"], each["user_id"]) for each in decision_rows(request)]
    assert found == [(verdict, "It is\nfine.", "admin", tenant.olga.scope.user_id)]
    # What is decided has no buttons, and shows by whom it was.
    assert 'name="verdict"' not in done.text
    assert "It is" in done.text and tenant.olga.username in done.text


@pytest.mark.parametrize("verdict", ["approve", "deny"])
def test_an_operator_decides_neither_their_own_nor_for_tenants_where_they_are_nothing(
    admin: Admin, tenant: Cast, other_tenant: Cast, verdict: str
) -> None:
    own, foreign = held(tenant.olga), held(other_tenant.alice)
    for request, why in ((own, OWN), (foreign, NO_APPROVER)):
        page = f"{QUEUE}{request}/change/"
        form = {"verdict": verdict, "reason": "", **_seen(admin.get(page))}
        assert why in admin.post(f"{QUEUE}{request}/decide/", form, page).text
        assert_untouched(request)


def test_the_role_counts_at_the_moment_of_the_decision(admin: Admin, tenant: Cast) -> None:
    request = held(tenant.alice)
    with on_login("operator"):
        Membership.objects.filter(user_id=tenant.olga.scope.user_id).update(role="auditor")
    assert NO_APPROVER in _confirm(admin, "approve", [request]).text
    assert_untouched(request)


@pytest.mark.parametrize(("verdict", "status"), [("approve", "approved"), ("deny", "denied")])
def test_in_bulk_each_is_decided_by_itself(
    admin: Admin, stack: Stack, tenant: Cast, other_tenant: Cast, verdict: str, status: str
) -> None:
    good = [held(tenant.alice), held(tenant.bob)]
    own, foreign, late, done = held(tenant.olga), held(other_tenant.alice), held(tenant.alice), held(tenant.alice)
    overdue(late)
    decide(stack, tenant.carol, done, "deny")
    everything = [*good, own, foreign, late, done]
    asked = _choose(admin, verdict, everything)
    assert len(_seen(asked)) == 6
    assert asked.text.count("Two litres") == 6
    for request in (*good, own, foreign):
        assert_untouched(request)
    answer = _confirm(admin, verdict, everything, reason="All of them.").text
    assert f"2 {status}." in answer
    for words in (OWN, NO_APPROVER, "This approval request expired at", "it was denied"):
        assert words in answer
    for request in good:
        assert request_row(request)["status"] == status
        assert [each["reason"] for each in decision_rows(request)] == ["All of them."]
    for request in (own, foreign):
        assert_untouched(request)
    assert request_row(late)["status"] == "expired"


def test_what_somebody_edited_meanwhile_is_not_approved_unseen(admin: Admin, stack: Stack, tenant: Cast) -> None:
    request = held(tenant.alice, approvals_needed=2)
    asked = _choose(admin, "approve", [request])
    decide(stack, tenant.carol, request, "approve", arguments=EDITED)
    form = {"action": "approve_chosen", "decided": "yes", **_seen(asked), "_selected_action": [str(request)]}
    assert "may have changed them" in admin.post(QUEUE, form).text
    assert [each["user_id"] for each in decision_rows(request)] == [tenant.carol.scope.user_id]
    assert "Three litres" in _choose(admin, "approve", [request]).text
    assert "1 approved." in _confirm(admin, "approve", [request]).text


def test_a_hash_that_was_shown_for_one_request_approves_no_other(admin: Admin, tenant: Cast) -> None:
    other = {"title": "Milk", "content": "Ten litres"}
    swapped, unshown, good = held(tenant.alice), held(tenant.alice), held(tenant.bob, input=other)
    asked = _choose(admin, "approve", [swapped, unshown, good])
    shown = _seen(asked)
    assert len(shown) == 3
    form = {f"seen-{swapped}": shown[f"seen-{good}"], f"seen-{good}": shown[f"seen-{good}"]}
    chosen = [str(each) for each in (swapped, unshown, good)]
    answer = admin.post(QUEUE, {"action": "approve_chosen", "decided": "yes", "_selected_action": chosen, **form}).text
    for request in (swapped, unshown):
        assert f"request {request}: The arguments are not those that you have seen" in answer
        assert_untouched(request)
    assert "1 approved." in answer
    assert request_row(good)["status"] == "approved"


def test_a_reason_that_is_too_long_is_asked_for_again(admin: Admin, tenant: Cast) -> None:
    request = held(tenant.alice)
    assert "at most 2000 characters" in _confirm(admin, "approve", [request], reason="x" * 2001).text
    page = f"{QUEUE}{request}/change/"
    form = {"verdict": "approve", "reason": "x" * 2001, **_seen(admin.get(page))}
    assert "up to 2,000 characters" in admin.post(f"{QUEUE}{request}/decide/", form, page).text
    assert_untouched(request)


def test_forms_that_make_no_sense_decide_nothing(admin: Admin, stack: Stack, tenant: Cast) -> None:
    request = held(tenant.alice)
    page = f"{QUEUE}{request}/change/"
    address = f"{QUEUE}{request}/decide/"
    assert admin.post(address, {"verdict": "maybe"}, page).status_code == 404
    assert admin.get(address).status_code == 404
    assert admin.post(f"{QUEUE}{tenant.id}/decide/", {"verdict": "approve"}, page).status_code == 404
    assert admin.post(QUEUE, {"action": "erase_chosen", "index": "0", "_selected_action": str(request)}).is_success
    with httpx.Client(base_url=stack.url, cookies=admin.cookies) as without_token:
        assert without_token.post(address, data={"verdict": "approve"}).status_code == 403
    assert_untouched(request)


def test_words_of_others_are_text_in_what_the_admin_says(admin: Admin, tenant: Cast) -> None:
    request = held(tenant.alice)
    reason = "<img src=x onerror=alert(1)>"
    _confirm(admin, "deny", [request], reason=reason)
    text = admin.get(f"{QUEUE}{request}/change/").text
    assert escape(reason) in text and reason not in text
