"""The runs that a chat's calls begin, as the person who asked sees them: on the chat page and in the timeline, live."""

import asyncio
from typing import Any

import pytest
from playwright.async_api import expect

from tests.approvals.api import decide
from tests.browser.driving import DESK, PHONE, Visit, send, sticking_out
from tests.browser.test_axe import looked_at
from tests.database import rows
from tests.gateway.runs.children.family import MAIL, subagent
from tests.people import Cast
from tests.stack import Stack

WORKERS = "\n".join((subagent("call: list_tasks {}"), subagent(MAIL)))


async def _decide(stack: Stack, tenant: Cast, verdict: str) -> None:
    [row] = rows("SELECT id FROM approval_requests WHERE tenant_id = %(t)s", t=tenant.id)
    answer = await asyncio.to_thread(decide, stack, tenant.carol, row["id"], verdict)
    assert answer.status_code == 200


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
async def test_a_card_says_what_its_run_does_and_the_chat_goes_on_once_that_is_over(
    visit: Visit, tenant: Cast, stack: Stack, size: Any
) -> None:
    page = await visit("/", tenant.alice, size=size)
    await page.get_by_label("Message", exact=True).fill(WORKERS)
    await page.get_by_role("button", name="Send").click()
    cards = page.locator("details.call")
    await expect(cards.locator(".pill")).to_have_text(["Done", "Waits for a human"])
    await expect(page.locator("#status")).to_have_text("Waiting for an approval")
    await expect(page.get_by_text("This answer waits for a human")).to_be_visible()
    await expect(page.locator("li.run")).to_have_attribute("aria-busy", "false")
    assert await sticking_out(page) == []
    # It is the same for who comes later.
    await page.reload()
    await expect(cards.locator(".pill")).to_have_text(["Done", "Waits for a human"])
    await expect(page.get_by_text("This answer waits for a human")).to_be_visible()
    await expect(page.locator("#status")).to_have_text("Waiting for an approval")
    await cards.nth(1).locator("summary").click()
    await expect(cards.nth(1).get_by_role("link", name="Its conversation")).to_be_visible()
    assert await sticking_out(page) == []
    wrong = await looked_at(page, "a chat whose call waits for its run")
    await _decide(stack, tenant, "approve")
    await expect(cards.locator(".pill")).to_have_text(["Done", "Done"])
    await expect(page.get_by_text("This answer waits for a human")).to_have_count(0)
    await expect(page.locator("#status")).to_have_text("")
    await expect(page.locator("li.run")).to_have_attribute("aria-busy", "false")
    assert wrong == {}


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
async def test_a_run_that_a_call_began_is_opened_in_the_chat_and_goes_on_before_ones_eyes(
    visit: Visit, tenant: Cast, stack: Stack, size: Any
) -> None:
    page = await visit("/", tenant.alice, size=size)
    await page.get_by_label("Message", exact=True).fill(WORKERS)
    await page.get_by_role("button", name="Send").click()
    card = page.locator("details.call").nth(1)
    await expect(card.locator(".pill")).to_have_text("Waits for a human")
    await card.locator("summary").click()
    await card.get_by_role("link", name="Its conversation").click()
    await expect(page.get_by_text("began this one.")).to_be_visible()
    mail = page.locator("details.call")
    await expect(mail.locator(".pill")).to_have_text(["Waiting for approval"])
    assert await sticking_out(page) == []
    wrong = await looked_at(page, "the conversation of a call's run")
    await _decide(stack, tenant, "approve")
    await expect(mail.locator(".pill")).to_have_text(["Done"])
    await expect(page.locator(".prose").last).to_contain_text("I sent the e-mail to bob@example.com")
    await page.get_by_role("link", name="another conversation").click()
    await expect(page.locator("details.call .pill")).to_have_text(["Done", "Done"])
    assert wrong == {}


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
async def test_the_timeline_of_a_run_shows_those_below_it_and_goes_on(
    visit: Visit, tenant: Cast, stack: Stack, size: Any
) -> None:
    body = (await asyncio.to_thread(stack.chat, tenant.alice, WORKERS)).json()
    page = await visit(f"/history/runs/{body['run_id']}/", tenant.alice, size=size)
    await expect(page.get_by_text("default: waits for a human")).to_be_visible()
    await expect(page.locator(".picture .call.below")).to_have_count(2)
    assert await sticking_out(page) == []
    wrong = await looked_at(page, "the timeline of a tree")
    await _decide(stack, tenant, "deny")
    await expect(page.locator(".timeline-head .pill")).to_have_text("Completed")
    await expect(page.get_by_text("default: completed")).to_have_count(2)
    assert wrong == {}


async def test_of_a_call_that_is_over_the_run_is_opened_by_its_timeline(
    visit: Visit, tenant: Cast, stack: Stack
) -> None:
    page = await visit("/", tenant.alice)
    await send(page, subagent("call: list_tasks {}"))
    await page.reload()
    card = page.locator("details.call")
    await card.locator("summary").click()
    await card.get_by_role("link", name="The run that it began").click()
    await expect(page.locator(".timeline-head .pill")).to_have_text("Completed")
    await page.get_by_role("link", name="Open it in the chat").click()
    await expect(page.get_by_text("began this one.")).to_be_visible()
    await expect(page.locator("details.call .pill")).to_have_text(["Done"])
