"""A run's events for who cannot send a key: with a token of five minutes, for that run and nothing else."""

import time
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from django.core import signing

from gateway.rest.chat import stream_tokens
from tests.database import rows
from tests.hostile.upstream import ORIGIN
from tests.people import Cast, Person
from tests.rest import sse
from tests.stack import Stack


@pytest.fixture
def run(stack: Stack, tenant: Cast) -> str:
    """A run of alice's."""
    return str(stack.chat(tenant.alice, "hello").json()["run_id"])


def _issued(stack: Stack, person: Person, run: str) -> httpx.Response:
    return httpx.post(f"{stack.url}/api/v1/runs/{run}/stream-token", headers=person.headers)


def _events(stack: Stack, run: str, token: str, **more: Any) -> httpx.Response:
    return httpx.get(f"{stack.url}/api/v1/runs/{run}/events", params={"token": token}, **more)


def _refused(answer: httpx.Response, code: str = "unauthenticated") -> None:
    assert (answer.status_code, answer.json()["code"]) == (401, code)
    assert answer.headers["content-type"] == "application/problem+json"
    assert "message.delta" not in answer.text


def test_a_token_opens_its_runs_events_without_a_key(stack: Stack, tenant: Cast, run: str) -> None:
    issued = _issued(stack, tenant.alice, run)
    assert issued.status_code == 201
    assert set(issued.json()) == {"token", "expires_at"}
    assert issued.headers["cache-control"] == "no-store"
    left = datetime.fromisoformat(issued.json()["expires_at"]) - datetime.now(UTC)
    assert timedelta(minutes=4) < left <= timedelta(minutes=5)
    answer = _events(stack, run, issued.json()["token"], headers={"Origin": ORIGIN})
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store, no-transform"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["access-control-allow-origin"] == ORIGIN
    assert answer.text == stack.get(tenant.alice, f"/api/v1/runs/{run}/events").text


def test_an_event_source_takes_up_where_it_was_and_is_told_when_there_is_no_more(
    stack: Stack, tenant: Cast, run: str
) -> None:
    token = _issued(stack, tenant.alice, run).json()["token"]
    whole = sse.parse(_events(stack, run, token).text)
    address = f"{stack.url}/api/v1/runs/{run}/events"
    named = {"token": token, "last_event_id": whole[0].id}
    for rest in (
        _events(stack, run, token, headers={"Last-Event-ID": whole[0].id}),
        httpx.get(address, params=named),
    ):
        assert sse.parse(rest.text) == whole[1:]
    over = _events(stack, run, token, headers={"Last-Event-ID": whole[-1].id})
    assert (over.status_code, over.content) == (204, b"")


def test_a_token_is_for_one_run_and_for_its_events_only(stack: Stack, tenant: Cast, run: str) -> None:
    token = _issued(stack, tenant.alice, run).json()["token"]
    other = stack.chat(tenant.alice, "hello").json()["run_id"]
    _refused(_events(stack, other, token))
    for path in (f"/api/v1/runs/{run}", f"/api/v1/runs/{run}/trace", "/api/v1/tool-calls/", "/api/v1/conversations/"):
        for headers in ({}, {"Authorization": f"Bearer {token}"}):
            answer = httpx.get(stack.url + path, params={"token": token}, headers=headers)
            assert answer.status_code == 401
    for path in ("cancel", "stream-token"):
        answer = httpx.post(f"{stack.url}/api/v1/runs/{run}/{path}", params={"token": token})
        assert answer.status_code == 401
    answer = httpx.post(f"{stack.url}/api/v1/chat", params={"token": token}, json={"content": "hello"})
    assert answer.status_code == 401
    answer = httpx.get(f"{stack.url}/v1/models", headers={"x-api-key": token})
    assert answer.status_code == 401


def test_nobody_is_given_a_token_for_somebody_elses_run(
    stack: Stack, tenant: Cast, other_tenant: Cast, run: str
) -> None:
    for person in (tenant.bob, tenant.olga, other_tenant.alice):
        answer = _issued(stack, person, run)
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    answer = httpx.post(f"{stack.url}/api/v1/runs/{run}/stream-token")
    assert answer.status_code == 401


@pytest.mark.parametrize("token", ["", "x", "a.b.c", "x" * 5000, "é"])
def test_what_is_no_token_is_refused(stack: Stack, run: str, token: str) -> None:
    _refused(_events(stack, run, token))


def test_a_token_that_was_altered_or_signed_by_another_key_is_refused(stack: Stack, tenant: Cast, run: str) -> None:
    token = _issued(stack, tenant.alice, run).json()["token"]
    head, stamp, signature = token.split(".")
    for changed in (
        f"{head[:-2]}AA.{stamp}.{signature}",
        f"{head}.{stamp}A.{signature}",
        f"{head}.{stamp}.{signature[:-1]}",
    ):
        _refused(_events(stack, run, changed))
    ids = [tenant.id.hex, tenant.alice.principal.user_id.hex, run.replace("-", ""), None]
    for signer in (
        signing.TimestampSigner(key="another", salt="toolgate.stream-token", sep="."),
        signing.TimestampSigner(salt="another", sep="."),
    ):
        _refused(_events(stack, run, signer.sign_object(ids)))


def test_an_expired_token_says_so(stack: Stack, tenant: Cast, run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = time.time() - 301
    monkeypatch.setattr("django.core.signing.time.time", lambda: before)
    token, _ = stream_tokens.issue(tenant.alice.principal, uuid.UUID(run))
    monkeypatch.undo()
    _refused(_events(stack, run, token), "stream_token_expired")


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE api_keys SET revoked_at = now() WHERE tenant_id = %(tenant)s AND user_id = %(user)s",
        "UPDATE api_keys SET expires_at = now() WHERE tenant_id = %(tenant)s AND user_id = %(user)s",
        "UPDATE api_keys SET scopes = '{history:read}' WHERE tenant_id = %(tenant)s AND user_id = %(user)s",
        "DELETE FROM memberships WHERE tenant_id = %(tenant)s AND user_id = %(user)s",
        "UPDATE users SET is_active = false WHERE id = %(user)s",
    ],
    ids=["revoked key", "expired key", "narrowed key", "removed member", "inactive user"],
)
def test_a_token_does_not_outlive_the_right_it_was_asked_for_with(
    stack: Stack, tenant: Cast, run: str, change: str
) -> None:
    token = _issued(stack, tenant.alice, run).json()["token"]
    user = tenant.alice.principal.user_id
    rows(change + " RETURNING 1", tenant=tenant.id, user=user)
    answer = _events(stack, run, token)
    assert answer.status_code == (403 if "scopes" in change else 401)
    assert "run.completed" not in answer.text


def test_a_session_is_given_a_token_that_ends_with_the_membership(stack: Stack, tenant: Cast, run: str) -> None:
    token, _ = stream_tokens.issue(tenant.alice.principal, uuid.UUID(run))
    assert _events(stack, run, token).status_code == 200
    rows(
        "DELETE FROM memberships WHERE tenant_id = %(tenant)s AND user_id = %(user)s RETURNING 1",
        tenant=tenant.id, user=tenant.alice.principal.user_id,
    )  # fmt: skip
    _refused(_events(stack, run, token))


def test_no_token_is_in_a_log(stack: Stack, tenant: Cast, run: str) -> None:
    token = _issued(stack, tenant.alice, run).json()["token"]
    assert _events(stack, run, token).status_code == 200
    _refused(_events(stack, run, token + "x"))
    for name in ("web", "worker"):
        assert token[:40] not in stack.log(name)
