"""Markdown tables in an answer: drawn as tables out of text alone, whatever the text is."""

from typing import Any

import pytest
from playwright.async_api import Locator, Page, expect

from tests.browser import events
from tests.browser.driving import PHONE, Visit, send, sticking_out
from tests.people import Cast

STREAM = {"Content-Type": "text/event-stream"}


async def answered(page: Page, *pieces: str) -> Locator:
    """An answer that comes in these pieces; its prose on the page."""
    deltas = "".join(events.event("message.delta", str(at), text=each, turn=1) for at, each in enumerate(pieces, 1))
    stream = events.created() + deltas + events.ended("completed", "".join(pieces))
    await page.route("**/api/v1/chat", lambda route: route.fulfill(status=200, headers=STREAM, body=stream))
    await send(page, "go")
    return page.locator(".prose")


async def cells(prose: Locator) -> Any:
    """The tables as rows of texts."""
    return await prose.locator("table").evaluate_all(
        "all => all.map((each) => [...each.rows].map((row) => [...row.cells].map((cell) => cell.textContent)))"
    )


async def test_a_table_is_drawn_with_its_head_its_sides_and_what_is_inside(visit: Visit, tenant: Cast) -> None:
    page = await visit("/", tenant.alice)
    text = (
        "Sold:\n| Thing | Price |\n|:--|--:|\n| `tea` | **4** |\n| a \\| b | 1 | too much |\n"
        "| less |\nAfter it.\n\nx | y\n- | :-:\n1 | 2"
    )
    prose = await answered(page, text[:20], text[20:31], text[31:])
    assert await cells(prose) == [
        [["Thing", "Price"], ["tea", "4"], ["a | b", "1"], ["less", ""]],
        [["x", "y"], ["1", "2"]],
    ]
    table = prose.get_by_role("table").first
    await expect(table.get_by_role("columnheader")).to_have_text(["Thing", "Price"])
    await expect(table.locator("code")).to_have_text("tea")
    await expect(table.locator("strong")).to_have_text("4")
    assert await table.locator("td").nth(1).evaluate("cell => getComputedStyle(cell).textAlign") == "right"
    await expect(prose.locator("p")).to_have_text(["Sold:", "After it."])


@pytest.mark.parametrize(
    "text",
    [
        "a | b\nc | d",
        "| a | b |\n|---|",
        "a\n---",
        "| a |\n| b |",
        "a | b\n--|--x",
        "a | b",
        "|" * 90 + "\n" + "|-" * 90,
    ],
)
async def test_what_is_no_table_stays_text(visit: Visit, tenant: Cast, text: str) -> None:
    page = await visit("/", tenant.alice)
    prose = await answered(page, text)
    await expect(prose).to_have_text(text)
    assert await prose.locator("table").count() == 0


async def test_markup_in_a_table_stays_text_and_loads_nothing(visit: Visit, tenant: Cast) -> None:
    page = await visit("/", tenant.alice)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    hostile = [
        '<img src="http://evil.example/a.png" onerror="window.hit=1">',
        "![p](http://evil.example/b.png)",
        "[click](javascript:window.hit=1)",
        "</td></table><script>window.hit=1</script>",
        "\u202etxt.exe",
        "http://user:pw@evil.example/",
    ]
    head = "| " + " | ".join(hostile) + " |"
    prose = await answered(page, f"{head}\n{'|---' * len(hostile)}|\n{head}\n")
    assert await cells(prose) == [[hostile, hostile]]
    assert await prose.locator("img, script, [onerror], [style], [href^=javascript]").count() == 0
    assert await page.evaluate("window.hit") is None
    assert not [url for url in asked if "evil.example" in url]
    links = await prose.locator("a").evaluate_all("found => found.map((a) => [a.textContent, a.rel])")
    assert {rel for _, rel in links} == {"noopener noreferrer nofollow"}
    assert all(text.startswith("http://evil.example/") for text, _ in links)


async def test_a_wide_table_scrolls_by_itself_also_with_the_keyboard(visit: Visit, tenant: Cast) -> None:
    page = await visit("/", tenant.alice, size=PHONE)
    row = "|" + "|".join("wordwordword" for _ in range(12)) + "|"
    prose = await answered(page, f"{row}\n{'|--' * 12}|\n{row}\n")
    assert await sticking_out(page) == []
    box = prose.locator(".wide")
    await box.focus()
    await page.keyboard.press("ArrowRight")
    await page.wait_for_function("() => document.querySelector('.wide').scrollLeft > 0")
