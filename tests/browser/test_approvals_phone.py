"""An approver with a phone: from the mail to a decision, and what the first screen shows."""

import asyncio
import json
import re
import uuid

import pytest
from django.test import override_settings
from playwright.async_api import Locator, Page, expect

from notifications import delivery
from tests.approvals.api import assert_untouched, decide, decision_rows, request_row
from tests.approvals.requests import held
from tests.browser.driving import DESK, Visit, sticking_out
from tests.notifications.outbox import address, happen
from tests.people import PASSWORD, Cast, make_tenant
from tests.smtp import MailServer
from tests.stack import Stack

PHONE = (390, 844)
MAIL = {"to": "supplier@example.com", "subject": "Order 4711", "body": "Dear Ms Novak,\n\nplease send 200 units."}
LONG = {"to": "boss@example.com", "subject": "x" * 900, "body": "many words " * 3000 + "THE END"}


async def in_sight(page: Page, what: Locator) -> bool:
    """Whether it is on the screen without scrolling, and nothing lies over it."""
    return bool(
        await what.evaluate(
            """each => {
              const { left, right, top, bottom } = each.getBoundingClientRect();
              const at = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
              return top >= 0 && bottom <= innerHeight && left >= 0 && right <= innerWidth && each.contains(at);
            }"""
        )
    )


@pytest.mark.parametrize("size", [PHONE, (360, 740), DESK])
@pytest.mark.parametrize("arguments", [MAIL, LONG], ids=["short", "long"])
@pytest.mark.parametrize("path", ["/approvals/", "/approvals/{id}/"])
async def test_the_first_screen_has_the_arguments_and_the_buttons_that_decide(
    visit: Visit, tenant: Cast, size: tuple[int, int], arguments: dict[str, str], path: str
) -> None:
    request = held(tenant.alice, "send_email", input=arguments)
    held(tenant.bob)
    page = await visit(path.format(id=request), tenant.carol, size=size)
    card = page.locator(f"#request-{request}")
    assert await page.evaluate("scrollY") == 0
    for name in ("Approve", "Deny"):
        assert await in_sight(page, card.get_by_role("button", name=name, exact=True))
    assert await in_sight(page, card.locator("dd > .value").first)
    assert await in_sight(page, card.get_by_role("heading", level=2))
    assert await sticking_out(page) == []
    await card.get_by_role("button", name="Approve", exact=True).click()
    await expect(card.locator(".pill")).to_have_text("Approved by you")
    assert request_row(request)["status"] == "approved"


async def test_the_buttons_come_only_after_the_beginning_of_their_own_arguments(visit: Visit, tenant: Cast) -> None:
    first = held(tenant.alice, "send_email", input=LONG)
    second = held(tenant.bob, "send_email", input=MAIL)
    page = await visit("/approvals/", tenant.carol, size=PHONE)
    # Wherever somebody stops, a button that decides has its request's name and first argument above it, not far away.
    height = await page.evaluate("document.documentElement.scrollHeight")
    seen = set()
    for top in range(0, height, 60):
        await page.evaluate("top => scrollTo(0, top)", top)
        for request in (first, second):
            card = page.locator(f"#request-{request}")
            if not await in_sight(page, card.get_by_role("button", name="Approve", exact=True)):
                continue
            seen.add(request)
            button, argument = [
                await card.locator(each).first.evaluate("each => each.getBoundingClientRect().top")
                for each in ("[value=approve]", "dd > .value")
            ]
            assert argument < button, f"at {top}"
    assert seen == {first, second}


