"""Targets as owners manage them, over REST and on `/settings/notifications/`."""

import re
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from notifications import targets
from notifications.models import NotificationTarget
from tenants.models import User
from tenants.people.encryption import decrypt, encrypt
from tenants.scope.routing import on_login
from tests.database import rows
from tests.members.test_members_api import ask
from tests.notifications.receiver import APPROVALS, Receiver
from tests.pages.browsing import signed_in
from tests.people import Cast

PATH = "/api/v1/notification-targets/"
PAGE = "/settings/notifications/"
SLACK = "https://hooks.slack.com/services/T0/B0/very-secret-token"


def stored(tenant: Cast) -> list[dict[str, Any]]:
    return rows("SELECT * FROM notification_targets WHERE tenant_id = %(t)s ORDER BY created_at", t=tenant.id)


def wanted(channel: str = "webhook", destination: str = "https://hooks.example/a", **more: Any) -> dict[str, Any]:
    return {"channel": channel, "destination": destination, "events": ["approval.requested"]} | more


def test_a_webhooks_secret_is_in_the_first_answer_alone(tenant: Cast) -> None:
    answer = ask(tenant.olga, "POST", PATH, wanted(name="CRM"))
    made = answer.json()
    assert (answer.status_code, answer["Cache-Control"], made["secret"][:6]) == (201, "no-store", "whsec_")
    [row] = stored(tenant)
    assert decrypt(row["secret"]) == made["secret"]
    [listed] = ask(tenant.olga, "GET", PATH).json()["results"]
    assert listed == {key: value for key, value in made.items() if key != "secret"}
    said = rows("SELECT c::text AS whole FROM setting_changes c WHERE tenant_id = %(t)s", t=tenant.id)
    assert len(said) == 1
    assert made["secret"] not in str(said) and "hooks.example" not in str(said)


def test_what_was_typed_for_slack_is_never_shown_again(tenant: Cast) -> None:
    answer = ask(tenant.olga, "POST", PATH, wanted("slack", SLACK))
    assert (answer.status_code, answer.json()["secret"], answer.json()["destination"]) == (201, None, "hooks.slack.com")
    assert "very-secret" not in answer.content.decode() + ask(tenant.olga, "GET", PATH).content.decode()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (wanted(channel="pigeon"), "channel"),
        (wanted(destination="http://169.254.169.254/latest"), "destination"),
        (wanted(destination="http://user:password@hooks.example/"), "destination"),
        (wanted(destination="file:///etc/passwd"), "destination"),
        (wanted("slack", "https://hooks.slack.com/"), "destination"),
        (wanted("email", "stranger@example.com"), "destination"),
        (wanted("email", "nothing"), "destination"),
        (wanted(events=[]), "events"),
        (wanted(events=["approval.forgotten"]), "events"),
    ],
    ids=range(9),
)
def test_a_target_that_is_not_possible_is_refused_with_what_is_wrong(tenant: Cast, body: Any, field: str) -> None:
    answer = ask(tenant.olga, "POST", PATH, body)
    assert (answer.status_code, answer.json()["code"], answer.json()["field"]) == (400, "invalid_target", field)
    assert stored(tenant) == []


def test_mail_goes_to_members_and_once_to_each_destination(tenant: Cast) -> None:
    with on_login("operator"):
        User.objects.filter(pk=tenant.carol.principal.user_id).update(email=f"carol@{tenant.slug}.example")
    assert ask(tenant.olga, "POST", PATH, wanted("email", "deciders")).status_code == 201
    assert ask(tenant.olga, "POST", PATH, wanted("email", f"Carol@{tenant.slug}.example")).status_code == 201
    again = ask(tenant.olga, "POST", PATH, wanted("email", "DECIDERS"))
    assert (again.status_code, again.json()["code"]) == (409, "target_taken")
    assert len(stored(tenant)) == 2


