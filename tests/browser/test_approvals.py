"""The approver's queue in a browser, beside a running web process and worker."""

import asyncio
import json
import uuid
from typing import Any

import pytest
from playwright.async_api import Locator, Page, expect

from tests.approvals.api import assert_untouched, decide, decision_rows, request_row
from tests.approvals.requests import EDITED, held
from tests.browser.driving import DESK, PATIENCE_MS, PHONE, Visit, sticking_out, tab_to
from tests.people import Cast, Person
from tests.stack import Stack
from tests.waiting import eventually

MAIL = {"to": "supplier@example.com", "subject": "Order 4711", "body": "Dear Ms Novak,\n\nplease send 200 units."}
HOSTILE = {
    "to": "boss@example.com",
    "subject": '\u202efdp.exe <script>window.hit = 1</script><img src="//evil.example/a" onerror="window.hit = 1">',
    "body": "Dear boss," + " " * 5000 + "rm -rf /\nto: nobody" + "\n" * 200 + "word " * 8000 + "THE END",
}


async def ask(stack: Stack, person: Person, **arguments: Any) -> uuid.UUID:
    """Have the demo model call send_email in the person's name; the id of the request that waits then."""
    answer = await asyncio.to_thread(
        stack.chat, person, f"Order some.\ncall: send_email {json.dumps(arguments or MAIL)}"
    )
    assert answer.status_code == 202, answer.text
    return uuid.UUID(answer.json()["required_action"]["approvals"][0]["id"])


def card(page: Page, request: uuid.UUID) -> Locator:
    """A request's card."""
    return page.locator(f"#request-{request}")


async def live(page: Page) -> None:
    """Wait until the page hears of what changes."""
    await expect(page.locator("#connection")).to_have_text("Live")


async def settled(request: uuid.UUID) -> dict[str, Any]:
    """The request's call once it is final."""
    await eventually(lambda: request_row(request)["call_status"] in ("success", "error"))
    return await asyncio.to_thread(request_row, request)


# --- deciding --------------------------------------------------------------------------------------------------------
async def test_one_click_approves_and_the_call_runs(visit: Visit, tenant: Cast, stack: Stack) -> None:
    request = await ask(stack, tenant.alice)
    page = await visit("/approvals/", tenant.carol)
    await expect(page).to_have_title("(1) Approvals · Toolgate")
    await expect(page.get_by_role("link", name="Approvals 1 waiting")).to_be_visible()
    shown = card(page, request)
    for text in ("supplier@example.com", "Order 4711", "please send 200 units.", "Order some.", tenant.alice.username):
        await expect(shown).to_contain_text(text)
    await page.get_by_role("button", name="Approve").click()
    await expect(shown.locator(".pill")).to_have_text("Approved by you")
    await expect(page).to_have_title("Approvals · Toolgate")
    assert await page.get_by_role("button", name="Approve").count() == 0
    assert (await settled(request))["call_status"] == "success"


async def test_a_denial_carries_its_reason_to_the_model(visit: Visit, tenant: Cast, stack: Stack) -> None:
    request = await ask(stack, tenant.alice)
    page = await visit("/approvals/", tenant.carol)
    await page.get_by_label("Reason").fill("Not this quarter.")
    await page.get_by_role("button", name="Deny").click()
    await expect(card(page, request).locator(".pill")).to_have_text("Denied by you")
    await expect(card(page, request)).to_contain_text("Not this quarter.")
    row = await settled(request)
    assert (row["error_code"], row["error_message"].endswith("Not this quarter.")) == ("approval_denied", True)


async def test_an_edit_is_shown_as_it_is_typed_and_is_what_runs(visit: Visit, tenant: Cast, stack: Stack) -> None:
    request = await ask(stack, tenant.alice)
    page = await visit("/approvals/", tenant.carol)
    await page.get_by_text("Edit arguments").click()
    box = page.get_by_label("Arguments, as JSON")
    await expect(box).to_be_focused()
    await box.fill((await box.input_value()).replace("200", "150"))
    preview = page.locator(".preview")
    assert await preview.locator("del").all_inner_texts() == ["200"]
    assert await preview.locator("ins").all_inner_texts() == ["150"]
    await page.get_by_role("button", name="Approve").click()
    await expect(card(page, request)).to_contain_text("approved with other arguments")
    row = await settled(request)
    assert (row["call_status"], row["approved_input"]["body"]) == ("success", MAIL["body"].replace("200", "150"))


