"""Sessions: log-in, CSRF, two tenants, throttling."""

import os
import uuid

import httpx
import pytest

from tenants.models import Membership, User
from tenants.scope.routing import on_login
from tests.database import rows
from tests.people import PASSWORD, Cast, make_tenant, window_lasts
from tests.stack import Stack, somewhere_else
from tests.tenants.browser import log_in, logged_in, token_of

WORK = 'call: save_note {"title": "a", "content": "b"}'


@pytest.fixture(scope="module")
def cast() -> Cast:
    """A tenant whose people have passwords."""
    return make_tenant(PASSWORD)


def _token(browser: httpx.Client) -> dict[str, str]:
    return {"X-CSRFToken": browser.cookies["csrftoken"]}


def test_a_session_may_use_the_api_and_needs_a_csrf_token_to_change_things(stack: Stack, cast: Cast) -> None:
    with logged_in(stack, cast.alice) as browser:
        assert browser.get("/api/v1/tools/").status_code == 200
        before = len(rows("SELECT id FROM runs WHERE tenant_id = %(t)s", t=cast.id))
        for headers in ({}, {"X-CSRFToken": "x" * 32}, {"X-CSRFToken": ""}):
            refused = browser.post("/api/v1/chat", json={"content": WORK}, headers=headers)
            assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
            assert refused.headers["content-type"] == "application/problem+json"
            refused = browser.post("/api/v1/conversations/", json={}, headers=headers)
            assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
        assert len(rows("SELECT id FROM runs WHERE tenant_id = %(t)s", t=cast.id)) == before
        answer = browser.post("/api/v1/chat", json={"content": WORK}, headers=_token(browser))
        assert (answer.status_code, answer.json()["tool_calls"][0]["status"]) == (200, "success")
        made = browser.post("/api/v1/conversations/", json={}, headers=_token(browser))
        assert made.status_code == 201


