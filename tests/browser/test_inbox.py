"""The inbox, what was sent, reminders and destinations, in a real browser."""

import asyncio

import pytest
from playwright.async_api import expect

from tests.browser.driving import DESK, PHONE, Visit, sticking_out
from tests.browser.test_axe import looked_at
from tests.inbox.inbox import tell
from tests.inbox.messages import make, verified
from tests.notifications.outbox import owner
from tests.people import PASSWORD, Cast, make_tenant
from tests.stack import Stack

LONG = "A long line without an end " + "x" * 150
PAGES = ("/inbox/", "/inbox/?unread=1", "/inbox/sent/", "/inbox/reminders/", "/settings/destinations/")


@pytest.fixture
def people() -> Cast:
    """A tenant whose people have passwords."""
    return make_tenant(PASSWORD)


async def test_an_open_page_counts_what_a_chat_elsewhere_puts_into_the_inbox(
    visit: Visit, people: Cast, stack: Stack
) -> None:
    page = await visit("/tasks/", people.alice)
    link = page.locator("#inbox-link")
    await expect(link).to_have_attribute("aria-label", "Inbox")
    await asyncio.to_thread(stack.chat, people.alice, "message me: the report is done")
    await expect(link).to_have_attribute("aria-label", "Inbox, 1 unread")
    await link.click()
    await expect(page.get_by_role("heading", name="the report is done")).to_be_visible()
    await page.get_by_role("button", name="Mark as read").click()
    await expect(link).to_have_attribute("aria-label", "Inbox")
    await page.get_by_role("link", name="Reminders").click()
    await page.get_by_text("New reminder").click()
    await page.get_by_label("What to remind of").fill("Call Bob")
    await page.get_by_label("When, such as").fill("2001-01-01T10:00")
    await page.get_by_role("button", name="Remind me").click()
    await expect(page.get_by_text('"at" is in the past')).to_be_visible()
    await page.get_by_label("When, such as").fill("2030-01-01T10:00")
    await page.get_by_role("button", name="Remind me").click()
    await expect(page.get_by_role("heading", name="Call Bob")).to_be_visible()


@pytest.mark.parametrize("size", [PHONE, DESK])
async def test_nothing_is_in_the_way_on_the_pages_of_messages(
    visit: Visit, people: Cast, stack: Stack, size: tuple[int, int]
) -> None:
    await tell(people.alice, "Reminder: Call Bob", kind="reminder", path="/inbox/reminders/")
    await tell(people.alice, LONG, text=f"{LONG}\n{LONG}")
    await verified(people.alice, "My mail", "email", "alice@example.com", reminders=True)
    await asyncio.to_thread(make, people.alice, "System", "webhook", f"https://hooks.example/{'x' * 200}")
    for line in ("message My mail saying hello", "remind me in 3 days to stretch"):
        await asyncio.to_thread(stack.chat, people.alice, line)
    owner("UPDATE sent_messages SET problem = %s WHERE tenant_id = %s", LONG, people.id)
    page = await visit("/inbox/", people.alice, size=size)
    wrong: dict[str, list[str]] = {}
    for path in PAGES:
        await page.goto(path)
        for summary in await page.locator("details.card > summary, article details > summary").all():
            await summary.click()
        wrong |= await looked_at(page, path)
        assert await sticking_out(page) == [], path
    await page.goto("/settings/destinations/verify/no-such-token/")
    wrong |= await looked_at(page, "a link that verifies nothing")
    await page.goto("/settings/destinations/")
    await page.get_by_label("Name, which models call it by").fill("Ours")
    await page.get_by_label("Channel").select_option("webhook")
    await page.get_by_label("Where it leads").fill("https://hooks.example/ours")
    await page.get_by_role("button", name="Make destination").click()
    await expect(page.get_by_role("heading", name="Ours is made")).to_be_visible()
    assert (await page.locator(".made .sheet").inner_text()).startswith("whsec_")
    wrong |= await looked_at(page, "a new destination")
    assert await sticking_out(page) == []
    assert wrong == {}
