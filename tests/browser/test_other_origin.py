"""A page of another origin in a real browser: both vendors' SDKs, and an EventSource with a stream token."""

import os
import subprocess
import threading
from collections.abc import AsyncIterator, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page

from tests.browser.conftest import on_its_loop
from tests.browser.driving import PATIENCE_MS
from tests.people import Cast
from tests.stack import ROOT, Stack

NODE_MODULES = ROOT / ".venv" / "node" / "node_modules"
NEEDED = ("esbuild", "openai", "@anthropic-ai/sdk")
SDKS = """
import OpenAI from "openai";
import Anthropic from "@anthropic-ai/sdk";
window.OpenAI = OpenAI;
window.Anthropic = Anthropic;
"""


@pytest.fixture(scope="session")
def bundle() -> bytes:
    """Both SDKs as one script for a browser."""
    missing = [name for name in NEEDED if not (NODE_MODULES / name).is_dir()]
    if missing and not os.environ.get("CI"):
        pytest.skip(f"not installed in {NODE_MODULES}: {', '.join(missing)}")
    assert missing == []
    command: list[str | Path] = [NODE_MODULES / ".bin" / "esbuild", "--bundle", "--format=iife", "--log-level=error"]
    return subprocess.run(
        command, input=SDKS.encode(), env=os.environ | {"NODE_PATH": str(NODE_MODULES)}, capture_output=True, check=True
    ).stdout


@pytest.fixture(scope="session")
def origin(bundle: bytes) -> Iterator[str]:
    """A site on a port of its own with one page, which loads the SDKs."""

    class Site(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            script = self.path == "/sdks.js"
            body = bundle if script else b'<!doctype html><title>Elsewhere</title><script src="/sdks.js"></script>'
            self.send_response(200)
            self.send_header("Content-Type", "text/javascript" if script else "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *values: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()


@pytest.fixture(scope="session")
def gate(stack: Stack, origin: str) -> Iterator[str]:
    """The address of a web process that lets the site's pages in."""
    yield stack.start_web("shared web", CORS_ALLOWED_ORIGINS=origin)
    stack.kill("shared web")


@on_its_loop
async def page(browser: Browser, origin: str) -> AsyncIterator[Page]:
    """The site's page; whatever the browser blocks fails the test."""
    blocked: list[str] = []
    opened = await browser.new_page()
    opened.set_default_timeout(PATIENCE_MS)
    opened.on("console", lambda message: blocked.append(message.text) if "CORS" in message.text else None)
    await opened.goto(origin)
    yield opened
    await opened.close()
    assert blocked == []


async def test_the_openai_sdk_chats_and_streams_in_a_browser(page: Page, gate: str, tenant: Cast) -> None:
    found = await page.evaluate(
        """async ([gate, apiKey]) => {
          const client = new OpenAI({ apiKey, baseURL: `${gate}/v1`, dangerouslyAllowBrowser: true, maxRetries: 0 });
          const request = { model: "offline/demo", messages: [{ role: "user", content: "hello" }] };
          const options = { headers: { "Idempotency-Key": crypto.randomUUID() } };
          const { data: whole, response } = await client.chat.completions.create(request, options).withResponse();
          let streamed = "";
          for await (const chunk of await client.chat.completions.create({ ...request, stream: true })) {
            streamed += chunk.choices[0]?.delta?.content ?? "";
          }
          const failed = await client.models.retrieve("nothing").catch((error) => error);
          return {
            whole: whole.choices[0].message.content, streamed, id: response.headers.get("x-request-id"),
            status: failed.status, failedId: failed.requestID,
          };
        }""",
        [gate, tenant.alice.key],
    )
    assert found["whole"] == found["streamed"]
    assert "did not find anything that I can do" in found["whole"]
    assert found["id"]
    assert (found["status"], bool(found["failedId"])) == (404, True)


async def test_the_anthropic_sdk_chats_and_streams_in_a_browser(page: Page, gate: str, tenant: Cast) -> None:
    found = await page.evaluate(
        """async ([gate, apiKey]) => {
          const client = new Anthropic({ apiKey, baseURL: gate, dangerouslyAllowBrowser: true, maxRetries: 0 });
          const request = { model: "offline/demo", max_tokens: 500, messages: [{ role: "user", content: "hello" }] };
          const { data: whole, response } = await client.messages.create(request).withResponse();
          const streamed = await client.messages.stream(request).finalText();
          const wrong = new Anthropic({ apiKey: "no", baseURL: gate, dangerouslyAllowBrowser: true, maxRetries: 0 });
          const failed = await wrong.messages.create(request).catch((error) => error);
          const requestId = response.headers.get("request-id");
          return { whole: whole.content[0].text, streamed, requestId, status: failed.status, told: failed.message };
        }""",
        [gate, tenant.alice.key],
    )
    assert found["whole"] == found["streamed"]
    assert found["requestId"]
    assert found["status"] == 401
    assert "The API key is missing, unknown, revoked or expired." in found["told"]


async def test_an_event_source_reads_a_run_with_a_token_and_stops_at_its_end(
    page: Page, gate: str, tenant: Cast
) -> None:
    found = await page.evaluate(
        """async ([gate, key]) => {
          const headers = { "Authorization": `Bearer ${key}`, "Content-Type": "application/json" };
          const body = JSON.stringify({ content: "call: list_tasks {}" });
          const begun = await fetch(`${gate}/api/v1/chat`, { method: "POST", headers, body });
          const { run_id: run, content } = await begun.json();
          const issued = await fetch(`${gate}/api/v1/runs/${run}/stream-token`, { method: "POST", headers });
          const { token } = await issued.json();
          const source = new EventSource(`${gate}/api/v1/runs/${run}/events?${new URLSearchParams({ token })}`);
          const names = [], texts = [];
          for (const name of ["run.created", "message.delta", "tool_call.proposed", "tool_call.running",
                              "tool_call.settled", "run.completed"]) {
            source.addEventListener(name, ({ data }) => {
              names.push(name);
              if (name === "message.delta") texts.push(JSON.parse(data).text);
            });
          }
          // It comes back once by itself, with the last id, and is told that there is no more.
          await new Promise((resolve) => {
            source.onerror = () => source.readyState === EventSource.CLOSED && resolve();
          });
          return { names, last: texts.at(-1), content };
        }""",
        [gate, tenant.alice.key],
    )
    assert [name for name in found["names"] if name != "message.delta"] == [
        "run.created", "tool_call.proposed", "tool_call.running", "tool_call.settled", "run.completed"
    ]  # fmt: skip
    assert found["last"] == found["content"]


async def test_a_page_of_any_other_origin_is_kept_out(
    browser: Browser, origin: str, stack: Stack, tenant: Cast
) -> None:
    page = await browser.new_page()
    page.set_default_timeout(PATIENCE_MS)
    await page.goto(origin)
    found = await page.evaluate(
        """async ([gate, key]) => {
          const headers = { "Authorization": `Bearer ${key}` };
          return fetch(`${gate}/v1/models`, { headers }).then(() => "read", (error) => error.name);
        }""",
        [stack.url, tenant.alice.key],
    )
    assert found == "TypeError"
