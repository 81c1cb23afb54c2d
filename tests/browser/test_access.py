"""Who looked, and the question before a call is erased, in a browser."""

import asyncio

from playwright.async_api import expect

from audit.history import reads
from audit.models import ToolCall
from tenants.scope import transactions
from tests.browser.driving import PHONE, Visit, sticking_out, tab_to
from tests.people import Cast, Person
from tests.stack import Stack

NOTE = 'call: save_note {"title": "Milk", "content": "Two litres"}'
LONG = {"q": "words-without-any-space-" * 12, "tool": "save_note"}


def _looked(reader: Person, *people: Person) -> None:
    shown = [ToolCall(tenant_id=person.scope.tenant_id, user_id=person.scope.user_id) for person in people]
    with transactions.scope(*reader.scope):
        reads.of_calls(reader_id=reader.scope.user_id, calls=shown, action=reads.Action.LIST, via="page", filters=LONG)


async def test_an_owner_erases_a_call_by_keyboard_and_the_person_sees_who_did(
    visit: Visit, tenant: Cast, stack: Stack
) -> None:
    answer = await asyncio.to_thread(stack.chat, tenant.alice, NOTE)
    call = answer.json()["tool_calls"][0]["id"]
    page = await visit(f"/history/{call}/erase/", tenant.olga)
    await expect(page.get_by_role("heading", name="Erase this call of save_note?")).to_be_visible()
    await expect(page.get_by_text("Milk")).to_have_count(0)
    await tab_to(page, "The call")
    await page.get_by_label("Reason, stored with the record").focus()
    await page.keyboard.type("She asked for it.")
    await tab_to(page, "Erase it for good")
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(f"{stack.url}/history/{call}/")
    await expect(page.get_by_text("Two litres")).to_have_count(0)
    log = await visit("/history/access/?tab=erased", tenant.alice)
    await expect(log.locator(".access li")).to_have_count(1)
    await expect(log.locator(".access li")).to_contain_text(f"{tenant.olga.username} erased one call")
    await expect(log.locator(".access li")).to_contain_text("She asked for it.")


async def test_the_log_fits_a_phone_and_stands_on_record_by_looking(visit: Visit, tenant: Cast, stack: Stack) -> None:
    await asyncio.to_thread(stack.chat, tenant.alice, NOTE)
    await asyncio.to_thread(_looked, tenant.dana, tenant.alice, tenant.bob)
    await visit("/history/", tenant.dana)
    for scheme in ("light", "dark"):
        for person, lines in ((tenant.dana, 3), (tenant.alice, 2)):
            page = await visit("/history/access/", person, PHONE, scheme)
            await expect(page.locator(".access li")).to_have_count(lines)
            assert await sticking_out(page) == []
    page = await visit("/history/access/", tenant.dana)
    await page.get_by_label("Whose calls").fill(tenant.bob.username)
    await page.get_by_role("button", name="Filter").click()
    await expect(page.locator(".access li")).to_have_count(1)
