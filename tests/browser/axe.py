"""axe-core, the version that tests/node locks, on a page as it is."""

import os
from functools import cache
from pathlib import Path

import pytest
from playwright.async_api import Page

SOURCE = Path(__file__).parents[2] / ".venv" / "node" / "node_modules" / "axe-core" / "axe.min.js"
# Every rule but those of WCAG's level AAA.
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice", "experimental"]
_RUN = "tags => axe.run({ runOnly: { type: 'tag', values: tags }, resultTypes: ['violations'] })"
# A colour that is changing just now is neither the old one nor the new one.
_SETTLE = "document.getAnimations().forEach((each) => each instanceof CSSTransition && each.finish())"


@cache
def source() -> str:
    """The script itself. Skips the test where npm has not installed it, unless CI runs it."""
    if not SOURCE.exists():
        if os.environ.get("CI"):
            raise AssertionError(f"{SOURCE} is missing: `make venv-dev` installs it with npm")
        pytest.skip("no axe-core here: `make venv-dev` installs it with npm")
    return SOURCE.read_text()


async def violations(page: Page) -> list[str]:
    """What axe finds wrong on the page: impact, rule and the first element of each; nothing on a page that is right."""
    await page.evaluate(_SETTLE)
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(source())
    found = await page.evaluate(_RUN, TAGS)
    return [f"{each['impact']} {each['id']} {each['nodes'][0]['html']}" for each in found["violations"]]