def test_a_session_of_a_page_elsewhere_is_refused(stack: Stack, cast: Cast) -> None:
    with logged_in(stack, cast.alice) as browser:
        headers = _token(browser) | {"Origin": "https://evil.example"}
        answer = browser.post("/api/v1/chat", json={"content": "hello"}, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")


def test_a_key_counts_more_than_a_session(stack: Stack, cast: Cast, other_tenant: Cast) -> None:
    with logged_in(stack, cast.alice) as browser:
        answer = browser.post("/api/v1/chat", json={"content": "hello"}, headers=other_tenant.alice.headers)
        assert answer.status_code == 200
        [run] = rows("SELECT tenant_id FROM runs WHERE id = %(r)s", r=answer.json()["run_id"])
        assert run["tenant_id"] == other_tenant.id
        wrong = browser.get("/api/v1/tools/", headers={"Authorization": "Bearer tg_wrong"})
        assert wrong.status_code == 401


def test_cookies_are_closed_to_scripts_and_other_sites(stack: Stack, cast: Cast) -> None:
    with httpx.Client(base_url=stack.url, headers=somewhere_else()) as browser:
        answer = log_in(browser, cast.alice.username, PASSWORD)
        [session] = [line for line in answer.headers.get_list("set-cookie") if line.startswith("sessionid=")]
        assert "HttpOnly" in session
        assert "SameSite=Lax" in session


def test_logging_in_makes_a_new_session_and_out_ends_it(stack: Stack, cast: Cast) -> None:
    with httpx.Client(base_url=stack.url, headers=somewhere_else()) as browser:
        browser.cookies.set("sessionid", "fixed" * 6)
        log_in(browser, cast.alice.username, PASSWORD)
        session = [cookie.value for cookie in browser.cookies.jar if cookie.name == "sessionid"]
        assert session[-1] != "fixed" * 6
        kept = {"sessionid": session[-1] or ""}
        assert httpx.get(f"{stack.url}/api/v1/tools/", cookies=kept).status_code == 200
        page = browser.get("/", cookies=kept)
        out = browser.post("/accounts/logout/", data={"csrfmiddlewaretoken": token_of(page.text)}, cookies=kept)
        assert out.status_code == 302
        assert httpx.get(f"{stack.url}/api/v1/tools/", cookies=kept).status_code == 401


@pytest.mark.parametrize("end", ["removed", "inactive"])
def test_a_session_ends_with_its_user(stack: Stack, end: str) -> None:
    tenant = make_tenant(PASSWORD)
    with logged_in(stack, tenant.bob) as browser:
        assert browser.get("/api/v1/tools/").status_code == 200
        with on_login("operator"):
            if end == "removed":
                Membership.objects.filter(tenant_id=tenant.id, user_id=tenant.bob.scope.user_id).delete()
            else:
                User.objects.filter(id=tenant.bob.scope.user_id).update(is_active=False)
        assert browser.get("/api/v1/tools/").status_code == 401
        assert browser.get("/").status_code in (302, 403)
        assert browser.get("/history/").status_code in (302, 403)


def test_pages_send_a_stranger_to_the_log_in(stack: Stack) -> None:
    for path in ("/", "/history/", f"/history/{uuid.uuid4()}/"):
        answer = httpx.get(stack.url + path)
        assert answer.status_code == 302
        assert answer.headers["location"] == f"/accounts/login/?next={path}"


def test_a_log_in_does_not_send_anybody_elsewhere(stack: Stack, cast: Cast) -> None:
    for elsewhere in ("https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:alert(1)"):
        with httpx.Client(base_url=stack.url, headers=somewhere_else()) as browser:
            page = browser.get("/accounts/login/", params={"next": elsewhere})
            form = {"csrfmiddlewaretoken": token_of(page.text), "username": cast.bob.username, "password": PASSWORD,
                    "next": elsewhere}  # fmt: skip
            answer = browser.post("/accounts/login/", params={"next": elsewhere}, data=form)
            assert answer.headers["location"] == "/"


def test_a_person_of_two_tenants_is_in_the_first_and_may_switch(stack: Stack, other_tenant: Cast) -> None:
    tenant = make_tenant(PASSWORD)
    with on_login("operator"):
        user = User.objects.get(id=tenant.alice.scope.user_id)
        Membership.objects.create(tenant_id=other_tenant.id, user=user, role="auditor")
    stack.chat(other_tenant.bob, WORK)
    with logged_in(stack, tenant.alice) as browser:
        token = {"csrfmiddlewaretoken": token_of(browser.get("/").text)}
        assert browser.get("/api/v1/tool-calls/").json()["results"] == []
        stranger = make_tenant()
        for wrong in (str(stranger.id), str(uuid.uuid4()), "x", ""):
            assert browser.post("/accounts/tenant/", data=token | {"tenant": wrong}).status_code == 404
        assert browser.get("/api/v1/tool-calls/").json()["results"] == []
        assert browser.get("/accounts/tenant/").status_code == 405
        assert browser.post("/accounts/tenant/", data={"tenant": str(other_tenant.id)}).status_code == 403
        assert browser.post("/accounts/tenant/", data=token | {"tenant": str(other_tenant.id)}).status_code == 302
        # An auditor there, a member here.
        [call] = browser.get("/api/v1/tool-calls/").json()["results"]
        assert call["username"] == other_tenant.bob.username
        with on_login("operator"):
            Membership.objects.filter(tenant_id=other_tenant.id, user_id=tenant.alice.scope.user_id).delete()
        assert browser.get("/api/v1/tool-calls/").json()["results"] == []


def test_log_ins_are_throttled_by_username_with_a_retry_after() -> None:
    with Stack(REDIS_URL=os.environ["REDIS_URL"].rpartition("/")[0] + "/6") as stack:
        # Each attempt comes from an address of its own, and the username's minute has just begun.
        tenant = make_tenant(PASSWORD)
        while not window_lasts("10/m", tenant.alice.username):
            tenant = make_tenant(PASSWORD)
        codes = []
        for _ in range(12):
            with httpx.Client(base_url=stack.url, headers=somewhere_else()) as browser:
                answer = log_in(browser, tenant.alice.username, "wrong")
                codes.append(answer.status_code)
        assert codes == [200] * 10 + [429] * 2
        assert 1 <= int(answer.headers["retry-after"]) <= 60
        assert answer.headers["content-type"].startswith("text/html")
        with httpx.Client(base_url=stack.url, headers=somewhere_else()) as browser:
            # The page itself still opens, and a right password does not help while it lasts.
            assert log_in(browser, tenant.alice.username.upper(), PASSWORD).status_code == 429
