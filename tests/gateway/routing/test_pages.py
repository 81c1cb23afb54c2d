"""The pages of providers and models: what an owner does there, and what nobody else may."""

from typing import Any

import pytest

from tests.database import rows
from tests.gateway.routing import owners
from tests.gateway.routing.upstream import Upstream
from tests.pages.browsing import signed_in
from tests.people import Cast

KEY = "sk-page-7a61c0ffee"
PAGE = "/settings/models/"


def _form(upstream: Upstream, **more: Any) -> dict[str, Any]:
    given = {"slug": "mine", "kind": "openai-compatible", "base_url": upstream.url, "api_key": KEY, "enabled": "on"}
    return {**given, "models": "m1\nm2", **more}


def test_an_owner_adds_changes_tests_and_removes_a_provider(tenant: Cast, upstream: Upstream) -> None:
    client = signed_in(tenant.olga)
    assert "No providers of your own" in client.get(PAGE).content.decode()
    answer = client.post(f"{PAGE}-/new/", _form(upstream), follow=True)
    page = answer.content.decode()
    assert (answer.status_code, upstream.listed[0]["Authorization"]) == (200, f"Bearer {KEY}")
    assert "mine is added. It answers, and lists 2 models." in page and "mine/m2" in page
    form = client.get(f"{PAGE}mine/").content.decode()
    assert "There is one; leave this empty to keep it." in form
    changed = client.post(f"{PAGE}mine/", _form(upstream, api_key="", models="m1"), follow=True).content.decode()
    assert "mine is changed." in changed and "mine/m2" not in changed
    assert upstream.listed[-1]["Authorization"] == f"Bearer {KEY}"
    assert "Test of mine: It answers" in client.post(f"{PAGE}mine/test/", follow=True).content.decode()
    assert "Remove mine?" in client.get(f"{PAGE}mine/remove/").content.decode()
    gone = client.post(f"{PAGE}mine/remove/", follow=True).content.decode()
    assert "No providers of your own" in gone
    assert KEY not in page + form + changed + gone
    [first, *_] = rows("SELECT actor_id, via FROM setting_changes WHERE tenant_id = %(t)s ORDER BY id", t=tenant.id)
    assert first == {"actor_id": tenant.olga.principal.user_id, "via": "page"}


def test_a_key_that_is_refused_is_said_on_the_form_and_not_shown_there(tenant: Cast, upstream: Upstream) -> None:
    upstream.list_status = 401
    answer = signed_in(tenant.olga).post(f"{PAGE}-/new/", _form(upstream))
    page = answer.content.decode()
    assert answer.status_code == 400
    assert "The provider refuses this key (HTTP 401), so nothing was saved." in page
    assert upstream.url in page and KEY not in page
    assert rows("SELECT FROM model_providers WHERE tenant_id = %(t)s", t=tenant.id) == []


def test_an_owner_says_which_models_are_allowed(tenant: Cast) -> None:
    client = signed_in(tenant.olga)
    form = {
        "which": "some",
        "allowed": "offline/*\nopenai/gpt-4o",
        "fallback_for": ["openai/*", ""],
        "fallback_to": ["offline/demo, openai/o3", ""],
        "price_model": ["offline/demo", ""],
        "price_input": ["1.5", ""],
        "price_output": ["0", ""],
        "price_cached": ["", ""],
        "version": "0",
    }
    page = client.post(PAGE, form, follow=True).content.decode()
    assert "The models are changed." in page and "1 known model can be used now" in page
    [row] = rows("SELECT allowed, fallbacks, prices FROM model_settings WHERE tenant_id = %(t)s", t=tenant.id)
    price = {"model": "offline/demo", "input": "1.5", "output": "0", "cached": None}
    fallbacks = {"openai/*": ["offline/demo", "openai/o3"]}
    assert row == {"allowed": ["offline/*", "openai/gpt-4o"], "fallbacks": fallbacks, "prices": [price]}
    assert 'value="offline/demo, openai/o3"' in page
    # Somebody else has the page open as it was.
    stale = client.post(PAGE, {**form, "allowed": "x/*"})
    assert stale.status_code == 409
    assert "Somebody else has changed this since you read it" in stale.content.decode()
    wrong = client.post(PAGE, {**form, "version": "1", "price_input": ["-1", ""]})
    assert wrong.status_code == 400 and "prices[0].input" in wrong.content.decode()
    assert rows("SELECT version FROM model_settings WHERE tenant_id = %(t)s", t=tenant.id) == [{"version": 1}]


def test_the_chat_page_offers_the_models_that_are_allowed(tenant: Cast, upstream: Upstream) -> None:
    owners.add(tenant, "mine", upstream.url, models=["m1", "m2"])
    owners.say(tenant, allowed=["mine/m1", "offline/*"])
    page = signed_in(tenant.alice).get("/").content.decode()
    assert '<option value="mine/m1"' in page and '<option value="offline/demo"' in page
    assert "mine/m2" not in page


@pytest.mark.parametrize("who", ["alice", "carol", "dana"])
def test_nobody_else_opens_or_changes_them(tenant: Cast, upstream: Upstream, who: str) -> None:
    client = signed_in(getattr(tenant, who))
    assert client.get(PAGE).status_code == 403
    assert client.post(f"{PAGE}-/new/", _form(upstream)).status_code == 403
    assert client.post(PAGE, {"which": "some", "allowed": ""}).status_code == 403
    assert upstream.listed == []
    assert rows("SELECT FROM model_settings WHERE tenant_id = %(t)s", t=tenant.id) == []


def test_a_key_is_taken_only_from_who_has_just_shown_who_they_are(tenant: Cast, upstream: Upstream) -> None:
    answer = signed_in(tenant.olga, seconds_ago=3600).post(f"{PAGE}-/new/", _form(upstream))
    assert answer.status_code == 403 and "Confirm that it is you" in answer.content.decode()
    assert upstream.listed == []
