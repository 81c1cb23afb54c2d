"""The webhook of the alert level: signed messages of another system."""

import json
import time
import uuid
from typing import Any

import pytest

from notifications.channels.webhook.signature import new_secret, sign
from tests.database import rows
from tests.fuzz.caller import Answer, ask
from tests.people import Cast, Person

WEBHOOK = "/api/v1/alert-level/webhook/"


async def _asked(person: Person, method: str, url: str = WEBHOOK) -> Answer:
    return await ask(method, url, {"authorization": f"Bearer {person.key}".encode()}, b"")


async def _made(cast: Cast) -> str:
    answer = await _asked(cast.olga, "POST")
    assert answer.status == 201, answer.body
    assert answer.headers["cache-control"] == "no-store"
    return str(answer.json()["secret"])


async def _sent(
    tenant_id: uuid.UUID, secret: str, content: Any, *, id: str = "m-1", at: int | None = None, **more: str
) -> Answer:
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    sent = int(time.time()) if at is None else at
    headers = {
        "content-type": "application/json", "webhook-id": id, "webhook-timestamp": str(sent),
        "webhook-signature": sign(secret, id, sent, body),
    } | more  # fmt: skip
    encoded = {name: value.encode() for name, value in headers.items()}
    return await ask("POST", f"/webhooks/alert-level/{tenant_id}", encoded, body)


def _levels(cast: Cast) -> list[tuple[int, str]]:
    found = rows("SELECT level, reason FROM alert_levels WHERE tenant_id = %(t)s", t=cast.id)
    return [(each["level"], each["reason"]) for each in found]


async def test_a_signed_message_sets_the_level_and_is_on_record(tenant: Cast) -> None:
    secret = await _made(tenant)
    answer = await _sent(tenant.id, secret, {"level": 2, "reason": "Many failed logins"})
    assert (answer.status, answer.json()) == (200, {"status": "set", "level": 2})
    assert _levels(tenant) == [(2, "Many failed logins")]
    changed = rows(
        "SELECT target, action, via, actor_id, changes FROM setting_changes WHERE tenant_id = %(t)s ORDER BY id",
        t=tenant.id,
    )
    assert [(each["target"], each["action"], each["via"]) for each in changed] == [
        ("alert_webhook", "created", "api"), ("alert_level", "created", "webhook"),
    ]  # fmt: skip
    assert (changed[0]["changes"], changed[1]["actor_id"]) == ({"secret": ["none", "set"]}, None)
    assert changed[1]["changes"] == {"level": [None, 2], "reason": [None, "Many failed logins"]}


async def test_the_secret_is_shown_once_and_stored_encrypted(tenant: Cast) -> None:
    secret = await _made(tenant)
    shown = await _asked(tenant.olga, "GET")
    assert set(shown.json()) == {"url", "created_at"}
    assert shown.json()["url"].endswith(f"/webhooks/alert-level/{tenant.id}")
    [row] = rows("SELECT secret FROM alert_webhooks WHERE tenant_id = %(t)s", t=tenant.id)
    assert secret not in row["secret"]


@pytest.mark.parametrize(
    "more",
    [{"webhook-signature": ""}, {"webhook-signature": "v1,"}, {"webhook-signature": "v1,\xff"}, {"webhook-id": "m-2"},
     {"webhook-id": ""}, {"webhook-timestamp": "1"}, {"webhook-timestamp": "now"}, {"webhook-timestamp": "-1"}],
    ids=["none", "empty", "no-ascii", "another-id", "no-id", "another-time", "no-time", "negative-time"],
)  # fmt: skip
async def test_a_message_with_another_signature_changes_nothing(tenant: Cast, more: dict[str, str]) -> None:
    answer = await _sent(tenant.id, await _made(tenant), {"level": 0}, **more)
    assert (answer.status, answer.json()["code"]) == (401, "bad_signature")
    assert _levels(tenant) == []


async def test_a_secret_counts_for_its_tenant_until_it_is_replaced_or_removed(tenant: Cast, other_tenant: Cast) -> None:
    old, theirs = await _made(tenant), await _made(other_tenant)
    refused = [await _sent(tenant.id, theirs, {"level": 3}), await _sent(tenant.id, new_secret(), {"level": 3})]
    refused.append(await _sent(uuid.uuid4(), old, {"level": 3}))
    new = await _made(tenant)
    refused.append(await _sent(tenant.id, old, {"level": 3}))
    assert (await _asked(tenant.olga, "DELETE")).status == 204
    refused.append(await _sent(tenant.id, new, {"level": 3}))
    # What says nothing of whether there is such an address.
    assert len({answer.json()["detail"] for answer in refused}) == 1
    assert [answer.status for answer in refused] == [401] * 5
    assert (_levels(tenant), _levels(other_tenant)) == ([], [])
    assert [(await _asked(tenant.olga, method)).status for method in ("GET", "DELETE")] == [404, 404]


async def test_a_message_that_is_sent_again_by_somebody_else_does_nothing(tenant: Cast) -> None:
    secret, now = await _made(tenant), int(time.time())
    assert (await _sent(tenant.id, secret, {"level": 0}, id="calm", at=now - 20)).status == 200
    again = await _sent(tenant.id, secret, {"level": 0}, id="calm", at=now - 20)
    assert (again.status, again.json()) == (200, {"status": "known"})
    assert (await _sent(tenant.id, secret, {"level": 3}, id="alarm", at=now - 10)).status == 200
    for id, at in (("calm", now - 20), ("late", now - 10), ("old", now - 400), ("early", now + 400)):
        replayed = await _sent(tenant.id, secret, {"level": 0}, id=id, at=at)
        assert (replayed.status, replayed.json()["code"]) == (409, "stale_message"), id
    assert _levels(tenant) == [(3, "")]
    # A new secret does not make old messages new.
    secret = await _made(tenant)
    assert (await _sent(tenant.id, secret, {"level": 0}, id="calm", at=now - 20)).status == 409


@pytest.mark.parametrize(
    ("content", "status", "code"),
    [
        (b"{", 400, "invalid_request"), (b"[1]", 400, "invalid_request"), ({}, 400, "invalid_rule"),
        ({"level": True}, 400, "invalid_rule"), ({"level": 4}, 400, "invalid_rule"),
        ({"level": 1, "reason": "\x00"}, 400, "invalid_rule"), ({"level": 1, "tenant": "a"}, 400, "invalid_rule"),
        ({"level": 1, "reason": "a" * 5000}, 413, "content_too_large"),
    ],
    ids=["no-json", "a-list", "nothing", "true", "four", "control", "unknown", "large"],
)  # fmt: skip
async def test_a_signed_message_that_makes_no_sense_changes_nothing(
    tenant: Cast, content: Any, status: int, code: str
) -> None:
    secret = await _made(tenant)
    answer = await _sent(tenant.id, secret, content)
    assert (answer.status, answer.json()["code"]) == (status, code)
    assert _levels(tenant) == []
    # It does not count as the last one.
    assert (await _sent(tenant.id, secret, {"level": 1})).json() == {"status": "set", "level": 1}
