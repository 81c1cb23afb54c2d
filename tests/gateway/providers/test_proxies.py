"""Whose certificates an adapter accepts, and which proxy of the environment it uses."""

import asyncio
import datetime
import ipaddress
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from yarl import URL

from gateway.providers.errors import ProviderUnavailable
from tests.gateway.providers.conftest import KEY, question
from tests.gateway.providers.fake import FakeProvider
from tests.gateway.providers.hello import PROVIDERS, WHOLE, adapter


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
