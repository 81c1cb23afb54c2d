"""A key that a web process remembers is good for nothing from the moment on in which anybody changes what it may do."""

import asyncio
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from tenants.login import authentication, remembered
from tenants.models import ApiKey, Membership, User
from tenants.people import keys
from tenants.people.keys import digest
from tenants.scope.routing import on_login
from tests.database import rows
from tests.people import Cast
from tests.stack import Stack

BODIES: dict[str, dict[str, Any]] = {
    "/api/v1/chat": {"content": "hello"},
    "/v1/chat/completions": {"model": "offline/demo", "messages": [{"role": "user", "content": "hello"}]},
}


@pytest.fixture
def key(tenant: Cast) -> str:
    """A key of Bob's, who is a member."""
    with on_login("operator"):
        membership = Membership.objects.get(tenant_id=tenant.id, user_id=tenant.bob.scope.user_id)
        return keys.create(membership=membership)[1]


def _of(key: str) -> Any:
    return ApiKey.objects.filter(key_hash=digest(key))


def _ask(stack: Stack, key: str, path: str, body: Any = None) -> httpx.Response:
    return httpx.post(
        f"{stack.url}{path}",
        json=BODIES[path] if body is None else body,
        headers={"Authorization": f"Bearer {key}"},
    )


def _remembered(stack: Stack, key: str) -> None:
    """Have the web process know the key by heart."""
    for path in BODIES:
        for _ in range(2):
            assert _ask(stack, key, path).status_code == 200


def _runs(tenant: Cast) -> int:
    return len(rows("SELECT 1 FROM runs WHERE tenant_id = %(t)s", t=tenant.id))


ENDS: dict[str, tuple[Callable[[Cast, str], Any], int]] = {
    "revoked": (lambda cast, key: _of(key).update(revoked_at=datetime.now(UTC)), 401),
    "expired": (lambda cast, key: _of(key).update(expires_at=datetime.now(UTC) - timedelta(seconds=1)), 401),
    "deleted": (lambda cast, key: _of(key).delete(), 401),
    "narrowed": (lambda cast, key: _of(key).update(scopes=["history:read"]), 403),
    "of nobody": (lambda cast, key: Membership.objects.filter(user_id=cast.bob.scope.user_id).delete(), 401),
    "switched off": (lambda cast, key: User.objects.filter(id=cast.bob.scope.user_id).update(is_active=False), 401),
}


@pytest.mark.parametrize("path", BODIES)
@pytest.mark.parametrize("end", ENDS)
def test_a_remembered_key_is_refused_at_once_and_begins_nothing(
    stack: Stack, tenant: Cast, key: str, end: str, path: str
) -> None:
    _remembered(stack, key)
    before, (change, status) = _runs(tenant), ENDS[end]
    with on_login("operator"):
        change(tenant, key)
    assert [_ask(stack, key, path).status_code for _ in range(2)] == [status, status]
    assert _runs(tenant) == before


def test_what_is_wrong_with_a_request_is_not_said_to_a_key_that_is_over(stack: Stack, tenant: Cast, key: str) -> None:
    _remembered(stack, key)
    with on_login("operator"):
        _of(key).update(revoked_at=datetime.now(UTC))
    nowhere = {"content": "hello", "conversation_id": str(uuid.uuid4())}
    assert _ask(stack, key, "/api/v1/chat", nowhere).status_code == 401
    said = BODIES["/v1/chat/completions"] | {"model": "no-such-agent"}
    assert _ask(stack, key, "/v1/chat/completions", said).status_code == 401


def test_an_answer_that_is_there_already_is_not_given_to_a_key_that_is_over(
    stack: Stack, tenant: Cast, key: str
) -> None:
    headers = {"Authorization": f"Bearer {key}", "Idempotency-Key": "once"}
    for _ in range(3):
        asked = httpx.post(f"{stack.url}/api/v1/chat", json={"content": "hello"}, headers=headers)
        assert asked.status_code == 200
    with on_login("operator"):
        _of(key).update(revoked_at=datetime.now(UTC))
    assert httpx.post(f"{stack.url}/api/v1/chat", json={"content": "hello"}, headers=headers).status_code == 401


async def test_a_remembered_principal_has_a_version_and_one_that_is_read_has_none(tenant: Cast) -> None:
    key = tenant.alice.headers["Authorization"].removeprefix("Bearer ")
    first = await remembered.by_key(key, anew=True)
    second = await remembered.by_key(key)
    assert first is not None and second is not None
    assert (first, first.version) == (second, None)
    assert second.version is not None
    anew = await remembered.by_key(key, anew=True)
    assert anew is not None and anew.version is None
    assert await authentication.by_key(key) == second


async def test_its_use_is_recorded_every_minute(tenant: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    assert authentication.USE_RESOLUTION.total_seconds() == remembered.SECONDS
    monkeypatch.setattr(remembered, "SECONDS", 0.0)
    key = tenant.alice.headers["Authorization"].removeprefix("Bearer ")
    for _ in range(2):
        found = await remembered.by_key(key)
        assert found is not None and found.version is None


async def test_it_is_remembered_for_a_minute_after_its_use_was_recorded(tenant: Cast) -> None:
    key = tenant.alice.headers["Authorization"].removeprefix("Bearer ")
    await remembered.by_key(key, anew=True)

    def used_before() -> None:
        with on_login("operator"):
            _of(key).update(last_used_at=datetime.now(UTC) - timedelta(seconds=10))

    await asyncio.to_thread(used_before)
    await remembered.by_key(key, anew=True)
    until, _ = remembered._known[digest(key)]
    assert 0 < until - time.monotonic() <= 50


async def test_a_key_that_expires_is_not_remembered(tenant: Cast) -> None:
    def made() -> str:
        with on_login("operator"):
            membership = Membership.objects.get(tenant_id=tenant.id, user_id=tenant.bob.scope.user_id)
            return keys.create(membership=membership, expires_at=datetime.now(UTC) + timedelta(hours=1))[1]

    key = await asyncio.to_thread(made)
    for _ in range(2):
        found = await remembered.by_key(key)
        assert found is not None and found.version is None
