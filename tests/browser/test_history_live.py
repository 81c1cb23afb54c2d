"""A call that changes before one's eyes: of a tool that takes its time, and of a human who decides."""

import asyncio
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.async_api import Route, expect

from gateway.embedded.services.together import EmbeddedServices
from tests.browser.driving import PATIENCE_MS, Visit
from tests.faults.deployment import PACKAGE
from tests.faults.remote import Remote
from tests.people import Cast
from tests.stack import Stack
from tests.waiting import PATIENCE_SECONDS

MAIL = 'call: send_email {"to": "team@example.com", "subject": "Lunch", "body": "At noon?"}'
# It shows by itself, and a page that is not looked at asks for nothing.
HIDE = """() => {
  Object.defineProperty(document, "hidden", { value: true, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}"""
SHOW = HIDE.replace("value: true", "value: false")


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    """A deployment on this worker's database, with a broker of its own and tools that wait for a remote."""
    directory = Path(tempfile.mkdtemp(prefix="toolgate-live-"))
    with EmbeddedServices(directory, durable=False, postgres=False) as services:
        environment = {
            "REDIS_URL": services.redis_url, "PYTHONPATH": str(PACKAGE), "TOOLGATE_EGRESS_ALLOW": "127.0.0.1"
        }  # fmt: skip
        with Stack(**environment) as running:
            yield running


@pytest.fixture
def remote() -> Iterator[Remote]:
    """Answers what is below /held/ when its gate is opened."""
    far_away = Remote()
    yield far_away
    far_away.close()


async def test_a_running_call_ends_before_ones_eyes(visit: Visit, tenant: Cast, stack: Stack, remote: Remote) -> None:
    slow = asyncio.create_task(
        asyncio.to_thread(stack.chat, tenant.alice, f'call: slow_lookup {{"url": "{remote.url}/held/x"}}')
    )
    assert await asyncio.to_thread(remote.reached.wait, PATIENCE_SECONDS)
    page = await visit("/history/", tenant.alice)
    row = page.locator(".call-row")
    await expect(row.locator(".pill")).to_have_text("Running")
    await row.click()
    inside = page.locator(".inside")
    await expect(inside).to_contain_text("There is none yet.")
    await row.focus()
    remote.gate.set()
    await expect(row.locator(".pill")).to_have_text("Done", timeout=PATIENCE_MS)
    await expect(inside).to_contain_text('"status": 200')
    # Neither the focus nor what was unfolded is lost, and who cannot see it is told.
    await expect(row).to_be_focused()
    await expect(page.locator("#announcements")).to_have_text("slow_lookup: Done")
    assert (await slow).json()["tool_calls"][0]["status"] == "success"


async def test_a_call_that_ends_while_it_unfolds_shows_its_end(
    visit: Visit, tenant: Cast, stack: Stack, remote: Remote
) -> None:
    slow = asyncio.create_task(
        asyncio.to_thread(stack.chat, tenant.alice, f'call: slow_lookup {{"url": "{remote.url}/held/x"}}')
    )
    assert await asyncio.to_thread(remote.reached.wait, PATIENCE_SECONDS)
    page = await visit("/history/", tenant.alice)
    row, asked, ended = page.locator(".call-row"), asyncio.Event(), asyncio.Event()

    async def late(route: Route) -> None:
        if asked.is_set():
            await route.continue_()
            return
        answer = await route.fetch(timeout=PATIENCE_MS)
        asked.set()
        await ended.wait()
        await route.fulfill(response=answer)

    await page.route(re.compile(r"/history/[0-9a-f-]{36}/$"), late)
    await row.click()
    await asked.wait()
    remote.gate.set()
    await expect(row.locator(".pill")).to_have_text("Done")
    ended.set()
    await expect(page.locator(".inside")).to_contain_text('"status": 200')
    assert (await slow).json()["tool_calls"][0]["status"] == "success"


async def test_a_waiting_call_is_asked_for_on_its_own_page_only_while_somebody_looks(
    visit: Visit, tenant: Cast, stack: Stack
) -> None:
    answer = await asyncio.to_thread(stack.chat, tenant.alice, MAIL)
    [approval] = answer.json()["required_action"]["approvals"]
    page = await visit(f"/history/{answer.json()['tool_calls'][0]['id']}/", tenant.alice)
    await expect(page.locator(".call-head .pill")).to_have_text("Waiting for approval")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    async with page.expect_response(lambda answer: answer.status == 204):
        pass
    await page.evaluate(HIDE)
    asked.clear()
    decided = await asyncio.to_thread(
        httpx.post, f"{stack.url}/api/v1/approvals/{approval['id']}/approve/", headers=tenant.carol.headers, json={}
    )
    assert decided.status_code == 200
    # Longer than the page waits between two looks.
    await page.evaluate("() => new Promise((resolve) => setTimeout(resolve, 2500))")
    assert asked == []
    await page.evaluate(SHOW)
    await expect(page.locator(".call-head .pill")).to_have_text("Done")
    await expect(page.locator(".stack").first).to_contain_text(f"{tenant.carol.username} approved")


async def test_new_calls_are_offered_and_come_on_a_click(visit: Visit, tenant: Cast, stack: Stack) -> None:
    await asyncio.to_thread(stack.chat, tenant.alice, MAIL)
    page = await visit("/history/", tenant.alice)
    await expect(page.locator(".call-row")).to_have_count(1)
    await asyncio.to_thread(stack.chat, tenant.alice, "call: list_tasks {}\ncall: list_tasks {}")
    offer = page.get_by_role("link", name="2 new calls")
    await expect(offer).to_be_visible()
    await expect(page.locator(".call-row")).to_have_count(1)
    await offer.click()
    await expect(page.locator(".call-row .name")).to_have_text(["list_tasks", "list_tasks", "send_email"])
    await expect(offer).to_have_count(0)
