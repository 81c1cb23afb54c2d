"""What owners say of their providers: on the page and over REST, never a secret, on record."""

import re
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from tenants.models import SignOnIdentity
from tenants.people.encryption import decrypt
from tenants.scope import transactions
from tests.database import rows
from tests.pages.browsing import InProcess, confirmed, signed_in
from tests.people import PASSWORD as WORD
from tests.people import Cast, Person, make_tenant
from tests.sign_on.provider import BACK, CLIENT, SECRET, Provider, log_in, sent_to

PAGE, REST = "/settings/sign-on/", "/api/v1/sign-on/"


def _api(tenant: Cast) -> Client:
    return InProcess(headers=tenant.olga.headers)


def _wanted(provider: Provider, **more: Any) -> dict[str, Any]:
    return {"domain": provider.domain, "issuer": provider.issuer, "client_id": CLIENT, "client_secret": SECRET} | more


def _send(client: Client, method: str, path: str, body: Any) -> Any:
    return getattr(client, method)(path, body, content_type="application/json")


def _stored(tenant: Cast) -> list[dict[str, Any]]:
    return rows("SELECT * FROM sign_on_providers WHERE tenant_id = %(t)s ORDER BY domain", t=tenant.id)


def _changes(tenant: Cast) -> str:
    return str(rows("SELECT to_jsonb(c)::text AS c FROM setting_changes c WHERE tenant_id = %(t)s", t=tenant.id))


def test_a_provider_is_made_changed_and_removed_and_its_secret_is_never_shown(tenant: Cast, provider: Provider) -> None:
    api = _api(tenant)
    roles = [{"value": "admins", "role": "owner"}]
    made = _send(api, "post", REST, _wanted(provider, role_claim="groups", roles=roles, default_role="member"))
    assert made.status_code == 201, made.content
    body = made.json()
    assert (body["confirmed"], body["has_secret"], body["enabled"], body["creates_members"]) == (
        False,
        True,
        True,
        False,
    )
    assert body["redirect_uri"].endswith(BACK)
    [row] = _stored(tenant)
    assert decrypt(row["client_secret"]) == SECRET and SECRET not in str(row)
    path = f"{REST}{body['id']}/"
    assert _send(api, "patch", path, {"enabled": False, "roles": []}).json()["roles"] == []
    assert [each["domain"] for each in api.get(REST).json()["results"]] == [provider.domain]
    assert api.get(path).json()["enabled"] is False
    twice = _send(api, "post", REST, _wanted(provider))
    assert (twice.status_code, twice.json()["code"]) == (409, "domain_taken")
    assert api.delete(path).status_code == 204 and api.get(path).status_code == 404
    assert _stored(tenant) == []
    found = _changes(tenant)
    assert found.count('"sign_on"') >= 3 and SECRET not in found and "set" in found


def test_another_issuer_never_gets_the_stored_secret(tenant: Cast, provider: Provider) -> None:
    row = provider.set_up(tenant)
    api, path = _api(tenant), f"{REST}{row.pk}/"
    for given in ({"issuer": f"{provider.issuer}/other"}, {"client_id": "another"}):
        refused = _send(api, "patch", path, given)
        assert (refused.status_code, refused.json()["field"]) == (400, "client_secret")
    assert _send(api, "patch", path, {"client_id": "another", "client_secret": "new"}).status_code == 200
    assert _send(api, "patch", path, {"domain": "other.example"}).status_code == 400
    assert [each["client_id"] for each in _stored(tenant)] == ["another"]


@pytest.mark.parametrize(
    "given",
    [
        {"domain": "localhost"}, {"domain": "127.0.0.1"}, {"domain": "a b.example"}, {"domain": "x" * 300},
        {"domain": 7}, {"domain": None}, {"issuer": "http://169.254.169.254"}, {"issuer": "ftp://a.example"},
        {"issuer": ""}, {"issuer": "https://a.example/#x"}, {"client_id": ""}, {"client_id": "a\nb"},
        {"client_secret": "x" * 2001},
        {"roles": [{"value": "a", "role": "owner"}]}, {"role_claim": "g", "roles": {"a": "owner"}},
        {"role_claim": "g", "roles": [{"value": "a", "role": "king"}]}, {"role_claim": "g", "roles": [["a", "owner"]]},
        {"role_claim": "g", "roles": [{"value": "", "role": "owner"}]}, {"default_role": "king"}, {"default_role": 1},
        {"role_claim": "g", "roles": [{"value": "a", "role": "owner"}] * 51}, {"enabled": "yes"}, {"unknown": 1},
        {"confirmed": True},
    ],
    ids=str,
)  # fmt: skip
def test_what_makes_no_provider_is_refused_in_words(tenant: Cast, provider: Provider, given: dict[str, Any]) -> None:
    answer = _send(_api(tenant), "post", REST, _wanted(provider, **given))
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request"), answer.content
    assert _stored(tenant) == []


