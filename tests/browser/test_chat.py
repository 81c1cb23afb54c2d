"""The chat page against a running web process and worker."""

import asyncio
import re

from playwright.async_api import Page, Route, expect

from tests.browser import events
from tests.browser.driving import PATIENCE_MS, Visit, send
from tests.database import rows
from tests.people import Cast
from tests.stack import Stack

SAVE = 'call: save_note {"title": "Milk", "content": "Two litres"}'
STREAM = {"Content-Type": "text/event-stream"}


async def test_an_answer_streams_in_with_a_tool_card_that_unfolds(visit: Visit, tenant: Cast) -> None:
    page = await visit("/", tenant.alice)
    await expect(page.get_by_text("This is the offline demo model.")).to_be_visible()
    await send(page, SAVE)
    card = page.locator("details.call")
    await expect(card.locator(".name")).to_have_text("save_note")
    await expect(card.locator(".pill")).to_have_text("Done")
    await expect(card.locator(".display")).to_have_text("Saved the note “Milk”")
    await card.locator("summary").click()
    await expect(card.get_by_label("Arguments")).to_contain_text('"content": "Two litres"')
    await expect(card.get_by_label("Output")).to_contain_text('"saved": true')
    await card.get_by_role("link", name="Everything recorded of this call").click()
    await expect(page).to_have_url(re.compile(r"/history/[0-9a-f-]{36}/$"))
    await expect(page.get_by_role("heading", name="save_note")).to_be_visible()


async def test_a_conversation_looks_the_same_after_a_reload(visit: Visit, tenant: Cast) -> None:
    page = await visit("/", tenant.alice)
    await send(page, SAVE)
    await expect(page).to_have_url(re.compile(r"\?c=[0-9a-f-]{36}$"))
    before = await page.locator("#runs").inner_text()
    await page.reload()
    await expect(page.locator("details.call")).to_have_count(1)
    await expect(page.locator("#runs")).to_have_text(before, use_inner_text=True)
    await expect(page.locator("#conversations a[aria-current=page]")).to_have_count(1)


async def test_a_refused_call_says_why(visit: Visit, tenant: Cast) -> None:
    page = await visit("/", tenant.alice)
    await send(page, 'call: rm_rf {"path": "/"}')
    card = page.locator("details.call")
    await expect(card.locator(".pill")).to_have_text("Not allowed")
    await card.locator("summary").click()
    await expect(card).to_contain_text("It was not run.")


async def test_nothing_is_said_to_go_on_after_an_answer_that_was_not_completed(visit: Visit, tenant: Cast) -> None:
    rows("UPDATE agents SET max_turns = 1 WHERE tenant_id = %(t)s RETURNING id", t=tenant.id)
    page = await visit("/", tenant.alice)
    await send(page, SAVE)
    await expect(page.locator("details.call .pill")).to_have_text("Done")
    await expect(page.get_by_role("button", name="Send", exact=True)).to_be_visible()
    await expect(page.locator("#status")).to_be_empty()


async def test_an_example_is_sent_by_one_click(visit: Visit, tenant: Cast) -> None:
    page = await visit("/", tenant.alice)
    await page.get_by_role("button", name="Show my open tasks").click()
    await expect(page.locator("details.call .pill")).to_have_text("Done")
    await expect(page.locator("#welcome")).to_be_hidden()
    await expect(page.get_by_label("Message", exact=True)).to_be_focused()


async def test_enter_sends_and_shift_enter_begins_a_line(visit: Visit, tenant: Cast) -> None:
    page = await visit("/", tenant.alice)
    await expect(page.get_by_label("Message", exact=True)).to_be_focused()
    await page.keyboard.type("one")
    await page.keyboard.press("Shift+Enter")
    await page.keyboard.type("two")
    await page.keyboard.press("Enter")
    await expect(page.locator("p.said")).to_have_text("one\ntwo")
    await expect(page.get_by_label("Message", exact=True)).to_have_value("")


async def test_another_persons_conversation_is_not_found(visit: Visit, tenant: Cast, stack: Stack) -> None:
    body = await asyncio.to_thread(lambda: stack.chat(tenant.bob, "hello").json())
    page = await visit(f"/?c={body['conversation_id']}", tenant.alice)
    await expect(page.get_by_role("heading", name="There is nothing here")).to_be_visible()
    assert "hello" not in await page.content()


async def test_a_stream_that_breaks_is_taken_up_where_it_broke(visit: Visit, tenant: Cast) -> None:
    page = await visit("/", tenant.alice)
    resumed: list[str | None] = []

    async def break_off(route: Route) -> None:
        answer = await route.fetch(timeout=PATIENCE_MS)
        text = await answer.text()
        await route.fulfill(status=200, headers=STREAM, body=text[: text.index("event: tool_call.settled") + 40])

    async def watch(route: Route) -> None:
        resumed.append(await route.request.header_value("last-event-id"))
        await route.continue_()

    await page.route("**/api/v1/chat", break_off)
    await page.route("**/api/v1/runs/*/events", watch)
    await send(page, SAVE)
    await expect(page.locator("details.call .pill")).to_have_text("Done")
    assert len(resumed) == 1 and resumed[0]
    shown = await page.locator("#runs").inner_text()
    await page.reload()
    await expect(page.locator("details.call")).to_have_count(1)
    await expect(page.locator("#runs")).to_have_text(shown, use_inner_text=True)


