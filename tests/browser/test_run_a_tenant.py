"""A new tenant from nothing to chats that a budget ends, by an owner who never leaves the browser."""

import asyncio
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser.driving import DESK, PATIENCE_MS, send, sticking_out
from tests.gateway.routing import upstream as upstreams
from tests.gateway.routing.upstream import Upstream
from tests.members.test_commands import manage
from tests.people import PASSWORD
from tests.stack import Stack

# Where to leave pictures of the pages, for people to look at.
PICTURES = os.environ.get("PICTURES", "")
NOTE = ("save_note", {"title": "Printer on the second floor", "content": "Out of toner."})
ASK = "Please note that the printer is out of toner"


@pytest.fixture(scope="module")
def allowing(stack: Stack) -> Iterator[str]:
    """The address of a web process that may reach the provider."""
    yield stack.start_web("allowing web", TOOLGATE_EGRESS_ALLOW="127.0.0.1")
    stack.kill("allowing web")


@pytest.fixture
def provider() -> Iterator[Upstream]:
    """Has a model that saves a note when it is asked to."""
    with upstreams.running() as running:
        running.models, running.calls = ["small", "large"], {"note": NOTE}
        running.usage = {"prompt_tokens": 1200, "completion_tokens": 80, "total_tokens": 1280}
        yield running


async def test_an_owner_takes_a_tenant_from_an_invitation_to_a_budget_that_refuses(
    browser: Browser, allowing: str, provider: Upstream
) -> None:
    slug = f"globex-{uuid.uuid4().hex[:8]}"
    await asyncio.to_thread(manage, "create_tenant", slug, "--name", "Globex")
    [link] = await asyncio.to_thread(manage, "create_invitation", "--tenant", slug, "--role", "owner")
    broken: list[str] = []
    owner = await _joined(browser, allowing, link, f"hank-{slug}", broken)
    member = await _joined(browser, allowing, await _invited(owner, "member"), f"marge-{slug}", broken)
    await _invited(owner, "approver")
    await _look(owner, "people")

    await _adds_a_provider(owner, provider.url)
    await _makes_an_agent(owner)
    await _denies_a_tool(owner, f"marge-{slug}")

    await member.goto("/")
    await send(member, ASK)
    run = member.locator("li.run")
    await expect(run.last.locator(".call")).to_contain_text("Done")
    await _stops_the_agent_and_ends_that(owner, member)
    await _sets_a_budget(owner)
    for _ in range(8):
        await send(member, ASK)
        if await run.last.get_by_text("budget of US$0.02").count():
            break
    await expect(run.last).to_contain_text("Your tenant's budget of US$0.02 for today (UTC) is spent")
    await expect(run.last).to_contain_text("It begins anew at midnight (UTC). An owner of your tenant can raise it")
    await expect(member.locator("#status")).to_have_text("")
    await _look(member, "chat")

    await owner.goto("/settings/spend/?by=user")
    await expect(owner.get_by_role("heading", name="The whole tenant: US$0.02 in a day")).to_be_visible()
    await expect(owner.get_by_role("row", name=f"marge-{slug}")).to_be_visible()
    await _look(owner, "spend")
    await owner.goto("/settings/changes/")
    for words in ("Budget created", "Kill switch agent helpdesk deleted", "Provider of models house created"):
        await expect(owner.get_by_role("heading", name=words)).to_be_visible()
    await expect(owner.get_by_text("the whole tenant", exact=True)).to_be_visible()
    await _look(owner, "changes")
    assert broken == []


async def _joined(browser: Browser, url: str, link: str, name: str, broken: list[str]) -> Page:
    """The chat of somebody who follows an invitation and makes an account."""
    context = await browser.new_context(viewport={"width": DESK[0], "height": DESK[1]}, base_url=url)
    context.set_default_timeout(PATIENCE_MS)
    page = await context.new_page()
    page.on("pageerror", lambda error: broken.append(f"{page.url}: {error}"))
    page.on("response", lambda answer: broken.append(answer.url) if answer.status >= 500 else None)
    await page.goto("/accounts/invitation/" + link.rstrip("/").rpartition("/")[2] + "/")
    await page.get_by_label("Username").fill(name)
    await page.get_by_label("Password", exact=True).fill(PASSWORD)
    await page.get_by_label("Password, again").fill(PASSWORD)
    await page.get_by_role("button", name="Join").click()
    await expect(page.get_by_role("status").first).to_have_text("You are a member of Globex now.")
    return page


