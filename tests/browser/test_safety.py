"""The page of safety, and the card of a call that would send private data away, as people see them."""

import asyncio
import os
from pathlib import Path

from playwright.async_api import Page, expect

from tests.browser.driving import DESK, Visit
from tests.browser.test_axe import PHONE, SIZES, Size, visited
from tests.people import Cast
from tests.stack import Stack
from tests.taint.test_chats import BOTH, chat

PAGE = "/settings/safety/"


@SIZES
async def test_nothing_is_in_the_way_on_the_page_of_safety_and_the_card(
    visit: Visit, tenant: Cast, stack: Stack, size: Size
) -> None:
    body, _ = await asyncio.to_thread(chat, stack, tenant.alice, *BOTH)
    assert body["status"] == "requires_action"
    page = await visit(PAGE, tenant.olga, size)
    wrong = await visited(page, PAGE, "/approvals/")
    read = page.locator("main .notice.read")
    await expect(read).to_contain_text("It would send something out of the tenant, and this session has read:")
    await expect(read.locator("dt, h4")).to_have_text(["Private data", "What strangers wrote"])
    await expect(read).to_contain_text("search_notes")
    await expect(read).to_contain_text("web_search")
    await _pictured(page, size)
    width = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert (wrong, width) == ({}, 0)


async def test_an_owner_chooses_what_becomes_of_such_calls_with_the_keyboard(visit: Visit, tenant: Cast) -> None:
    page = await visit(PAGE, tenant.olga, DESK)
    await page.get_by_label("Ask.").focus()
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("Deny: it holds from the next call on.")).to_be_visible()
    await expect(page.get_by_label("Deny.")).to_be_checked()


async def _pictured(page: Page, size: Size) -> None:
    """Pictures for people, where they ask for some."""
    if not (pictures := os.environ.get("TOOLGATE_PICTURES")):
        return
    for name, path in (("safety", PAGE), ("taint-card", "/approvals/")):
        await page.goto(path)
        for scheme in ("light", "dark"):
            await page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            file = f"{name}-{scheme}-{'phone' if size == PHONE else 'desk'}.png"
            await page.screenshot(path=Path(pictures) / file, full_page=True)
