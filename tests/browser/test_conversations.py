"""The conversations at the side of the chat: renamed, deleted and found again; and who answers the next message."""

import asyncio
import re
import uuid
from typing import Any

from playwright.async_api import Locator, Page, expect

from gateway.models import Agent
from tenants.scope.routing import on_login
from tests.browser.driving import PHONE, Visit, send, sticking_out, tab_to
from tests.database import rows
from tests.people import Cast, Person
from tests.stack import Stack


async def talk(stack: Stack, person: Person, *said: str) -> list[str]:
    """Conversations that begin with these messages, oldest first; their ids."""
    return [(await asyncio.to_thread(stack.chat, person, each)).json()["conversation_id"] for each in said]


def entries(page: Page) -> Locator:
    """The links to the conversations."""
    return page.locator("#conversations a[data-id]")


async def choose(page: Page, title: str, verb: str) -> None:
    """Open the menu of a conversation, and press what it offers."""
    row = page.locator("#conversations li", has_text=title)
    await row.hover()
    await row.get_by_role("button", name="More actions").click()
    await page.get_by_role("button", name=verb, exact=True).click()


def titles(conversation: str) -> list[str]:
    """The title as it is stored; nothing once it is deleted."""
    found = rows("SELECT title FROM conversations WHERE id = %(id)s", id=uuid.UUID(conversation))
    return [each["title"] for each in found]


async def test_a_conversation_is_renamed_in_the_list_and_the_page_says_so(
    visit: Visit, tenant: Cast, stack: Stack
) -> None:
    [_, opened] = await talk(stack, tenant.alice, "hello one", "hello two")
    page = await visit(f"/?c={opened}", tenant.alice)
    await choose(page, "hello two", "Rename")
    box = page.get_by_label("New title")
    await expect(box).to_be_focused()
    await expect(box).to_have_value("hello two")
    await box.fill("  <b>Errands</b> & more ")
    await page.keyboard.press("Enter")
    await expect(entries(page)).to_have_text(["<b>Errands</b> & more", "hello one"])
    await expect(entries(page).first).to_be_focused()
    await expect(page).to_have_title("<b>Errands</b> & more · Toolgate")
    await expect(page.get_by_role("heading", level=1)).to_have_text("<b>Errands</b> & more")
    assert titles(opened) == ["<b>Errands</b> & more"]
    await expect(page.get_by_role("button", name="More actions").first).to_have_accessible_description(
        "<b>Errands</b> & more"
    )


async def test_escape_and_an_empty_title_rename_nothing(visit: Visit, tenant: Cast, stack: Stack) -> None:
    [made] = await talk(stack, tenant.alice, "hello")
    page = await visit("/", tenant.alice)
    for typed, key in (("Other", "Escape"), ("   ", "Enter")):
        await choose(page, "hello", "Rename")
        await page.get_by_label("New title").fill(typed)
        await page.keyboard.press(key)
        await expect(page.get_by_label("New title")).to_have_count(0)
        await expect(entries(page)).to_have_text(["hello"])
    assert titles(made) == ["hello"]


async def test_a_title_that_the_server_refuses_stays_to_be_corrected(visit: Visit, tenant: Cast, stack: Stack) -> None:
    [made] = await talk(stack, tenant.alice, "hello")
    page = await visit("/", tenant.alice)
    await page.route("**/api/v1/conversations/*/", lambda route: route.abort())
    await choose(page, "hello", "Rename")
    await page.get_by_label("New title").fill("Other")
    await page.keyboard.press("Enter")
    await expect(page.locator("#side-trouble")).to_have_text(
        "It could not be renamed. The server cannot be reached. Try again."
    )
    await expect(page.get_by_label("New title")).to_have_value("Other")
    assert titles(made) == ["hello"]
    await page.unroute("**/api/v1/conversations/*/")
    await page.keyboard.press("Enter")
    await expect(entries(page)).to_have_text(["Other"])
    await expect(page.locator("#side-trouble")).to_be_hidden()


