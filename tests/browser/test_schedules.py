"""The pages of schedules, in a real browser."""

import asyncio

import pytest
from playwright.async_api import expect

from tests.browser.driving import DESK, PHONE, Visit, sticking_out
from tests.browser.test_axe import looked_at
from tests.people import Cast
from tests.schedules.rows import change, make_schedule

PAGE = "/settings/schedules/"
_SKIPPED = """
    INSERT INTO schedule_slots (id, tenant_id, user_id, schedule_id, slot_at, cause, status, code, message)
    VALUES (gen_random_uuid(), %s, %s, %s, now() - interval '1 h', 'time', 'skipped', 'overlap', %s)"""


@pytest.mark.parametrize("size", [PHONE, DESK])
async def test_a_schedule_is_made_and_run_and_nothing_is_in_the_way(
    visit: Visit, tenant: Cast, size: tuple[int, int]
) -> None:
    theirs = await asyncio.to_thread(make_schedule, tenant.bob, next_at="tomorrow")
    page = await visit(PAGE, tenant.olga, size=size)
    wrong = await looked_at(page, "no schedules")
    await page.get_by_label("Time zone").fill("Europe/Berlin")
    await page.get_by_label("What it is asked").fill("List my open tasks. " + "m" * 400)
    await page.get_by_role("button", name="Make schedule").click()
    await expect(page.get_by_text("The schedule is made.")).to_be_visible()
    assert await sticking_out(page) == []
    wrong |= await looked_at(page, "schedules")
    await page.get_by_role("link", name="List my open tasks").click()
    await page.get_by_role("button", name="Run now").click()
    await expect(page.get_by_text("A run has begun.")).to_be_visible()
    owner = tenant.olga.scope
    own = page.url.rstrip("/").rpartition("/")[2]
    await asyncio.to_thread(change, _SKIPPED, owner.tenant_id, owner.user_id, own, "It was under way. " * 8)
    await page.get_by_role("button", name="Pause").click()
    await expect(page.get_by_role("button", name="Switch on")).to_be_visible()
    assert await sticking_out(page) == []
    wrong |= await looked_at(page, "a schedule")
    await page.goto(f"{PAGE}{theirs}/")
    assert await sticking_out(page) == []
    assert wrong | await looked_at(page, "another member's schedule") == {}
