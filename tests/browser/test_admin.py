"""The operators' admin, under the strict policy that only its own needs loosen."""

import asyncio
import re

import pytest
from playwright.async_api import expect

from tenants.models import ApiKey, User
from tenants.scope.routing import on_login
from tests.browser.driving import Visit
from tests.people import Cast, make_tenant
from tests.stack import Stack

ADMIN_ONLY = {"script-src": "'unsafe-eval'", "style-src": "'unsafe-inline'"}


@pytest.fixture
def operated() -> Cast:
    """A tenant whose olga is an operator of all of Toolgate."""
    cast = make_tenant()
    with on_login("operator"):
        User.objects.filter(pk=cast.olga.principal.user_id).update(is_staff=True, is_superuser=True)
    return cast


def _directives(policy: str) -> dict[str, set[str]]:
    return {words[0]: set(words[1:]) for part in policy.split(";") if (words := part.split())}


async def test_an_operator_sees_every_tenants_calls_and_changes_none(
    visit: Visit, operated: Cast, tenant: Cast, stack: Stack
) -> None:
    made = []
    for person in (operated.alice, tenant.alice):
        answer = await asyncio.to_thread(stack.chat, person, "call: list_tasks {}")
        made += [call["id"] for call in answer.json()["tool_calls"]]
    page = await visit("/admin/audit/toolcall/", operated.olga)
    for slug in (operated.slug, tenant.slug):
        await expect(page.locator("#result_list")).to_contain_text(slug)
    assert await page.get_by_role("link", name=re.compile("^Add")).count() == 0
    await page.goto(f"/admin/audit/toolcall/?q={made[1]}")
    rows = page.locator("#result_list tbody tr")
    await expect(rows).to_have_count(1)
    await rows.get_by_role("link").first.click()
    await expect(page.get_by_text('"tasks": []')).to_be_visible()
    assert await page.get_by_role("button", name="Save").count() == 0
    for path in (f"{made[0]}/delete/", "add/"):
        answer = await page.goto(f"/admin/audit/toolcall/{path}")
        assert answer is not None and answer.status == 403


async def test_a_new_key_is_shown_once_and_can_be_revoked(visit: Visit, operated: Cast, stack: Stack) -> None:
    page = await visit("/admin/tenants/apikey/add/", operated.olga)
    for field, words in {"tenant": operated.slug, "user": operated.alice.username}.items():
        await page.locator(f".field-{field} .select2-selection").click()
        await page.locator(".select2-search__field").fill(words)
        await page.locator(".select2-results__option", has_text=words).click()
    await page.get_by_label("Name").fill("ci")
    await page.get_by_label("tools:read").check()
    await page.get_by_role("button", name="Save", exact=True).click()
    key = await page.locator("[data-key]").inner_text()
    assert key.startswith("tg_")
    await page.goto(f"/admin/tenants/apikey/?q={key[:10]}")
    assert key not in await page.content()
    await page.locator("#result_list tbody input[type=checkbox]").check()
    await page.locator("select[name=action]").select_option("revoke")
    await page.get_by_role("button", name="Run").click()
    await expect(page.get_by_text("1 revoked.")).to_be_visible()

    def revoked() -> bool:
        with on_login("operator"):
            return ApiKey.objects.get(prefix=key[:10]).revoked_at is not None

    assert await asyncio.to_thread(revoked)


async def test_a_list_is_narrowed_to_the_tenant_that_one_searches_for(
    visit: Visit, operated: Cast, tenant: Cast
) -> None:
    page = await visit("/admin/tenants/apikey/", operated.olga)
    await page.locator("a", has_text=re.compile(r"^\s*Filters")).click()
    await page.locator("#changelist-filter .select2-selection").click()
    await page.locator(".select2-search__field").fill(tenant.slug)
    await page.locator(".select2-results__option", has_text=tenant.slug).click()
    await page.get_by_role("button", name="Apply Filters").click()
    await page.wait_for_url(re.compile(f"tenant__id__exact={tenant.id}"))
    await expect(page.locator("#result_list tbody tr")).to_have_count(5)
    await expect(page.locator("#result_list")).to_contain_text(tenant.olga.username)
    await expect(page.locator("#changelist-filter")).to_contain_text(tenant.slug)


async def test_the_admin_is_closed_to_members(visit: Visit, tenant: Cast) -> None:
    page = await visit("/admin/", tenant.olga)
    await expect(page.get_by_role("heading", name="You may not do that")).to_be_visible()
    page = await visit("/admin/", None)
    await expect(page).to_have_url(re.compile(r"/accounts/login/\?next=/admin/$"))


async def test_only_the_admin_loosens_the_policy_and_only_by_two_words(visit: Visit, operated: Cast) -> None:
    policies = {}
    for path in ("/", "/history/", "/admin/"):
        page = await visit("about:blank", operated.olga)
        answer = await page.goto(path)
        assert answer is not None
        policies[path] = _directives(answer.headers["content-security-policy"])
    # The chat's own: the frame of what was drawn, which has a stricter one.
    assert policies["/"].pop("frame-src") == {"'self'"}
    assert policies["/"] == policies["/history/"]
    for name, words in policies["/admin/"].items():
        assert words - policies["/"][name] == ({ADMIN_ONLY[name]} if name in ADMIN_ONLY else set()), name
