"""API keys over REST: one's own, and for owners the tenant's."""

import json
import threading
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connections
from django.utils import timezone

from tenants.models import ApiKey, Membership
from tenants.people import keys
from tenants.scope.routing import on_login
from tests.browser.sessions import session_of
from tests.database import rows
from tests.pages.browsing import InProcess
from tests.people import Cast, Person

PATH = "/api/v1/keys/"


def _ask(who: Person | str, method: str, path: str = PATH, body: Any = None) -> Any:
    key = who if isinstance(who, str) else who.key
    client = InProcess(headers={"Authorization": f"Bearer {key}"})
    return client.generic(method, path, body if isinstance(body, str) else _json(body), content_type="application/json")


def _json(body: Any) -> str:
    return "" if body is None else json.dumps(body)


def _works(key: str) -> bool:
    client = InProcess(headers={"Authorization": f"Bearer {key}"})
    return bool(client.get("/api/v1/tools/?style=mcp").status_code == 200)


def _count(tenant: Cast) -> int:
    return len(rows("SELECT id FROM api_keys WHERE tenant_id = %(t)s", t=tenant.id))


def _id(tenant: Cast, person: Person) -> str:
    [row] = rows(
        "SELECT id FROM api_keys WHERE tenant_id = %(t)s AND user_id = %(u)s", t=tenant.id, u=person.principal.user_id
    )
    return str(row["id"])


def _made(person: Person, **options: Any) -> str:
    with on_login("operator"):
        member = Membership.objects.get(tenant_id=person.principal.tenant_id, user_id=person.principal.user_id)
        return keys.create(membership=member, **options)[1]


def test_a_member_makes_a_key_that_is_shown_once(tenant: Cast) -> None:
    end = (timezone.now() + timedelta(days=1)).replace(microsecond=0)
    answer = _ask(
        tenant.alice, "POST", body={"name": "laptop", "scopes": ["tools:read"], "expires_at": end.isoformat()}
    )
    made = answer.json()
    assert (answer.status_code, answer["Cache-Control"]) == (201, "no-store")
    assert (made["name"], made["scopes"], made["revoked_at"], made["last_used_at"]) == (
        "laptop",
        ["tools:read"],
        None,
        None,
    )
    assert made["user"] == {"id": str(tenant.alice.principal.user_id), "username": tenant.alice.username}
    assert datetime.fromisoformat(made["expires_at"]) == end
    assert made["key"].startswith(made["prefix"]) and _works(made["key"])
    listed = [each["prefix"] for each in _ask(tenant.alice, "GET").json()["results"]]
    assert listed == [made["prefix"], tenant.alice.key[:10]]
    assert made["key"] not in _ask(tenant.alice, "GET").content.decode()
    assert rows("SELECT * FROM setting_changes WHERE tenant_id = %(t)s AND target = 'key'", t=tenant.id) != []
    assert made["key"] not in str(
        rows("SELECT c::text AS c FROM setting_changes c WHERE tenant_id = %(t)s", t=tenant.id)
    )


def test_a_session_makes_keys_too_and_only_with_its_token(tenant: Cast) -> None:
    client = InProcess(enforce_csrf_checks=True)
    client.cookies["sessionid"] = session_of(tenant.alice)
    assert client.post(PATH, "{}", content_type="application/json").status_code == 403
    assert _count(tenant) == 5


@pytest.mark.parametrize(
    "body",
    ["[", "[]", {"scopes": []}, {"scopes": ["admin"]}, {"scopes": ["chat", "root"]}, {"scopes": "chat"},
     {"name": "a\nb"}, {"name": "x" * 201}, {"name": "\u202eb"}, {"expires_at": "2020-01-01T00:00:00Z"},
     {"expires_at": "soon"}, {"name": "\x00"}, {"scopes": ["chat"] * 50}],
)  # fmt: skip
def test_a_senseless_key_is_not_made(tenant: Cast, body: Any) -> None:
    answer = _ask(tenant.alice, "POST", body=body)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")
    assert _count(tenant) == 5


@pytest.mark.parametrize(
    "limit", [{"scopes": ["tools:read", "chat"]}, {"expires_at": timezone.now() + timedelta(days=9)}]
)
def test_a_limited_key_makes_no_keys_and_ends_only_itself(tenant: Cast, limit: dict[str, Any]) -> None:
    key = _made(tenant.alice, **limit)
    mine = {each["prefix"]: each["id"] for each in _ask(tenant.alice, "GET").json()["results"]}
    whole = mine[tenant.alice.key[:10]]
    for method, path in (("POST", PATH), ("POST", f"{PATH}{whole}/rotate/"), ("DELETE", f"{PATH}{whole}/"),
                         ("POST", f"{PATH}{mine[key[:10]]}/rotate/")):  # fmt: skip
        answer = _ask(key, method, path, {})
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    assert (_count(tenant), _works(tenant.alice.key), _works(key)) == (6, True, True)
    assert _ask(key, "DELETE", f"{PATH}{mine[key[:10]]}/").status_code == 204
    assert (_works(key), _works(tenant.alice.key)) == (False, True)


