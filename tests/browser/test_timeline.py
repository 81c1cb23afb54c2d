"""A run's timeline as a person sees it: live, by keyboard, on a phone."""

import asyncio
import uuid
from typing import Any

import pytest
from playwright.async_api import expect

from tests.approvals.api import decide
from tests.browser.driving import DESK, PHONE, Visit, sticking_out, tab_to
from tests.people import Cast
from tests.stack import Stack

MAIL = 'call: send_email {"to": "bob@example.com", "subject": "Hello", "body": "Hi Bob"}'
RUN = f"""Look things up, then tell Bob.
call: web_search {{"query": "history of tea"}}
call: web_search {{"query": "row-level security"}}
call: list_tasks {{}}
then:
call: rm_rf {{}}
{MAIL}"""


async def _held(stack: Stack, tenant: Cast) -> dict[str, Any]:
    answer = await asyncio.to_thread(stack.chat, tenant.alice, RUN)
    assert answer.status_code == 202, answer.text
    body: dict[str, Any] = answer.json()
    return body


async def _approve(stack: Stack, tenant: Cast, body: dict[str, Any]) -> None:
    request = uuid.UUID(body["required_action"]["approvals"][0]["id"])
    answer = await asyncio.to_thread(decide, stack, tenant.carol, request, "approve")
    assert answer.status_code == 200


async def test_a_run_that_waits_goes_on_before_ones_eyes(visit: Visit, tenant: Cast, stack: Stack) -> None:
    body = await _held(stack, tenant)
    page = await visit(f"/history/runs/{body['run_id']}/", tenant.alice)
    outcomes = page.locator(".picture .pill")
    waiting = ["Answered", "Done", "Done", "Done", "Answered", "Not allowed", "Waiting for approval"]
    await expect(outcomes).to_have_text(waiting)
    await expect(page.locator(".bars .open")).to_have_count(1)
    link = page.get_by_role("link", name="send_email")
    await link.focus()
    # It keeps the keyboard's place while it is brought anew.
    first = await page.locator("#timeline .timeline-facts dd").nth(1).inner_text()
    await expect(page.locator("#timeline .timeline-facts dd").nth(1)).not_to_have_text(first)
    await expect(link).to_be_focused()
    await _approve(stack, tenant, body)
    await expect(outcomes).to_have_text([*waiting[:-1], "Done", "Answered"])
    await expect(page.locator(".timeline-head .pill")).to_have_text("Completed")
    assert await page.locator("[hx-get]").count() == 0


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
async def test_every_bar_stands_within_the_picture(visit: Visit, tenant: Cast, stack: Stack, size: Any) -> None:
    body = await _held(stack, tenant)
    await _approve(stack, tenant, body)
    page = await visit(f"/history/runs/{body['run_id']}/", tenant.alice, size=size)
    await expect(page.locator(".timeline-head .pill")).to_have_text("Completed")
    assert await sticking_out(page) == []
    outside = await page.evaluate(
        """() => [...document.querySelectorAll(".bars rect")].filter((bar) => {
          const [inner, outer] = [bar, bar.closest("svg")].map((each) => each.getBoundingClientRect());
          return inner.left < outer.left - 1 || inner.right > outer.right + 1 || inner.width < 1;
        }).length"""
    )
    assert outside == 0
    # Calls of one turn that ran side by side overlap in time.
    await expect(page.locator(".bars")).to_have_count(8)


async def test_a_call_is_reached_from_the_picture_with_the_keyboard_and_leads_back(
    visit: Visit, tenant: Cast, stack: Stack
) -> None:
    body = await _held(stack, tenant)
    page = await visit(f"/history/runs/{body['run_id']}/", tenant.alice)
    await tab_to(page, "rm_rf")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="rm_rf")).to_be_visible()
    await page.get_by_role("link", name="Timeline of the run").click()
    await expect(page.get_by_role("heading", name="Timeline of a run")).to_be_visible()


async def test_a_reader_hears_a_table(visit: Visit, tenant: Cast, stack: Stack) -> None:
    body = await _held(stack, tenant)
    for size in (DESK, PHONE):
        page = await visit(f"/history/runs/{body['run_id']}/", tenant.alice, size=size)
        table = page.get_by_role("table", name="Each turn of the run")
        row = table.get_by_role("row").filter(has=page.get_by_role("rowheader", name="send_email"))
        await expect(row.get_by_role("cell").first).to_contain_text("waited for a human for")
        await expect(row.get_by_role("cell").nth(2)).to_have_text("Waiting for approval")