async def _invited(page: Page, role: str) -> str:
    await page.goto("/settings/people/")
    await page.get_by_label("Role", exact=True).last.select_option(role)
    await page.get_by_role("button", name="Make the link").click()
    return await page.locator(".made .sheet").inner_text()


async def _adds_a_provider(page: Page, url: str) -> None:
    await page.goto("/settings/models/")
    await page.get_by_role("link", name="Add a provider").click()
    await page.get_by_label("Name").fill("house")
    await page.get_by_label("Kind").select_option("openai-compatible")
    await page.get_by_label("Address").fill(url)
    await page.get_by_label("API key").fill("sk-house")
    await page.get_by_label("Its models, one a line").fill("small\nlarge")
    await page.get_by_role("button", name="Test and add").click()
    await expect(page.get_by_role("status")).to_contain_text("house is added. It answers, and lists 2 models.")
    await page.get_by_label("Only these:").check()
    await page.get_by_label("Allowed models, one a line").fill("house/small")
    for name, value in (("model", "house/small"), ("input", "2"), ("output", "8")):
        await page.locator(f"[name=price_{name}]").first.fill(value)
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("status")).to_contain_text("The models are changed.")
    await _look(page, "models")


async def _makes_an_agent(page: Page) -> None:
    await page.goto("/settings/agents/-/new/")
    await page.get_by_label("Slug").fill("helpdesk")
    await page.get_by_label("Name", exact=True).fill("Help desk")
    await page.get_by_label("Instructions").fill("You write down what is broken.")
    await page.get_by_label("Model", exact=True).fill("house/small")
    await page.get_by_label("The chosen ones").check()
    await expect(page.get_by_label("The tenant’s default tools")).not_to_be_checked()
    for tool in ("save_note", "search_notes"):
        await page.get_by_label(tool).check()
    await page.get_by_label("Make it the default agent, in place of the present one").check()
    await page.get_by_role("button", name="Make the agent").click()
    await page.get_by_label("Test message").fill(ASK)
    await page.get_by_role("button", name="Try", exact=True).click()
    answer = page.locator("#test-runs li.run")
    await expect(answer.locator(".call")).to_contain_text("Done")
    await expect(answer).to_have_attribute("aria-busy", "false")
    await _look(page, "agent")


async def _denies_a_tool(page: Page, username: str) -> None:
    await page.goto("/settings/tools/search_notes/")
    await page.get_by_text("Give a grant").first.click()
    await page.get_by_label("Effect").select_option("deny")
    await page.locator("#grant-user").fill(username)
    await page.get_by_role("button", name="Give the grant").click()
    await expect(page.get_by_role("status")).to_contain_text("The grant holds from now on.")
    await page.goto(f"/settings/tools/search_notes/?user={username}&agent=helpdesk")
    await expect(page.get_by_text(f"{username} may not call it.")).to_be_visible()
    await _look(page, "tool")


async def _stops_the_agent_and_ends_that(page: Page, member: Page) -> None:
    await page.goto("/settings/safety/")
    await page.get_by_label("What").select_option("agent")
    await page.get_by_label("Which").fill("helpdesk")
    await page.get_by_label("Why (whoever is stopped reads it)").fill("It writes down too much.")
    await page.get_by_role("button", name="Stop it").click()
    await expect(page.get_by_text("The agent helpdesk is stopped.")).to_be_visible()
    await _look(page, "safety")
    await send(member, "Are you there?")
    refused = member.locator("li.run").last
    await expect(refused.get_by_text("The message was not taken")).to_be_visible()
    await expect(refused).to_contain_text("Reason: It writes down too much. An owner of the tenant can end that")
    await page.get_by_role("button", name="End").click()
    await expect(page.get_by_text("The kill switch is ended.")).to_be_visible()


async def _sets_a_budget(page: Page) -> None:
    await page.goto("/settings/spend/")
    await page.get_by_label("Limit").fill("0.02")
    await page.get_by_role("button", name="Add a budget").click()
    await expect(page.get_by_text("The budget of US$0.02 in a day is set.")).to_be_visible()


async def _look(page: Page, name: str) -> None:
    """Nothing is wider than the window."""
    assert await sticking_out(page) == [], name
    if PICTURES:
        await page.evaluate("window.scrollTo(0, 0)")
        whole: dict[str, Any] = {"full_page": name not in ("chat", "changes")}
        await page.screenshot(path=Path(PICTURES) / f"{name}.png", **whole)
