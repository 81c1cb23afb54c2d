"""Who gets in by a tenant's provider, as whom, and with which role."""

import re
import time
from typing import Any

import pytest
from allauth.mfa.totp.internal import auth as totp
from django.test import Client

from tenants.models import Membership
from tenants.scope.routing import on_login
from tests.database import rows
from tests.pages.browsing import signed_in
from tests.people import PASSWORD, Cast, Person, make_tenant
from tests.sign_on.provider import BACK, Provider, log_in, sent_to

ROLES = {"role_claim": "groups", "roles": [{"value": "admins", "role": "owner"}, {"value": "audit", "role": "auditor"}]}


def _people(tenant: Cast) -> dict[str, str]:
    found = rows(
        "SELECT u.username, m.role FROM memberships m JOIN users u ON u.id = m.user_id WHERE m.tenant_id = %(t)s",
        t=tenant.id,
    )
    return {row["username"]: row["role"] for row in found}


def _changes(tenant: Cast) -> list[tuple[str, str]]:
    found = rows(
        "SELECT target, action FROM setting_changes WHERE tenant_id = %(t)s AND target = 'member' ORDER BY id",
        t=tenant.id,
    )
    return [(row["target"], row["action"]) for row in found]


def _refused(answer: Any, words: str, client: Client, status: int = 403) -> None:
    assert (answer.status_code, words in answer.content.decode()) == (status, True), answer.content.decode()
    assert client.get("/history/").status_code in (302, 403)


def _identity(tenant: Cast, person: Person, provider: Provider, subject: str = "ada") -> None:
    with on_login("operator"):
        rows(
            "INSERT INTO sign_on_identities (id, tenant_id, user_id, issuer, subject, created_at)"
            " VALUES (gen_random_uuid(), %(t)s, %(u)s, %(i)s, %(s)s, now()) RETURNING id",
            t=tenant.id, u=person.principal.user_id, i=provider.issuer, s=subject,
        )  # fmt: skip


def test_somebody_new_becomes_a_member_once_and_is_the_same_person_ever_after(
    tenant: Cast, provider: Provider, browser: Client, another: Client
) -> None:
    provider.set_up(tenant, creates_members=True, default_role="member")
    answer = log_in(browser, provider)
    assert (answer.status_code, answer["Location"]) == (302, "/history/")
    assert browser.get("/history/").status_code == 200
    name = f"ada@{provider.domain}"
    assert _people(tenant)[name] == "member" and _changes(tenant) == [("member", "created")]
    # Another address is the same person; the same address at another subject is not.
    provider.claims |= {"email": f"countess@{provider.domain}"}
    assert log_in(another, provider).status_code == 302
    assert len(_people(tenant)) == 6 and len(_changes(tenant)) == 1
    [row] = rows("SELECT password, is_superuser, email FROM users WHERE username = %(n)s", n=name)
    assert (row["password"][0], row["is_superuser"], row["email"]) == ("!", False, name)
    [listed] = browser.get("/api/v1/sessions/").json()["results"][-1:]
    assert listed["current"] is True


def test_an_address_that_equals_an_accounts_never_takes_it_over(
    provider: Provider, browser: Client, another: Client
) -> None:
    tenant = make_tenant(PASSWORD)
    provider.set_up(tenant, creates_members=True, default_role="owner")
    address = f"Alice@{provider.domain}"
    rows("UPDATE users SET email = %(e)s WHERE id = %(u)s RETURNING id", e=address, u=tenant.alice.principal.user_id)
    provider.claims = {"sub": "mallory", "email": address.lower(), "email_verified": True}
    _refused(log_in(browser, provider), "Log in with its password, then connect", browser)
    assert len(_people(tenant)) == 5
    # With the password it is proved, and from then on the subject alone counts.
    alice = signed_in(tenant.alice)
    [row] = rows("SELECT id FROM sign_on_providers WHERE tenant_id = %(t)s", t=tenant.id)
    where = sent_to(alice.post(f"/accounts/single-sign-on/{row['id']}/connect/"))
    back = alice.get("/accounts/single-sign-on/callback/", provider.accept(where))
    assert back["Location"] == "/settings/password/"
    provider.claims = {"sub": "mallory"}
    assert log_in(another, provider).status_code == 302
    assert str(another.session["_auth_user_id"]) == str(tenant.alice.principal.user_id)
    # The subject is hers now: nobody else in the tenant connects it.
    bob = signed_in(tenant.bob)
    where = sent_to(bob.post(f"/accounts/single-sign-on/{row['id']}/connect/"))
    refused = bob.get("/accounts/single-sign-on/callback/", provider.accept(where))
    assert (refused.status_code, "another member" in refused.content.decode()) == (403, True)


