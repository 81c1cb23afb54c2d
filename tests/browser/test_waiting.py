"""A call that waits for a human, as the one who asked sees it: in the chat and in the history."""

import asyncio
import json
from typing import Any

from playwright.async_api import expect

from tests.approvals.api import decide
from tests.browser.driving import PHONE, Visit, send, sticking_out
from tests.browser.test_approvals import MAIL, ask, settled
from tests.database import rows
from tests.people import Cast
from tests.stack import Stack


async def test_the_chat_says_what_it_waits_for_and_goes_on_by_itself(visit: Visit, tenant: Cast, stack: Stack) -> None:
    page = await visit("/", tenant.alice)
    await send(page, f"Order some.\ncall: send_email {json.dumps(MAIL)}\ncall: list_tasks {{}}")
    waiting = page.locator("details.call").first
    await expect(page.locator("details.call .pill")).to_have_text(["Waiting for approval", "Done"])
    await expect(waiting.locator(".notice")).to_contain_text("it expires in 23 hours")
    await expect(waiting.get_by_label("Arguments")).to_contain_text("supplier@example.com")
    await expect(page.get_by_text("This answer waits for a human")).to_be_visible()
    await expect(page.get_by_role("button", name="Stop")).to_be_visible()
    await expect(page.locator("#status")).to_have_text("Waiting for an approval")
    before = await page.locator("#runs").inner_text()
    await page.reload()
    await expect(page.get_by_text("This answer waits for a human")).to_be_visible()
    await expect(page.locator("#runs")).to_have_text(before, use_inner_text=True)
    [row] = rows("SELECT id FROM approval_requests WHERE tenant_id = %(t)s", t=tenant.id)
    answer = await asyncio.to_thread(decide, stack, tenant.carol, row["id"], "approve")
    assert answer.status_code == 200
    await expect(page.locator("details.call .pill")).to_have_text(["Done", "Done"])
    await expect(page.locator(".prose").last).to_contain_text("I sent the e-mail to supplier@example.com.")
    await expect(page.get_by_text("This answer waits for a human")).to_have_count(0)
    await expect(page.get_by_role("button", name="Send")).to_be_visible()


async def test_the_chat_takes_the_stream_up_again_where_the_message_left_it(
    visit: Visit, tenant: Cast, stack: Stack
) -> None:
    page = await visit("/", tenant.alice)
    followed: list[str | None] = []
    said: list[str] = []

    async def watch(route: Any) -> None:
        followed.append(await route.request.header_value("last-event-id"))
        await route.continue_()

    await page.route("**/api/v1/runs/*/events", watch)
    await page.expose_function("said", lambda words: said.append(words))
    await page.evaluate("new MutationObserver(([{ target }]) => said(target.textContent))"
                        ".observe(document.getElementById('status'), { childList: true })")  # fmt: skip
    await send(page, f"call: send_email {json.dumps(MAIL)}")
    await expect(page.locator("#status")).to_have_text("Waiting for an approval")
    [row] = rows("SELECT id FROM approval_requests WHERE tenant_id = %(t)s", t=tenant.id)
    await asyncio.to_thread(decide, stack, tenant.carol, row["id"], "deny", reason="No.")
    await expect(page.locator("details.call .pill")).to_have_text("Not approved")
    await expect(page.locator("li.run")).to_have_attribute("aria-busy", "false")
    assert len(followed) == 1 and followed[0]
    assert not [words for words in said if "lost" in words]


async def test_withdraw_ends_the_call_and_the_answer_goes_on(visit: Visit, tenant: Cast) -> None:
    page = await visit("/", tenant.alice)
    await send(page, f"call: send_email {json.dumps(MAIL)}")
    await page.get_by_role("button", name="Withdraw").click()
    await expect(page.locator("details.call .pill")).to_have_text("Cancelled")
    await expect(page.locator(".prose").last).to_contain_text("The user withdrew this call")
    [row] = rows("SELECT status FROM approval_requests WHERE tenant_id = %(t)s", t=tenant.id)
    assert row["status"] == "cancelled"


async def test_stop_ends_a_run_that_waits(visit: Visit, tenant: Cast) -> None:
    page = await visit("/", tenant.alice)
    await send(page, f"call: send_email {json.dumps(MAIL)}")
    await expect(page.locator("details.call .pill")).to_have_text("Waiting for approval")
    await page.get_by_role("button", name="Stop").click()
    await expect(page.locator("details.call .pill")).to_have_text("Cancelled")
    await expect(page.locator(".run .notice", has_text="Stopped")).to_be_visible()
    await expect(page.get_by_text("This answer waits for a human")).to_have_count(0)
    await expect(page.locator("li.run")).to_have_attribute("aria-busy", "false")
    [row] = rows("SELECT status FROM approval_requests WHERE tenant_id = %(t)s", t=tenant.id)
    assert row["status"] == "cancelled"


async def test_the_calls_page_tells_the_whole_story(visit: Visit, tenant: Cast, stack: Stack) -> None:
    request = await ask(stack, tenant.alice)
    edited = {**MAIL, "subject": "Order 4712"}
    await asyncio.to_thread(decide, stack, tenant.carol, request, "approve", reason="Corrected.", arguments=edited)
    call = (await settled(request))["call_id"]
    page = await visit(f"/history/{call}/", tenant.alice, size=PHONE)
    for heading in ("Approval", "Arguments, as the model sent them", "What the gates said when it went on"):
        await expect(page.get_by_role("heading", name=heading, exact=True)).to_be_visible()
    story = page.locator(".story")
    await expect(story).to_contain_text(f"{tenant.carol.username} approved with other arguments")
    await expect(story).to_contain_text("Corrected.")
    assert await story.locator("del").all_inner_texts() == ["4711"]
    assert await story.locator("ins").all_inner_texts() == ["4712"]
    await expect(page.get_by_text("A human has to approve it", exact=True)).to_be_visible()
    await expect(page.get_by_text("It is the call that was approved")).to_be_visible()
    await expect(page.get_by_text("The tool was called with these.")).to_be_visible()
    assert await sticking_out(page) == []
