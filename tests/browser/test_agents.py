"""The pages of agents and tools in a browser: the test chat, and how they look on a desk, a phone and in the dark."""

import asyncio

import pytest
from playwright.async_api import Page, expect

from gateway.runs.agents import changes
from tenants.scope import transactions
from tenants.scope.routing import on_login
from tests.browser.axe import violations
from tests.browser.driving import PHONE, Visit, sticking_out
from tests.database import rows
from tests.people import Cast
from tools.models import Grant

AGENTS, TOOLS = "/settings/agents/", "/settings/tools/"
LONG = "a-word-without-any-space-" * 8


def fill(tenant: Cast) -> None:
    """An agent with versions, an archived one, and grants."""
    with transactions.scope(*tenant.olga.scope):
        changes.add(tenant.id, {"slug": "support", "name": LONG[:200], "instructions": LONG, "tools": ["..."]})
        changes.change(tenant.id, "support", {"instructions": f"{LONG}\n" * 3, "max_turns": 20})
        changes.add(tenant.id, {"slug": "old"})
        changes.change(tenant.id, "old", {}, archived=True)
    with on_login("operator"):
        Grant.objects.create(
            tenant_id=tenant.id, tool_name="send_email", effect="deny", user_id=tenant.alice.principal.user_id
        )


async def wrong(page: Page, paths: list[str]) -> dict[str, list[str]]:
    """What makes a page wider than its window, and what axe finds wrong with it, by path; nothing where all is well."""
    found = {}
    for path in paths:
        await page.goto(path)
        await page.evaluate("document.querySelectorAll('.settings-main details').forEach((each) => (each.open = true))")
        found[path] = [*await sticking_out(page), *await violations(page)]
    return {path: each for path, each in found.items() if each}


@pytest.mark.parametrize(("size", "scheme"), [(PHONE, "dark"), ((1280, 900), "light")])
async def test_nothing_is_wrong_with_any_page(visit: Visit, tenant: Cast, size: tuple[int, int], scheme: str) -> None:
    await asyncio.to_thread(fill, tenant)
    page = await visit(AGENTS, tenant.olga, size)
    await page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    asked = f"{TOOLS}send_email/?user={tenant.alice.username}&agent=default"
    paths = [AGENTS, f"{AGENTS}-/new/", f"{AGENTS}support/", f"{AGENTS}support/versions/", f"{AGENTS}old/"]
    assert await wrong(page, [*paths, TOOLS, f"{TOOLS}-/", asked, f"{TOOLS}no_such_tool/"]) == {}


async def test_an_agent_is_tried_as_its_form_is_and_nothing_of_it_is_saved(visit: Visit, tenant: Cast) -> None:
    await asyncio.to_thread(fill, tenant)
    page = await visit(f"{AGENTS}support/", tenant.olga)
    await page.get_by_label("save_note").check()
    await page.get_by_label("Test message").fill('call: save_note {"title": "Milk", "content": "Two litres"}')
    await page.keyboard.press("Enter")
    answer = page.locator("#test-runs li.run")
    await expect(answer).to_have_attribute("aria-busy", "false")
    await expect(answer.locator(".call")).to_contain_text("Done")
    await page.get_by_label("save_note").uncheck()
    await page.get_by_label("Test message").fill('call: save_note {"title": "Milk", "content": "Two litres"}')
    await page.get_by_role("button", name="Try", exact=True).click()
    await expect(answer.nth(1)).to_have_attribute("aria-busy", "false")
    await expect(answer.nth(1).locator(".call")).to_contain_text("not among the tools")
    found = await asyncio.to_thread(
        rows, "SELECT conversation_id, profile FROM runs WHERE tenant_id = %(t)s ORDER BY created_at", t=tenant.id
    )
    assert [each["profile"]["tools"] for each in found] == [["...", "save_note"], ["..."]]
    assert len({each["conversation_id"] for each in found}) == 1
    [agent] = await asyncio.to_thread(
        rows, "SELECT tools, version FROM agents WHERE tenant_id = %(t)s AND slug = 'support'", t=tenant.id
    )
    assert agent == {"tools": ["..."], "version": 2}
