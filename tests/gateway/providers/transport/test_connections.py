"""How an adapter's bytes travel: over which connections, with whose headers, compressed or not."""

import asyncio
import gzip
import json
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import anthropic as anthropic_sdk
import httpx2
import openai as openai_sdk
import pytest
from aiohttp import web
from google import genai

from gateway.providers.errors import ProviderGarbled
from gateway.providers.interface import Options, Prompt, UserMessage
from gateway.providers.transport import posting
from gateway.providers.transport.connections import Connections, Target
from tests.gateway.providers.conftest import KEY, question
from tests.gateway.providers.fake import FakeProvider
from tests.gateway.providers.hello import PROVIDERS, STREAMED, WHOLE, Adapter, adapter
from tests.waiting import PATIENCE_SECONDS

# Of one connection and one body, and so the transport's.
OF_THE_TRANSPORT = {"Host", "Connection", "Content-Length", "Accept-Encoding", "Transfer-Encoding"}


@pytest.fixture(params=PROVIDERS)
async def provider(request: pytest.FixtureRequest, fake: FakeProvider) -> AsyncIterator[Adapter]:
    made = adapter(request.param, fake.url)
    yield made
    await made.close()


async def test_neither_a_client_of_the_sdk_nor_a_session_is_made_for_a_request(
    fake: FakeProvider, provider: Adapter, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: Counter[str] = Counter()
    built: Counter[str] = Counter()

    def count(kind: type, name: str) -> None:
        original = kind.__init__  # type: ignore[misc]

        def counted(self: Any, *given: Any, **named: Any) -> None:
            made[name] += 1
            original(self, *given, **named)

        monkeypatch.setattr(kind, "__init__", counted)

    count(openai_sdk.AsyncOpenAI, "openai")
    count(anthropic_sdk.AsyncAnthropic, "anthropic")
    count(genai.Client, "gemini")
    count(httpx2.AsyncClient, "httpx2")
    count(aiohttp.ClientSession, "session")
    target = type(provider._upstream)._target

    async def asked(self: Any, path: str) -> Target:
        built[path] += 1
        return await target(self, path)

    monkeypatch.setattr(type(provider._upstream), "_target", asked)
    betas = Options(family="anthropic", extra={"betas": ["a-2025-01-01"]} if provider.name == "anthropic" else {})
    for _ in range(3):
        fake.replies.clear()
        fake.json(WHOLE[provider.name])
        assert (await provider.ask(question())).text == "Hi."
        assert (await provider.ask(Prompt("m", (UserMessage("hello"),), options=betas))).text == "Hi."
        fake.replies.clear()
        fake.stream(STREAMED[provider.name])
        assert (await provider.ask(question(), lambda text: None)).text == "Hi."
    assert made == {"session": 1}
    # Gemini has a path for whole answers and one for streams.
    assert set(built.values()) == {1} and len(built) == (2 if provider.name == "gemini" else 1)
    assert len(fake.asked) == 9
    assert len(fake.connections) == 1


async def test_what_the_openai_sdk_says_of_a_request_is_sent_by_us(fake: FakeProvider) -> None:
    fake.json(WHOLE["openai"])
    ours = adapter("openai", fake.url)
    await ours.ask(question())
    await ours.close()
    async with openai_sdk.AsyncOpenAI(api_key=KEY, base_url=f"{fake.url}/v1", timeout=PATIENCE_SECONDS) as sdk:
        await sdk.chat.completions.create(model="m", messages=[{"role": "user", "content": "hello"}])
    _same(fake)


async def test_what_the_anthropic_sdk_says_of_a_request_is_sent_by_us(fake: FakeProvider) -> None:
    fake.json(WHOLE["anthropic"])
    ours = adapter("anthropic", fake.url)
    options = Options(family="anthropic", extra={"betas": ["a-2025-01-01"]})
    await ours.ask(Prompt("m", (UserMessage("hello"),), options=options))
    await ours.close()
    async with anthropic_sdk.AsyncAnthropic(api_key=KEY, base_url=fake.url, timeout=PATIENCE_SECONDS) as sdk:
        await sdk.messages.create(
            model="m",
            messages=[{"role": "user", "content": "hello"}],
            max_tokens=1,
            extra_headers={"anthropic-beta": "a-2025-01-01"},
        )
    _same(fake, but="x-stainless-timeout")


async def test_what_googles_sdk_says_of_a_request_is_sent_by_us(fake: FakeProvider) -> None:
    fake.json(WHOLE["gemini"])
    ours = adapter("gemini", fake.url)
    await ours.ask(question())
    await ours.close()
    async with httpx2.AsyncClient() as http:
        options = genai.types.HttpOptions(base_url=fake.url, api_version="v1beta", httpx_async_client=http)
        sdk = genai.Client(vertexai=False, api_key=KEY, http_options=options)
        await sdk.aio.models.generate_content(model="m", contents="hello")
        sdk.close()
    _same(fake)


def _same(fake: FakeProvider, but: str = "") -> None:
    """The one request has the path and the headers of the other."""
    ours, theirs = fake.asked
    assert ours.path == theirs.path
    headers = [
        {name.lower(): value for name, value in each.headers.items() if name not in OF_THE_TRANSPORT}
        for each in (ours, theirs)
    ]
    for each in headers:
        each.pop(but, None)
    assert headers[0] == headers[1]


async def test_no_cookie_of_one_answer_goes_with_the_next_request(fake: FakeProvider, provider: Adapter) -> None:
    fake.json(WHOLE[provider.name], headers={"Set-Cookie": "who=alice"})
    await provider.ask(question())
    await provider.ask(question())
    assert [asked.headers.get("Cookie") for asked in fake.asked] == [None, None]


async def test_a_connection_that_the_provider_closes_is_replaced(fake: FakeProvider, provider: Adapter) -> None:
    fake.json(WHOLE[provider.name], headers={"Connection": "close"})
    await provider.ask(question())
    await provider.ask(question())
    assert len(fake.asked) == len(fake.connections) == 2


async def test_a_long_question_arrives_as_a_short_one_does(fake: FakeProvider, provider: Adapter) -> None:
    fake.json(WHOLE[provider.name])
    long = "é" * posting.SMALL
    for said in ("short", long, "short"):
        assert (await provider.ask(Prompt("m", (UserMessage(said),)))).text == "Hi."
    short, longer, again = fake.asked
    assert short.body == again.body
    assert json.loads(json.dumps(short.body, ensure_ascii=False).replace("short", long)) == longer.body
    lengths = [asked.headers.pop("Content-Length") for asked in fake.asked]
    assert short.headers == longer.headers == again.headers
    assert lengths[0] == lengths[2] != lengths[1]
    assert len(fake.connections) == 1


async def test_a_question_that_is_given_up_takes_its_connection_along(fake: FakeProvider, provider: Adapter) -> None:
    fake.silent()
    asking = asyncio.create_task(provider.ask(question()))
    await fake.received.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    fake.replies.clear()
    fake.json(WHOLE[provider.name])
    assert (await provider.ask(question())).text == "Hi."
    assert len(fake.connections) == 2


async def test_a_header_that_holds_another_one_is_not_sent(fake: FakeProvider) -> None:
    fake.json({})
    connections = Connections(PATIENCE_SECONDS)
    for headers in ([("x-name", "one\r\nx-other: two")], [("x-na\nme", "one")]):
        with pytest.raises(aiohttp.InvalidURL):
            await connections.post(Target.of(fake.url, headers), b"{}", {})
    await connections.close()
    assert fake.asked == []


async def test_nothing_is_sent_over_connections_that_are_closed(fake: FakeProvider) -> None:
    fake.json({})
    connections, target = Connections(PATIENCE_SECONDS), Target.of(fake.url, [])
    async with await connections.post(target, b"{}", {}) as response:
        assert response.status == 200
    await connections.close()
    with pytest.raises(RuntimeError):
        await connections.post(target, b"{}", {})
    assert len(fake.asked) == 1


async def test_a_model_of_every_request_does_not_grow_what_is_remembered(fake: FakeProvider) -> None:
    fake.json(WHOLE["gemini"])
    provider = adapter("gemini", fake.url)
    for number in range(300):
        provider._upstream._targets[f"models/{number}:generateContent"] = Target.of(fake.url, [])
    await provider.ask(question(model="another"))
    assert list(provider._upstream._targets) == ["models/another:generateContent"]
    await provider.close()


# --- compression -----------------------------------------------------------------------------------------------------
def compressed(fake: FakeProvider, name: str, *, streamed: bool, broken: bool = False) -> None:
    """Answer compressed, or with what says so and is not."""
    plain = STREAMED[name] if streamed else json.dumps(WHOLE[name]).encode()
    data = plain if broken else gzip.compress(plain)

    async def reply(request: web.Request) -> web.StreamResponse:
        kind = "text/event-stream" if streamed else "application/json"
        return web.Response(body=data, headers={"Content-Encoding": "gzip", "Content-Type": kind})

    fake.replies.append(reply)


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_a_compressed_answer_is_read(fake: FakeProvider, provider: Adapter, streamed: bool) -> None:
    compressed(fake, provider.name, streamed=streamed)
    heard: list[str] = []
    answer = await provider.ask(question(), heard.append if streamed else None)
    assert answer.text == "Hi."
    assert "gzip" in fake.asked[0].headers["Accept-Encoding"]


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_an_answer_that_cannot_be_decompressed_is_garbled(
    fake: FakeProvider, provider: Adapter, streamed: bool
) -> None:
    compressed(fake, provider.name, streamed=streamed, broken=True)
    with pytest.raises(ProviderGarbled) as caught:
        await provider.ask(question(), (lambda text: None) if streamed else None)
    assert str(caught.value) == "The provider's answer is compressed in a way that cannot be read."


async def test_a_small_answer_that_becomes_a_huge_one_is_given_up(
    fake: FakeProvider, provider: Adapter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.providers.transport.upstream.LONGEST_ANSWER", 1_000_000)

    async def reply(request: web.Request) -> web.StreamResponse:
        bomb = gzip.compress(b" " * 50_000_000)
        return web.Response(body=bomb, headers={"Content-Encoding": "gzip", "Content-Type": "application/json"})

    fake.replies.append(reply)
    with pytest.raises(ProviderGarbled, match="longer than 1000000 bytes"):
        await provider.ask(question())
