"""API keys: whose they are, what they may do, and when they end."""

from datetime import UTC, datetime, timedelta

import httpx
import pytest

from tenants.models import ApiKey, Membership, User
from tenants.people import keys
from tenants.scope.routing import on_login
from tests.database import rows
from tests.hostile.upstream import ORIGIN
from tests.people import Cast, Person
from tests.stack import Stack

# Both ways in: the callable in front of Django, and Django's own.
ROUTES = {
    "fast": ("POST", "/api/v1/chat", {}),
    "django": ("POST", "/api/v1/chat", {"Origin": ORIGIN}),
    "asynchronous": ("GET", "/api/v1/tools/", {}),
    "synchronous": ("GET", "/api/v1/tool-calls/", {}),
}
Route = tuple[str, str, dict[str, str]]


def _ask(stack: Stack, key: str, route: Route) -> httpx.Response:
    method, path, more = route
    headers = {"Authorization": f"Bearer {key}"} | more
    body = {"content": "hello"} if method == "POST" else None
    return httpx.request(method, stack.url + path, headers=headers, json=body)


def _make(person: Person, **more: object) -> tuple[ApiKey, str]:
    with on_login("operator"):
        membership = Membership.objects.get(tenant_id=person.scope.tenant_id, user_id=person.scope.user_id)
        return keys.create(membership=membership, **more)  # type: ignore[arg-type]


def _refused(stack: Stack, key: str, tenant: Cast) -> None:
    for route in ROUTES.values():
        answer = _ask(stack, key, route)
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.headers["www-authenticate"] == 'Bearer realm="toolgate"'
        assert key not in answer.text
    assert rows("SELECT id FROM runs WHERE tenant_id = %(t)s", t=tenant.id) == []


def test_an_expired_key_opens_nothing(stack: Stack, tenant: Cast) -> None:
    _, key = _make(tenant.alice, expires_at=datetime.now(UTC) - timedelta(seconds=1))
    _refused(stack, key, tenant)


def test_a_key_that_expires_later_still_opens(stack: Stack, tenant: Cast) -> None:
    _, key = _make(tenant.alice, expires_at=datetime.now(UTC) + timedelta(hours=1))
    assert {_ask(stack, key, route).status_code for route in ROUTES.values()} == {200}


def test_a_revoked_key_opens_nothing(stack: Stack, tenant: Cast) -> None:
    row, key = _make(tenant.alice)
    with on_login("operator"):
        ApiKey.objects.filter(id=row.id).update(revoked_at=datetime.now(UTC))
    _refused(stack, key, tenant)


def test_the_key_of_a_removed_member_opens_nothing(stack: Stack, tenant: Cast) -> None:
    with on_login("operator"):
        Membership.objects.get(tenant_id=tenant.id, user_id=tenant.bob.scope.user_id).delete()
    _refused(stack, tenant.bob.key, tenant)


def test_the_key_of_an_inactive_user_opens_nothing(stack: Stack, tenant: Cast) -> None:
    with on_login("operator"):
        User.objects.filter(id=tenant.bob.scope.user_id).update(is_active=False)
    _refused(stack, tenant.bob.key, tenant)


def test_a_key_that_was_just_used_ends_at_once_when_it_is_revoked(stack: Stack, tenant: Cast) -> None:
    row, key = _make(tenant.alice)
    assert {_ask(stack, key, route).status_code for route in ROUTES.values()} == {200}
    with on_login("operator"):
        ApiKey.objects.filter(id=row.id).update(revoked_at=datetime.now(UTC))
    assert {_ask(stack, key, route).status_code for route in ROUTES.values()} == {401}


@pytest.mark.parametrize(
    ("scopes", "allowed"),
    [
        (["chat"], {"fast", "django"}),
        (["tools:read"], {"asynchronous"}),
        (["history:read"], {"synchronous"}),
        ([], set()),
    ],
)
def test_a_key_does_what_its_scopes_say_and_is_403_beyond(
    stack: Stack, tenant: Cast, scopes: list[str], allowed: set[str]
) -> None:
    _, key = _make(tenant.alice, scopes=scopes)
    answers = {name: _ask(stack, key, route) for name, route in ROUTES.items()}
    assert {name for name, answer in answers.items() if answer.status_code == 200} == allowed
    for name, answer in answers.items():
        if name not in allowed:
            assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
            assert answer.headers["content-type"] == "application/problem+json"
            assert "scope" in answer.json()["detail"]
    chats = len(allowed & {"fast", "django"})
    assert len(rows("SELECT id FROM runs WHERE tenant_id = %(t)s", t=tenant.id)) == chats


def test_a_key_never_does_more_than_its_members_role(tenant: Cast) -> None:
    with pytest.raises(keys.UnknownScope):
        _make(tenant.alice, scopes=["chat", "approvals:decide"])
    assert len(rows("SELECT id FROM api_keys WHERE tenant_id = %(t)s", t=tenant.id)) == 5


def test_a_demoted_member_loses_what_the_role_gave(stack: Stack, tenant: Cast) -> None:
    stack.chat(tenant.alice, "call: list_tasks {}")
    assert len(stack.get(tenant.dana, "/api/v1/tool-calls/").json()["results"]) == 1
    with on_login("operator"):
        Membership.objects.filter(tenant_id=tenant.id, user_id=tenant.dana.scope.user_id).update(role="member")
    assert stack.get(tenant.dana, "/api/v1/tool-calls/").json()["results"] == []


def test_a_key_that_was_narrowed_loses_what_its_members_role_lost(stack: Stack, tenant: Cast) -> None:
    """What it was narrowed to was the role's when it was made; no key keeps it longer than the role."""
    _, key = _make(tenant.carol, scopes=["chat", "approvals:read", "approvals:decide"])
    assert _ask(stack, key, ("GET", "/api/v1/approvals/", {})).status_code == 200
    with on_login("operator"):
        Membership.objects.filter(tenant_id=tenant.id, user_id=tenant.carol.scope.user_id).update(role="member")
    answer = _ask(stack, key, ("GET", "/api/v1/approvals/", {}))
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    assert _ask(stack, key, ROUTES["fast"]).status_code == 200


@pytest.mark.parametrize("route", ROUTES.values(), ids=ROUTES)
def test_last_use_is_kept_to_the_minute(stack: Stack, tenant: Cast, route: Route) -> None:
    row, key = _make(tenant.alice)

    def used() -> datetime | None:
        [found] = rows("SELECT last_used_at FROM api_keys WHERE id = %(id)s", id=row.id)
        return found["last_used_at"]  # type: ignore[no-any-return]

    assert used() is None
    _ask(stack, key, route)
    first = used()
    assert first is not None
    _ask(stack, key, route)
    assert used() == first
    with on_login("operator"):
        # A process that remembers the key reads it again where anything else of it has changed.
        ago, later = first - timedelta(seconds=61), first + timedelta(days=1)
        ApiKey.objects.filter(id=row.id).update(last_used_at=ago, expires_at=later)
    _ask(stack, key, route)
    again = used()
    assert again is not None
    assert again > first


def test_no_credentials_at_all_is_401_everywhere(stack: Stack) -> None:
    for method, path, more in ROUTES.values():
        answer = httpx.request(method, stack.url + path, json={"content": "x"}, headers=more)
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
        assert answer.headers["www-authenticate"] == 'Bearer realm="toolgate"'
        assert answer.headers["x-request-id"]
