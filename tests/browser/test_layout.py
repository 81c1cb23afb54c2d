"""Every page on the narrowest phone and in the dark: nothing wider than the window."""

import asyncio

import pytest
from playwright.async_api import expect

from tests.browser.driving import PHONE, Visit, send, sticking_out
from tests.people import Cast
from tests.stack import Stack

LONG = "x" * 300


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_no_page_scrolls_sideways_on_a_phone(visit: Visit, tenant: Cast, stack: Stack, scheme: str) -> None:
    content = f'call: save_note {{"title": "{LONG}", "content": "{LONG}"}}\ncall: {LONG[:60]} {{"a": "{LONG}"}}'
    answer = await asyncio.to_thread(stack.chat, tenant.alice, content)
    body = answer.json()
    assert body["tool_calls"]
    paths = ["/", f"/?c={body['conversation_id']}", "/history/", "/history/charts/", "/nowhere/"]
    paths += [f"/history/{call['id']}/" for call in body["tool_calls"]]
    page = await visit("/", tenant.alice, size=PHONE, scheme=scheme)
    wide = {}
    for path in paths:
        await page.goto(path)
        for number, card in enumerate(await page.locator("details.call > summary").all(), 1):
            await card.click()
            if path == "/history/":
                await expect(page.locator("details.call[data-loaded]")).to_have_count(number)
        if found := await sticking_out(page):
            wide[path] = found
    assert wide == {}


async def test_the_conversations_are_a_drawer_on_a_phone(visit: Visit, tenant: Cast) -> None:
    page = await visit("/", tenant.alice, size=PHONE)
    await send(page, "hello")
    entry = page.locator("#conversations a")
    await expect(entry).to_be_hidden()
    await page.get_by_role("button", name="Conversations").click()
    await expect(entry).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(entry).to_be_hidden()
    await expect(page.get_by_role("button", name="Conversations")).to_be_focused()


async def test_the_log_in_page_fits_a_phone(visit: Visit) -> None:
    page = await visit("/accounts/login/", None, size=PHONE)
    assert await sticking_out(page) == []
    await expect(page.get_by_role("button", name="Log in")).to_be_in_viewport()