def test_a_target_is_changed_and_switched_off_and_never_another_tenants(tenant: Cast, other_tenant: Cast) -> None:
    made = ask(tenant.olga, "POST", PATH, wanted()).json()
    path = f"{PATH}{made['id']}/"
    change = {"enabled": False, "events": ["run.failed"], "name": "x"}
    for method, at in (("GET", path), ("PATCH", path), ("POST", f"{path}test/")):
        assert ask(other_tenant.olga, method, at, change).status_code == 404
    changed = ask(tenant.olga, "PATCH", path, change).json()
    assert (changed["enabled"], changed["events"], changed["name"]) == (False, ["run.failed"], "x")
    assert ask(tenant.olga, "PATCH", path, {"events": ["nothing"]}).status_code == 400
    assert ask(tenant.olga, "PATCH", path, {"name": "a\nb"}).status_code == 400
    [row] = stored(tenant)
    assert (row["enabled"], row["events"], row["destination"]) == (False, ["run.failed"], "https://hooks.example/a")
    recorded = rows(
        "SELECT action FROM setting_changes WHERE tenant_id = %(t)s AND target = 'notification_target' ORDER BY id",
        t=tenant.id,
    )
    assert [each["action"] for each in recorded] == ["created", "changed"]


def test_one_that_was_switched_off_by_itself_goes_on_without_its_reason(tenant: Cast) -> None:
    made = ask(tenant.olga, "POST", PATH, wanted()).json()
    with on_login("operator"):
        NotificationTarget.objects.filter(pk=made["id"]).update(enabled=False, disabled_because="It answered 410.")
    changed = ask(tenant.olga, "PATCH", f"{PATH}{made['id']}/", {"enabled": True}).json()
    assert (changed["enabled"], changed["disabled_because"]) == (True, "")


async def test_a_test_says_whether_it_arrived(receiver: Receiver, tenant: Cast) -> None:
    def make() -> NotificationTarget:
        with on_login("operator"):
            return NotificationTarget.objects.create(
                tenant_id=tenant.id, channel="webhook", destination=receiver.url,
                secret=encrypt(receiver.secret), events=APPROVALS,
            )  # fmt: skip

    row = await sync_to_async(make)()
    assert await targets.try_out(tenant.olga.principal, row.pk) == ""
    [message] = receiver.messages
    assert (message["type"], message["data"]["user"]["username"]) == ("notification.test", tenant.olga.username)
    receiver.answers = [500, 410]
    assert await targets.try_out(tenant.olga.principal, row.pk) == "The endpoint answered HTTP 500."
    assert "410" in await targets.try_out(tenant.olga.principal, row.pk)
    # A test switches nothing off.
    assert (stored(tenant)[0]["enabled"], receiver.forged) == (True, 0)


def test_a_test_reaches_no_private_address(tenant: Cast) -> None:
    with on_login("operator"):
        row = NotificationTarget.objects.create(
            tenant_id=tenant.id, channel="webhook", destination="http://localhost:1/", events=APPROVALS,
            secret=encrypt("whsec_AAAA"),
        )  # fmt: skip
    browser = signed_in(tenant.olga)
    assert browser.post(f"{PAGE}{row.pk}/test/")["Location"] == PAGE
    assert "The test did not arrive" in browser.get(PAGE).content.decode()


def test_an_owner_does_it_on_the_page(tenant: Cast) -> None:
    browser = signed_in(tenant.olga)
    form = {"channel": "webhook", "destination": "https://hooks.example/b", "name": "Desk", "events": ["run.failed"]}
    page = browser.post(PAGE, form).content.decode()
    [secret] = re.findall(r"(whsec_[A-Za-z0-9+/=]+)<", page)
    again = browser.get(PAGE).content.decode()
    assert "Desk" in again and secret not in again
    [row] = stored(tenant)
    path = f"{PAGE}{row['id']}/"
    assert browser.post(path, {"events": ["run.completed"]})["Location"] == PAGE
    assert (stored(tenant)[0]["events"], stored(tenant)[0]["enabled"]) == (["run.completed"], False)
    assert browser.post(path, {"enabled": "on"}).status_code == 400
    for wrong in ({"destination": "nothing"}, {"events": []}, {"channel": "pigeon"}, {"name": "a\x00b"}):
        assert browser.post(PAGE, form | wrong).status_code == 400
    assert len(stored(tenant)) == 1
