"""Logging in without a password: at a real OpenID provider, and with a passkey of a virtual device."""

import asyncio
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, BrowserContext, Page, expect

from tests.browser.axe import violations
from tests.browser.driving import DESK, PATIENCE_MS, PHONE, sticking_out
from tests.browser.sessions import session_of
from tests.connections.authorization import CLIENT, HOST, AuthorizationServer, authorization_server
from tests.database import rows
from tests.people import PASSWORD, Cast, make_tenant
from tests.stack import Stack

# Where to leave pictures of the pages, for people to look at.
PICTURES = os.environ.get("PICTURES", "")


@pytest.fixture(scope="module")
def here(stack: Stack) -> Iterator[str]:
    """A web process at a name, as passkeys need it, that may reach the provider."""
    url = stack.start_web("named web", TOOLGATE_EGRESS_ALLOW=HOST, PUBLIC_URL="http://localhost:{port}")
    yield url.replace("127.0.0.1", "localhost")
    stack.kill("named web")


@pytest.fixture(scope="module")
def provider(here: str) -> Iterator[AuthorizationServer]:
    """Knows Toolgate as a client."""
    with authorization_server(f"{here}/accounts/single-sign-on/callback/") as running:
        yield running


@pytest.fixture
def members() -> Cast:
    """A tenant whose people have passwords."""
    return make_tenant(PASSWORD)


async def _context(browser: Browser, here: str) -> tuple[BrowserContext, Page, list[str]]:
    """A browser, and what its policy has blocked."""
    context = await browser.new_context(viewport={"width": DESK[0], "height": DESK[1]}, base_url=here)
    context.set_default_timeout(PATIENCE_MS)
    page = await context.new_page()
    blocked: list[str] = []
    page.on("console", lambda said: blocked.append(said.text) if "Content Security Policy" in said.text else None)
    return context, page, blocked


async def _look(page: Page, name: str) -> None:
    for scheme, size in (("light", DESK), ("dark", DESK), ("dark", PHONE), ("light", PHONE)):
        await page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        await page.set_viewport_size({"width": size[0], "height": size[1]})
        assert await sticking_out(page) == [], name
        assert await violations(page) == [], name
        if PICTURES:
            await page.screenshot(path=Path(PICTURES) / f"{name}-{scheme}-{size[0]}.png", full_page=True)
    await page.set_viewport_size({"width": DESK[0], "height": DESK[1]})


async def _logged_in(page: Page, here: str, person: object, seconds_ago: int = 0) -> None:
    key = await asyncio.to_thread(session_of, person, seconds_ago=seconds_ago)  # type: ignore[arg-type]
    await page.context.add_cookies([{"name": "sessionid", "value": key, "url": here}])


async def _at_provider(page: Page, login: str) -> None:
    await page.locator("input[name=login]").fill(login)
    await page.locator("input[name=password]").fill("any")
    await page.locator("button[type=submit]").click()
    await page.get_by_role("button", name="Continue").click()