async def test_an_edit_that_the_tool_does_not_take_says_so_and_nothing_runs(
    visit: Visit, tenant: Cast, stack: Stack
) -> None:
    request = held(tenant.alice)
    page = await visit("/approvals/", tenant.carol)
    await page.get_by_text("Edit arguments").click()
    box = page.get_by_label("Arguments, as JSON")
    for typed, said in (("{", "not valid JSON"), ('{"title": 5, "content": "b"}', "arguments.title")):
        await box.fill(typed)
        await page.get_by_role("button", name="Approve").click()
        await expect(page.locator(".trouble")).to_contain_text(said)
        await expect(box).to_be_focused()
        await expect(box).to_have_attribute("aria-invalid", "true")
        await expect(box).to_have_value(typed)
    assert_untouched(request)
    await box.fill(json.dumps(EDITED))
    await page.get_by_role("button", name="Approve").click()
    await expect(card(page, request).locator(".pill")).to_have_text("Approved by you")
    assert request_row(request)["approved_input"] == EDITED


async def test_an_edit_that_is_folded_away_is_not_sent(visit: Visit, tenant: Cast) -> None:
    request = held(tenant.alice)
    page = await visit("/approvals/", tenant.carol)
    await page.get_by_text("Edit arguments").click()
    await page.get_by_label("Arguments, as JSON").fill(json.dumps(EDITED))
    await page.get_by_text("Edit arguments").click()
    await page.get_by_role("button", name="Approve").click()
    await expect(card(page, request).locator(".pill")).to_have_text("Approved by you")
    assert (request_row(request)["approved_input"], decision_rows(request)[0]["edit"]) == (None, None)


async def test_several_are_decided_with_one_reason_and_what_failed_is_said(
    visit: Visit, tenant: Cast, stack: Stack
) -> None:
    made = [held(tenant.alice) for _ in range(3)] + [held(tenant.carol)]
    page = await visit("/approvals/", tenant.carol)
    assert await page.get_by_role("button", name="Deny chosen").count() == 0
    await page.route(f"**/approvals/{made[1]}/", lambda route: route.abort())
    await page.get_by_label("Choose all on this page").check()
    await expect(page.locator(".bulk .count")).to_have_text("3 requests chosen")
    await page.get_by_label("Reason for all").fill("House rules.")
    await page.get_by_role("button", name="Deny chosen").click()
    report = page.locator(".bulk .report")
    await expect(report).to_contain_text("2 denied, 1 not:")
    await expect(report).to_contain_text("The server cannot be reached")
    await expect(page.locator(".bulk .count")).to_have_text("1 request chosen")
    assert [request_row(each)["status"] for each in made] == ["denied", "pending", "denied", "pending"]
    assert [decision_rows(each)[0]["reason"] for each in (made[0], made[2])] == ["House rules."] * 2


# --- what is read ----------------------------------------------------------------------------------------------------
async def test_ones_own_request_and_an_auditors_queue_have_no_buttons_that_decide(visit: Visit, tenant: Cast) -> None:
    request = held(tenant.carol)
    page = await visit("/approvals/", tenant.carol)
    await expect(card(page, request)).to_contain_text("somebody else has to decide")
    for name in ("Approve", "Deny"):
        assert await page.get_by_role("button", name=name).count() == 0
    page = await visit("/approvals/", tenant.dana)
    await expect(card(page, request)).to_be_visible()
    assert await card(page, request).get_by_role("button").count() == 0


