"""A tenant's rules as pages, without a script: who sees them, and how an owner makes and switches off one."""

import html
import json
import re
from typing import Any

import httpx
import pytest

from tests.approvals.requests import held
from tests.approvals.rules import TO_BOB, make_rule
from tests.approvals.test_rules_api import saved
from tests.browser.sessions import session_of
from tests.people import Cast, Person
from tests.stack import Stack
from tests.tenants.browser import token_of

PATH = "/approvals/rules/"
NEW = f"{PATH}new/"
MAIL = {"to": "bob@example.com", "subject": "<b>Hi</b>", "body": "Text"}


class Browser:
    """A browser without scripts, logged in."""

    def __init__(self, stack: Stack, person: Person):
        self.client = httpx.Client(base_url=stack.url, cookies={"sessionid": session_of(person)}, follow_redirects=True)

    def get(self, path: str = PATH) -> httpx.Response:
        """A page."""
        return self.client.get(path)

    def post(self, path: str, form: dict[str, Any]) -> httpx.Response:
        """A form, with the token that the chat page holds."""
        return self.client.post(path, data={"csrfmiddlewaretoken": token_of(self.get("/").text), **form})


def form(**more: Any) -> dict[str, Any]:
    """The form of a new rule, filled in."""
    return {
        "name": "Mail to bob", "effect": "approve", "tool": "send_email", "user": "", "role": "", "agent": "",
        "condition": json.dumps(TO_BOB), "uses_left": "3", "days": "30", "tried": "", **more,
    }  # fmt: skip


def tried(page: str) -> str:
    """What the button that saves sends."""
    found = re.search(r'name="tried" value="(\w+)">Save the rule', page)
    return found[1] if found else ""


def test_an_owner_tries_a_rule_saves_it_and_switches_it_off(stack: Stack, tenant: Cast) -> None:
    held(tenant.alice, "send_email", input=MAIL, status="denied")
    browser = Browser(stack, tenant.olga)
    assert "No rules yet" in browser.get().text
    page = browser.post(NEW, form())
    text = html.unescape(" ".join(page.text.split()))
    assert page.status_code == 200
    assert "this rule would have approved 1 of 1 calls of send_email." in text
    assert "<li>1 denied by a human</li>" in text
    assert "<b>Hi</b>" not in page.text
    assert saved(tenant) == []
    listed = browser.post(NEW, form(tried=tried(page.text)))
    assert (listed.url.path, listed.status_code) == (PATH, 200)
    assert "In force" in listed.text
    [rule] = saved(tenant)
    assert [rule[name] for name in ("name", "condition", "uses_left", "enabled", "owner_id")] == [
        "Mail to bob", TO_BOB, 3, True, tenant.olga.scope.user_id
    ]  # fmt: skip
    assert "Switched off" in browser.post(f"{PATH}{rule['id']}/off/", {}).text
    assert [row["enabled"] for row in saved(tenant)] == [False]


def test_what_was_changed_after_it_was_tried_is_tried_anew(stack: Stack, tenant: Cast) -> None:
    browser = Browser(stack, tenant.olga)
    first = tried(browser.post(NEW, form()).text)
    assert len(first) == 64
    for more in ({"condition": ""}, {"uses_left": ""}, {"effect": "deny", "uses_left": ""}, {"days": "31"}):
        page = browser.post(NEW, form(tried=first, **more))
        assert page.status_code == 200
        assert tried(page.text) not in ("", first)
    assert saved(tenant) == []


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"condition": "{"}, "not valid JSON"),
        ({"condition": '{"required": ["too"]}'}, "names too, which the tool does not have there"),
        ({"days": ""}, "must expire, within a year"),
        ({"days": "366"}, "less than or equal to 365"),
        ({"tool": "*"}, "A rule that approves is about one tool."),
        ({"user": "nobody"}, "has no such member"),
        ({"agent": "nobody"}, "has no agent"),
        ({"name": "\u202e"}, "printable characters"),
    ],
    ids=repr,
)
def test_what_cannot_be_is_refused_on_the_page(stack: Stack, tenant: Cast, more: dict[str, Any], words: str) -> None:
    page = Browser(stack, tenant.olga).post(NEW, form(**more))
    assert page.status_code == 400
    assert words in html.unescape(page.text)
    assert tried(page.text) == ""
    assert saved(tenant) == []


def test_approvers_and_auditors_only_read_and_members_do_not(stack: Stack, tenant: Cast) -> None:
    rule = make_rule(tenant, name="Mail to bob")
    for person, reads in ((tenant.alice, 403), (tenant.carol, 200), (tenant.dana, 200)):
        browser = Browser(stack, person)
        page = browser.get()
        assert (page.status_code, "Mail to bob" in page.text) == (reads, reads == 200)
        assert "Switch off" not in page.text and "New rule" not in page.text
        assert browser.get(NEW).status_code == 403
        assert browser.post(NEW, form()).status_code == 403
        assert browser.post(f"{PATH}{rule.id}/off/", {}).status_code == 403
    assert [row["enabled"] for row in saved(tenant)] == [True]


def test_another_tenants_rules_are_not_there(stack: Stack, tenant: Cast, other_tenant: Cast) -> None:
    rule = make_rule(other_tenant, name="Theirs")
    browser = Browser(stack, tenant.olga)
    assert "Theirs" not in browser.get().text
    assert browser.post(f"{PATH}{rule.id}/off/", {}).status_code == 404
    assert [row["enabled"] for row in saved(other_tenant)] == [True]


def test_a_rule_shows_its_condition_and_nothing_in_it_is_markup(stack: Stack, tenant: Cast) -> None:
    make_rule(tenant, condition={"properties": {"to": {"const": "</pre><script>"}}, "required": ["to"]}, uses_left=1)
    page = Browser(stack, tenant.dana).get().text
    assert "&lt;/pre&gt;&lt;script&gt;" in page
    assert "1 more time<" in page
