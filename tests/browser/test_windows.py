"""Windows that tests have one after another: one that is not as new is given to nobody again."""

import asyncio
from contextlib import suppress

from playwright.async_api import Browser, Error

from tests.browser.driving import DESK
from tests.browser.windows import Windows
from tests.stack import Stack
from tests.waiting import PATIENCE_SECONDS


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


async def test_a_page_that_is_on_its_way_to_another_is_closed(browser: Browser, stack: Stack) -> None:
    context = await browser.new_context(base_url=stack.url)
    for _ in range(10):
        page = await context.new_page()
        await page.goto("/healthz")
        with suppress(Error):
            await page.evaluate("() => { location.reload(); return new Promise(() => {}); }")
        async with asyncio.timeout(PATIENCE_SECONDS):
            await page.close()


async def test_chromium_has_all_features_that_playwright_asks_for(browser: Browser) -> None:
    session = await browser.new_browser_cdp_session()
    command = (await session.send("SystemInfo.getInfo"))["commandLine"].split(" ")
    for flag in "--enable-features=", "--disable-features=":
        *others, last = [set(each.removeprefix(flag).split(",")) for each in command if each.startswith(flag)]
        assert last >= set().union(*others)


async def test_a_window_that_was_given_back_halfway_is_not_given_to_the_next_test(
    browser: Browser, stack: Stack
) -> None:
    windows = Windows(browser)
    context = await windows.take(stack.url, DESK, "light")
    await context.new_page()
    giving = asyncio.create_task(windows.give_back())
    await asyncio.sleep(0)
    giving.cancel()
    await asyncio.wait([giving])
    assert giving.cancelled() and windows.open() == set()
