"""Windows of the browser that one test after another may have: in a new one every script is fetched and compiled anew,
which takes a CPU second."""

from typing import Any

from playwright.async_api import Browser, BrowserContext, Error

from tests.browser.driving import PATIENCE_MS

Kind = tuple[str, tuple[int, int], str]
# What a page can leave behind, all but the cache of what it has fetched.
STORED = "cookies,local_storage,indexeddb,service_workers,cache_storage,file_systems"


class Windows:
    """Browser contexts by address, size and colour scheme; one that a test has had comes back without what it left."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._free: list[tuple[Kind, BrowserContext]] = []
        self._taken: list[tuple[Kind, BrowserContext]] = []

    async def take(self, url: str, size: tuple[int, int], scheme: Any) -> BrowserContext:
        """A context without cookies or storage."""
        kind = (url, size, scheme)
        for number, (known, context) in enumerate(self._free):
            if known == kind:
                self._taken.append(self._free.pop(number))
                return context
        context = await self._browser.new_context(
            viewport={"width": size[0], "height": size[1]}, color_scheme=scheme, base_url=url
        )
        context.set_default_timeout(PATIENCE_MS)
        # With a page of the site open, its process goes on, and has the scripts of the next page compiled already.
        await (await context.new_page()).goto("/healthz")
        self._taken.append((kind, context))
        return context

    def open(self) -> set[BrowserContext]:
        """All of them."""
        return {context for _, context in self._free + self._taken}

    async def give_back(self) -> None:
        """Close the pages of a test, and keep those of its contexts that are as good as new."""
        # Also where this ends halfway, the next test begins without them.
        taken, self._taken = self._taken, []
        for kind, context in taken:
            try:
                as_new = await _emptied(context, kind[0])
            except Error:
                # A page that has crashed, or is just on its way to another, does not answer.
                as_new = False
            if as_new:
                self._free.append((kind, context))
            else:
                await context.close()


async def _emptied(context: BrowserContext, url: str) -> bool:
    """Whether the context is as new; one whose clock was replaced would keep that."""
    idle, *used = context.pages
    for page in used:
        if not await page.evaluate("Date.now.toString().includes('[native code]')"):
            return False
        session = await context.new_cdp_session(page)
        await session.send("Storage.clearDataForOrigin", {"origin": url, "storageTypes": STORED})
        await page.close()
    await context.clear_cookies()
    return context.pages == [idle]
