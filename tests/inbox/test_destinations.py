"""Destinations: made by their person, verified once by what they are, and known to rights as soon as they are."""

import asyncio
import json
import re
import uuid
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest
from aiohttp import web

from approvals.requests import callers_rights
from approvals.requests.callers_rights import NO_AGENT
from notifications.destinations import changes, verifying
from notifications.destinations.errors import AskedTooOften, NotVerified
from notifications.models import Destination
from tenants.people.changes import acting
from tenants.people.encryption import decrypt
from tenants.scope import transactions
from tenants.scope.transactions import transaction
from tests.database import rows
from tests.inbox.inbox import ask, streamed
from tests.inbox.messages import make, slack_of
from tests.notifications.outbox import owner
from tests.notifications.receiver import Receiver
from tests.pages.browsing import confirmed, signed_in
from tests.people import PASSWORD, Cast, Person, make_tenant
from tests.smtp import MailServer


async def _known(who: Person) -> frozenset[str] | None:
    """What the person's rights know of their destinations."""
    async with transaction(who.scope) as connection:
        return (await callers_rights.load(connection, who.scope.user_id, NO_AGENT)).policy.facts.destinations


def _version(cast: Cast) -> Any:
    return rows("SELECT version FROM rights_versions WHERE tenant_id = %(t)s", t=cast.id)


def _answering(make_body: Callable[[str], bytes]) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(body=make_body((await request.json())["data"]["challenge"]))

    return answer


async def test_an_address_is_verified_by_its_link_once_and_by_its_person(tenant: Cast, mail: MailServer) -> None:
    row = await asyncio.to_thread(make, tenant.alice, "My mail", "email", "alice@example.com")
    before = await asyncio.to_thread(_version, tenant)
    asked = await verifying.ask(tenant.alice.principal, row.id)
    assert asked.verified_at is None and await _known(tenant.alice) == frozenset()
    [received] = mail.received
    [token] = re.findall(r"/settings/destinations/verify/([\w-]{40,})/", received.message.get_content())
    [stored] = rows("SELECT * FROM destinations WHERE id = %(id)s", id=row.id)
    assert token not in json.dumps(stored, default=str)

    def walk() -> None:
        link = f"/settings/destinations/verify/{token}/"
        for who in (tenant.bob, tenant.olga):
            assert signed_in(who).post(link).status_code == 404
        page = signed_in(tenant.alice)
        shown = page.get(link)
        assert shown.status_code == 200 and shown["Referrer-Policy"] == "no-referrer"
        assert rows("SELECT verified_at FROM destinations WHERE id = %(id)s", id=row.id) == [{"verified_at": None}]
        assert page.post(link).status_code == 302
        assert page.post(link).status_code == page.get(link).status_code == 404

    await asyncio.to_thread(walk)
    assert await _known(tenant.alice) == {"my mail", "alice@example.com"}
    assert await _known(tenant.bob) == frozenset()
    assert await asyncio.to_thread(_version, tenant) != before


async def test_a_link_that_is_too_old_verifies_nothing(tenant: Cast, mail: MailServer) -> None:
    row = await asyncio.to_thread(make, tenant.alice, "My mail", "email", "alice@example.com")
    await verifying.ask(tenant.alice.principal, row.id)
    [token] = re.findall(r"/verify/([\w-]{40,})/", mail.received[0].message.get_content())
    owner("UPDATE destinations SET asked_at = asked_at - %s WHERE id = %s", timedelta(days=1), row.id)
    answer = await asyncio.to_thread(lambda: signed_in(tenant.alice).post(f"/settings/destinations/verify/{token}/"))
    assert answer.status_code == 404 and "older than a day" in answer.content.decode()
    assert await _known(tenant.alice) == frozenset()


async def test_slack_is_verified_by_a_test_message(tenant: Cast, receiver: Receiver) -> None:
    row = await asyncio.to_thread(make, tenant.alice, "Team room", "slack", slack_of(receiver))
    receiver.answers = [404]
    with pytest.raises(NotVerified, match="Slack answered HTTP 404"):
        await verifying.ask(tenant.alice.principal, row.id)
    assert await _known(tenant.alice) == frozenset()
    owner("UPDATE destinations SET asked_at = NULL WHERE id = %s", row.id)
    asked = await verifying.ask(tenant.alice.principal, row.id)
    assert asked.verified_at is not None and await _known(tenant.alice) == {"team room"}
    assert f"{tenant.alice.username} has chosen this channel" in receiver.unsigned[-1][1]["text"]