def test_a_session_of_a_tenants_provider_opens_this_tenant_alone(
    tenant: Cast, provider: Provider, browser: Client
) -> None:
    elsewhere = make_tenant()
    with on_login("operator"):
        Membership.objects.create(tenant_id=elsewhere.id, user_id=tenant.alice.principal.user_id, role="owner")
    provider.set_up(tenant)
    _identity(tenant, tenant.alice, provider)
    assert log_in(browser, provider).status_code == 302
    assert elsewhere.slug not in browser.get("/history/").content.decode()
    assert browser.post("/accounts/tenant/", {"tenant": str(elsewhere.id)}).status_code == 404
    # Nor once it is a member of this one no more.
    rows(
        "DELETE FROM memberships WHERE tenant_id = %(t)s AND user_id = %(u)s RETURNING id",
        t=tenant.id, u=tenant.alice.principal.user_id,
    )  # fmt: skip
    assert browser.get("/history/").status_code == 403
    assert signed_in(tenant.alice).get("/history/").status_code == 200


@pytest.mark.parametrize(
    ("claim", "role"),
    [
        ("admins", "owner"),
        (["other", "audit"], "auditor"),
        (["audit", "admins"], "owner"),
        ([], "approver"),
        ("", "approver"),
        (None, "approver"),
        (["unknown"], "approver"),
        ([f"group-{n}" for n in range(999)], "approver"),
    ],
    ids=["text", "list", "first of the owner's list", "empty list", "empty text", "absent", "unknown", "many"],
)
def test_the_claim_says_the_role_at_each_log_in(
    tenant: Cast, provider: Provider, browser: Client, claim: Any, role: str
) -> None:
    provider.set_up(tenant, creates_members=True, default_role="approver", **ROLES)
    provider.claims |= {"groups": claim}
    assert log_in(browser, provider).status_code == 302
    assert _people(tenant)[f"ada@{provider.domain}"] == role


@pytest.mark.parametrize(
    "claim",
    [["x"] * 1001, ["x" * 301], {"admins": True}, 7, [1], ["admins", None], True],
    ids=["too many", "too long", "object", "number", "numbers", "null inside", "true"],
)
def test_a_claim_that_cannot_be_read_gives_no_role_at_all(
    tenant: Cast, provider: Provider, browser: Client, claim: Any
) -> None:
    provider.set_up(tenant, creates_members=True, default_role="owner", **ROLES)
    provider.claims |= {"groups": claim}
    _refused(log_in(browser, provider), "claim that says the role", browser, 502)
    assert len(_people(tenant)) == 5


def test_without_a_role_nobody_gets_in_and_a_member_keeps_theirs_where_no_claim_decides(
    tenant: Cast, provider: Provider, browser: Client, another: Client
) -> None:
    row = provider.set_up(tenant, creates_members=True, **ROLES)
    provider.claims |= {"groups": ["nobody"]}
    _refused(log_in(browser, provider), "gives you no role", browser)
    assert len(_people(tenant)) == 5
    _identity(tenant, tenant.carol, provider)
    _refused(log_in(browser, provider), "gives you no role", browser)
    assert _people(tenant)[tenant.carol.username] == "approver"
    rows(
        "UPDATE sign_on_providers SET role_claim = '', roles = '[]', default_role = 'member'"
        " WHERE id = %(i)s RETURNING id",
        i=row.pk,
    )
    assert log_in(another, provider).status_code == 302
    assert _people(tenant)[tenant.carol.username] == "approver"


