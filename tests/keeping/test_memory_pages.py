"""What is remembered, over REST and on its page: one's own and the tenant's to see, and who deletes which."""

import json

import pytest
from django.test import Client

from tests.browser.sessions import session_of
from tests.database import rows
from tests.keeping.rows import CALL, memory
from tests.keeping.test_api import _ask, _streamed
from tests.pages.browsing import signed_in
from tests.people import Cast, Person


def _listed(who: Person, query: str = "") -> list[str]:
    answer = _ask(who, "GET", f"memories/{query}")
    assert answer.status_code == 200, answer.content
    return [each["content"] for each in answer.json()["results"]]


def test_everybody_sees_their_own_and_the_tenants_memories(tenant: Cast, other_tenant: Cast) -> None:
    memory(tenant.alice, "zebra one", tags=["Home"], taint=["untrusted"])
    memory(tenant.alice, "zebra two", "agent")
    memory(tenant.bob, "zebra for all", "tenant")
    memory(tenant.bob, "zebra of bob")
    memory(other_tenant.alice, "zebra elsewhere", "tenant")
    own = ["zebra for all", "zebra two", "zebra one"]
    assert _listed(tenant.alice) == own
    assert sorted(_listed(tenant.alice, "search/?q=zebras")) == sorted(own)
    assert _listed(tenant.alice, "?scope=agent") == ["zebra two"]
    assert _listed(tenant.alice, "?tag=Home") == ["zebra one"]
    assert _listed(tenant.olga) == _listed(tenant.olga, "search/?q=zebra") == ["zebra for all"]
    assert _listed(other_tenant.bob) == ["zebra elsewhere"]
    [found] = _ask(tenant.alice, "GET", "memories/?tag=Home").json()["results"]
    assert found | {"id": "", "created_at": ""} == {
        "id": "", "content": "zebra one", "tags": ["Home"], "scope": "user", "agent": None, "taint": ["untrusted"],
        "author_id": str(tenant.alice.principal.user_id), "source_call_id": str(CALL), "created_at": "",
    }  # fmt: skip
    assert _ask(tenant.alice, "GET", f"memories/{found['id']}/").json() == found


@pytest.mark.parametrize("path", ["?scope=everything", "search/", f"search/?q={'x' * 501}"])
def test_a_question_that_means_nothing_is_refused(tenant: Cast, path: str) -> None:
    assert _ask(tenant.alice, "GET", f"memories/{path}").status_code == 400


def test_a_memory_is_deleted_by_who_stored_it_and_a_shared_one_by_owners_too(tenant: Cast, other_tenant: Cast) -> None:
    own, shared = memory(tenant.alice, "own"), memory(tenant.alice, "the office closes at six", "tenant")
    for other in (tenant.bob, tenant.olga, other_tenant.alice, other_tenant.olga):
        assert _ask(other, "DELETE", f"memories/{own}/").status_code == 404
        assert _ask(other, "GET", f"memories/{own}/").status_code == 404
    refused = _ask(tenant.bob, "DELETE", f"memories/{shared}/")
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    assert refused.json()["detail"].startswith(
        f"This is remembered for everybody in the tenant. {tenant.alice.username}, who stored it, or an owner of the "
        "tenant can delete it."
    )
    assert _ask(other_tenant.olga, "DELETE", f"memories/{shared}/").status_code == 404
    assert len(_listed(tenant.alice)) == 2
    assert _ask(tenant.alice, "DELETE", f"memories/{own}/").status_code == 204
    assert rows("SELECT id FROM setting_changes WHERE tenant_id = %(t)s", t=tenant.id) == []
    assert _ask(tenant.olga, "DELETE", f"memories/{shared}/").status_code == 204
    assert _listed(tenant.alice) == []
    assert _ask(tenant.olga, "DELETE", f"memories/{shared}/").status_code == 404
    [change] = rows("SELECT * FROM setting_changes WHERE tenant_id = %(t)s", t=tenant.id)
    assert (change["target"], str(change["target_id"]), change["actor_id"]) == (
        "memory", shared, tenant.olga.principal.user_id,
    )  # fmt: skip
    assert "office" not in json.dumps(change, default=str)


def test_the_page_does_what_rest_does(tenant: Cast) -> None:
    own = memory(tenant.alice, "<b>zebra</b>", tags=["Home & away"], taint=["untrusted"])
    shared = memory(tenant.bob, "zebra for all", "tenant")
    browser = signed_in(tenant.alice)
    shown = browser.get("/memories/").content.decode()
    assert "&lt;b&gt;zebra&lt;/b&gt;" in shown and "<b>" not in shown
    assert "what strangers wrote" in shown
    assert f"For everybody, stored by {tenant.bob.username}" in shown
    assert f"/memories/{own}/delete/" in shown and f"/memories/{shared}/delete/" not in shown
    assert "zebra for all" not in browser.get("/memories/?scope=user&page=9").content.decode()
    assert "2 things for “zebras”" in browser.get("/memories/?q=zebras").content.decode()
    assert browser.get("/memories/?scope=%27&tag=%27&page=x").status_code == 200
    refused = browser.post(f"/memories/{shared}/delete/", follow=True)
    assert "or an owner of the tenant can delete it" in refused.content.decode()
    assert signed_in(tenant.bob).post(f"/memories/{own}/delete/").status_code == 404
    assert len(_listed(tenant.alice)) == 2
    assert browser.post(f"/memories/{own}/delete/").status_code == 302
    assert _listed(tenant.alice) == ["zebra for all"]
    assert signed_in(tenant.olga).post(f"/memories/{shared}/delete/").status_code == 302
    assert _listed(tenant.alice) == []


def test_what_one_has_stored_can_be_taken_along(tenant: Cast) -> None:
    memory(tenant.alice, "own", tags=["x"])
    memory(tenant.alice, "for all", "tenant")
    memory(tenant.bob, "bob's for all", "tenant")
    browser = Client()
    browser.cookies["sessionid"] = session_of(tenant.alice)
    lines = [json.loads(line) for line in b"".join(_streamed(browser.get("/notes/export.jsonl"))).splitlines()]
    assert [(line["kind"], line["content"], line["scope"]) for line in lines] == [
        ("memory", "own", "user"), ("memory", "for all", "tenant"),
    ]  # fmt: skip