def test_only_owners_see_or_change_it_and_only_their_own(tenant: Cast, other_tenant: Cast, provider: Provider) -> None:
    row = provider.set_up(tenant)
    for person in (tenant.alice, tenant.carol, tenant.dana):
        client = Client(headers=person.headers)
        for answer in (client.get(REST), _send(client, "post", REST, {}), client.delete(f"{REST}{row.pk}/")):
            assert answer.status_code == 403
        browser = signed_in(person)
        for path in (PAGE, f"{PAGE}{row.pk}/"):
            assert browser.get(path).status_code == 403
        for path in ("add/", "second-factor/", f"{row.pk}/", f"{row.pk}/remove/", f"{row.pk}/look/", f"{row.pk}/try/"):
            assert browser.post(f"{PAGE}{path}", {}).status_code == 403
    theirs = InProcess(headers=other_tenant.olga.headers)
    assert [theirs.get(f"{REST}{row.pk}/").status_code, theirs.delete(f"{REST}{row.pk}/").status_code] == [404, 404]
    assert _send(theirs, "patch", f"{REST}{row.pk}/", {"enabled": False}).status_code == 404
    assert theirs.post(f"{REST}{row.pk}/test/").status_code == 404
    outsider = signed_in(other_tenant.olga)
    for path in ("", "remove/", "look/", "try/"):
        assert outsider.post(f"{PAGE}{row.pk}/{path}", {}).status_code == 404
    assert len(_stored(tenant)) == 1 and provider.api.asked == []


def test_an_owner_does_it_all_on_the_page(provider: Provider) -> None:
    tenant = make_tenant(WORD)
    owner = signed_in(tenant.olga, seconds_ago=3600)
    form = _wanted(provider) | {"role_claim": "groups", "roles": "a = b = owner\n\naudit=auditor", "enabled": "on"}
    asked = owner.post(f"{PAGE}add/", form)
    assert asked.status_code == 403 and SECRET not in asked.content.decode() and _stored(tenant) == []
    made = confirmed(owner, asked, f"{PAGE}add/")
    [row] = _stored(tenant)
    assert made["Location"] == f"{PAGE}{row['id']}/" and decrypt(row["client_secret"]) == SECRET
    assert row["roles"] == [{"value": "a = b", "role": "owner"}, {"value": "audit", "role": "auditor"}]
    page = owner.get(made["Location"]).content.decode()
    assert SECRET not in page and row["client_secret"] not in page and "has not confirmed yet" in page
    assert "a = b = owner" in page
    # An empty secret leaves it as it is; a wrong field is said beside it, and what was entered stays.
    form |= {"client_secret": "", "roles": "admins = king"}
    wrong = owner.post(made["Location"], form)
    assert wrong.status_code == 400 and "admins = king" in wrong.content.decode()
    assert owner.post(made["Location"], form | {"roles": "admins = owner"}).status_code == 302
    [changed] = _stored(tenant)
    assert (changed["client_secret"], len(changed["roles"])) == (row["client_secret"], 1)
    shown = owner.post(f"{made['Location']}look/").content.decode()
    assert "The provider answers, and is the issuer that you named." in shown and "It publishes 1 key." in shown
    where = sent_to(owner.post(f"{made['Location']}try/"))
    provider.claims |= {"groups": ["admins"]}
    tried = owner.get(BACK, provider.accept(where)).content.decode()
    assert "It works" in tried and re.search(r"<dd>\s*owner", tried) and f"ada@{provider.domain}" in tried
    assert rows("SELECT id FROM sign_on_identities WHERE tenant_id = %(t)s", t=tenant.id) == []
    assert owner.post(f"{made['Location']}remove/")["Location"] == PAGE
    assert _stored(tenant) == []


def test_the_test_says_what_is_wrong(tenant: Cast, provider: Provider) -> None:
    row = provider.set_up(tenant, enabled=False)
    api = _api(tenant)
    good = api.post(f"{REST}{row.pk}/test/").json()
    assert (good["ok"], [each["what"] for each in good["findings"]]) == (True, ["metadata", "keys"])
    provider.published = []
    assert api.post(f"{REST}{row.pk}/test/").json()["ok"] is False
    provider.metadata = {"issuer": "https://elsewhere.example"}
    bad = api.post(f"{REST}{row.pk}/test/").json()
    assert (bad["ok"], "another issuer" in bad["findings"][0]["detail"]) == (False, True)


