"""The pages of services in a browser: adding one by keyboard, and how they look on a desk, a phone and in the dark."""

import asyncio
from typing import Any

import pytest
from playwright.async_api import Page, expect

from services import changes
from services.changes import NewService, Source
from services.models import ServiceTool
from tenants.models import User
from tenants.scope import transactions
from tenants.scope.routing import on_login
from tests.browser.axe import violations
from tests.browser.driving import PHONE, Visit, sticking_out, tab_to
from tests.database import rows
from tests.people import Cast

LIST = "/settings/services/"
DESK = f"{LIST}desk/"
LONG = "a-word-without-any-space-" * 8


def document(change: str = "") -> dict[str, Any]:
    """A descriptor of 60 tools, one of which has changed."""
    http = {"method": "GET", "path": "/orders/{order_id}"}
    schema = {"type": "object", "properties": {"order_id": {"type": "string", "description": change}}}
    names = ["get_order", "b" * 50, *(f"report_{n}" for n in range(58))]
    tools = [
        {
            "name": each,
            "description": f"{LONG} {change if each == 'get_order' else ''}",
            "inputSchema": schema,
            "http": http,
        }
        for each in names
    ]
    return {"version": 2, "description": LONG, "skill": "Read the order first.", "tools": tools}


def resources() -> dict[str, Any]:
    """What an MCP server lists, of which nothing is short."""
    listed = [{"uri": f"notes://{LONG}{n}", "name": f"{LONG}{n}", "description": LONG} for n in range(60)]
    return {"revision": "2026-07-28", "tools": [], "resources": listed, "about": {"instructions": LONG}}


def fill(tenant: Cast) -> None:
    """A service with a tool that is on, one that changed, and many more; and a server with resources, one a feed."""
    with transactions.scope(*tenant.olga.scope):
        wanted = NewService.read({"slug": "desk", "kind": "http", "url": f"https://api.example.com/{LONG}"})
        changes.add(tenant.id, wanted, Source("http", changes.text_of(document(), "descriptor")))
        ServiceTool.objects.filter(name__in=["get_order", "b" * 50]).update(enabled=True)
        changes.refresh("desk", Source("http", changes.text_of(document("As it is now."), "descriptor")))
        server = NewService.read({"slug": "far", "kind": "mcp", "url": "https://mcp.example.com/mcp"})
        changes.add(tenant.id, server, Source("mcp", changes.text_of(resources(), "url")))
        changes.change("far", {"feeds": [{"name": "first", "uri": f"notes://{LONG}0", "ttl": 30}]})


async def wrong(page: Page, paths: list[str]) -> dict[str, list[str]]:
    """What makes a page wider than its window, and what axe finds wrong with it, by path; nothing where all is well."""
    found = {}
    for path in paths:
        await page.goto(path)
        found[path] = [*await sticking_out(page), *await violations(page)]
    return {path: each for path, each in found.items() if each}


@pytest.mark.parametrize(("size", "scheme"), [(PHONE, "dark"), ((1280, 900), "light")])
async def test_every_page_fits_its_window_and_is_for_everybody(
    visit: Visit, tenant: Cast, size: tuple[int, int], scheme: str
) -> None:
    await asyncio.to_thread(fill, tenant)
    page = await visit("/settings/", tenant.olga, size, scheme)
    tool = f"{DESK}tools/get_order/"
    paths = [
        LIST,
        f"{LIST}-/new/",
        f"{LIST}-/catalogue/webhook/",
        DESK,
        f"{DESK}?page=2&q=report",
        f"{DESK}settings/",
        f"{LIST}far/feeds/",
        tool,
    ]
    assert await wrong(page, ["/settings/", *paths, f"{DESK}remove/"]) == {}


async def test_an_owner_adds_a_service_and_switches_a_tool_on_by_keyboard(visit: Visit, tenant: Cast) -> None:
    page = await visit(f"{LIST}-/catalogue/github/", tenant.olga)
    await page.get_by_label("Short name").focus()
    await page.keyboard.press("Tab")
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("radio", name="A token")).to_be_focused()
    await page.keyboard.press("Tab")
    await page.keyboard.type("ghp-live-9f31c2d7e8b04a5c")
    await tab_to(page, "Add the service")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="github", exact=True)).to_be_visible()
    await page.get_by_label("Choose create_issue").focus()
    await page.keyboard.press("Space")
    await tab_to(page, "Switch the chosen on")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="Switch on 1 tool")).to_be_visible()
    await expect(page.get_by_label("Tier")).to_have_value("elevated")
    assert await violations(page) == []
    await tab_to(page, "Switch on")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("1 tool is switched on.")).to_be_visible()
    # Lowering the tier is asked about.
    await page.get_by_role("link", name="create_issue").click()
    await page.get_by_label("Tier").select_option("system")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("Its calls do not wait for a human any more.")).to_be_visible()
    assert await violations(page) == []
    await page.get_by_role("link", name="No", exact=True).click()
    await expect(page.get_by_label("Tier")).to_have_value("elevated")


async def test_on_a_phone_the_sections_are_a_menu_that_escape_closes(visit: Visit, tenant: Cast) -> None:
    page = await visit(LIST, tenant.olga, PHONE)
    menu = page.get_by_role("navigation", name="Sections of the settings, as a menu")
    await expect(menu).to_be_hidden()
    await page.locator(".sections-menu > summary").focus()
    await page.keyboard.press("Enter")
    await expect(menu.get_by_role("link", name="Services")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(menu).to_be_hidden()


async def test_a_tool_in_the_admin_fits_a_phone(visit: Visit, tenant: Cast) -> None:
    await asyncio.to_thread(fill, tenant)
    await asyncio.to_thread(_operate, tenant)
    [tool] = await asyncio.to_thread(
        rows, "SELECT id FROM service_tools WHERE tenant_id = %(t)s AND name = 'get_order'", t=tenant.id
    )
    page = await visit(f"/admin/services/servicetool/{tool['id']}/change/", tenant.olga, PHONE, "dark")
    await expect(page.get_by_text("As it is now.").first).to_be_visible()
    assert await sticking_out(page) == []


def _operate(tenant: Cast) -> None:
    with on_login("operator"):
        User.objects.filter(pk=tenant.olga.principal.user_id).update(is_staff=True, is_superuser=True)