@pytest.mark.parametrize(("path", "person"), [("/approvals/", "carol"), ("/history/", "dana")])
async def test_the_filters_are_folded_on_a_phone_and_count_what_they_narrow(
    visit: Visit, tenant: Cast, stack: Stack, path: str, person: str
) -> None:
    await asyncio.to_thread(stack.chat, tenant.alice, "call: list_tasks {}")
    held(tenant.alice)
    page = await visit(path, getattr(tenant, person), size=PHONE)
    fold, field = page.locator(".fold > summary"), page.get_by_label("Tool", exact=True)
    await expect(fold).to_have_text(re.compile("^Filters"))
    await expect(fold.locator(".badge")).to_be_hidden()
    await expect(field).to_be_hidden()
    await fold.focus()
    await page.keyboard.press("Enter")
    await expect(field).to_be_visible()
    assert await sticking_out(page) == []
    await field.select_option("list_tasks" if path == "/history/" else "save_note")
    if path == "/approvals/":
        await page.get_by_role("button", name="Filter", exact=True).click()
    await expect(fold.locator(".badge")).to_have_text("1 active")
    await expect(page).to_have_url(re.compile(r"[?&]tool=\w+"))
    await page.reload()
    await expect(fold.locator(".badge")).to_have_text("1 active")
    await expect(field).to_be_hidden()
    # A wide window shows them all the time.
    await page.set_viewport_size({"width": DESK[0], "height": DESK[1]})
    await expect(fold).to_be_hidden()
    await expect(field).to_be_visible()
    await expect(field).to_have_value("list_tasks" if path == "/history/" else "save_note")


async def test_the_link_in_the_mail_leads_through_the_log_in_to_the_request_and_its_buttons(
    visit: Visit, stack: Stack
) -> None:
    cast = await asyncio.to_thread(make_tenant, PASSWORD)
    address(cast.carol)
    other = await asyncio.to_thread(held, cast.bob)
    request = await happen(cast.alice)
    with MailServer() as mail, override_settings(**mail.settings, PUBLIC_URL="https://gate.example"):
        await delivery.deliver(cast.id)
    [received] = mail.received
    [link] = re.findall(r"https?://\S+", received.message.get_content())
    page = await visit(link.replace("https://gate.example", stack.url), None, size=PHONE)
    await page.get_by_label("Username").fill(cast.carol.username)
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Log in").click()
    await expect(page).to_have_url(f"{stack.url}/approvals/{request}/")
    await expect(page.locator(".request")).to_have_count(1)
    await expect(page.locator(".request")).to_contain_text("Two litres")
    await page.get_by_role("button", name="Deny").click()
    await expect(page.locator(".pill")).to_have_text("Denied by you")
    assert [request_row(each)["status"] for each in (request, other)] == ["denied", "pending"]


async def test_a_request_that_somebody_else_decides_meanwhile_changes_under_the_reader(
    visit: Visit, tenant: Cast, stack: Stack
) -> None:
    request = held(tenant.alice)
    page = await visit(f"/approvals/{request}/", tenant.carol, size=PHONE)
    await expect(page.get_by_role("button", name="Approve")).to_be_visible()
    await asyncio.to_thread(decide, stack, tenant.olga, request, "deny", reason="Too early.")
    await expect(page.locator(".pill")).to_have_text(f"Denied by {tenant.olga.username}")
    await expect(page.locator(".request")).to_contain_text("Too early.")
    assert await page.get_by_role("button", name="Approve").count() == 0


async def test_editing_on_a_phone_leaves_the_buttons_in_sight_and_nothing_decided(visit: Visit, tenant: Cast) -> None:
    request: uuid.UUID = held(tenant.alice, "send_email", input=MAIL)
    page = await visit(f"/approvals/{request}/", tenant.carol, size=PHONE)
    await page.get_by_text("Edit arguments").click()
    box = page.get_by_label("Arguments, as JSON")
    await expect(box).to_be_focused()
    await box.fill(json.dumps({**MAIL, "body": "please send 150 units."}))
    assert await in_sight(page, page.get_by_role("button", name="Approve"))
    assert_untouched(request)
    await page.get_by_role("button", name="Approve").click()
    await expect(page.locator(".pill")).to_have_text("Approved by you")
    assert [each["edit"] is not None for each in decision_rows(request)] == [True]
