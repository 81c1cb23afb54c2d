"""The chat page over one web process, while its run is driven by another, or by a worker that took it over."""

import asyncio
import threading
from collections.abc import Iterator

import httpx
import pytest
from playwright.async_api import expect

from tests.browser.driving import PATIENCE_MS, Visit
from tests.hostile.upstream import Script, Steps, Upstream, running, scripted, streamed
from tests.people import Cast, Person
from tests.rest import sse
from tests.stack import Stack


@pytest.fixture(scope="session")
def upstream() -> Iterator[Upstream]:
    """A provider that tests script, with a running Toolgate that asks it."""
    with running() as started:
        yield started


@pytest.fixture(scope="session")
def stack(upstream: Upstream) -> Stack:
    """The same Toolgate."""
    return upstream.stack


def _begun(url: str, person: Person, script: Script) -> str:
    """The conversation of a run that the web process at `url` drives; its own client goes away."""
    body = scripted(script, stream=True)
    with httpx.stream("POST", f"{url}/api/v1/chat", json=body, headers=person.headers) as answer:
        created = next(event for event in sse.live(answer) if isinstance(event, sse.Event))
        return str(created.data["conversation_id"])


async def test_text_comes_to_the_page_as_it_is_said_in_another_process(
    visit: Visit, upstream: Upstream, tenant: Cast
) -> None:
    words, steps = ["One ", "two ", "three ", "four."], Steps()
    script = upstream.script(streamed(*({"content": word} for word in words), between=steps))
    url = await asyncio.to_thread(lambda: upstream.another_url)
    conversation = await asyncio.to_thread(_begun, url, tenant.alice, script)
    page = await visit(f"/?c={conversation}", tenant.alice)
    answer, run = page.locator("li.run .prose").last, page.locator("li.run").last
    for count in range(1, len(words) + 1):
        await expect(answer).to_have_text("".join(words[:count]).strip(), timeout=PATIENCE_MS)
        await expect(run).to_have_attribute("aria-busy", "true")
        if count == 2:
            # A page that comes back while the run goes on has the text so far.
            await page.reload()
            await expect(answer).to_have_text("One two", timeout=PATIENCE_MS)
        steps.take()
    for _ in range(5):
        steps.take()
    await expect(run).to_have_attribute("aria-busy", "false", timeout=PATIENCE_MS)
    await expect(answer).to_have_text("One two three four.", timeout=PATIENCE_MS)


async def test_the_page_follows_a_run_to_the_worker_that_took_it_over(
    visit: Visit, upstream: Upstream, tenant: Cast
) -> None:
    never, steps = threading.Event(), Steps()
    script = upstream.script(
        streamed({"content": "Hello"}, {"content": "."}, between=never),
        streamed({"content": "Good"}, {"content": "bye."}, between=steps),
    )
    stack = upstream.stack
    try:
        url = await asyncio.to_thread(stack.start_web, "doomed web")
        conversation = await asyncio.to_thread(_begun, url, tenant.alice, script)
        page = await visit(f"/?c={conversation}", tenant.alice)
        answer, run = page.locator("li.run .prose").last, page.locator("li.run").last
        await expect(answer).to_have_text("Hello", timeout=PATIENCE_MS)
        await asyncio.to_thread(stack.kill, "doomed web")
        # Only now: on a busy machine who drives a run could lose its lease, and with beat its run.
        stack.start("beat")
        # Once the lease has run out, the sweeper has looked, and a worker has asked again.
        await expect(answer).to_have_text("Good", timeout=PATIENCE_MS)
        stack.kill("beat")
        await expect(run).to_have_attribute("aria-busy", "true")
        for _ in range(5):
            steps.take()
        await expect(run).to_have_attribute("aria-busy", "false", timeout=PATIENCE_MS)
        await expect(answer).to_have_text("Goodbye.", timeout=PATIENCE_MS)
    finally:
        if "beat" in stack.processes:
            stack.kill("beat")
        never.set()
