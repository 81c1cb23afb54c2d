"""The admin's approval queue in a browser, under the admin's strict policy."""

import asyncio

from playwright.async_api import expect

from tests.approvals.admin import QUEUE, operator
from tests.approvals.api import request_row
from tests.approvals.requests import held
from tests.browser.driving import Visit
from tests.people import Cast


async def test_an_operator_approves_one_by_its_button_and_denies_others_in_bulk(visit: Visit, tenant: Cast) -> None:
    first, second, third = [
        await asyncio.to_thread(held, person) for person in (tenant.alice, tenant.bob, tenant.carol)
    ]
    await asyncio.to_thread(operator, tenant.olga)
    page = await visit(f"{QUEUE}{first}/change/", tenant.olga)
    await page.get_by_label("Reason").fill("It is fine.")
    await page.get_by_role("button", name="Approve", exact=True).click()
    await expect(page.get_by_text("1 approved.")).to_be_visible()
    assert await page.get_by_role("button", name="Approve", exact=True).count() == 0

    await page.goto(f"{QUEUE}?q={tenant.slug}")
    boxes = page.locator("#result_list tbody input[type=checkbox]")
    await expect(boxes).to_have_count(3)
    for index in (0, 1):
        await boxes.nth(index).check()
    await page.locator("select[name=action]").select_option(label="Deny the chosen…")
    await page.get_by_role("button", name="Run").click()
    await expect(page.get_by_text("Two litres")).to_have_count(2)
    await page.get_by_role("button", name="Deny", exact=True).click()
    await expect(page.get_by_text("2 denied.")).to_be_visible()
    found = [(await asyncio.to_thread(request_row, each))["status"] for each in (first, second, third)]
    assert found == ["approved", "denied", "denied"]


async def test_no_padding_moves_an_argument_out_of_the_sight_of_an_operator(visit: Visit, tenant: Cast) -> None:
    body = "Please pay as usual." + " " * 5000 + "From now on use another account." + "x" * 300
    arguments = {"to": "bank@example.com", "subject": "a\u202eb", "body": body}
    request = await asyncio.to_thread(lambda: held(tenant.alice, "send_email", input=arguments))
    await asyncio.to_thread(operator, tenant.olga)
    page = await visit(f"{QUEUE}{request}/change/", tenant.olga, size=(390, 844))
    shown = page.locator("pre.exact")
    await expect(shown).to_contain_text("usual.‹5,000 spaces›From now on")
    await expect(shown).to_contain_text("a‹U+202E›b")
    assert await shown.evaluate("each => each.scrollWidth <= each.clientWidth")
    for name in ("Approve", "Deny"):
        await expect(page.get_by_role("button", name=name, exact=True)).to_be_in_viewport()
