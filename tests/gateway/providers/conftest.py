from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from gateway.providers.anthropic.provider import AnthropicProvider
from gateway.providers.interface import Prompt, UserMessage
from gateway.providers.openai.provider import OpenAIProvider
from tests.gateway.providers.fake import FakeProvider
from tests.waiting import PATIENCE_SECONDS
from tools.interface import Tier, ToolSpec

KEY = "sk-test-51c3e7f0a9d24b68"


@pytest.fixture
async def fake() -> AsyncIterator[FakeProvider]:
    provider = FakeProvider()
    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.router.add_route("*", "/{path:.*}", provider.handle)
    runner = web.AppRunner(app, shutdown_timeout=1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    provider.url = f"http://{host}:{port}"
    yield provider
    provider.release()
    await runner.cleanup()


@pytest.fixture
async def openai(fake: FakeProvider) -> AsyncIterator[OpenAIProvider]:
    provider = OpenAIProvider(KEY, f"{fake.url}/v1", silent_seconds=PATIENCE_SECONDS)
    yield provider
    await provider.close()


@pytest.fixture
async def anthropic(fake: FakeProvider) -> AsyncIterator[AnthropicProvider]:
    provider = AnthropicProvider(KEY, fake.url, silent_seconds=PATIENCE_SECONDS)
    yield provider
    await provider.close()


@pytest.fixture
def search() -> ToolSpec:
    return tool("web_search")


def tool(name: str) -> ToolSpec:
    """A tool of that name with one text argument."""
    parameters = {
        "type": "object",
        "properties": {"query": {"type": "string"}},
        "required": ["query"],
        "additionalProperties": False,
    }
    return ToolSpec(name, f"Does what {name} does.", parameters, Tier.READ_ONLY)


def question(*tools: ToolSpec, text: str = "hello", system: str = "", model: str = "m") -> Prompt:
    """A prompt of one user message."""
    return Prompt(model, (UserMessage(text),), system, tools)
