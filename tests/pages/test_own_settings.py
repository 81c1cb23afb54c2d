"""What everybody sets for themselves: keys, applications, the password."""

import re
import uuid
from typing import Any

import pytest
from django.test import Client, override_settings
from django.utils import timezone

from tenants.login import clients
from tenants.models import ApiKey, ClientToken
from tenants.people import keys
from tenants.scope.routing import on_login
from tests.browser.sessions import session_of
from tests.database import rows
from tests.mcp.oauth import registered
from tests.pages.browsing import signed_in
from tests.people import PASSWORD, Cast, Person, make_tenant

KEYS, APPLICATIONS, OWN_PASSWORD = "/settings/keys/", "/settings/applications/", "/settings/password/"


def _key_on(page: str) -> str | None:
    found = re.search(r'<pre class="sheet" tabindex="0">(tg_[^<]+)</pre>', page)
    return found[1] if found else None


def _works(key: str) -> bool:
    return Client(headers={"Authorization": f"Bearer {key}"}).get("/api/v1/tools/").status_code == 200


def _of(person: Person) -> list[dict[str, Any]]:
    return rows("SELECT * FROM api_keys WHERE user_id = %(u)s ORDER BY created_at", u=person.principal.user_id)


def test_a_key_is_made_on_the_page_and_shown_once(tenant: Cast) -> None:
    client = signed_in(tenant.alice)
    answer = client.post(KEYS, {"name": "laptop", "scopes": ["tools:read"], "days": "30"})
    key = _key_on(answer.content.decode())
    assert key is not None and _works(key)
    assert "no-store" in answer["Cache-Control"]
    page = client.get(KEYS).content.decode()
    assert key not in page and "laptop" in page and key[:10] in page
    made = _of(tenant.alice)[-1]
    assert (made["scopes"], (made["expires_at"] - timezone.now()).days) == (["tools:read"], 29)


@pytest.mark.parametrize("form", [{"scopes": ["admin"]}, {"days": "1000"}, {"name": "x" * 201}, {"name": "a\u202eb"}])
def test_a_senseless_key_is_not_made_on_the_page(tenant: Cast, form: dict[str, Any]) -> None:
    answer = signed_in(tenant.alice).post(KEYS, form)
    assert (answer.status_code, len(_of(tenant.alice))) == (400, 1)
    assert _key_on(answer.content.decode()) is None


def test_a_member_with_too_many_keys_is_told_so(tenant: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "MOST", 1)
    answer = signed_in(tenant.alice).post(KEYS, {})
    assert answer.status_code == 409
    assert "Revoke those that you do not use." in answer.content.decode()
    assert len(_of(tenant.alice)) == 1


def test_a_key_is_replaced_and_revoked_on_the_page(tenant: Cast) -> None:
    client, [old] = signed_in(tenant.alice), _of(tenant.alice)
    answer = client.post(f"{KEYS}{old['id']}/rotate/", {"overlap": "3600"})
    new = _key_on(answer.content.decode())
    assert new is not None and _works(new) and _works(tenant.alice.key)
    assert client.post(f"{KEYS}{old['id']}/revoke/").status_code == 302
    assert (_works(new), _works(tenant.alice.key)) == (True, False)
    again = client.post(f"{KEYS}{old['id']}/rotate/", {"overlap": "0"})
    assert (again.status_code, len(_of(tenant.alice))) == (409, 2)
    assert "This key is revoked or expired." in again.content.decode()


def test_anothers_key_is_none_of_ones_pages_also_for_owners(tenant: Cast, other_tenant: Cast) -> None:
    client = signed_in(tenant.olga)
    for person in (tenant.alice, other_tenant.alice):
        [key] = _of(person)
        assert key["prefix"] not in client.get(KEYS).content.decode()
        for action in ("revoke", "rotate"):
            assert client.post(f"{KEYS}{key['id']}/{action}/", {"overlap": "0"}).status_code == 404
        assert _works(person.key)


def test_a_page_of_keys_changes_nothing_without_its_token(tenant: Cast) -> None:
    client, [key] = Client(enforce_csrf_checks=True), _of(tenant.alice)
    client.cookies["sessionid"] = session_of(tenant.alice)
    for path in (KEYS, f"{KEYS}{key['id']}/revoke/", f"{KEYS}{key['id']}/rotate/"):
        assert client.post(path, {"overlap": "0"}).status_code == 403
    assert (len(_of(tenant.alice)), _works(tenant.alice.key)) == (1, True)


