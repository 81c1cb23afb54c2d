"""Windows that tests have one after another: one that is not as new is given to nobody again."""

import asyncio
from contextlib import suppress

from playwright.async_api import Browser, Error

from tests.browser.driving import DESK
from tests.browser.windows import Windows
from tests.stack import Stack


async def test_a_window_is_given_again_as_new_and_one_whose_page_crashed_is_closed(
    browser: Browser, stack: Stack
) -> None:
    windows = Windows(browser)
    first = await windows.take(stack.url, DESK, "light")
    await (await first.new_page()).goto("/healthz")
    await first.add_cookies([{"name": "a", "value": "b", "url": stack.url}])
    await windows.give_back()
    assert await windows.take(stack.url, DESK, "light") is first
    assert await first.cookies() == [] and len(first.pages) == 1
    page, crashed = await first.new_page(), asyncio.Event()
    page.on("crash", lambda _: crashed.set())
    with suppress(Error):
        await page.goto("chrome://crash")
    await crashed.wait()
    await windows.give_back()
    assert windows.open() == set() and first not in browser.contexts