async def test_a_branch_is_made_in_the_menu_goes_on_with_what_was_said_and_leaves_the_other_as_it_is(
    visit: Visit, tenant: Cast, stack: Stack
) -> None:
    [made] = await talk(stack, tenant.alice, "hello one")
    page = await visit("/", tenant.alice)
    await choose(page, "hello one", "Branch")
    await expect(
        page.get_by_text("A branch of another conversation: what was said there is known here.")
    ).to_be_visible()
    await expect(page).not_to_have_url(re.compile(f"c={made}"))
    await send(page, "what are my tasks?")
    await expect(page.locator("#runs")).to_contain_text("You have no tasks")
    kinds = "SELECT id, kind, parent_id FROM conversations WHERE tenant_id = %(t)s ORDER BY created_at"
    [first, branch] = rows(kinds, t=tenant.id)
    assert (str(first["id"]), first["kind"], branch["kind"], branch["parent_id"]) == (
        made, "main", "branch", first["id"]
    )  # fmt: skip
    said = "SELECT conversation_id FROM messages WHERE tenant_id = %(t)s ORDER BY created_at"
    assert [row["conversation_id"] for row in rows(said, t=tenant.id)] == [first["id"]] * 2 + [branch["id"]] * 2
    await page.get_by_role("link", name="another conversation").click()
    await expect(page.locator("#runs")).to_contain_text("hello one")
    await expect(page.locator("#runs")).not_to_contain_text("You have no tasks")


async def test_a_conversation_is_deleted_only_after_the_dialog_was_answered(
    visit: Visit, tenant: Cast, stack: Stack
) -> None:
    [first, opened] = await talk(stack, tenant.alice, "hello one", "hello two")
    page = await visit(f"/?c={opened}", tenant.alice)
    dialog = page.get_by_role("dialog", name="Delete this conversation?")
    for refuse in (lambda: page.keyboard.press("Escape"), dialog.get_by_role("button", name="Keep it").click):
        await choose(page, "hello one", "Delete")
        await expect(dialog).to_contain_text("hello one")
        await expect(dialog.get_by_role("button", name="Keep it")).to_be_focused()
        await refuse()
        await expect(dialog).to_be_hidden()
    assert titles(first) == ["hello one"]
    await choose(page, "hello one", "Delete")
    await dialog.get_by_role("button", name="Delete").click()
    await expect(entries(page)).to_have_text(["hello two"])
    assert (titles(first), titles(opened)) == ([], ["hello two"])
    # The one that is open leads to a new chat.
    await choose(page, "hello two", "Delete")
    await dialog.get_by_role("button", name="Delete").click()
    await expect(page).to_have_url(f"{stack.url}/")
    await expect(page.locator("#conversations")).to_have_text("Your conversations are listed here.")
    assert titles(opened) == []


async def test_a_conversation_whose_answer_waits_is_not_deleted_and_says_why(
    visit: Visit, tenant: Cast, stack: Stack
) -> None:
    mail = 'call: send_email {"to": "team@example.com", "subject": "Lunch", "body": "At noon?"}'
    [made] = await talk(stack, tenant.alice, mail)
    page = await visit("/", tenant.alice)
    await page.locator("#conversations li").hover()
    await page.locator(".row-actions").click()
    await page.get_by_role("button", name="Delete", exact=True).click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("button", name="Delete").click()
    await expect(dialog.get_by_role("alert")).to_contain_text("run")
    await dialog.get_by_role("button", name="Keep it").click()
    await expect(entries(page)).to_have_count(1)
    assert len(titles(made)) == 1


async def test_conversations_are_found_by_title_and_message_and_only_ones_own(
    visit: Visit, tenant: Cast, stack: Stack
) -> None:
    await talk(stack, tenant.bob, "the Zanzibar plan of bob")
    [opened, _] = await talk(stack, tenant.alice, "Something about Zanzibar", "hello")
    await asyncio.to_thread(stack.chat, tenant.alice, "A word on 100% cacao", conversation_id=opened)
    page = await visit("/", tenant.alice)
    box = page.get_by_label("Search conversations")
    for words, found in (("ZANZI about", 1), ("cacao", 1), ("100%", 1), ("1_0", 0), ("zanzibar hello", 0)):
        await box.fill(words)
        await expect(entries(page)).to_have_count(found)
        if found:
            await expect(entries(page)).to_have_text(["Something about Zanzibar"])
        else:
            await expect(page.locator("#conversations")).to_have_text("No conversation has these words.")
    await box.fill("")
    await expect(entries(page)).to_have_count(2)
    await page.goto("/?q=cacao")
    await expect(entries(page)).to_have_text(["Something about Zanzibar"])


