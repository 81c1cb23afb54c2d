"""Logging in and out with nothing but a keyboard."""

import re

import pytest
from playwright.async_api import expect

from tests.browser.driving import Visit, tab_to
from tests.people import PASSWORD, Cast, make_tenant


@pytest.fixture
def members() -> Cast:
    """A tenant whose people have passwords."""
    return make_tenant(PASSWORD)


async def test_a_person_logs_in_goes_on_where_they_wanted_and_logs_out(visit: Visit, members: Cast) -> None:
    page = await visit("/history/?status=error", None)
    await expect(page).to_have_url(re.compile(r"/accounts/login/\?next="))
    await expect(page.get_by_label("Username")).to_be_focused()
    await page.keyboard.type(members.alice.username)
    await page.keyboard.press("Tab")
    await expect(page.get_by_label("Password")).to_be_focused()
    await page.keyboard.type(PASSWORD)
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(re.compile(r"/history/\?status=error$"))
    await tab_to(page, f"Account of {members.alice.username} in {members.slug}")
    await page.keyboard.press("Enter")
    await tab_to(page, "Log out")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("button", name="Log in")).to_be_visible()
    await page.goto("/")
    await expect(page).to_have_url(re.compile(r"/accounts/login/"))


async def test_a_wrong_password_is_said_and_changes_nothing(visit: Visit, members: Cast) -> None:
    page = await visit("/accounts/login/", None)
    await page.get_by_label("Username").fill(members.alice.username)
    await page.get_by_label("Password").fill("wrong")
    await page.get_by_role("button", name="Log in").click()
    await expect(page.get_by_role("alert")).to_be_visible()
    assert [cookie["name"] for cookie in await page.context.cookies()] == ["csrftoken"]