def test_an_owner_asks_everybody_for_a_second_factor_on_the_page(provider: Provider) -> None:
    tenant = make_tenant(WORD)
    owner = signed_in(tenant.olga, seconds_ago=3600)
    path = f"{PAGE}second-factor/"
    asked = owner.post(path, {"required": "yes"})
    assert asked.status_code == 403 and signed_in(tenant.alice).get("/history/").status_code == 200
    assert confirmed(owner, asked, path)["Location"] == PAGE
    assert signed_in(tenant.alice).get("/history/")["Location"] == "/settings/second-factor/"
    assert "second_factor_required" in _changes(tenant)


def test_the_operator_says_whose_a_domain_is(
    tenant: Cast, other_tenant: Cast, provider: Provider, browser: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    provider.set_up(tenant, confirm=False, creates_members=True, default_role="member")
    call_command("confirm_domain", provider.domain.upper(), tenant=tenant.slug)
    call_command("confirm_domain", provider.domain, tenant=tenant.slug)
    assert log_in(browser, provider).status_code == 302
    with pytest.raises(CommandError, match="confirmed for"):
        call_command("confirm_domain", provider.domain, tenant=other_tenant.slug)
    for domain, slug in (("localhost", tenant.slug), ("a@b.example", tenant.slug), (provider.domain, "nobody-s")):
        with pytest.raises(CommandError):
            call_command("confirm_domain", domain, tenant=slug)
    call_command("confirm_domain", provider.domain, tenant=tenant.slug, remove=True)
    with pytest.raises(CommandError, match="not confirmed"):
        call_command("confirm_domain", provider.domain, tenant=tenant.slug, remove=True)
    assert browser.post("/accounts/single-sign-on/", {"email": f"a@{provider.domain}"}).status_code == 404
    assert _changes(tenant).count("domain") >= 2


def _known(tenant: Cast, person: Person, provider: Provider) -> None:
    with transactions.scope(*person.scope):
        SignOnIdentity.objects.create(
            tenant_id=tenant.id, user_id=person.scope.user_id, issuer=provider.issuer, subject=person.username
        )


def test_removing_a_provider_says_first_who_logs_in_by_it_and_has_no_other_way(provider: Provider) -> None:
    tenant = make_tenant(WORD)
    row = provider.set_up(tenant)
    owner, path = signed_in(tenant.olga, seconds_ago=3600), f"/settings/sign-on/{row.pk}/remove/"
    assert "Nobody does now." in owner.get(path).content.decode()
    _known(tenant, tenant.alice, provider)
    _known(tenant, tenant.bob, provider)
    rows("UPDATE users SET password = '!x' WHERE id = %(u)s RETURNING id", u=tenant.bob.scope.user_id)
    asked = owner.get(path).content.decode()
    assert "2 members do now." in asked
    assert f"{tenant.bob.username} has no password." in asked and tenant.alice.username not in asked
    assert len(_stored(tenant)) == 1
    # It takes away, so nobody is asked for a password.
    assert owner.post(path).status_code == 302 and _stored(tenant) == []
    assert signed_in(tenant.alice).get("/history/").status_code == 200


def test_a_person_disconnects_unless_it_is_their_only_way_in(provider: Provider, other_tenant: Cast) -> None:
    tenant = make_tenant(WORD)
    row = provider.set_up(tenant)
    path = f"/settings/password/single-sign-on/{row.pk}/disconnect/"
    for person in (tenant.alice, tenant.bob):
        _known(tenant, person, provider)
    rows("UPDATE users SET password = '!x' WHERE id = %(u)s RETURNING id", u=tenant.bob.scope.user_id)
    identities = "SELECT user_id FROM sign_on_identities WHERE tenant_id = %(t)s"
    alice, bob = signed_in(tenant.alice), signed_in(tenant.bob)
    assert path in alice.get("/settings/password/").content.decode()
    assert "no more." in alice.post(path, follow=True).content.decode()
    assert rows(identities, t=tenant.id) == [{"user_id": tenant.bob.scope.user_id}]
    assert path not in alice.get("/settings/password/").content.decode()
    assert "This is your only way to log in" in bob.post(path, follow=True).content.decode()
    assert rows(identities, t=tenant.id) == [{"user_id": tenant.bob.scope.user_id}]
    assert signed_in(other_tenant.alice).post(path).status_code == 404