async def test_the_menu_and_the_rename_work_with_the_keyboard_alone(visit: Visit, tenant: Cast, stack: Stack) -> None:
    [made] = await talk(stack, tenant.alice, "hello")
    page = await visit("/", tenant.alice)
    await page.get_by_role("link", name="New chat").focus()
    await tab_to(page, "More actions")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("button", name="Rename", exact=True)).to_be_focused()
    await page.keyboard.press("ArrowDown")
    await expect(page.get_by_role("button", name="Branch", exact=True)).to_be_focused()
    await page.keyboard.press("ArrowDown")
    await expect(page.get_by_role("button", name="Delete", exact=True)).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("button", name="More actions")).to_be_focused()
    await page.keyboard.press("Enter")
    await page.keyboard.press("Enter")
    await page.keyboard.type("Typed")
    await page.keyboard.press("Enter")
    await expect(entries(page).first).to_be_focused()
    assert titles(made) == ["Typed"]


async def test_no_button_is_called_by_a_title(visit: Visit, tenant: Cast, stack: Stack) -> None:
    await talk(stack, tenant.alice, "Send a Message", "Stop", "New chat")
    page = await visit("/", tenant.alice)
    await send(page, "Send more")
    for name in ("Send", "More actions"):
        await expect(page.get_by_role("button", name=name)).to_have_count(4 if name == "More actions" else 1)
    await expect(page.get_by_label("Message")).to_have_count(1)


async def test_all_of_it_is_in_the_drawer_of_a_phone(visit: Visit, tenant: Cast, stack: Stack) -> None:
    [made] = await talk(stack, tenant.alice, "x" * 60)
    page = await visit("/", tenant.alice, size=PHONE)
    await page.get_by_role("button", name="Conversations").click()
    await page.locator(".row-actions").click()
    assert await sticking_out(page) == []
    await page.get_by_role("button", name="Rename", exact=True).click()
    # What the drawer hears as "close" is meant for the title.
    await page.keyboard.press("Escape")
    await expect(entries(page)).to_be_visible()
    await page.locator(".row-actions").click()
    await page.get_by_role("button", name="Delete", exact=True).click()
    assert await sticking_out(page) == []
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(entries(page)).to_have_count(0)
    assert titles(made) == []


async def test_the_next_message_is_answered_by_the_agent_and_model_that_were_chosen(
    visit: Visit, tenant: Cast, stack: Stack
) -> None:
    def add() -> None:
        with on_login("operator"):
            Agent.objects.create(tenant_id=tenant.id, slug="reader", name="Reader", tools=["list_tasks"])

    await asyncio.to_thread(add)
    page = await visit("/", tenant.alice)
    asked: list[Any] = []
    page.on("request", lambda each: asked.append(each.post_data_json) if each.url.endswith("/api/v1/chat") else None)
    await expect(page.get_by_label("Agent").locator("option")).to_have_text(["Default", "Reader"])
    models = await page.get_by_label("Model").locator("option").all_inner_texts()
    listed = await asyncio.to_thread(stack.get, tenant.alice, "/v1/models")
    offered = [each["id"] for each in listed.json()["data"] if "/" in each["id"]]
    assert models == ["The agent's own", *offered]
    await send(page, "hello")
    await page.get_by_label("Agent").select_option("Reader")
    await page.get_by_label("Model").select_option("offline/demo")
    await send(page, "hello again")
    assert [(each["agent"], each.get("model")) for each in asked] == [("default", None), ("reader", "offline/demo")]
    runs = rows(
        "SELECT a.slug, r.model FROM runs r JOIN agents a ON a.id = r.agent_id WHERE r.tenant_id = %(t)s"
        " ORDER BY r.created_at",
        t=tenant.id,
    )
    assert [(each["slug"], each["model"]) for each in runs] == [("default", "offline/demo"), ("reader", "offline/demo")]
    # Whoever comes back goes on with the same agent.
    await page.reload()
    await expect(page.get_by_label("Agent")).to_have_value("reader")
    await expect(page).to_have_url(re.compile(r"/\?c="))
