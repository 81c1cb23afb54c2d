"""Owners' pages about people, changes, what is kept and who is notified, in a real browser."""

import asyncio
import uuid

import pytest
from playwright.async_api import Page, expect

from tests.browser.driving import DESK, PHONE, Visit, sticking_out
from tests.browser.test_axe import looked_at
from tests.members.test_members_api import ask, of
from tests.people import PASSWORD, Cast, make_tenant

PAGES = ("/settings/people/", "/settings/changes/", "/settings/notifications/", "/settings/retention/")


@pytest.fixture
def members() -> Cast:
    """A tenant whose people have passwords."""
    return make_tenant(PASSWORD)


async def test_an_owner_invites_somebody_who_makes_an_account_and_is_removed_again(visit: Visit, members: Cast) -> None:
    page = await visit("/settings/people/", members.olga)
    name = f"new-{uuid.uuid4().hex[:8]}"
    address = f"{name}@example.com"
    await page.get_by_label("E-mail address (empty: anybody who has the link)").fill(address)
    await page.get_by_label("Role", exact=True).select_option("approver")
    await page.get_by_role("button", name="Make the link").click()
    await expect(page.get_by_role("heading", name=f"The link of your invitation for {address}")).to_be_visible()
    link = await page.locator(".made .sheet").inner_text()
    theirs = await visit("/accounts/invitation/" + link.rstrip("/").rpartition("/")[2] + "/", None)
    await expect(theirs.get_by_role("heading", name=f"Join {members.slug}")).to_be_visible()
    assert await looked_at(theirs, "an invitation") == {}
    await theirs.get_by_label("Username").fill(name)
    await theirs.get_by_label("Password", exact=True).fill("a horse of another colour")
    await theirs.get_by_label("Password, again").fill("a horse of another colour")
    await theirs.get_by_role("button", name="Join").click()
    await expect(theirs.get_by_label("Message", exact=True)).to_be_visible()
    await page.goto("/settings/people/")
    await page.get_by_text(f"Remove… {name}").click()
    await page.get_by_role("button", name=f"Remove {name}").click()
    await expect(page.get_by_text(f"{name} is removed.")).to_be_visible()
    await theirs.goto("/settings/")
    await expect(theirs.get_by_text("You are not a member of any tenant yet.")).to_be_visible()


@pytest.mark.parametrize("size", [PHONE, DESK])
async def test_nothing_is_in_the_way_on_owners_pages(visit: Visit, members: Cast, size: tuple[int, int]) -> None:
    await asyncio.to_thread(ask, members.olga, "PATCH", of(members.alice), {"role": "approver"})
    await asyncio.to_thread(ask, members.olga, "POST", "/api/v1/invitations/", {"role": "auditor"})
    body = {"channel": "webhook", "destination": "https://hooks.example/a", "events": ["approval.requested"]}
    await asyncio.to_thread(ask, members.olga, "POST", "/api/v1/notification-targets/", body)
    page = await visit("/settings/people/", members.olga, size=size)
    wrong: dict[str, list[str]] = {}
    for path in PAGES:
        await page.goto(path)
        await _open_first(page)
        wrong |= await looked_at(page, path)
        assert await sticking_out(page) == [], path
    assert wrong == {}


async def _open_first(page: Page) -> None:
    summary = page.locator("article details > summary")
    if await summary.count():
        await summary.first.click()