async def test_an_owner_sets_single_sign_on_up_and_somebody_new_comes_in_by_it(
    browser: Browser, here: str, provider: AuthorizationServer, members: Cast
) -> None:
    domain = f"{members.slug}.example"
    context, page, blocked = await _context(browser, here)
    await _logged_in(page, here, members.olga, seconds_ago=3600)
    await page.goto("/settings/sign-on/")
    await _look(page, "sign-on")
    await page.get_by_label("Domain of your people's e-mail addresses").fill(domain)
    await page.get_by_label("Issuer").fill(provider.issuer)
    await page.get_by_label("Client id").fill(CLIENT["client_id"])
    await page.get_by_label("Client secret").fill(CLIENT["client_secret"])
    await page.get_by_label("Claim that says the role").fill("groups")
    await page.get_by_label("Roles by its values").fill("ada = approver")
    await page.get_by_label("People who are no members become members").check()
    await page.get_by_role("button", name="Add").click()
    # Somebody who has logged in an hour ago is asked again, and nothing they entered is lost.
    await expect(page.get_by_role("heading", name="Confirm that it is you")).to_be_visible()
    await _look(page, "confirm")
    await page.get_by_label("Your password").fill(PASSWORD)
    await page.get_by_role("button", name="Confirm").click()
    await expect(page.get_by_role("heading", name=domain)).to_be_visible()
    await page.get_by_role("button", name="Test the provider").click()
    await expect(page.get_by_text("is the issuer that you named")).to_be_visible()
    await _look(page, "provider")
    await page.get_by_role("button", name="Try to log in").click()
    await _at_provider(page, f"ada@{domain}")
    await expect(page.get_by_role("heading", name="It works")).to_be_visible()
    await expect(page.get_by_text("approver")).to_be_visible()
    await _look(page, "test")
    await context.close()
    rows("INSERT INTO confirmed_domains VALUES (%(d)s, now(), %(t)s) RETURNING domain", d=domain, t=members.id)

    context, page, more = await _context(browser, here)
    await page.goto("/history/")
    await _look(page, "log-in")
    await page.get_by_role("link", name="Continue with single sign-on").click()
    await _look(page, "address")
    await page.get_by_label("E-mail address at work").fill(f"ada@{domain}")
    await page.get_by_role("button", name="Continue").click()
    await _at_provider(page, f"ada@{domain}")
    await expect(page).to_have_url(re.compile(r"/history/$"))
    [row] = rows(
        "SELECT u.username, m.role FROM sign_on_identities i JOIN users u ON u.id = i.user_id"
        " JOIN memberships m ON m.user_id = u.id WHERE i.tenant_id = %(t)s",
        t=members.id,
    )
    assert row == {"username": f"ada@{domain}", "role": "approver"}
    await page.goto("/settings/sessions/")
    await expect(page.get_by_text("this one")).to_be_visible()
    await _look(page, "sessions")
    await page.goto("/settings/password/")
    await expect(page.get_by_text("Your account has no password")).to_be_visible()
    await _look(page, "no-password")
    await page.goto("/settings/passkeys/")
    await expect(page.get_by_text("You logged in by single sign-on of a tenant.")).to_be_visible()
    # Somebody whose groups give no role stays outside.
    await page.context.clear_cookies()
    await page.goto("/accounts/single-sign-on/")
    await page.get_by_label("E-mail address at work").fill(f"eve@{domain}")
    await page.get_by_role("button", name="Continue").click()
    await _at_provider(page, f"eve@{domain}")
    await expect(page.get_by_role("alert")).to_contain_text("Your provider gives you no role in this tenant.")
    await _look(page, "refused")
    assert blocked + more == []
    await context.close()


async def test_a_passkey_is_added_logs_in_and_is_removed(browser: Browser, here: str, members: Cast) -> None:
    context, page, blocked = await _context(browser, here)
    devices = await context.new_cdp_session(page)
    await devices.send("WebAuthn.enable")
    internal = {"protocol": "ctap2", "transport": "internal", "automaticPresenceSimulation": True}
    able = {"hasResidentKey": True, "hasUserVerification": True, "isUserVerified": True}
    await devices.send("WebAuthn.addVirtualAuthenticator", {"options": internal | able})
    await _logged_in(page, here, members.alice, seconds_ago=3600)
    await page.goto("/settings/passkeys/")
    await page.get_by_role("link", name="Confirm that it is you").click()
    await page.get_by_label("Your password").fill(PASSWORD)
    await page.get_by_role("button", name="Confirm").click()
    await page.get_by_label("Name", exact=True).fill("My laptop")
    await page.get_by_role("button", name="Add a passkey").click()
    await expect(page.get_by_role("status")).to_contain_text("The passkey My laptop logs you in from now on.")
    await _look(page, "passkeys")
    await context.clear_cookies()

    await page.goto("/history/")
    await page.get_by_role("link", name="Log in with a passkey").click()
    await _look(page, "passkey")
    await page.get_by_role("button", name="Use a passkey").click()
    await expect(page).to_have_url(re.compile(r"/history/$"))
    await expect(page.get_by_text(members.alice.username).first).to_be_attached()
    await page.goto("/settings/passkeys/")
    await expect(page.get_by_text("last used")).to_be_visible()
    await page.get_by_role("button", name="Remove My laptop").click()
    await expect(page.get_by_role("status")).to_contain_text("The passkey is removed.")
    await context.clear_cookies()
    await page.goto("/accounts/passkey/")
    await page.get_by_role("button", name="Use a passkey").click()
    await expect(page.get_by_role("alert")).to_contain_text("This passkey is not known here")
    assert blocked == []
    await context.close()
