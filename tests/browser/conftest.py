"""A headless Chromium in front of a running Toolgate; a page that breaks its own policy fails the test."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, async_playwright

from tests.browser.driving import DESK, PATIENCE_MS, Visit
from tests.browser.windows import Windows
from tests.stack import END_SECONDS, Stack

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
    # With a new frame for each document of a page, Chromium forgets to close a page that is just on its way to another,
    # and Playwright waits for it forever: crbug.com/536385539, and issue 42068 of Playwright's. So only what is in a
    # page has new ones; without those, Chromium crashes where a drawing is refused. The last flag of a name is the only
    # one that counts, so the other two are what Playwright itself asks for.
    "--enable-features=CDPScreenshotNewSurface,SkipListAccountsWithoutGaiaCookies,RenderDocument:level/subframe",
]

# What a whole run need not wait for at its end.
CLOSE_SECONDS = 5

on_its_loop = pytest_asyncio.fixture(loop_scope="session")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder drives a browser, and on one event loop: the connection to it belongs to a loop.

    An asynchronous fixture of a test here says so, too: `@on_its_loop`.
    """
    for item in items:
        if "tests/browser/" in item.path.as_posix():
            item.add_marker("browser")
            if item.get_closest_marker("asyncio"):
                item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where to connect to a Chromium: the one that CHROMIUM names, else the system's, else playwright's own.

    It takes longer to start than most tests take, so all of a pytest worker share it.
    """
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    wanted = {"args": FLAGS, "headless": True, "timeout": PATIENCE_MS} | ({"executablePath": path} if path else {})
    config = tmp_path_factory.mktemp("chromium") / "config.json"
    config.write_text(json.dumps(wanted))
    command = [sys.executable, "-m", "playwright", "launch-server", "--browser", "chromium", "--config", str(config)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as server:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        if not address.startswith("ws://"):
            said = f"{address} {server.stdout.read()}"
            if path or os.environ.get("CI"):
                raise RuntimeError(f"no Chromium: {said}")
            pytest.skip(f"no Chromium here: {address}")
        yield address
        # The whole group: what was started is a Node process that has started the browser.
        os.killpg(server.pid, signal.SIGTERM)
        try:
            server.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, signal.SIGKILL)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def connected(chromium: str) -> AsyncIterator[Browser]:
    """The connection to Chromium, through a Node process of Playwright's that takes half a second to start."""
    playwright = await async_playwright().start()
    connected = await playwright.chromium.connect(chromium, timeout=PATIENCE_MS)
    yield connected
    # A connection that nobody has read from for minutes does not answer any more; its process ends with this one.
    with suppress(TimeoutError):
        async with asyncio.timeout(CLOSE_SECONDS):
            await connected.close()
            await playwright.stop()


@pytest.fixture(scope="session")
def windows(connected: Browser) -> Windows:
    """Those that `visit` opens, for all tests of a worker."""
    return Windows(connected)


@on_its_loop
async def browser(connected: Browser, windows: Windows) -> AsyncIterator[Browser]:
    """Chromium; the windows that the test itself opens are closed at its end."""
    yield connected
    for context in set(connected.contexts) - windows.open():
        await context.close()


@on_its_loop
async def visit(browser: Browser, windows: Windows, stack: Stack) -> AsyncIterator[Visit]:
    """`await visit("/history/", tenant.alice)`: a page in a window of its own, logged in; None stays outside.

    `size` is (width, height) in CSS pixels, `scheme` "light" or "dark". At the end of the test no page may have
    thrown, or tried what its Content-Security-Policy forbids.
    """
    from tests.browser.sessions import session_of

    broken: list[str] = []

    async def open_page(
        path: str, person: "Person | None", size: tuple[int, int] = DESK, scheme: Any = "light"
    ) -> Page:
        context = await windows.take(stack.url, size, scheme)
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
    await windows.give_back()
    assert broken == []


@pytest_asyncio.fixture(autouse=True, loop_scope="session")
async def _closed_loop_resources() -> AsyncIterator[None]:
    """As everywhere, but on the loop that these tests have."""
    yield
    from tenants.scope import transactions
    from tools.network import redis

    await redis.close()
    await transactions.close_pools()
