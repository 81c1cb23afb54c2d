"""An operator makes a tenant's targets, chooses their events, sees a secret once, and switches them off and on."""

import re
from typing import Any

import httpx
import pytest

from tenants.people.encryption import decrypt
from tests.approvals.admin import Admin, operator
from tests.database import rows
from tests.notifications.receiver import APPROVALS
from tests.people import Cast
from tests.stack import Stack

PAGE = "/admin/notifications/notificationtarget/"
URL = "https://hooks.example/a"
SLACK_URL = "https://hooks.slack.com/services/T0/B0/very-secret-token"
RUNS = [f"run.{status}" for status in ("cancelled", "completed", "failed", "incomplete", "requires_action")]


def targets(tenant: Cast) -> list[dict[str, Any]]:
    return rows("SELECT * FROM notification_targets WHERE tenant_id = %(t)s ORDER BY created_at", t=tenant.id)


@pytest.fixture
def admin(stack: Stack, tenant: Cast) -> Admin:
    operator(tenant.olga)
    return Admin(stack, tenant.olga)


def add(admin: Admin, tenant: Cast, channel: str, destination: str, **more: Any) -> httpx.Response:
    form = {"tenant": str(tenant.id), "channel": channel, "destination": destination, "enabled": "on"}
    return admin.post(f"{PAGE}add/", form | {"events": APPROVALS} | more)


def test_a_new_target_is_offered_every_channel_and_event_with_approvals_chosen(admin: Admin) -> None:
    page = admin.get(f"{PAGE}add/").text
    channels = re.search(r'<select name="channel".*?</select>', page, re.DOTALL)
    assert channels is not None
    assert re.findall(r'<option value="(\w+)"', channels[0]) == ["email", "webhook", "slack"]
    boxes = {
        re.search(r'value="([\w.]+)"', box)[1]: "checked" in box  # type: ignore[index]
        for box in re.findall(r'<input type="checkbox" name="events"[^>]*>', page)
    }
    assert boxes == dict.fromkeys(sorted(APPROVALS), True) | dict.fromkeys(["question.asked", *RUNS], False)


def test_the_secret_of_a_webhook_is_shown_once_and_stored_encrypted(admin: Admin, tenant: Cast) -> None:
    answer = add(admin, tenant, "webhook", URL, name="CRM")
    [secret] = re.findall(r"data-secret>(whsec_[A-Za-z0-9+/=]+)<", answer.text)
    assert "no-store" in answer.headers["cache-control"]
    [target] = targets(tenant)
    assert (target["channel"], target["name"], target["destination"]) == ("webhook", "CRM", URL)
    assert (sorted(target["events"]), target["enabled"]) == (sorted(APPROVALS), True)
    assert secret not in target["secret"]
    assert decrypt(target["secret"]) == secret
    for path in (PAGE, f"{PAGE}{target['id']}/change/"):
        page = admin.get(path)
        assert (page.status_code, secret in page.text, target["secret"] in page.text) == (200, False, False)
        assert URL in page.text


def test_the_url_of_a_slack_channel_is_never_shown(admin: Admin, tenant: Cast) -> None:
    answer = add(admin, tenant, "slack", SLACK_URL, events=["run.completed"])
    [target] = targets(tenant)
    assert (target["destination"], target["events"]) == ("hooks.slack.com", ["run.completed"])
    assert decrypt(target["secret"]) == SLACK_URL
    refused = add(admin, tenant, "slack", SLACK_URL, events=[])
    pages = [answer, refused, admin.get(PAGE), admin.get(f"{PAGE}{target['id']}/change/")]
    pages.append(admin.get(f"{PAGE}{target['id']}/history/"))
    for page in pages:
        assert page.status_code == 200
        assert "very-secret-token" not in page.text
        assert target["secret"] not in page.text
    assert len(targets(tenant)) == 1


@pytest.mark.parametrize(
    ("channel", "destination"),
    [
        ("webhook", "http://127.0.0.1/"),
        ("webhook", "http://0x7f.1/"),
        ("webhook", "ftp://a.example/"),
        ("webhook", "https://u:p@a.example/"),
        ("slack", "http://169.254.169.254/services/x"),
        ("slack", "https://hooks.slack.com/"),
        ("email", "everybody"),
        ("email", "a@b.example, c@d.example"),
        ("email", "a@b.example\nBcc: c@d.example"),
        ("email", f"{'a' * 250}@b.example"),
        ("email", ""),
        ("pigeon", "loft 4"),
        ("", URL),
    ],
)
def test_a_destination_that_its_channel_cannot_reach_makes_no_target(
    admin: Admin, tenant: Cast, channel: str, destination: str
) -> None:
    answer = add(admin, tenant, channel, destination)
    assert (answer.status_code, "data-secret" in answer.text) == (200, False)
    assert targets(tenant) == []


@pytest.mark.parametrize("events", [[], ["approval.requested", "approval.forgotten"], ["*"]])
def test_events_that_do_not_exist_make_no_target(admin: Admin, tenant: Cast, events: list[str]) -> None:
    answer = add(admin, tenant, "webhook", URL, events=events)
    assert (answer.status_code, "data-secret" in answer.text) == (200, False)
    assert targets(tenant) == []


@pytest.mark.parametrize("destination", ["deciders", "requester", "team@example.com"])
def test_email_goes_to_a_group_or_an_address_once(admin: Admin, tenant: Cast, destination: str) -> None:
    add(admin, tenant, "email", destination)
    [target] = targets(tenant)
    assert (target["destination"], target["secret"]) == (destination, "")
    again = add(admin, tenant, "email", destination)
    assert "change that one" in again.text
    assert len(targets(tenant)) == 1


def test_a_target_is_switched_off_and_on_and_gets_other_events_and_nothing_else_changes(
    admin: Admin, tenant: Cast
) -> None:
    add(admin, tenant, "webhook", URL)
    [before] = targets(tenant)
    path = f"{PAGE}{before['id']}/change/"
    admin.post(path, {"destination": "https://other.example/", "channel": "slack", "events": before["events"]})
    assert targets(tenant) == [{**before, "enabled": False}]
    admin.post(path, {"enabled": "on", "name": "", "events": ["run.failed"]})
    assert targets(tenant) == [{**before, "events": ["run.failed"]}]
    assert admin.get(f"{PAGE}{before['id']}/delete/").status_code == 403


def test_what_became_of_notifications_is_listed_and_cannot_be_changed(admin: Admin) -> None:
    assert admin.get("/admin/notifications/notification/").status_code == 200
    assert admin.get("/admin/notifications/notification/add/").status_code == 403