@pytest.mark.parametrize(
    ("body", "proved"),
    [
        (lambda challenge: json.dumps({"challenge": challenge}).encode(), True),
        (lambda challenge: challenge.encode() + b"\n", True),
        (lambda challenge: b"", False),
        (lambda challenge: json.dumps({"challenge": challenge[:-1]}).encode(), False),
        (lambda challenge: b'{"challenge": 7}', False),
        (lambda challenge: b"\xff\xfe", False),
    ],
    ids=["json", "text", "empty", "another", "number", "garbage"],
)
async def test_a_webhook_is_verified_by_the_challenge_that_it_answers(
    tenant: Cast, receiver: Receiver, body: Callable[[str], bytes], proved: bool
) -> None:
    row = await asyncio.to_thread(make, tenant.alice, "Hook", "webhook", receiver.url)
    receiver.secret = decrypt(row.secret)
    receiver.answers = [_answering(body)]
    if proved:
        assert (await verifying.ask(tenant.alice.principal, row.id)).verified_at is not None
    else:
        with pytest.raises(NotVerified, match="did not answer with the challenge"):
            await verifying.ask(tenant.alice.principal, row.id)
    assert await _known(tenant.alice) == ({"hook"} if proved else frozenset())
    assert receiver.messages[0]["type"] == "destination.challenge"


async def test_a_destination_is_not_asked_again_and_again(tenant: Cast, mail: MailServer) -> None:
    first = await asyncio.to_thread(make, tenant.alice, "One", "email", "alice@example.com")
    await verifying.ask(tenant.alice.principal, first.id)
    with pytest.raises(AskedTooOften) as refused:
        await verifying.ask(tenant.alice.principal, first.id)
    assert refused.value.headers == {"Retry-After": "60"} and len(mail.received) == 1

    def one_more(number: int) -> Destination:
        row = make(tenant.alice, f"More {number}", "email", "victim@example.com")
        owner("UPDATE destinations SET asked_at = now() - interval '2 minutes' WHERE id = %s", row.id)
        with transactions.scope(*tenant.alice.scope), acting(tenant.alice.scope.user_id, "page"):
            changes.remove(tenant.alice.principal, row.id)
        return row

    for number in range(verifying.MOST_AN_HOUR - 1):
        await asyncio.to_thread(one_more, number)
    last = await asyncio.to_thread(make, tenant.alice, "Last", "email", "victim@example.com")
    with pytest.raises(AskedTooOften, match="in an hour"):
        await verifying.ask(tenant.alice.principal, last.id)
    assert len(mail.received) == 1


async def test_what_is_removed_while_it_is_asked_is_not_verified(tenant: Cast, receiver: Receiver) -> None:
    row = await asyncio.to_thread(make, tenant.alice, "Hook", "webhook", receiver.url)
    receiver.secret = decrypt(row.secret)

    def remove() -> None:
        with transactions.scope(*tenant.alice.scope), acting(tenant.alice.scope.user_id, "page"):
            changes.remove(tenant.alice.principal, row.id)

    async def answer(request: web.Request) -> web.StreamResponse:
        challenge = (await request.json())["data"]["challenge"]
        await asyncio.to_thread(remove)
        return web.json_response({"challenge": challenge})

    receiver.answers = [answer]
    with pytest.raises(verifying.NoSuchDestination):
        await verifying.ask(tenant.alice.principal, row.id)
    [stored] = rows("SELECT verified_at, secret FROM destinations WHERE id = %(id)s", id=row.id)
    assert stored == {"verified_at": None, "secret": ""}
    assert await _known(tenant.alice) == frozenset()


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"name": "Inbox"}, "name"),
        ({"name": "bob@example.com"}, "name"),
        ({"name": "a\u202eb"}, "name"),
        ({"name": "x" * 65}, "name"),
        ({"channel": "pigeon"}, "channel"),
        ({"destination": "http://169.254.169.254/latest"}, "destination"),
        ({"destination": "file:///etc/passwd"}, "destination"),
        ({"channel": "email", "destination": "deciders"}, "destination"),
        ({"channel": "email", "destination": "not an address"}, "destination"),
    ],
    ids=["inbox", "address", "bidi", "long", "channel", "metadata", "file", "group", "no-address"],
)
def test_what_is_no_destination_is_refused_in_its_field(tenant: Cast, given: dict[str, str], field: str) -> None:
    wanted = {"name": "Hook", "channel": "webhook", "destination": "https://hooks.example.com/x"} | given
    refused = ask(tenant.alice, "POST", "destinations/", wanted)
    assert refused.status_code == 400 and refused.json()["code"] == "invalid_destination", refused.content
    assert refused.json()["field"] == field
    assert rows("SELECT id FROM destinations WHERE tenant_id = %(t)s", t=tenant.id) == []


