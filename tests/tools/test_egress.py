import asyncio
import gzip
import ipaddress
import socket

import pytest
from aiohttp import web
from django.test import override_settings

from tests.waiting import PATIENCE_SECONDS
from tools.network import egress
from tools.network.egress import EgressRefused, Unanswered, check

# Two places that a test can reach: one that the operator allowed, and one that is private.
OUTSIDE, INSIDE = "127.0.0.2", "127.0.0.1"
ALLOWED = (frozenset({"allowed.test"}), (ipaddress.ip_network(OUTSIDE),))

PRIVATE = [
    "127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.0.1",
    "169.254.169.254", "169.254.0.1", "100.64.0.1", "100.100.100.200", "192.0.0.192", "192.0.2.1", "198.18.0.1",
    "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "168.63.129.16",
    "192.88.99.1",
]  # fmt: skip
PRIVATE6 = [
    "::", "::1", "::127.0.0.1", "::7f00:1", "fe80::1", "fe80::1%25eth0", "fec0::1", "fc00::1", "fd00:ec2::254",
    "ff02::1", "2001:db8::1", "2001::1", "100::1", "3fff::1", "5f00::1", "64:ff9b:1::1",
]  # fmt: skip
# The same private addresses in IPv6's clothes.
DRESSED = [
    "::ffff:127.0.0.1", "::ffff:7f00:1", "0:0:0:0:0:ffff:a9fe:a9fe", "64:ff9b::127.0.0.1", "64:ff9b::a9fe:a9fe",
    "64:ff9b::10.0.0.1", "2002:7f00:1::", "2002:a9fe:a9fe::1", "2002:c0a8:1::",
]  # fmt: skip
SPELLINGS = [
    "2130706433", "017700000001", "0x7f000001", "0x7F.0.0.1", "0177.0.0.1", "0x7f.1", "127.1", "127.0.1", "0", "0x0",
    "127.0.0.01", "127.0.0.1.5", "1.2.3", "256.256.256.256", "example.0x7f", "example.1", "2852039166", "0xa9fea9fe",
    "0x", "127.0.0.1.", "127%2e0%2e0%2e1", "１２７.０.０.１", "127。0。0。1",
]  # fmt: skip


def refused(url):
    with pytest.raises(EgressRefused) as caught:
        check(url)
    return str(caught.value)


@pytest.mark.parametrize("address", PRIVATE)
def test_an_address_that_is_not_public_is_refused(address):
    assert refused(f"http://{address}/") == "The URL's host is not a public address."


@pytest.mark.parametrize("address", [*PRIVATE6, *DRESSED])
def test_an_ipv6_address_that_is_not_public_is_refused_whatever_its_clothes(address):
    assert refused(f"https://[{address}]:8443/x") == "The URL's host is not a public address."


@pytest.mark.parametrize("host", SPELLINGS)
def test_an_address_in_another_spelling_is_refused(host):
    refused(f"http://{host}/")


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.com/", "file:///etc/passwd", "gopher://example.com/", "javascript:alert(1)", "data:,x", "ws://a/",
        "//example.com/", "example.com", "/path", "", "http://", "http:///x", "http:/example.com", "http://:80/",
        "http://user:password@example.com/", "http://user@example.com/", "http://:password@example.com/",
        "http://example.com@127.0.0.1/", "http://example.com\\@127.0.0.1/",
        "http://example.com/\r\nHost: 127.0.0.1", "http://example.com/a b", "http://exa mple.com/", "http://a\x00b/",
        "http://example.com/\u202e", "http://example.com:99999/", "http://example.com:x/", "http://exam%70le.com/",
        "http://-example.com/", "http://a..b/", "http://[::1/", "http://example.com/" + "x" * 2048,
        "http://\u2100/", "http://" + "a" * 64 + ".com/",
    ],
)  # fmt: skip
def test_what_is_no_plain_http_url_is_refused(url):
    refused(url)


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://example.com/hook?x=1#y", "example.com"),
        ("HTTPS://EXAMPLE.com.:8443", "example.com."),
        ("https://bücher.example/", "xn--bcher-kva.example"),
        ("http://93.184.215.14/", "93.184.215.14"),
        ("http://[2606:2800:21f:cb07::1]/", "2606:2800:21f:cb07::1"),
        ("http://[64:ff9b::93.184.215.14]/", "64:ff9b::5db8:d70e"),
        ("http://a_b.example.com/", "a_b.example.com"),
    ],
)
def test_a_public_url_passes(url, host):
    assert check(url).raw_host == host