async def test_hostile_arguments_are_visible_whole_and_inert(visit: Visit, tenant: Cast, stack: Stack) -> None:
    request = await ask(stack, tenant.alice, **HOSTILE)
    page = await visit("about:blank", tenant.carol)
    asked: list[str] = []
    page.on("request", lambda each: asked.append(each.url))
    await page.goto("/approvals/")
    values = card(page, request).locator("dd > .value")
    to, subject, body = [await values.nth(index).inner_text() for index in range(3)]
    assert to == "boss@example.com"
    assert subject == HOSTILE["subject"].replace("\u202e", "‹U+202E›")
    assert body.startswith("Dear boss,‹5,000 spaces›rm -rf /↵\nto: nobody‹200 line breaks›\nword word")
    assert body.endswith("THE END")
    assert await card(page, request).locator(".arguments .name").all_inner_texts() == ["to", "subject", "body"]
    await expect(card(page, request).locator(".end")).to_contain_text("THE END")
    # The command stands in sight, without scrolling in its box.
    assert await values.nth(2).evaluate("box => box.scrollTop === 0 && box.clientHeight > 100")
    assert await card(page, request).locator("script, img").count() == 0
    assert await page.evaluate("window.hit") is None
    assert not [url for url in asked if "evil.example" in url]
    assert "\u202e" not in await page.locator("main").inner_text()
    await page.get_by_text("Edit arguments").click()
    typed = json.loads(await page.get_by_label("Arguments, as JSON").input_value())
    assert typed == HOSTILE
    await expect(page.locator(".preview")).to_have_text("Nothing is changed so far.")


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_the_queue_fits_a_phone(visit: Visit, tenant: Cast, stack: Stack, scheme: str) -> None:
    request = held(tenant.alice, "send_email", input={**HOSTILE, "subject": "x" * 900}, approvals_needed=2)
    held(tenant.bob)
    await asyncio.to_thread(decide, stack, tenant.olga, request, "approve", reason="y" * 900)
    page = await visit("/approvals/", tenant.carol, size=PHONE, scheme=scheme)
    await page.get_by_text("Edit arguments").first.click()
    await page.get_by_label("Arguments, as JSON").first.fill(json.dumps({"subject": "z" * 900}))
    await page.locator("[name=choose]").last.check()
    assert await sticking_out(page) == []
    await expect(page.get_by_role("button", name="Deny chosen")).to_be_in_viewport()
    await page.goto(f"/approvals/{request}/")
    assert await sticking_out(page) == []


async def test_the_keyboard_alone_reaches_reads_and_decides(visit: Visit, tenant: Cast) -> None:
    first, second = held(tenant.alice), held(tenant.bob)
    errors: list[str] = []
    page = await visit("/approvals/", tenant.carol)
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    await live(page)
    await tab_to(page, "Approve")
    # Enter in the field for a reason begins a line, and decides nothing.
    await page.keyboard.press("Shift+Tab")
    await expect(card(page, first).get_by_label("Reason")).to_be_focused()
    await page.keyboard.type("one")
    await page.keyboard.press("Enter")
    await page.keyboard.type("two")
    assert_untouched(first)
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await expect(card(page, first).locator(".pill")).to_have_text("Approved by you")
    await expect(card(page, second)).to_be_focused()
    # Once more decides nothing: the next card has the focus, and not its button.
    await page.keyboard.press("Enter")
    assert_untouched(second)
    await page.keyboard.press("k")
    await expect(card(page, first)).to_be_focused()
    await page.keyboard.press("j")
    await expect(card(page, second)).to_be_focused()
    await tab_to(page, "Deny")
    await page.keyboard.press("Enter")
    await expect(card(page, second).locator(".pill")).to_have_text("Denied by you")
    await expect(page.locator("#top")).to_be_focused()
    assert decision_rows(first)[0]["reason"] == "one\r\ntwo"
    assert errors == []


async def test_every_button_is_described_by_its_request(visit: Visit, tenant: Cast) -> None:
    held(tenant.alice)
    held(tenant.bob)
    page = await visit("/approvals/", tenant.carol)
    for button in await page.get_by_role("button", name="Approve", exact=True).all():
        described = await button.evaluate(
            "each => document.getElementById(each.getAttribute('aria-describedby')).innerText"
        )
        assert described.startswith("save_note for ")


async def test_it_works_without_a_script(browser: Any, stack: Stack, tenant: Cast) -> None:
    from tests.browser.sessions import session_of

    approved, denied = held(tenant.alice), held(tenant.alice)
    size = {"width": DESK[0], "height": DESK[1]}
    context = await browser.new_context(base_url=stack.url, java_script_enabled=False, viewport=size)
    context.set_default_timeout(PATIENCE_MS)
    key = await asyncio.to_thread(session_of, tenant.carol)
    await context.add_cookies([{"name": "sessionid", "value": key, "url": stack.url}])
    page = await context.new_page()
    for request, name in ((approved, "Approve"), (denied, "Deny")):
        await page.goto("/approvals/")
        await card(page, request).get_by_label("Reason").fill("By hand.")
        await card(page, request).get_by_role("button", name=name).click()
        await expect(page).to_have_url(f"{stack.url}/approvals/{request}/")
        await expect(card(page, request)).to_contain_text("By hand.")
    assert [request_row(each)["status"] for each in (approved, denied)] == ["approved", "denied"]
