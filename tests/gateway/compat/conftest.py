"""A server over real HTTP whose answers a test decides, and the official SDK that asks it."""

from collections.abc import AsyncIterator

import openai
import pytest

from tests.gateway.providers.conftest import fake
from tests.gateway.providers.fake import FakeProvider

__all__ = ["fake"]


@pytest.fixture
async def sdk(fake: FakeProvider) -> AsyncIterator[openai.AsyncOpenAI]:
    """OpenAI's client, without retries of its own."""
    async with openai.AsyncOpenAI(api_key="tg_key", base_url=f"{fake.url}/v1", max_retries=0) as client:
        yield client
