"""axe-core finds nothing on the history's pages, in light and dark, on a desk and on a phone."""

import asyncio
from importlib.resources import files

import pytest
from playwright.async_api import Page, expect

from tests.browser.driving import DESK, PHONE, Visit
from tests.people import Cast
from tests.stack import Stack

AXE = (files("axe_playwright_python") / "axe.min.js").read_text()
CALLS = 'call: save_note {"title": "Milk", "content": "Two litres"}\ncall: rm_rf {}'
MAIL = 'call: send_email {"to": "team@example.com", "subject": "Lunch", "body": "At noon?"}'


async def _wrong(page: Page) -> list[str]:
    await page.evaluate(AXE)
    found = await page.evaluate("axe.run()")
    return [f"{each['impact']} {each['id']} {each['nodes'][0]['html']}" for each in found["violations"]]


@pytest.mark.parametrize(("size", "scheme"), [(DESK, "light"), (PHONE, "dark")])
async def test_nothing_is_in_the_way_of_anybody(
    visit: Visit, tenant: Cast, stack: Stack, size: tuple[int, int], scheme: str
) -> None:
    done = (await asyncio.to_thread(stack.chat, tenant.alice, CALLS)).json()
    waiting = (await asyncio.to_thread(stack.chat, tenant.alice, MAIL)).json()
    paths = [f"/history/{call['id']}/" for call in (*done["tool_calls"], *waiting["tool_calls"])]
    paths += ["/history/?status=error", "/history/?q=nothing", "/history/charts/", "/history/access/"]
    paths += [f"/history/runs/{done['run_id']}/"]
    page = await visit("/history/", tenant.dana, size=size, scheme=scheme)
    await page.locator(".call-row").first.click()
    await expect(page.locator(".inside .gates").first).to_be_visible()
    wrong = {"/history/": await _wrong(page)}
    for path in paths:
        await page.goto(path)
        wrong[path] = await _wrong(page)
    assert {path: found for path, found in wrong.items() if found} == {}
