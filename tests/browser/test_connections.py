"""My connections, in a browser that goes to a real authorization server and comes back."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.browser.axe import violations
from tests.browser.driving import DESK, PATIENCE_MS, PHONE, sticking_out, tab_to
from tests.browser.sessions import session_of
from tests.connections.authorization import HOST, AuthorizationServer, authorization_server
from tests.people import Cast
from tests.services.api import Owner
from tests.stack import Stack

# Where to leave pictures of the pages, for people to look at.
PICTURES = os.environ.get("PICTURES", "")


@pytest.fixture(scope="module")
def server() -> Iterator[AuthorizationServer]:
    """Toolgate registers itself there."""
    with authorization_server() as running:
        yield running


@pytest.fixture(scope="module")
def allowing(stack: Stack) -> Iterator[str]:
    """The address of a web process that may reach it."""
    yield stack.start_web("allowing web", TOOLGATE_EGRESS_ALLOW=HOST)
    stack.kill("allowing web")


async def test_a_person_connects_an_account_sees_what_was_granted_and_disconnects(
    browser: Browser, stack: Stack, allowing: str, server: AuthorizationServer, tenant: Cast
) -> None:
    given = {"type": "oauth_user", "issuer": server.issuer, "registration": "dynamic", "scopes": ["orders:read"]}
    owner = Owner(stack, tenant.olga, allowing)
    await asyncio.to_thread(owner.add, f"http://{HOST}:9", on=False, credential=given)
    context = await browser.new_context(
        viewport={"width": DESK[0], "height": DESK[1]}, color_scheme="light", base_url=allowing
    )
    context.set_default_timeout(PATIENCE_MS)
    key = await asyncio.to_thread(session_of, tenant.alice)
    await context.add_cookies([{"name": "sessionid", "value": key, "url": allowing}])
    page = await context.new_page()
    broken: list[str] = []
    page.on("console", lambda said: broken.append(said.text) if "Content Security Policy" in said.text else None)

    async def look(name: str) -> None:
        for scheme, size in (("light", DESK), ("dark", DESK), ("dark", PHONE), ("light", PHONE)):
            await page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            await page.set_viewport_size({"width": size[0], "height": size[1]})
            assert await sticking_out(page) == []
            assert await violations(page) == []
            if PICTURES:
                await page.screenshot(path=Path(PICTURES) / f"{name}-{scheme}-{size[0]}.png", full_page=True)

    await page.goto("/settings/")
    await page.get_by_role("link", name="My connections").last.click()
    await expect(page.get_by_role("heading", name="My connections")).to_be_visible()
    await expect(page.get_by_text("Not connected")).to_be_visible()
    await look("none")
    await tab_to(page, "Connect desk")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="Connect desk")).to_be_visible()
    await look("leave")
    await page.get_by_role("link", name=f"Continue to {HOST}").click()
    await page.locator("input[name=login]").fill("ada")
    await page.locator("input[name=password]").fill("any")
    await page.locator("button[type=submit]").click()
    await page.get_by_role("button", name="Continue").click()
    await expect(page.get_by_role("status")).to_contain_text("desk is connected.")
    assert page.url == f"{allowing}/settings/connections/"
    await expect(page.get_by_text("orders:read")).to_be_visible()
    await expect(page.locator("[data-state=connected]")).to_have_count(1)
    await look("connected")
    await page.get_by_role("button", name="Disconnect desk").click()
    await expect(page.get_by_role("status")).to_contain_text("desk is not connected any more.")
    await expect(page.locator("[data-state=needs_connecting]")).to_have_count(1)
    assert broken == []
    await context.close()
