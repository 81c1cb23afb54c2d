"""What everybody sets for themselves, and the page on which they allow an OAuth client, in a real browser."""

import asyncio
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.async_api import expect

from tests.browser.driving import DESK, PHONE, Visit, sticking_out
from tests.browser.test_axe import looked_at
from tests.mcp.oauth import Program, ask, registered
from tests.people import PASSWORD, Cast, make_tenant
from tests.stack import Stack
from tests.waiting import PATIENCE_SECONDS

PAGES = ("/settings/keys/", "/settings/applications/", "/settings/password/", "/settings/second-factor/")


@pytest.fixture
def members() -> Cast:
    """A tenant whose people have passwords."""
    return make_tenant(PASSWORD)


async def _listening(heard: "asyncio.Queue[dict[str, str]]") -> "asyncio.Server":
    """A client that waits for its answer on this machine, as editors do."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = (await reader.readline()).decode().split(" ")[1]
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nDone")
        await writer.drain()
        writer.close()
        if path.startswith("/callback"):
            heard.put_nowait({name: value for name, [value] in parse_qs(urlsplit(path).query).items()})

    return await asyncio.start_server(answer, "127.0.0.1", 0)


async def test_a_member_allows_a_client_with_two_clicks_and_ends_its_access(
    visit: Visit, stack: Stack, members: Cast
) -> None:
    heard: asyncio.Queue[dict[str, str]] = asyncio.Queue()
    server = await _listening(heard)
    back = f"http://localhost:{server.sockets[0].getsockname()[1]}/callback"
    client = await asyncio.to_thread(registered, "Quill <i>", "http://localhost/callback")
    program: Any = await asyncio.to_thread(Program, stack, members.alice, client.id)
    page = await visit(f"/oauth/authorize?{urlencode(program.request(redirect_uri=back))}", None)
    # Not logged in: the log-in page first, and then what was asked.
    await page.get_by_label("Username").fill(members.alice.username)
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Log in").click()
    await expect(page.get_by_role("heading", name="Allow Quill <i> to act for you?")).to_be_visible()
    assert await looked_at(page, "consent") == {}
    await page.get_by_role("button", name="Allow").click()
    answer = await asyncio.wait_for(heard.get(), PATIENCE_SECONDS)
    server.close()
    assert (answer["state"], answer["iss"]) == ("s 1", stack.url)
    tokens = (await asyncio.to_thread(program.exchange, answer["code"], redirect_uri=back)).json()
    assert (await asyncio.to_thread(ask, stack, tokens["access_token"])).status_code == 200
    await page.goto(f"{stack.url}/settings/applications/")
    await page.get_by_role("button", name="End access of Quill <i>").click()
    await expect(page.get_by_text("Quill <i> may not act for you any more.")).to_be_visible()
    assert (await asyncio.to_thread(ask, stack, tokens["access_token"])).status_code == 401


@pytest.mark.parametrize("size", [PHONE, DESK])
async def test_nothing_is_in_the_way_on_ones_own_settings(visit: Visit, members: Cast, size: tuple[int, int]) -> None:
    page = await visit("/settings/keys/", members.alice, size=size)
    await page.get_by_role("textbox", name="Name").fill("A laptop")
    await page.get_by_label("tools:read").check()
    await page.get_by_role("button", name="Make key").click()
    await expect(page.get_by_role("heading", name="Your new key, A laptop")).to_be_visible()
    wrong = await looked_at(page, "a new key")
    for path in PAGES:
        await page.goto(path)
        wrong |= await looked_at(page, path)
        assert await sticking_out(page) == [], path
    assert wrong == {}
