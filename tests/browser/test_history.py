"""The history and a call's page, as members, auditors and strangers see them."""

import asyncio
import re

from playwright.async_api import expect

from tests.browser.driving import Visit, tab_to
from tests.people import Cast, Person
from tests.stack import Stack

HOSTILE = 'call: save_note {"title": "<b>\\u202etxt.exe", "content": "a\\u200bb"}'


async def _say(stack: Stack, person: Person, content: str) -> list[str]:
    """Have the demo model make calls; their ids."""
    answer = await asyncio.to_thread(stack.chat, person, content)
    assert answer.status_code == 200, answer.text
    return [call["id"] for call in answer.json()["tool_calls"]]


async def test_a_filter_narrows_the_list_and_stands_in_the_address(visit: Visit, tenant: Cast, stack: Stack) -> None:
    await _say(stack, tenant.alice, 'call: save_note {"title": "Milk", "content": "Two litres"}')
    await _say(stack, tenant.alice, "call: list_tasks {}")
    page = await visit("/history/", tenant.alice)
    names = page.locator(".call-row .name")
    await expect(names).to_have_text(["list_tasks", "save_note"])
    await page.get_by_label("Tool", exact=True).select_option("save_note")
    await expect(names).to_have_text(["save_note"])
    await expect(page).to_have_url(re.compile(r"/history/\?tool=save_note$"))
    await page.reload()
    await expect(names).to_have_text(["save_note"])
    await page.get_by_label("Search").fill("no such words")
    await expect(page.get_by_role("heading", name="No call matches")).to_be_visible()


async def test_refused_calls_are_found_by_their_error(visit: Visit, tenant: Cast, stack: Stack) -> None:
    await _say(stack, tenant.alice, "call: list_tasks {}")
    await _say(stack, tenant.alice, "call: rm_rf {}")
    page = await visit("/history/", tenant.alice)
    await page.get_by_label("Error").select_option("Not allowed")
    await expect(page.locator(".call-row .name")).to_have_text(["rm_rf"])
    await page.locator(".call-row").click()
    await expect(page.locator(".inside .gates li")).to_have_text([re.compile("The tool may not be called here")])


async def test_older_calls_are_loaded_below_and_the_keyboard_goes_on_there(
    visit: Visit, tenant: Cast, stack: Stack
) -> None:
    made = [await _say(stack, tenant.alice, "call: list_tasks {}") for _ in range(32)]
    page = await visit("/history/", tenant.alice)
    rows = page.locator(".call-row")
    await expect(rows).to_have_count(30)
    await page.get_by_role("link", name="Show older calls").focus()
    await page.keyboard.press("Enter")
    await expect(rows).to_have_count(32)
    await expect(rows.nth(30)).to_be_focused()
    shown = await rows.evaluate_all("rows => rows.map((row) => row.id.slice(4))")
    assert shown == [call for [call] in reversed(made)]


async def test_a_call_shows_what_hides_in_its_arguments(visit: Visit, tenant: Cast, stack: Stack) -> None:
    [call] = await _say(stack, tenant.alice, HOSTILE)
    page = await visit(f"/history/{call}/", tenant.alice)
    arguments = page.get_by_label("Arguments")
    await expect(arguments).to_contain_text("<b>‹U+202E›txt.exe")
    await expect(arguments).to_contain_text("a‹U+200B›b")
    body = await page.locator("main").inner_text()
    assert "\u202e" not in body and "\u200b" not in body
    for heading in ("Output", "What it made or changed", "What the gates said"):
        await expect(page.get_by_role("heading", name=heading)).to_be_visible()
    await page.get_by_role("link", name="Open it in the chat").click()
    await expect(page.locator("details.call")).to_have_attribute("data-call", call)


async def test_another_persons_call_is_not_found(visit: Visit, tenant: Cast, other_tenant: Cast, stack: Stack) -> None:
    [bobs] = await _say(stack, tenant.bob, "call: list_tasks {}")
    [foreign] = await _say(stack, other_tenant.alice, "call: list_tasks {}")
    for call in (bobs, foreign):
        page = await visit(f"/history/{call}/", tenant.alice)
        await expect(page.get_by_role("heading", name="There is nothing here")).to_be_visible()
        assert "list_tasks" not in await page.content()
    await page.goto("/history/")
    await expect(page.get_by_role("heading", name="No tool has been called yet")).to_be_visible()


async def test_an_auditor_reads_the_tenant_and_filters_by_person(visit: Visit, tenant: Cast, stack: Stack) -> None:
    await _say(stack, tenant.alice, "call: list_tasks {}")
    await _say(stack, tenant.bob, "call: rm_rf {}")
    page = await visit("/history/", tenant.dana)
    people = page.locator(".call-row .by")
    await expect(people).to_have_text([f"for {tenant.bob.username}", f"for {tenant.alice.username}"])
    await page.get_by_label("Person").fill(tenant.bob.username)
    await page.keyboard.press("Enter")
    await expect(people).to_have_text([f"for {tenant.bob.username}"])
    await page.locator(".call-row").click()
    await expect(page.locator(".facts")).to_contain_text(tenant.bob.username)
    assert await page.get_by_role("link", name="Open it in the chat").count() == 0


async def test_the_history_is_reached_and_opened_with_the_keyboard_alone(
    visit: Visit, tenant: Cast, stack: Stack
) -> None:
    await _say(stack, tenant.alice, "call: list_tasks {}")
    page = await visit("/history/", tenant.alice)
    await page.keyboard.press("Tab")
    assert await page.evaluate("document.activeElement.innerText") == "Skip to content"
    await page.keyboard.press("Enter")
    await tab_to(page, "list_tasks")
    outline = await page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="What the gates said")).to_be_visible()
    await tab_to(page, "Open it on a page of its own")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="list_tasks")).to_be_visible()
