"""The queue follows what others do, over its socket and without."""

import asyncio
from datetime import UTC, datetime, timedelta

from playwright.async_api import Route, WebSocketRoute, expect

from tests.approvals.api import decide, decision_rows
from tests.approvals.requests import held
from tests.browser.driving import PATIENCE_MS, Visit
from tests.browser.test_approvals import ask, card, live
from tests.people import Cast
from tests.stack import Stack


async def test_a_new_request_appears_and_another_persons_decision_shows(
    visit: Visit, tenant: Cast, stack: Stack
) -> None:
    page = await visit("/approvals/", tenant.carol)
    await live(page)
    await expect(page.get_by_role("heading", name="Nothing waits")).to_be_visible()
    first = await ask(stack, tenant.alice)
    await expect(card(page, first)).to_be_visible()
    await expect(page.get_by_role("heading", name="Nothing waits")).to_be_hidden()
    await expect(page).to_have_title("(1) Approvals · Toolgate")
    await expect(page.locator("#announcements")).to_contain_text("New: send_email")
    second = await ask(stack, tenant.bob)
    await expect(card(page, second)).to_be_visible()
    await card(page, second).get_by_label("Reason").fill("still typing")
    top = (await card(page, second).bounding_box() or {})["y"]
    answer = await asyncio.to_thread(decide, stack, tenant.olga, first, "deny", reason="No.")
    assert answer.status_code == 200
    await expect(card(page, first).locator(".pill")).to_have_text(f"Denied by {tenant.olga.username}")
    await expect(page.locator("#announcements")).to_contain_text(f"Denied by {tenant.olga.username}")
    await expect(page).to_have_title("(1) Approvals · Toolgate")
    # Nothing moved under the pointer, and nothing that was typed is lost.
    assert abs((await card(page, second).bounding_box() or {})["y"] - top) < 1
    await expect(card(page, second).get_by_label("Reason")).to_have_value("still typing")
    await expect(card(page, second).get_by_label("Reason")).to_be_focused()


async def test_a_vote_of_two_is_shown_and_what_was_typed_stays(visit: Visit, tenant: Cast, stack: Stack) -> None:
    request = held(tenant.alice, approvals_needed=2)
    page = await visit("/approvals/", tenant.carol)
    await live(page)
    await page.get_by_label("Reason").fill("me too")
    await asyncio.to_thread(decide, stack, tenant.olga, request, "approve", reason="Fine.")
    await expect(card(page, request).locator(".facts")).to_contain_text(f"1 of 2 approvals, by {tenant.olga.username}")
    await expect(page.get_by_label("Reason")).to_have_value("me too")
    await page.get_by_role("button", name="Approve").click()
    await expect(card(page, request).locator(".pill")).to_have_text(f"Approved by {tenant.olga.username} and you")


async def test_who_comes_too_late_is_told_who_was_first(visit: Visit, tenant: Cast, stack: Stack) -> None:
    request = held(tenant.alice)
    await_socket = asyncio.Event()

    async def deaf(socket: WebSocketRoute) -> None:
        await_socket.set()

    page = await visit("about:blank", tenant.carol)
    await page.route_web_socket("**/ws/approvals/", deaf)
    await page.goto("/approvals/")
    await await_socket.wait()
    await asyncio.to_thread(decide, stack, tenant.olga, request, "deny")
    await page.get_by_role("button", name="Approve").click()
    await expect(card(page, request).get_by_role("alert")).to_have_text(
        "This approval request is decided: it was denied."
    )
    await expect(card(page, request).locator(".pill")).to_have_text(f"Denied by {tenant.olga.username}")
    assert [each["verdict"] for each in decision_rows(request)] == ["deny"]


async def test_without_the_socket_the_page_says_so_and_looks_by_itself(
    visit: Visit, tenant: Cast, stack: Stack
) -> None:
    page = await visit("about:blank", tenant.carol)
    # Time passes for the page only where the test says so: it neither looks nor connects before.
    await page.clock.install()
    await page.clock.pause_at(datetime.now(UTC) + timedelta(minutes=1))
    away, tried = True, 0

    async def refuse(socket: WebSocketRoute) -> None:
        nonlocal tried
        tried += 1
        if away:
            await socket.close()
        else:
            socket.connect_to_server()

    await page.route_web_socket("**/ws/approvals/", refuse)
    await page.goto("/approvals/")
    connection = page.locator("#connection")
    await expect(connection).to_have_text("Reconnecting; looking every 10 seconds")
    request = held(tenant.alice)
    await page.clock.run_for(9_000)
    assert await card(page, request).count() == 0
    await page.clock.run_for(2_000)
    await expect(card(page, request)).to_be_visible()
    await expect(connection).to_have_text("Reconnecting; looking every 10 seconds")
    away = False
    # However long its pause is by now.
    while await connection.inner_text() != "Live":
        await page.clock.run_for(1_000)
    assert tried > 2


async def test_a_look_that_began_before_a_decision_does_not_take_it_back(
    visit: Visit, tenant: Cast, stack: Stack
) -> None:
    request = held(tenant.alice)
    page = await visit("/approvals/", tenant.carol)
    await live(page)
    looked, decided, looked_again = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def late(route: Route) -> None:
        if decided.is_set():
            # What the page did with the answer before is done.
            looked_again.set()
            await route.continue_()
            return
        answer = await route.fetch(timeout=PATIENCE_MS)
        looked.set()
        await decided.wait()
        await route.fulfill(response=answer)

    await page.route("**/approvals/", late)
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    await looked.wait()
    await page.get_by_role("button", name="Approve").click()
    await expect(card(page, request).locator(".pill")).to_have_text("Approved by you")
    await page.evaluate(
        """() => {
          window.replaced = 0;
          new MutationObserver(() => (replaced += 1)).observe(document.getElementById("queue"), { childList: true });
        }"""
    )
    decided.set()
    await looked_again.wait()
    assert await page.evaluate("replaced") == 0
    await expect(card(page, request).locator(".pill")).to_have_text("Approved by you")


async def test_whoever_is_demoted_sees_the_queue_no_longer(visit: Visit, tenant: Cast, stack: Stack) -> None:
    from tenants.models import Membership
    from tenants.scope.routing import on_login

    page = await visit("/approvals/", tenant.carol)
    await live(page)

    def demote() -> None:
        with on_login("operator"):
            Membership.objects.filter(user_id=tenant.carol.principal.user_id).update(role="member")

    await asyncio.to_thread(demote)
    await ask(stack, tenant.alice)
    await expect(page.get_by_role("heading", name="You may not do that")).to_be_visible()