def granted(person: Person, name: str = "Editor <1>") -> clients.Tokens:
    """What a client has that the person lets act for them."""
    client_id = registered(name).id
    code = clients.agree(person.principal, client_id, scopes=["chat"], resource="http://x/mcp", details={})
    spent = clients.spend(ClientToken.Kind.CODE, code, client_id)
    assert spent is not None
    return clients.issue(spent, ["chat"])


async def _reaches(token: str) -> bool:
    from tenants.login.authentication import by_token

    return await by_token(token, "http://x/mcp") is not None


async def test_an_application_is_listed_and_its_access_ended(tenant: Cast) -> None:
    from asgiref.sync import sync_to_async

    tokens = await sync_to_async(granted)(tenant.alice)
    theirs = await sync_to_async(granted)(tenant.bob)
    assert await _reaches(tokens.access)

    def on_the_page() -> None:
        client = signed_in(tenant.alice)
        assert "Editor &lt;1&gt;" in client.get(APPLICATIONS).content.decode()
        grants = {
            row["user_id"]: row["id"]
            for row in rows("SELECT * FROM client_grants WHERE tenant_id = %(t)s", t=tenant.id)
        }
        assert client.post(f"{APPLICATIONS}{grants[tenant.bob.principal.user_id]}/end/").status_code == 404
        assert client.post(f"{APPLICATIONS}{uuid.uuid4()}/end/").status_code == 404
        assert client.post(f"{APPLICATIONS}{grants[tenant.alice.principal.user_id]}/end/").status_code == 302
        assert "No applications" in client.get(APPLICATIONS).content.decode()

    await sync_to_async(on_the_page)()
    assert (await _reaches(tokens.access), await _reaches(theirs.access)) == (False, True)


NEW = "another horse 4711"


def _change(client: Client, old: str = PASSWORD, new: str = NEW, again: str = "") -> Any:
    return client.post(OWN_PASSWORD, {"old_password": old, "new_password1": new, "new_password2": again or new})


def _log_in(person: Person, password: str, address: str) -> bool:
    client = Client(REMOTE_ADDR=address)
    client.post("/accounts/login/", {"username": person.username, "password": password})
    return "sessionid" in client.cookies


def test_a_changed_password_ends_every_other_session() -> None:
    person = make_tenant(PASSWORD).alice
    client, elsewhere = signed_in(person), signed_in(person)
    assert elsewhere.get(KEYS).status_code == 200
    assert _change(client).status_code == 302
    assert client.get(KEYS).status_code == 200
    assert elsewhere.get(KEYS).status_code == 302
    assert _log_in(person, NEW, "192.0.2.150") and not _log_in(person, PASSWORD, "192.0.2.151")
    assert _works(person.key)


@pytest.mark.parametrize(
    "changed", [{"old": "wrong"}, {"new": "short"}, {"new": "password123"}, {"again": "other horse 4711"}]
)
def test_a_password_that_is_refused_is_not_changed(changed: dict[str, str]) -> None:
    person = make_tenant(PASSWORD).alice
    assert _change(signed_in(person), **changed).status_code == 400
    assert _log_in(person, PASSWORD, "192.0.2.152")


@override_settings(LOGIN_ATTEMPTS="3/d")
def test_ones_old_password_is_tried_no_more_often_than_at_the_log_in() -> None:
    client = signed_in(make_tenant(PASSWORD).alice)
    assert [_change(client, old="wrong").status_code for _ in range(4)] == [400, 400, 400, 429]


def test_a_password_that_changed_meanwhile_is_not_overwritten(monkeypatch: pytest.MonkeyPatch) -> None:
    from tenants.me.password import OwnPasswordForm
    from tenants.models import User

    person = make_tenant(PASSWORD).alice
    save = OwnPasswordForm.save

    def after_another_change(self: OwnPasswordForm, commit: bool = True) -> User:
        rows("UPDATE users SET password = 'x' WHERE id = %(u)s RETURNING id", u=person.principal.user_id)
        return save(self, commit)

    monkeypatch.setattr(OwnPasswordForm, "save", after_another_change)
    answer = _change(signed_in(person))
    assert answer.status_code == 400
    assert "was just changed elsewhere" in answer.content.decode()
    [row] = rows("SELECT password FROM users WHERE id = %(u)s", u=person.principal.user_id)
    assert row["password"] == "x"


def test_the_pages_need_a_member(tenant: Cast) -> None:
    with on_login("operator"):
        assert ApiKey.objects.filter(tenant_id=tenant.id).count() == 5
    for path in (KEYS, APPLICATIONS, OWN_PASSWORD):
        assert Client().get(path)["Location"] == f"/accounts/login/?next={path}"
        assert signed_in(tenant.dana).get(path).status_code == 200