@override_settings(TOOLGATE_EGRESS_ALLOW=(frozenset({"localhost"}), (ipaddress.ip_network("10.1.0.0/16"),)))
def test_the_operator_may_allow_private_hosts_and_networks():
    for url in ("http://10.1.2.3/", "http://[::ffff:10.1.2.3]/", "http://localhost/"):
        check(url)
    for url in ("http://10.2.0.1/", "http://127.0.0.1/", "http://[64:ff9b::10.1.2.3]/"):
        refused(url)


class Place:
    """A server on a real socket: counts requests and answers with `answer(request)`."""

    def __init__(self):
        self.requests = []
        self.released = asyncio.Event()
        self.answer = self.fine
        self.port = 0

    async def fine(self, request):
        return web.Response(text="fine")

    async def handle(self, request):
        self.requests.append(request.path)
        return await self.answer(request)


def _one_port():
    """Sockets of the two addresses on one port; what is free on one may be taken on the other."""
    while True:
        outside, inside = socket.socket(), socket.socket()
        outside.bind((OUTSIDE, 0))
        try:
            inside.bind((INSIDE, outside.getsockname()[1]))
        except OSError:
            outside.close()
            inside.close()
        else:
            return outside, inside


@pytest.fixture
async def places():
    """(outside, inside), on one port of the two addresses."""
    found, runners, port = [], [], 0
    for address, bound in zip((OUTSIDE, INSIDE), _one_port(), strict=True):
        place = Place()
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", place.handle)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        await web.SockSite(runner, bound).start()
        host, place.port = bound.getsockname()
        assert host == address and port in (0, place.port)
        port = place.port
        found.append(place)
        runners.append(runner)
    with override_settings(TOOLGATE_EGRESS_ALLOW=ALLOWED):
        yield tuple(found)
    for place in found:
        place.released.set()
    for runner in runners:
        await runner.cleanup()


def get(url, seconds=PATIENCE_SECONDS, most=1024):
    return egress.request("GET", url, connect_seconds=seconds, seconds=seconds, most=most)


@pytest.fixture
def names(monkeypatch):
    """Answers of the name server, by name: a list of addresses for each time it is asked; `asked` counts."""
    answers, real = {}, socket.getaddrinfo

    def getaddrinfo(host, port, *args, **options):
        if host not in answers:
            return real(host, port, *args, **options)
        return [entry for address in answers[host].pop(0) for entry in real(address, port, *args, **options)]

    monkeypatch.setattr(egress.socket, "getaddrinfo", getaddrinfo)
    return answers


async def test_an_allowed_place_is_reached(places):
    outside, inside = places
    answer = await get(f"http://{OUTSIDE}:{outside.port}/a")
    assert (answer.status, answer.body) == (200, b"fine")
    assert (outside.requests, inside.requests) == (["/a"], [])


@pytest.mark.parametrize("host", [INSIDE, "localhost", "2130706433", "0x7f000001", "127.1", "[::ffff:127.0.0.1]"])
async def test_nothing_inside_is_reached(places, host):
    with pytest.raises(EgressRefused):
        await get(f"http://{host}:{places[1].port}/")
    assert places[1].requests == []


async def test_a_name_that_leads_inside_is_refused(places, names):
    names["evil.test"] = [[INSIDE]]
    with pytest.raises(EgressRefused, match="leads to no public address"):
        await get(f"http://evil.test:{places[1].port}/")
    assert places[1].requests == []


