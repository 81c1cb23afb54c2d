"""A headless Chromium in front of a running Toolgate; a page that breaks its own policy fails the test."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import pytest
from playwright.async_api import Browser, Page, async_playwright

from tests.browser.driving import DESK, PATIENCE_MS, Visit
from tests.stack import Stack

if TYPE_CHECKING:
    # Importing it needs settings, which are not there yet when this file is read.
    from tests.people import Person

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder drives a browser."""
    for item in items:
        if "tests/browser/" in item.path.as_posix():
            item.add_marker("browser")


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    """Chromium: the one that CHROMIUM names, else the system's, else playwright's own."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    async with async_playwright() as playwright:
        try:
            launched = await playwright.chromium.launch(executable_path=path, args=FLAGS, timeout=PATIENCE_MS)
        except Exception as error:
            if path:
                raise
            if os.environ.get("CI"):
                raise
            pytest.skip(f"no Chromium here: {str(error).splitlines()[0]}")
        yield launched
        await launched.close()


@pytest.fixture
async def visit(browser: Browser, stack: Stack) -> AsyncIterator[Visit]:
    """`await visit("/history/", tenant.alice)`: a page in a window of its own, logged in; None stays outside.

    `size` is (width, height) in CSS pixels, `scheme` "light" or "dark". At the end of the test no page may have
    thrown, or tried what its Content-Security-Policy forbids.
    """
    from tests.browser.sessions import session_of

    broken: list[str] = []

    async def open_page(
        path: str, person: "Person | None", size: tuple[int, int] = DESK, scheme: Any = "light"
    ) -> Page:
        context = await browser.new_context(
            viewport={"width": size[0], "height": size[1]}, color_scheme=scheme, base_url=stack.url
        )
        context.set_default_timeout(PATIENCE_MS)
        if person is not None:
            key = await asyncio.to_thread(session_of, person)
            await context.add_cookies([{"name": "sessionid", "value": key, "url": stack.url}])
        page = await context.new_page()
        page.on("pageerror", lambda error: broken.append(f"{page.url}: {error}"))
        page.on(
            "console",
            lambda message: (
                broken.append(f"{page.url}: {message.text}") if "Content Security Policy" in message.text else None
            ),
        )
        await page.goto(path)
        return page

    yield open_page
    assert broken == []
