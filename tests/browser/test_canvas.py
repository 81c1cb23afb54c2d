"""What a model draws: shown beside the chat as it comes, and held by a real browser whatever it tries."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Literal

from playwright.async_api import Browser, Frame, Page, Route, expect

from tests.browser.axe import violations
from tests.browser.conftest import on_its_loop
from tests.browser.driving import DESK, PATIENCE_MS, PHONE, Visit, send, sticking_out
from tests.browser.sessions import session_of
from tests.people import Cast, Person
from tests.stack import Stack

ADD_FRAME = """path => {
  const made = Object.assign(document.createElement("iframe"), { id: "other", sandbox: "allow-scripts", src: path });
  document.querySelector(".canvas-frame").append(made);
}"""
READ_FRAME = "() => { try { return top.frames[1].document.title } catch (error) { return error.name } }"
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
ATTACKS = Path(__file__).with_name("canvas_attacks.js").read_text()
NAVIGATIONS = [
    {"html": "x", "js": "location = `${EVIL}/location`"},
    {"html": '<meta http-equiv="refresh" content="0; url=EVIL/refresh">'},
    {"html": '<a id="a" href="EVIL/link" ping="EVIL/ping">x</a>', "js": "a.click()"},
]


class Listener(asyncio.DatagramProtocol):
    """A host that nobody may reach: every connection to it and every datagram is counted."""

    def __init__(self) -> None:
        self.reached: list[str] = []

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Over TCP."""
        self.reached.append("a connection")
        writer.close()

    def datagram_received(self, data: bytes, addr: Any) -> None:
        """Over UDP."""
        self.reached.append("a datagram")