def test_destinations_are_made_changed_and_removed_over_rest_and_on_record(tenant: Cast) -> None:
    wanted = {"name": "Hook", "channel": "webhook", "destination": "https://hooks.example.com/x"}
    made = ask(tenant.alice, "POST", "destinations/", wanted)
    assert made.status_code == 201 and made.json()["secret"].startswith("whsec_")
    assert made["Cache-Control"] == "no-store" and made.json()["verified_at"] is None
    path = f"destinations/{made.json()['id']}/"
    assert "secret" not in ask(tenant.alice, "GET", path).json()
    taken = ask(tenant.alice, "POST", "destinations/", wanted | {"name": "HOOK"})
    assert (taken.status_code, taken.json()["code"]) == (409, "destination_taken")
    changed = ask(tenant.alice, "PATCH", path, {"name": "Hook 2", "reminders": True}).json()
    assert (changed["name"], changed["reminders"]) == ("Hook 2", True)
    for who in (tenant.bob, tenant.olga):
        assert ask(who, "GET", "destinations/").json()["results"] == []
        for method, tail in (("GET", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "verify/")):
            assert ask(who, method, path + tail, {}).status_code == 404
    lines = streamed(signed_in(tenant.alice), "/inbox/export.jsonl")
    assert [json.loads(line)["kind"] for line in lines] == ["destination"]
    assert b"whsec_" not in b"".join(lines)
    assert ask(tenant.alice, "DELETE", path).status_code == 204
    assert ask(tenant.alice, "GET", path).status_code == 404
    recorded = ask(tenant.olga, "GET", "changes/?target=destination")
    assert [each["action"] for each in recorded.json()["results"]] == ["changed", "changed", "created"]
    assert "hooks.example.com" not in recorded.content.decode()


def test_the_page_asks_who_one_is_before_it_makes_a_destination() -> None:
    tenant = make_tenant(PASSWORD)
    path = "/settings/destinations/"
    page = signed_in(tenant.alice, seconds_ago=3600)
    wanted = {"name": "<i>Team</i>", "channel": "slack", "destination": "https://hooks.slack.com/services/secret"}
    asked = page.post(path, wanted | {"name": "Team & co"})
    assert asked.status_code == 403 and "Confirm that it is you" in asked.content.decode()
    assert rows("SELECT id FROM destinations WHERE tenant_id = %(t)s", t=tenant.id) == []
    made = confirmed(page, asked, path)
    text = made.content.decode()
    assert made.status_code == 200 and "Team &amp; co is made" in text and "services/secret" not in text
    wrong = page.post(path, wanted)
    assert wrong.status_code == 400 and "&lt;i&gt;Team" in wrong.content.decode()
    [row] = rows("SELECT id, secret FROM destinations WHERE tenant_id = %(t)s", t=tenant.id)
    assert "services" not in row["secret"]
    assert page.post(f"{path}{row['id']}/", {"name": "Team", "reminders": "on"}).status_code == 302
    assert "gets reminders" in page.get(path).content.decode()
    assert page.post(f"{path}{row['id']}/remove/").status_code == 302
    assert page.post(f"{path}{uuid.uuid4()}/remove/").status_code == 404
    assert "No destinations yet" in page.get(path).content.decode()
