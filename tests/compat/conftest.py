"""Official clients of a Toolgate whose provider says what a test writes."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import openai
import pytest
from llmock.testing import LLMockServer

from tests.compat.models import environment
from tests.hostile.upstream import Upstream, running
from tests.stack import Stack
from tests.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from tests.people import Person


@pytest.fixture(scope="session")
def upstream() -> Iterator[Upstream]:
    """The scripted provider and its Toolgate."""
    with running() as started:
        yield started


@pytest.fixture(scope="package")
def mocked(llmock_server: LLMockServer) -> Iterator[Stack]:
    """A Toolgate whose providers are all llmock."""
    with Stack(**environment(llmock_server.base_url)) as stack:
        yield stack


@pytest.fixture
def client(upstream: Upstream) -> "Callable[[Person], openai.OpenAI]":
    """The official client as a person, without retries of its own."""

    def made(person: "Person") -> openai.OpenAI:
        return openai.OpenAI(
            api_key=person.key, base_url=f"{upstream.stack.url}/v1", max_retries=0, timeout=PATIENCE_SECONDS
        )

    return made
