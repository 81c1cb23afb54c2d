"""The newest axe-core finds nothing on any page, with every rule up to level AA, in light and dark, wide and narrow."""

import asyncio
import json
from typing import Any, Literal

import pytest
from playwright.async_api import Page, expect

from tests.approvals.api import decide, overdue
from tests.approvals.requests import held
from tests.browser import events
from tests.browser.axe import SOURCE, source, violations
from tests.browser.driving import DESK, Visit, send
from tests.keeping.rows import memory
from tests.notifications.outbox import owner
from tests.people import Cast
from tests.stack import Stack

PHONE = (390, 844)
SIZES = pytest.mark.parametrize("size", [PHONE, DESK])
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
Size = tuple[int, int]
CALLS = 'call: save_note {"title": "Milk", "content": "Two litres"}\ncall: rm_rf {}'
MAIL = 'call: send_email {"to": "team@example.com", "subject": "Lunch", "body": "At noon?"}'
LONG = {"to": "boss@example.com", "subject": "x" * 400, "body": "Dear boss,\n" + "many words " * 3000 + "\nTHE END"}
ANSWER = "# A table\n\n| Thing | Price |\n|---|--:|\n| " + "tea " * 200 + "| 4 |\n\n```\n" + "x" * 400
STREAM = {"Content-Type": "text/event-stream"}


async def looked_at(page: Page, name: str) -> dict[str, list[str]]:
    """What is wrong with the page as it is, in either scheme, if anything is."""
    wrong: dict[str, list[str]] = {}
    await page.wait_for_load_state()
    for scheme in SCHEMES:
        await page.emulate_media(color_scheme=scheme)
        if found := await violations(page):
            wrong[f"{name}, {scheme}"] = found
    return wrong


async def visited(page: Page, *paths: str) -> dict[str, list[str]]:
    """What is wrong with these pages."""
    wrong: dict[str, list[str]] = {}
    for path in paths:
        await page.goto(path)
        wrong |= await looked_at(page, path)
    return wrong


def test_axe_core_is_the_version_that_is_locked() -> None:
    text = source()
    lock = json.loads((SOURCE.parents[2] / "package-lock.json").read_text())
    wanted = lock["packages"]["node_modules/axe-core"]["version"]
    assert wanted == "4.14.1"
    assert text.startswith(f"/*! axe v{wanted}\n")


@SIZES
async def test_nothing_is_in_the_way_of_a_conversations_files(
    visit: Visit, tenant: Cast, stack: Stack, size: Size
) -> None:
    body = (await asyncio.to_thread(stack.chat, tenant.alice, "Write a file notes/plan.md: # Plan\nmilk")).json()
    chat, files = f"/?c={body['conversation_id']}", f"/conversations/{body['conversation_id']}/files/"
    page = await visit(chat, tenant.alice, size)
    await page.get_by_role("button", name="Files").click()
    await expect(page.get_by_role("link", name="notes/plan.md", exact=True)).to_be_visible()
    wrong = await looked_at(page, "beside the chat")
    wrong |= await visited(page, files)
    await page.get_by_role("link", name="notes/plan.md", exact=True).click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("notes/plan.md")
    wrong |= await looked_at(page, "a file")
    assert wrong == {}


@SIZES
async def test_nothing_is_in_the_way_on_the_chat_page(visit: Visit, tenant: Cast, stack: Stack, size: Size) -> None:
    done = (await asyncio.to_thread(stack.chat, tenant.alice, CALLS)).json()
    waiting = (await asyncio.to_thread(stack.chat, tenant.alice, MAIL)).json()
    page = await visit("/", tenant.alice, size)
    wrong = await visited(page, *(f"/?c={each['conversation_id']}" for each in (done, waiting)), "/?q=nothing", "/")
    stream = events.created() + events.event("message.delta", "1", text=ANSWER, turn=1)
    stream += events.ended("completed", ANSWER)
    await page.route("**/api/v1/chat", lambda route: route.fulfill(status=200, headers=STREAM, body=stream))
    await send(page, "go")
    wrong |= await looked_at(page, "an answer")
    if size == PHONE:
        await page.get_by_role("button", name="Conversations").click()
    await page.locator("#conversations li").first.hover()
    await page.locator(".row-actions").first.click()
    wrong |= await looked_at(page, "the menu")
    await page.get_by_role("button", name="Delete", exact=True).click()
    wrong |= await looked_at(page, "the dialog")
    assert wrong == {}


@SIZES
async def test_nothing_is_in_the_way_on_the_historys_pages(
    visit: Visit, tenant: Cast, stack: Stack, size: Size
) -> None:
    done = (await asyncio.to_thread(stack.chat, tenant.alice, CALLS)).json()
    waiting = (await asyncio.to_thread(stack.chat, tenant.alice, MAIL)).json()
    page = await visit("/history/", tenant.dana, size)
    await page.locator(".call-row").first.click()
    await expect(page.locator(".inside .gates").first).to_be_visible()
    wrong = await looked_at(page, "/history/")
    details = [f"/history/{call['id']}/" for call in (*done["tool_calls"], *waiting["tool_calls"])]
    wrong |= await visited(page, *details, "/history/?status=error&q=rm_rf", "/history/charts/", "/history/access/")
    wrong |= await visited(page, f"/history/runs/{done['run_id']}/")
    assert wrong == {}


@SIZES
async def test_nothing_is_in_the_way_on_the_approvers_pages(
    visit: Visit, tenant: Cast, other_tenant: Cast, stack: Stack, size: Size
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
    page = await visit("/approvals/", tenant.carol, size)
    await page.get_by_text("Edit arguments").first.click()
    await page.locator("[name=arguments]").first.fill('{"to": "x"}')
    await page.locator("[name=choose]").last.check()
    wrong = await looked_at(page, "/approvals/, in use")
    wrong |= await visited(page, "/approvals/", "/approvals/?tab=decided&tool=save_note", f"/approvals/{long}/")
    wrong |= await visited(page, f"/approvals/{denied}/", f"/approvals/{elsewhere}/", "/approvals/?tool=none")
    assert wrong == {}


@SIZES
async def test_nothing_is_in_the_way_on_the_page_of_memories(visit: Visit, tenant: Cast, size: Size) -> None:
    await asyncio.to_thread(memory, tenant.alice, "Likes quiet hotels", tags=["Travel"], taint=["untrusted"])
    await asyncio.to_thread(memory, tenant.bob, "The office closes at six", "tenant")
    page = await visit("/memories/", tenant.alice, size)
    assert await visited(page, "/memories/", "/memories/?q=office", "/memories/?scope=agent") == {}


@SIZES
async def test_nothing_is_in_the_way_on_the_pages_of_the_rules(visit: Visit, tenant: Cast, size: Size) -> None:
    page = await visit("/", tenant.olga, size)
    assert await visited(page, "/approvals/rules/", "/approvals/rules/new/") == {}


@SIZES
async def test_nothing_is_in_the_way_at_the_door(visit: Visit, tenant: Cast, size: Size) -> None:
    page = await visit("/accounts/login/", None, size)
    wrong = await looked_at(page, "log in")
    await page.get_by_label("Username").fill(tenant.alice.username)
    await page.get_by_label("Password").fill("wrong")
    await page.get_by_role("button", name="Log in").click()
    await expect(page.get_by_role("alert")).to_be_visible()
    wrong |= await looked_at(page, "wrong password")
    page = await visit("/nowhere/", tenant.alice, size)
    wrong |= await looked_at(page, "404")
    wrong |= await visited(page, "/approvals/")
    assert wrong == {}