async def test_a_name_that_leads_elsewhere_the_second_time_leads_nowhere(places, names):
    outside, inside = places
    names["rebind.test"] = [[OUTSIDE], [INSIDE]]
    url = f"http://rebind.test:{outside.port}/"
    assert (await get(url)).status == 200
    # Looked up once: the second answer is still there.
    assert names["rebind.test"] == [[INSIDE]]
    with pytest.raises(EgressRefused):
        await get(url)
    assert (outside.requests, inside.requests) == (["/"], [])


async def test_of_several_addresses_only_the_allowed_are_connected_to(places, names):
    outside, inside = places
    names["mixed.test"] = [[INSIDE, OUTSIDE]]
    assert (await get(f"http://mixed.test:{outside.port}/")).status == 200
    assert (len(outside.requests), inside.requests) == (1, [])


async def test_a_host_that_the_operator_allows_by_name_is_reached_wherever_it_is(places, names):
    names["allowed.test"] = [[INSIDE]]
    assert (await get(f"http://allowed.test:{places[1].port}/")).status == 200


async def test_a_redirect_is_an_answer_and_not_followed(places):
    outside, inside = places

    async def inward(request):
        raise web.HTTPFound(f"http://{INSIDE}:{inside.port}/")

    outside.answer = inward
    assert (await get(f"http://{OUTSIDE}:{outside.port}/")).status == 302
    assert inside.requests == []


async def test_an_endless_answer_is_cut(places):
    async def endless(request):
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b"x" * 65536)

    places[0].answer = endless
    answer = await get(f"http://{OUTSIDE}:{places[0].port}/", most=100_000)
    assert answer.body == b"x" * 100_000


async def test_a_packed_answer_is_not_unpacked(places):
    packed = gzip.compress(b"0" * 50_000_000)

    async def bomb(request):
        assert request.headers["Accept-Encoding"] == "identity"
        return web.Response(body=packed, headers={"Content-Encoding": "gzip"})

    places[0].answer = bomb
    answer = await get(f"http://{OUTSIDE}:{places[0].port}/", most=1_000_000)
    assert answer.body == packed


async def test_a_body_that_nobody_wants_is_not_waited_for(places):
    async def drips(request):
        response = web.StreamResponse(headers={"Content-Length": "1000"})
        await response.prepare(request)
        await response.write(b"x")
        await places[0].released.wait()
        return response

    places[0].answer = drips
    answer = await get(f"http://{OUTSIDE}:{places[0].port}/", seconds=PATIENCE_SECONDS, most=0)
    assert (answer.status, answer.body) == (200, b"")


async def test_a_place_that_hangs_costs_the_given_time(places):
    async def hangs(request):
        await places[0].released.wait()
        return web.Response()

    places[0].answer = hangs
    with pytest.raises(Unanswered, match="did not answer in time"):
        await get(f"http://{OUTSIDE}:{places[0].port}/", seconds=0.5)
    assert not places[0].released.is_set()


async def test_endless_headers_are_refused():
    async def talk(reader, writer):
        await reader.readline()
        writer.write(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 10_000)
        await reader.read()
        writer.close()

    server = await asyncio.start_server(talk, OUTSIDE, 0)
    url = f"http://{OUTSIDE}:{server.sockets[0].getsockname()[1]}/"
    with override_settings(TOOLGATE_EGRESS_ALLOW=ALLOWED), pytest.raises(Unanswered, match="could not be reached"):
        await get(url, seconds=PATIENCE_SECONDS)
    server.close()


async def test_an_unknown_name_and_a_closed_port_are_told_apart_from_nothing(places, names):
    # Bound, so that nobody else is given the port, and never listened on.
    with socket.socket() as bound:
        bound.bind((OUTSIDE, 0))
        for url in (f"http://{OUTSIDE}:{bound.getsockname()[1]}/", "http://no-such-name.invalid/"):
            with pytest.raises(Unanswered) as caught:
                await get(url)
            assert str(caught.value) == "It could not be reached, or cut its answer off."
