from collections.abc import Iterator

import pytest

from tests.hostile.upstream import OPENAI_KEY, Upstream
from tests.services.api import OUTSIDE, Api, serving
from tests.stack import Stack


@pytest.fixture(scope="session")
def model() -> Upstream:
    """A provider that tests script, and that keeps the prompts that it was sent."""
    return Upstream()


@pytest.fixture(scope="session")
def stack(model: Upstream) -> Iterator[Stack]:
    """A Toolgate that may call the APIs of these tests; its default model is the demo one."""
    provider = {"OPENAI_API_KEY": OPENAI_KEY, "OPENAI_BASE_URL": f"{model.url}/v1"}
    with Stack(TOOLGATE_EGRESS_ALLOW=OUTSIDE, **provider) as running:
        yield running


@pytest.fixture
def api() -> Api:
    """An API that answers 404 until a test says otherwise."""
    return Api()


@pytest.fixture
def url(api: Api) -> Iterator[str]:
    """Its address."""
    with serving(api) as address:
        yield address
