"""The pages of providers and models in a browser: adding a provider; and axe-core finds nothing, on a phone too."""

import asyncio
from typing import Any

import pytest
from django.test import override_settings
from playwright.async_api import expect

from tests.browser.driving import DESK, Visit
from tests.browser.test_axe import PHONE, visited
from tests.database import rows
from tests.gateway.routing import owners
from tests.people import Cast

PAGE = "/settings/models/"
LONG = "https://" + "a-long-name-of-a-host." * 6 + "example.com/v1"


def _said(tenant: Cast) -> None:
    with override_settings(TOOLGATE_EGRESS_ALLOW=(frozenset(), ())):
        owners.add(tenant, "mine", "https://llm.example.com/v1", models=["llama-3.3", "qwen-3"])
        owners.add(tenant, "a-provider-with-a-very-long-name", LONG, enabled=False)
    price: dict[str, Any] = {"model": "mine/*", "input": "2.5", "output": "10", "cached": None}
    fallbacks = {"mine/*": ["offline/demo", "openai/gpt-4o-mini"]}
    owners.say(tenant, allowed=["mine/*", "offline/*"], fallbacks=fallbacks, prices=[price])
    rows("UPDATE model_providers SET tested_at = now() WHERE tenant_id = %(t)s RETURNING id", t=tenant.id)


@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
async def test_nothing_is_in_the_way_on_the_pages_of_models(visit: Visit, tenant: Cast, size: tuple[int, int]) -> None:
    page = await visit(PAGE, tenant.olga, size)
    wrong = await visited(page, PAGE)
    await asyncio.to_thread(_said, tenant)
    wrong |= await visited(page, PAGE, f"{PAGE}-/new/", f"{PAGE}mine/", f"{PAGE}mine/remove/")
    assert wrong == {}
    width = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert width == 0


async def test_an_owner_adds_a_provider_and_allows_its_models_with_the_keyboard(visit: Visit, tenant: Cast) -> None:
    page = await visit(PAGE, tenant.olga, DESK)
    await page.get_by_role("link", name="Add a provider").press("Enter")
    await page.get_by_label("Name").fill("mine")
    await page.get_by_label("Kind").select_option("openai-compatible")
    # Nothing answers there, which is said and no reason not to save it.
    await page.get_by_label("Address").fill("https://llm.invalid/v1")
    await page.get_by_label("API key").fill("sk-browser-1")
    await page.get_by_label("Its models, one a line").fill("llama")
    await page.get_by_role("button", name="Test and add").press("Enter")
    await expect(page.get_by_role("status")).to_contain_text("mine is added. It could not be reached")
    await page.get_by_label("Only these:").press("Space")
    await page.get_by_label("Allowed models, one a line").fill("mine/*")
    await page.get_by_role("button", name="Save").press("Enter")
    await expect(page.get_by_role("status")).to_contain_text("The models are changed.")
    await expect(page.get_by_text("1 known model can be used now")).to_be_visible()
    assert "sk-browser-1" not in await page.content()
