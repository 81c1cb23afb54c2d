"""What a person does with a page."""

from collections.abc import Awaitable, Callable

from playwright.async_api import Page, expect

from tests import waiting

# Windows, as (width, height) in CSS pixels.
DESK, PHONE = (1280, 900), (360, 740)
PATIENCE_MS = 1000 * waiting.PATIENCE_SECONDS
expect.set_options(timeout=PATIENCE_MS)

Visit = Callable[..., Awaitable[Page]]


async def send(page: Page, text: str) -> None:
    """Send a message on the chat page, and return when its answer is complete."""
    before = await page.locator("li.run").count()
    await page.get_by_label("Message", exact=True).fill(text)
    await page.get_by_role("button", name="Send").click()
    await expect(page.locator("li.run").nth(before)).to_have_attribute("aria-busy", "false", timeout=PATIENCE_MS)


async def tab_to(page: Page, name: str, most: int = 40) -> None:
    """Press Tab until what has the focus is called `name`."""
    for _ in range(most):
        await page.keyboard.press("Tab")
        focused = await page.evaluate(
            """() => {
              const heard = document.activeElement.cloneNode(true);
              heard.querySelectorAll("[aria-hidden]").forEach((each) => each.remove());
              return (heard.ariaLabel || heard.textContent || "").trim().replace(/\\s+/g, " ");
            }"""
        )
        if focused == name or focused.startswith(f"{name} "):
            return
    raise AssertionError(f"Tab never reached {name}")


async def sticking_out(page: Page) -> list[str]:
    """What makes the page wider than its window: tag and class of each such element, none when it fits."""
    # What a form leads to may be seen before all of its styles are there.
    await page.wait_for_load_state()
    found: list[str] = await page.evaluate(
        """() => {
          if (document.documentElement.scrollWidth <= window.innerWidth) return [];
          return [...document.querySelectorAll("body *")]
            .filter((each) => each.getBoundingClientRect().right > window.innerWidth + 1)
            .map((each) => `${each.tagName}.${each.getAttribute("class")}`);
        }"""
    )
    return found
