"""`/settings/spend/` in a browser: nothing in the way, and a budget set with the keyboard."""

import asyncio
import os
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

from playwright.async_api import expect

from tests.browser.driving import DESK, Visit
from tests.browser.test_axe import PHONE, SIZES, Size, visited
from tests.budgets.rows import make_budget
from tests.budgets.test_rest import use
from tests.database import rows
from tests.people import Cast

PAGE = "/settings/spend/"


def _spent(tenant: Cast) -> None:
    now = datetime.now(UTC)
    for back in range(25):
        use(tenant, tenant.alice, str(Decimal(back * 37 % 11) / 7), at=now - timedelta(days=back))
    use(tenant, tenant.bob, None, model="mine/a-model-with-a-rather-long-name-that-nobody-knows-the-price-of")
    make_budget(tenant, 50, "usd", "month")
    used = make_budget(tenant, 10, "usd", "day", user_id=tenant.alice.scope.user_id)
    rows(
        "INSERT INTO budget_windows (budget_id, tenant_id, starts_at, spent, reserved) "
        "VALUES (%(id)s, %(tenant)s, date_trunc('day', now(), 'UTC'), 8.5, 0.25) RETURNING 1",
        id=used,
        tenant=tenant.id,
    )


@SIZES
async def test_nothing_is_in_the_way_on_the_page_of_spend(visit: Visit, tenant: Cast, size: Size) -> None:
    await asyncio.to_thread(_spent, tenant)
    page = await visit(PAGE, tenant.olga, size)
    wrong = await visited(page, PAGE, f"{PAGE}?by=user", f"{PAGE}?by=tool&since=2020-01-01&until=2020-02-01")
    if pictures := os.environ.get("TOOLGATE_PICTURES"):
        await page.goto(PAGE)
        for scheme in ("light", "dark"):
            await page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            name = f"spend-{scheme}-{'phone' if size == PHONE else 'desk'}.png"
            await page.screenshot(path=Path(pictures) / name, full_page=True)
    width = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert (wrong, width) == ({}, 0)


async def test_an_owner_sets_a_budget_with_the_keyboard(visit: Visit, tenant: Cast) -> None:
    page = await visit(PAGE, tenant.olga, DESK)
    await page.get_by_label("Limit").fill("0.10")
    await page.get_by_label("Limit").press("Enter")
    await expect(page.get_by_text("The budget of US$0.10 in a day is set.")).to_be_visible()
    await expect(page.get_by_role("heading", name="The whole tenant: US$0.10 in a day")).to_be_visible()
