"""How an adapter's bytes travel: over which connections, through which proxy, with whose headers."""

import asyncio
import datetime
import gzip
import ipaddress
import json
import ssl
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import anthropic as anthropic_sdk
import httpx2
import openai as openai_sdk
import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from google import genai
from yarl import URL

from gateway.providers.anthropic.provider import AnthropicProvider
from gateway.providers.connections import Target
from gateway.providers.errors import ProviderGarbled, ProviderUnavailable
from gateway.providers.gemini.provider import GeminiProvider
from gateway.providers.interface import Options, Prompt, UserMessage
from gateway.providers.openai.provider import OpenAIProvider
from tests.gateway.providers.conftest import KEY, question
from tests.gateway.providers.fake import FakeProvider, events
from tests.waiting import PATIENCE_SECONDS

Adapter = OpenAIProvider | AnthropicProvider | GeminiProvider
WHOLE: dict[str, Any] = {
    "openai": {"choices": [{"message": {"content": "Hi."}, "finish_reason": "stop"}]},
    "anthropic": {"content": [{"type": "text", "text": "Hi."}], "stop_reason": "end_turn"},
    "gemini": {"candidates": [{"content": {"parts": [{"text": "Hi."}]}, "finishReason": "STOP"}]},
}
STREAMED = {
    "openai": events({"choices": [{"delta": {"content": "Hi."}, "finish_reason": "stop"}]}, "[DONE]"),
    "anthropic": events(
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi."}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
        names=True,
    ),
    "gemini": events(WHOLE["gemini"]),
}
PROVIDERS = ["openai", "anthropic", "gemini"]
# Of one connection and one body, and so the transport's.
OF_THE_TRANSPORT = {"Host", "Connection", "Content-Length", "Accept-Encoding", "Transfer-Encoding"}


def adapter(name: str, url: str) -> Adapter:
    if name == "openai":
        return OpenAIProvider(KEY, f"{url}/v1", silent_seconds=PATIENCE_SECONDS)
    made = AnthropicProvider if name == "anthropic" else GeminiProvider
    return made(KEY, url, silent_seconds=PATIENCE_SECONDS)


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
    monkeypatch.setattr("gateway.providers.upstream.LONGEST_ANSWER", 1_000_000)

    async def reply(request: web.Request) -> web.StreamResponse:
        bomb = gzip.compress(b" " * 50_000_000)
        return web.Response(body=bomb, headers={"Content-Encoding": "gzip", "Content-Type": "application/json"})

    fake.replies.append(reply)
    with pytest.raises(ProviderGarbled, match="longer than 1000000 bytes"):
        await provider.ask(question())


# --- TLS and proxies -------------------------------------------------------------------------------------------------
@dataclass
class Proxy:
    """A proxy that forwards plain requests to `fake` itself, and tunnels to it; `asked` are request lines."""

    fake_port: int
    port: int = 0
    asked: list[str] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.asked.append(head.partition("\r\n")[0])
        self.heads.append(head)
        there, back = await asyncio.open_connection("127.0.0.1", self.fake_port)
        if head.startswith("CONNECT"):
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            back.write(head.encode())
        await asyncio.gather(_pipe(reader, back), _pipe(there, writer))


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
    except ConnectionError:
        pass
    finally:
        writer.close()


@pytest.fixture
async def proxy(fake: FakeProvider) -> AsyncIterator[Proxy]:
    port = URL(fake.url).port
    assert port is not None
    made = Proxy(port)
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    yield made
    server.close()


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A file with a key and a certificate of its own for 127.0.0.1 and provider.example."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "provider.example")])
    now = datetime.datetime.now(datetime.UTC)
    names = [x509.DNSName("provider.example"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path = tmp_path / "certificate.pem"
    path.write_bytes(private + made.public_bytes(pem))
    return path


@pytest.fixture
async def secure(fake: FakeProvider, certificate: Path) -> AsyncIterator[int]:
    """The port at which the fake provider speaks TLS."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", fake.handle)
    runner = web.AppRunner(app, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    yield runner.addresses[0][1]
    await runner.cleanup()


@pytest.mark.parametrize("name", PROVIDERS)
async def test_an_unknown_certificate_is_not_accepted(fake: FakeProvider, secure: int, name: str) -> None:
    fake.json(WHOLE[name])
    provider = adapter(name, f"https://127.0.0.1:{secure}")
    with pytest.raises(ProviderUnavailable) as caught:
        await provider.ask(question())
    await provider.close()
    assert str(caught.value) == f"{name} could not be reached, or the connection was lost."
    assert fake.asked == []


@pytest.mark.parametrize("name", PROVIDERS)
async def test_a_certificate_of_the_operators_own_is_accepted(
    fake: FakeProvider, secure: int, certificate: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    fake.json(WHOLE[name])
    provider = adapter(name, f"https://127.0.0.1:{secure}")
    await provider.ask(question())
    await provider.ask(question())
    await provider.close()
    assert len(fake.asked) == 2
    assert len(fake.connections) == 1


@pytest.mark.parametrize("name", PROVIDERS)
async def test_a_proxy_of_the_environment_is_used(
    fake: FakeProvider, proxy: Proxy, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://alice:secret@127.0.0.1:{proxy.port}")
    monkeypatch.delenv("NO_PROXY", raising=False)
    fake.json(WHOLE[name])
    provider = adapter(name, "http://provider.example")
    assert (await provider.ask(question())).text == "Hi."
    await provider.close()
    [line] = proxy.asked
    assert line.startswith("POST http://provider.example/")
    assert "\r\nProxy-Authorization: Basic YWxpY2U6c2VjcmV0\r\n" in proxy.heads[0]
    assert "Proxy-Authorization" not in line


async def test_a_secure_request_goes_through_a_tunnel_of_the_proxy(
    fake: FakeProvider, proxy: Proxy, secure: int, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.port}")
    monkeypatch.delenv("NO_PROXY", raising=False)
    proxy.fake_port = secure
    fake.json(WHOLE["openai"])
    provider = adapter("openai", "https://provider.example")
    assert (await provider.ask(question())).text == "Hi."
    assert (await provider.ask(question())).text == "Hi."
    await provider.close()
    assert proxy.asked == ["CONNECT provider.example:443 HTTP/1.1"]
    # The key is inside the tunnel.
    assert KEY not in proxy.heads[0]


async def test_a_host_that_needs_no_proxy_is_asked_directly(
    fake: FakeProvider, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    fake.json(WHOLE["openai"])
    provider = adapter("openai", fake.url)
    assert (await provider.ask(question())).text == "Hi."
    await provider.close()
    assert proxy.asked == []


async def test_a_proxy_of_another_kind_is_a_provider_that_cannot_be_reached(
    fake: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "socks5://alice:secret@127.0.0.1:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    fake.json(WHOLE["openai"])
    provider = adapter("openai", fake.url)
    with pytest.raises(ProviderUnavailable) as caught:
        await provider.ask(question())
    await provider.close()
    assert str(caught.value) == "openai could not be reached, or the connection was lost."
    assert fake.asked == []