def test_a_claim_demotes_an_owner_and_never_the_last_one(tenant: Cast, provider: Provider, browser: Client) -> None:
    provider.set_up(tenant, default_role="member", **ROLES)
    _identity(tenant, tenant.olga, provider)
    assert log_in(browser, provider).status_code == 302
    assert _people(tenant)[tenant.olga.username] == "owner" and _changes(tenant) == []
    rows(
        "UPDATE memberships SET role = 'owner' WHERE tenant_id = %(t)s AND user_id = %(u)s RETURNING id",
        t=tenant.id, u=tenant.bob.principal.user_id,
    )  # fmt: skip
    assert log_in(browser, provider).status_code == 302
    assert _people(tenant)[tenant.olga.username] == "member" and _changes(tenant) == [("member", "changed")]


@pytest.mark.parametrize("readmits", [False, True])
def test_a_removed_member_comes_back_only_where_the_owner_allows_it(
    tenant: Cast, provider: Provider, browser: Client, readmits: bool
) -> None:
    provider.set_up(tenant, creates_members=True, readmits_members=readmits, default_role="member")
    assert log_in(browser, provider).status_code == 302
    name = f"ada@{provider.domain}"
    gone = "DELETE FROM memberships m USING users u WHERE u.id = m.user_id AND u.username = %(n)s RETURNING m.id"
    rows(gone, n=name)
    provider_knows = log_in(browser, provider)
    assert (provider_knows.status_code == 302, name in _people(tenant)) == (readmits, readmits)
    # Nor as somebody new with their address.
    rows(gone, n=name)
    provider.claims |= {"sub": "ada-again"}
    again = log_in(browser, provider)
    assert (again.status_code == 302, len(_people(tenant))) == (readmits, 6 if readmits else 5)
    if not readmits:
        _refused(again, "no member of this tenant any more", browser)


def test_who_is_no_member_stays_out_where_members_are_invited(
    tenant: Cast, provider: Provider, browser: Client
) -> None:
    provider.set_up(tenant)
    _refused(log_in(browser, provider), "An owner of the tenant can invite you.", browser)
    assert len(_people(tenant)) == 5


@pytest.mark.parametrize(
    ("claims", "trusts", "inside"),
    [
        ({"email_verified": False}, True, False),
        ({"email_verified": None}, False, False),
        ({"email_verified": None}, True, True),
        ({"email_verified": "yes"}, True, False),
        ({"email": "ada@elsewhere.example"}, True, False),
        ({"email": None}, True, False),
        ({"email": ["a"]}, True, False),
        ({"email": "no address"}, True, False),
        ({"email": "x" * 250 + "@a.example"}, True, False),
    ],
    ids=["unverified", "unsaid", "unsaid, trusted", "odd", "other domain", "none", "list", "no address", "long"],
)
def test_an_account_is_made_only_for_an_address_that_counts(
    tenant: Cast, provider: Provider, browser: Client, claims: dict[str, Any], trusts: bool, inside: bool
) -> None:
    provider.set_up(tenant, creates_members=True, default_role="member", trusts_addresses=trusts)
    provider.claims |= claims
    answer = log_in(browser, provider)
    assert (answer.status_code == 302, len(_people(tenant)) == 6) == (inside, inside)


def test_operators_and_inactive_accounts_are_let_in_by_nobodys_provider(
    tenant: Cast, provider: Provider, browser: Client
) -> None:
    provider.set_up(tenant, default_role="owner")
    _identity(tenant, tenant.olga, provider)
    who = {"u": tenant.olga.principal.user_id}
    rows("UPDATE users SET is_superuser = true, is_staff = true WHERE id = %(u)s RETURNING id", **who)
    _refused(log_in(browser, provider), "Operators of this Toolgate log in with their password.", browser)
    rows(
        "UPDATE users SET is_superuser = false, is_staff = false, is_active = false WHERE id = %(u)s RETURNING id",
        **who,
    )
    _refused(log_in(browser, provider), "Your account is switched off.", browser)


def test_a_session_of_a_provider_opens_no_admin(tenant: Cast, provider: Provider, browser: Client) -> None:
    provider.set_up(tenant)
    _identity(tenant, tenant.olga, provider)
    assert log_in(browser, provider).status_code == 302
    who = {"u": tenant.olga.principal.user_id}
    rows("UPDATE users SET is_superuser = true, is_staff = true WHERE id = %(u)s RETURNING id", **who)
    assert browser.get("/admin/").status_code == 403
    assert signed_in(tenant.olga).get("/admin/").status_code == 200