async def test_a_message_whose_answer_never_came_is_sent_again_under_the_same_key(visit: Visit, tenant: Cast) -> None:
    page = await visit("/", tenant.alice)
    keys: list[str | None] = []

    async def lose_the_first(route: Route) -> None:
        keys.append(await route.request.header_value("idempotency-key"))
        if len(keys) == 1:
            await route.fetch(timeout=PATIENCE_MS)
            await route.abort()
        else:
            await route.continue_()

    await page.route("**/api/v1/chat", lose_the_first)
    await send(page, SAVE)
    await expect(page.locator("details.call")).to_have_count(1)
    assert len(keys) == 2 and keys[0] == keys[1]
    await page.reload()
    await expect(page.locator("#conversations a")).to_have_count(1)
    await expect(page.locator("p.said")).to_have_count(1)


async def test_stop_cancels_the_run(visit: Visit, tenant: Cast) -> None:
    page = await visit("/", tenant.alice)
    cancelled = asyncio.Event()
    tokens: list[str | None] = []

    async def cancel(route: Route) -> None:
        tokens.append(await route.request.header_value("x-csrftoken"))
        cancelled.set()
        await route.fulfill(status=200, json={})

    async def hold(route: Route) -> None:
        await cancelled.wait()
        await route.fulfill(status=200, headers=STREAM, body=events.ended("cancelled"))

    await page.route("**/api/v1/chat", lambda route: route.fulfill(status=200, headers=STREAM, body=events.created()))
    await page.route("**/events", hold)
    await page.route("**/cancel", cancel)
    await page.get_by_label("Message", exact=True).fill("Count to a million")
    await page.keyboard.press("Enter")
    await page.get_by_role("button", name="Stop").click()
    await expect(page.locator(".run .notice")).to_have_text("Stopped")
    await expect(page.get_by_role("button", name="Send")).to_be_visible()
    assert len(tokens) == 1 and tokens[0]


async def test_a_refused_message_goes_back_to_its_author(visit: Visit, tenant: Cast) -> None:
    page = await visit("/", tenant.alice)
    problem = {"title": "Too many requests", "status": 429, "code": "rate_limited", "detail": "Slow down."}

    async def refuse(route: Route) -> None:
        headers = {"Content-Type": "application/problem+json", "Retry-After": "7"}
        await route.fulfill(status=429, headers=headers, json=problem)

    await page.route("**/api/v1/chat", refuse)
    await page.get_by_label("Message", exact=True).fill("Important words")
    await page.keyboard.press("Enter")
    await expect(page.locator(".run .notice")).to_contain_text("Slow down. Wait 7 seconds")
    await expect(page.get_by_label("Message", exact=True)).to_have_value("Important words")


async def _answered(page: Page, content: str) -> None:
    delta = events.event("message.delta", "1", text=content, turn=1)
    stream = events.created() + delta + events.ended("completed", content)
    await page.route("**/api/v1/chat", lambda route: route.fulfill(status=200, headers=STREAM, body=stream))
    await send(page, "go")


async def test_markup_in_an_answer_stays_text(visit: Visit, tenant: Cast) -> None:
    page = await visit("/", tenant.alice)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    hostile = (
        '<img src="http://evil.example/a.png" onerror="window.hit = 1"> ![pixel](http://evil.example/b.png) '
        "[click](javascript:alert(1)) <script>window.hit = 1</script>"
    )
    await _answered(page, hostile)
    prose = page.locator(".prose")
    await expect(prose).to_have_text(hostile)
    assert await prose.locator("img, script").count() == 0
    assert await page.evaluate("window.hit") is None
    assert not [url for url in asked if "evil.example" in url]
    links = await prose.locator("a").evaluate_all("found => found.map((a) => [a.href, a.textContent, a.rel])")
    assert links == [
        ["http://evil.example/a.png", "http://evil.example/a.png", "noopener noreferrer nofollow"],
        ["http://evil.example/b.png", "http://evil.example/b.png", "noopener noreferrer nofollow"],
    ]


async def test_lists_code_and_emphasis_are_drawn(visit: Visit, tenant: Cast) -> None:
    page = await visit("/", tenant.alice)
    await _answered(page, "# Plan\n\n1. **one**\n2. `two`\n\n```py\nx = '**'\n```\n\n- a\n- b")
    prose = page.locator(".prose")
    assert await prose.locator("ol > li").all_inner_texts() == ["one", "two"]
    assert await prose.locator("ul > li").all_inner_texts() == ["a", "b"]
    await expect(prose.locator("pre")).to_have_text("x = '**'")
    await expect(prose.locator("strong")).to_have_text("one")


async def test_a_turn_that_is_asked_again_starts_over(visit: Visit, tenant: Cast) -> None:
    page = await visit("/", tenant.alice)
    stream = (
        events.created()
        + events.event("message.delta", "1", text="Half an ans", turn=1)
        + events.event("message.restarted", "2", turn=1)
        + events.event("message.delta", "3", text="The whole answer.", turn=1)
        + events.ended("completed", "The whole answer.")
    )
    await page.route("**/api/v1/chat", lambda route: route.fulfill(status=200, headers=STREAM, body=stream))
    await send(page, "go")
    await expect(page.locator(".prose")).to_have_text("The whole answer.")