def test_a_rotated_key_works_for_the_overlap_and_the_new_one_is_no_wider(tenant: Cast) -> None:
    old = _ask(tenant.alice, "POST", body={"name": "ci", "scopes": ["tools:read"]}).json()
    answer = _ask(tenant.alice, "POST", f"{PATH}{old['id']}/rotate/", {"overlap": 3600})
    new = answer.json()
    assert (answer.status_code, new["name"], new["scopes"], new["expires_at"]) == (201, "ci", ["tools:read"], None)
    assert (_works(old["key"]), _works(new["key"])) == (True, True)
    ends = datetime.fromisoformat(_ask(tenant.alice, "GET", f"{PATH}{old['id']}/").json()["expires_at"])
    assert timedelta(minutes=50) < ends - timezone.now() <= timedelta(hours=1)
    newest = _ask(tenant.alice, "POST", f"{PATH}{new['id']}/rotate/", {}).json()
    assert (_works(new["key"]), _works(newest["key"])) == (False, True)
    again = _ask(tenant.alice, "POST", f"{PATH}{new['id']}/rotate/", {})
    assert (again.status_code, again.json()["code"]) == (409, "key_ended")
    for overlap in (-1, 10**9, "x"):
        assert _ask(tenant.alice, "POST", f"{PATH}{newest['id']}/rotate/", {"overlap": overlap}).status_code == 400
    assert _works(newest["key"])


def test_of_two_rotations_at_once_one_makes_a_key(tenant: Cast) -> None:
    old = _ask(tenant.alice, "POST", body={}).json()
    begun, statuses = threading.Barrier(2), []

    def rotate() -> None:
        begun.wait()
        try:
            statuses.append(_ask(tenant.alice, "POST", f"{PATH}{old['id']}/rotate/", {}).status_code)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=rotate) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (sorted(statuses), _count(tenant)) == ([201, 409], 7)


def test_a_demoted_members_rotation_leaves_out_what_the_role_no_longer_allows(tenant: Cast) -> None:
    old = _ask(tenant.carol, "POST", body={"scopes": ["chat", "approvals:decide"]}).json()
    with on_login("operator"):
        Membership.objects.filter(tenant_id=tenant.id, user_id=tenant.carol.principal.user_id).update(role="member")
    assert _ask(tenant.carol, "POST", f"{PATH}{old['id']}/rotate/", {}).json()["scopes"] == ["chat"]


def test_owners_see_and_revoke_the_tenants_keys_but_get_no_key_of_anothers(tenant: Cast) -> None:
    alice = _id(tenant, tenant.alice)
    assert len(_ask(tenant.olga, "GET").json()["results"]) == 5
    assert _ask(tenant.olga, "POST", f"{PATH}{alice}/rotate/", {}).status_code == 403
    assert (_count(tenant), _works(tenant.alice.key)) == (5, True)
    assert _ask(tenant.olga, "DELETE", f"{PATH}{alice}/").status_code == 204
    assert _works(tenant.alice.key) is False
    # An owner's key without the scope admin is a member's here.
    narrowed = _made(tenant.olga, scopes=["tools:read"])
    assert {each["user"]["username"] for each in _ask(narrowed, "GET").json()["results"]} == {tenant.olga.username}


def test_anothers_key_does_not_exist(tenant: Cast, other_tenant: Cast) -> None:
    for theirs in (_id(tenant, tenant.bob), _id(other_tenant, other_tenant.alice)):
        for method, path in (("GET", ""), ("DELETE", ""), ("POST", "rotate/")):
            assert _ask(tenant.alice, method, f"{PATH}{theirs}/{path}", {}).status_code == 404
    assert _works(tenant.bob.key) and _works(other_tenant.alice.key)
    assert _ask(tenant.olga, "DELETE", f"{PATH}{_id(other_tenant, other_tenant.alice)}/").status_code == 404
    assert _works(other_tenant.alice.key)


def test_a_member_has_no_more_than_a_hundred_working_keys(tenant: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "MOST", 3)
    made = [_ask(tenant.alice, "POST", body={}).json() for _ in range(2)]
    refused = _ask(tenant.alice, "POST", body={})
    assert (refused.status_code, refused.json()["code"]) == (409, "too_many_keys")
    assert _ask(tenant.alice, "DELETE", f"{PATH}{made[0]['id']}/").status_code == 204
    assert _ask(tenant.alice, "POST", body={}).status_code == 201
    assert ApiKey.objects.using("operator").filter(user_id=tenant.alice.principal.user_id).count() == 4