def test_an_unconfirmed_domain_leads_nowhere_and_only_one_tenant_has_it(
    tenant: Cast, other_tenant: Cast, provider: Provider, browser: Client
) -> None:
    provider.set_up(tenant, confirm=False, creates_members=True, default_role="member")
    answer = browser.post("/accounts/single-sign-on/", {"email": f"ada@{provider.domain}"})
    assert (answer.status_code, "There is no single sign-on" in answer.content.decode()) == (404, True)
    provider.set_up(other_tenant, creates_members=True, default_role="member")
    assert log_in(browser, provider).status_code == 302
    assert (len(_people(tenant)), len(_people(other_tenant))) == (5, 6)
    # The tenant that names a domain of another's gets nobody by it, also in the middle of a log-in.
    where = sent_to(browser.post("/accounts/single-sign-on/", {"email": f"bea@{provider.domain}"}))
    rows("DELETE FROM confirmed_domains WHERE domain = %(d)s RETURNING domain", d=provider.domain)
    provider.claims |= {"sub": "bea", "email": f"bea@{provider.domain}"}
    _refused(browser.get("/accounts/single-sign-on/callback/", provider.accept(where)), "not in use any more", Client())
    assert len(_people(other_tenant)) == 6


def test_a_second_factor_that_the_tenant_asks_for_may_be_given_at_the_provider(
    tenant: Cast, provider: Provider, browser: Client, another: Client
) -> None:
    provider.set_up(tenant, creates_members=True, default_role="member")
    rows("UPDATE tenants SET second_factor_required = true WHERE id = %(t)s RETURNING id", t=tenant.id)
    assert log_in(browser, provider).status_code == 302
    assert browser.get("/history/")["Location"] == "/settings/second-factor/"
    # Who has no password sets the app up without one, and gives its code to each session.
    page = browser.get("/settings/second-factor/").content.decode()
    [secret] = re.findall(r'class="mono secret">([A-Z2-7]+)<', page)
    assert 'name="password"' not in page
    code = totp.format_hotp_value(totp.hotp_value(secret, int(time.time()) // 30))
    assert browser.post("/settings/second-factor/", {"code": "000000"}).status_code == 400
    assert browser.post("/settings/second-factor/", {"code": code}).status_code == 200
    assert browser.get("/history/").status_code == 200
    provider.claims |= {"amr": ["pwd", "mfa"]}
    assert log_in(another, provider).status_code == 302
    assert another.get("/history/").status_code == 200


@pytest.mark.parametrize("fresh", [True, False])
def test_what_raises_rights_asks_the_provider_again(
    tenant: Cast, provider: Provider, browser: Client, fresh: bool
) -> None:
    provider.set_up(tenant, creates_members=True, default_role="owner")
    # Logged in at the provider long ago, which the provider says, or does not say.
    provider.claims |= {"auth_time": int(time.time()) - 7200 if fresh else None}
    assert log_in(browser, provider).status_code == 302
    asked = browser.post("/settings/keys/", {"scopes": ["admin"]})
    assert asked.status_code == 403 and "Confirm with single sign-on" in asked.content.decode()
    where = sent_to(browser.post("/accounts/single-sign-on/confirm/", {"next": "/settings/keys/"}))
    assert "prompt=login" in where and "max_age=0" in where
    # Without a fresh log-in there, or by somebody else, it is no proof.
    assert browser.get(BACK, provider.accept(where)).status_code == 502
    provider.claims |= {"auth_time": int(time.time()), "sub": "somebody-else"}
    where = sent_to(browser.post("/accounts/single-sign-on/confirm/", {"next": "/settings/keys/"}))
    assert browser.get(BACK, provider.accept(where)).status_code == 403
    assert browser.post("/settings/keys/", {"scopes": ["admin"]}).status_code == 403
    provider.claims |= {"sub": "ada"}
    where = sent_to(browser.post("/accounts/single-sign-on/confirm/", {"next": "/settings/keys/"}))
    assert browser.get(BACK, provider.accept(where))["Location"] == "/settings/keys/"
    assert browser.post("/settings/keys/", {"scopes": ["admin"]}).status_code == 200
