"""The newest axe-core finds nothing on any page, with every rule up to level AA, in light and dark, wide and narrow."""

import asyncio
import json
from itertools import product
from typing import Any

from playwright.async_api import Page, expect

from tests.approvals.api import decide, overdue
from tests.approvals.outbox import owner
from tests.approvals.requests import held
from tests.browser import events
from tests.browser.axe import SOURCE, source, violations
from tests.browser.driving import DESK, Visit, send
from tests.people import Cast
from tests.stack import Stack

PHONE = (390, 844)
CALLS = 'call: save_note {"title": "Milk", "content": "Two litres"}\ncall: rm_rf {}'
MAIL = 'call: send_email {"to": "team@example.com", "subject": "Lunch", "body": "At noon?"}'
LONG = {"to": "boss@example.com", "subject": "x" * 400, "body": "Dear boss,\n" + "many words " * 3000 + "\nTHE END"}
ANSWER = "# A table\n\n| Thing | Price |\n|---|--:|\n| " + "tea " * 200 + "| 4 |\n\n```\n" + "x" * 400
STREAM = {"Content-Type": "text/event-stream"}


async def everywhere(page: Page, name: str) -> dict[str, list[str]]:
    """What is wrong with the page as it stands, in each size and scheme; only where something is."""
    wrong = {}
    for (width, height), scheme in product((PHONE, DESK), ("light", "dark")):
        await page.set_viewport_size({"width": width, "height": height})
        await page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        if found := await violations(page):
            wrong[f"{name} {width} {scheme}"] = found
    return wrong


async def visited(page: Page, *paths: str) -> dict[str, list[str]]:
    """What is wrong with these pages."""
    wrong: dict[str, list[str]] = {}
    for path in paths:
        await page.goto(path)
        wrong |= await everywhere(page, path)
    return wrong


def test_axe_core_is_the_version_that_is_locked() -> None:
    text = source()
    lock = json.loads((SOURCE.parents[2] / "package-lock.json").read_text())
    wanted = lock["packages"]["node_modules/axe-core"]["version"]
    assert wanted == "4.14.1"
    assert text.startswith(f"/*! axe v{wanted}\n")


async def test_nothing_is_in_the_way_on_the_chat_page(visit: Visit, tenant: Cast, stack: Stack) -> None:
    done = (await asyncio.to_thread(stack.chat, tenant.alice, CALLS)).json()
    waiting = (await asyncio.to_thread(stack.chat, tenant.alice, MAIL)).json()
    page = await visit("/", tenant.alice)
    wrong = await visited(page, *(f"/?c={each['conversation_id']}" for each in (done, waiting)), "/?q=nothing", "/")
    stream = events.created() + events.event("message.delta", "1", text=ANSWER, turn=1)
    stream += events.ended("completed", ANSWER)
    await page.route("**/api/v1/chat", lambda route: route.fulfill(status=200, headers=STREAM, body=stream))
    await send(page, "go")
    wrong |= await everywhere(page, "an answer")
    await page.set_viewport_size({"width": DESK[0], "height": DESK[1]})
    await page.locator("#conversations li").first.hover()
    await page.locator(".row-actions").first.click()
    wrong |= await everywhere(page, "the menu")
    await page.get_by_role("button", name="Delete", exact=True).click()
    wrong |= await everywhere(page, "the dialog")
    assert wrong == {}


async def test_nothing_is_in_the_way_on_the_historys_pages(visit: Visit, tenant: Cast, stack: Stack) -> None:
    done = (await asyncio.to_thread(stack.chat, tenant.alice, CALLS)).json()
    waiting = (await asyncio.to_thread(stack.chat, tenant.alice, MAIL)).json()
    page = await visit("/history/", tenant.dana)
    await page.locator(".call-row").first.click()
    await expect(page.locator(".inside .gates").first).to_be_visible()
    wrong = await everywhere(page, "/history/")
    details = [f"/history/{call['id']}/" for call in (*done["tool_calls"], *waiting["tool_calls"])]
    wrong |= await visited(page, *details, "/history/?status=error&q=rm_rf", "/history/charts/", "/history/access/")
    wrong |= await visited(page, f"/history/runs/{done['run_id']}/")
    assert wrong == {}


async def test_nothing_is_in_the_way_on_the_approvers_pages(
    visit: Visit, tenant: Cast, other_tenant: Cast, stack: Stack
) -> None:
    long = held(tenant.alice, "send_email", input=LONG, approvals_needed=2)
    denied, late, elsewhere = held(tenant.bob), held(tenant.bob), held(other_tenant.alice)
    held(tenant.carol)
    held(tenant.bob)
    edited: dict[str, Any] = {"reason": "y" * 300, "arguments": {**LONG, "subject": "z" * 300}}
    await asyncio.to_thread(decide, stack, tenant.olga, long, "approve", **edited)
    await asyncio.to_thread(decide, stack, tenant.olga, denied, "deny", reason="No.")
    overdue(late)
    owner(
        "INSERT INTO memberships (id, tenant_id, user_id, role, created_at)"
        " VALUES (gen_random_uuid(), %s, %s, 'approver', now())",
        other_tenant.id,
        tenant.carol.scope.user_id,
    )
    page = await visit("/approvals/", tenant.carol)
    await page.get_by_text("Edit arguments").first.click()
    await page.locator("[name=arguments]").first.fill('{"to": "x"}')
    await page.locator("[name=choose]").last.check()
    wrong = await everywhere(page, "/approvals/, in use")
    wrong |= await visited(page, "/approvals/", "/approvals/?tab=decided&tool=save_note", f"/approvals/{long}/")
    wrong |= await visited(page, f"/approvals/{denied}/", f"/approvals/{elsewhere}/", "/approvals/?tool=none")
    page = await visit("/", tenant.olga)
    wrong |= await visited(page, "/approvals/rules/", "/approvals/rules/new/")
    assert wrong == {}


async def test_nothing_is_in_the_way_at_the_door(visit: Visit, tenant: Cast) -> None:
    page = await visit("/accounts/login/", None)
    wrong = await everywhere(page, "log in")
    await page.get_by_label("Username").fill(tenant.alice.username)
    await page.get_by_label("Password").fill("wrong")
    await page.get_by_role("button", name="Log in").click()
    await expect(page.get_by_role("alert")).to_be_visible()
    wrong |= await everywhere(page, "wrong password")
    page = await visit("/nowhere/", tenant.alice)
    wrong |= await everywhere(page, "404")
    wrong |= await visited(page, "/approvals/")
    assert wrong == {}