@on_its_loop
async def evil() -> AsyncIterator[tuple[Listener, str]]:
    """The host, and its address."""
    listener = Listener()
    server = await asyncio.start_server(listener.connected, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(lambda: listener, local_addr=("127.0.0.1", port))
    yield listener, f"http://127.0.0.1:{port}"
    transport.close()
    server.close()


async def drawn(stack: Stack, who: Person, more: dict[str, Any] | None = None, **page: str) -> str:
    """Have something drawn; the conversation's id."""
    arguments = json.dumps({"title": "Drawing", **page})
    body = (await asyncio.to_thread(stack.chat, who, f"call: canvas {arguments}", **(more or {}))).json()
    assert [call["status"] for call in body["tool_calls"]] == ["success"], body
    return str(body["conversation_id"])


async def frame_of(page: Page) -> Frame:
    """What was drawn."""
    frame = await (await page.locator("#canvas-frame iframe").element_handle()).content_frame()
    assert frame is not None
    return frame


async def test_what_is_drawn_reaches_neither_the_chat_nor_the_session_nor_a_host(
    browser: Browser, stack: Stack, tenant: Cast, evil: tuple[Listener, str]
) -> None:
    listener, address = evil
    known = f"const EVIL = {json.dumps(address)}, HOME = {json.dumps(stack.url)};"
    chat = await drawn(stack, tenant.alice, html="<p>here</p>", js=known + ATTACKS)
    context = await browser.new_context(base_url=stack.url, accept_downloads=True)
    context.set_default_timeout(PATIENCE_MS)
    key = await asyncio.to_thread(session_of, tenant.alice)
    await context.add_cookies([{"name": "sessionid", "value": key, "url": stack.url}])
    page = await context.new_page()
    opened: list[str] = []
    context.on("page", lambda other: opened.append(other.url))
    page.on("download", lambda download: opened.append(download.url))
    page.on("dialog", lambda dialog: opened.append(dialog.message))
    await page.goto(f"/?c={chat}")
    frame = await frame_of(page)
    await frame.wait_for_function("() => outcomes.done")
    outcomes = await frame.evaluate("outcomes")
    refused = {"SecurityError", "TypeError", "NotAllowedError", "refused", "null", "undefined", "nothing"}
    more = {"origin": "null", "camera": "false", "beacon": "true", "done": "yes"}
    assert {name: came for name, came in outcomes.items() if came not in refused and more.get(name) != came} == {}
    assert len(outcomes) == 31
    other = await drawn(stack, tenant.alice, html="<p>another one</p>")
    read = (await asyncio.to_thread(stack.get, tenant.alice, f"/api/v1/conversations/{other}/canvas/1/")).json()
    await page.evaluate(ADD_FRAME, read["view_path"])
    await expect(page.frame_locator("#other").get_by_text("another one")).to_be_visible()
    assert await frame.evaluate(READ_FRAME) == "SecurityError"
    assert (page.url, opened, listener.reached) == (f"{stack.url}/?c={chat}", [], [])

    for number, given in enumerate(NAVIGATIONS, 2):
        script = {"js": known + given["js"]} if "js" in given else {}
        html = given["html"].replace("EVIL", address)
        await drawn(stack, tenant.alice, {"conversation_id": chat}, html=html, **script)
        await page.goto(f"/?c={chat}")
        await expect(page.get_by_label("Version", exact=True)).to_have_value(str(number))
        await (await frame_of(page)).wait_for_url("chrome-error://**", wait_until="commit")
        assert (page.url, opened, listener.reached) == (f"{stack.url}/?c={chat}", [], [])
    # By its address in a window of its own, where the chat page's policy would not hold it, it is not there.
    alone = await context.new_page()
    answer = await alone.goto(str(await page.locator("#canvas-frame iframe").get_attribute("src")))
    assert answer is not None and answer.status == 403
    await expect(alone.get_by_text("A canvas is shown beside its conversation alone")).to_be_visible()
    assert listener.reached == []
    # The host can be reached, and counts it.
    await (await context.new_page()).evaluate(f"fetch({json.dumps(address)}, {{mode: 'no-cors'}}).catch(() => 0)")
    assert listener.reached
    await context.close()


async def test_a_drawing_that_never_ends_holds_up_nothing_but_itself(visit: Visit, stack: Stack, tenant: Cast) -> None:
    chat = await drawn(stack, tenant.alice, html="x", js="for (;;) document.title = 'busy'")
    page = await visit(f"/?c={chat}", tenant.alice)
    await expect(page.locator("#canvas-frame iframe")).to_be_visible()
    await send(page, "note: the key is under the mat")
    await expect(page.locator("li.run").last).to_contain_text("I saved the note")
    await page.get_by_role("button", name="Close").click()
    await expect(page.locator("#canvas-frame iframe")).to_have_count(0)
    await send(page, "draw bars: tea 3, coffee 5")
    await expect(page.frame_locator("#canvas-frame iframe").get_by_text("coffee")).to_be_visible()


async def test_a_drawing_that_never_ends_waits_until_the_page_has_loaded(
    visit: Visit, stack: Stack, tenant: Cast
) -> None:
    chat = await drawn(stack, tenant.alice, html="x", js="for (;;) document.title = 'busy'")
    page = await visit("/", tenant.alice)

    async def late(route: Route) -> None:
        """Answer when the page has read what to draw, and has had the time to show it."""
        await read.value
        await page.evaluate("() => new Promise((resolve) => setTimeout(resolve, 300))")
        await route.continue_()

    await page.route("**/icons*.svg", late)
    async with page.expect_response("**/canvas/1/") as read:
        await page.goto(f"/?c={chat}")
    await expect(page.locator("#canvas-frame iframe")).to_be_visible()


async def test_a_drawing_appears_as_it_is_made_and_its_versions_can_be_looked_back_at(
    visit: Visit, tenant: Cast
) -> None:
    for size in (DESK, PHONE):
        page = await visit("/", tenant.alice, size)
        shown = page.frame_locator("#canvas-frame iframe")
        toggle = page.get_by_role("button", name="Canvas")
        await expect(toggle).to_be_hidden()
        await send(page, "draw bars: tea 3, coffee 5")
        await expect(shown.get_by_text("coffee")).to_be_visible()
        if size == PHONE:
            # There it lies over the conversation.
            await page.get_by_role("button", name="Close").click()
        await send(page, "draw milk: cows 7")
        await expect(shown.get_by_text("cows")).to_be_visible()
        await expect(page.locator("#canvas-title")).to_have_text("milk")
        await page.get_by_label("Version", exact=True).select_option("1")
        await expect(shown.get_by_text("tea")).to_be_visible()
        for scheme in SCHEMES:
            await page.emulate_media(color_scheme=scheme)
            assert await violations(page) == []
        assert await sticking_out(page) == []
        await page.get_by_label("Version", exact=True).press("Escape")
        await expect(toggle).to_be_focused()
        await toggle.click()
        await expect(shown.get_by_text("cows")).to_be_visible()


async def test_a_drawing_is_deleted_after_a_dialog_has_asked(visit: Visit, stack: Stack, tenant: Cast) -> None:
    chat = await drawn(stack, tenant.alice, html="<p>here</p>")
    page = await visit(f"/?c={chat}", tenant.alice)
    panel, at = page.locator("#canvas"), f"/api/v1/conversations/{chat}/canvas/"
    await panel.get_by_role("button", name="Delete").click()
    await page.get_by_role("button", name="Keep it").click()
    await expect(panel).to_be_visible()
    assert len((await asyncio.to_thread(stack.get, tenant.alice, at)).json()["results"]) == 1
    await panel.get_by_role("button", name="Delete").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(panel).to_be_hidden()
    await expect(page.locator("#canvas-toggle")).to_be_hidden()
    assert (await asyncio.to_thread(stack.get, tenant.alice, at)).json()["results"] == []
