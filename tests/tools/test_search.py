import asyncio
import gzip
from types import SimpleNamespace

import aiohttp
import pytest
from aiohttp import web

from tests.stack import free_port
from tests.tools.context import context
from tests.waiting import PATIENCE_SECONDS
from tools.builtin.web.web_search import WebSearch
from tools.errors import ToolExecutionError, ToolTimeout
from tools.search import fetch
from tools.search.engines import Brave, SearXng, SerpApi, configured
from tools.search.fetch import MAX_BYTES

KEY = "secret-key-of-the-operator"
NOTHING = {setting.name: setting.default for setting in WebSearch.settings}
BRAVE = {"web": {"results": [{"title": "T", "url": "https://a.example/", "description": "S"}]}}
SERPAPI = {"organic_results": [{"title": "T", "link": "https://a.example/", "snippet": "S"}]}
SEARXNG = {"results": [{"title": "T", "url": "https://a.example/", "content": "S"}]}
FOUND = {"results": [{"title": "T", "url": "https://a.example/", "snippet": "S"}]}


def settings(**values):
    return NOTHING | values


class Remote:
    """A search engine on a real socket: records each request, and answers with `answer(request)`."""

    def __init__(self):
        self.requests = []
        self.answer = None
        self.url = ""
        self.released = asyncio.Event()

    async def handle(self, request):
        self.requests.append(request)
        return await self.answer(request)


@pytest.fixture
async def remote():
    remote = Remote()
    app = web.Application()
    app.router.add_get("/{path:.*}", remote.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    remote.url = f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}"
    yield remote
    remote.released.set()
    await runner.cleanup()


@pytest.fixture
async def http():
    async with aiohttp.ClientSession() as session:
        yield session


def answers(value):
    async def answer(request):
        return web.json_response(value)

    return answer


class Cache:
    """Stands in for a TenantCache."""

    def __init__(self):
        self.rows = {}
        self.seconds = []

    async def get(self, key):
        return self.rows.get(key)

    async def set(self, key, value, seconds):
        self.rows[key] = value
        self.seconds.append(seconds)


@pytest.fixture(autouse=True)
def _patient(monkeypatch):
    monkeypatch.setattr(fetch, "MAX_SECONDS", PATIENCE_SECONDS)


async def search(http, query="q", cache=None, seconds=PATIENCE_SECONDS, **values):
    found = context(http=http, cache=cache, seconds=seconds, settings=settings(**values))
    return await WebSearch().execute({"query": query}, found)


async def test_brave_is_asked_with_its_key_in_a_header(remote, http):
    remote.answer = answers(BRAVE)
    result = await search(http, "a b&c=d", BRAVE_API_KEY=KEY, BRAVE_BASE_URL=remote.url)
    (request,) = remote.requests
    assert request.path == "/res/v1/web/search"
    assert dict(request.query) == {"q": "a b&c=d", "count": "8"}
    assert request.headers["X-Subscription-Token"] == KEY
    assert result.output == FOUND
    assert result.display == "1 result for “a b&c=d” from Brave Search"


async def test_serpapi_is_asked_with_its_key_in_the_query(remote, http):
    remote.answer = answers(SERPAPI)
    result = await search(http, SERPAPI_API_KEY=KEY, SERPAPI_BASE_URL=remote.url + "/")
    (request,) = remote.requests
    assert request.path == "/search.json"
    assert dict(request.query) == {"engine": "google", "q": "q", "num": "8", "api_key": KEY}
    assert result.output == FOUND
    assert KEY not in result.display


async def test_searxng_is_asked_for_json(remote, http):
    remote.answer = answers(SEARXNG)
    result = await search(http, SEARXNG_URL=remote.url)
    (request,) = remote.requests
    assert (request.path, dict(request.query)) == ("/search", {"q": "q", "format": "json"})
    assert (result.output, result.display) == (FOUND, "1 result for “q” from SearXNG")


@pytest.mark.parametrize(
    ("values", "engine"),
    [
        ({}, None),
        ({"BRAVE_API_KEY": "k"}, Brave("k", "https://api.search.brave.com")),
        ({"SERPAPI_API_KEY": "k"}, SerpApi("k", "https://serpapi.com")),
        ({"SEARXNG_URL": "http://s"}, SearXng("http://s")),
        ({"BRAVE_API_KEY": "k", "SERPAPI_API_KEY": "k", "BRAVE_BASE_URL": "http://b"}, Brave("k", "http://b")),
        ({"BRAVE_BASE_URL": "http://b"}, None),
    ],
)
def test_the_engine_is_the_first_that_is_configured(values, engine):
    assert configured(settings(**values)) == engine
    assert "'k'" not in repr(engine)


async def test_an_answer_is_cached_for_five_minutes_by_engine_and_query(remote, http):
    remote.answer = answers(SEARXNG)
    cache = Cache()
    first = await search(http, cache=cache, SEARXNG_URL=remote.url)
    again = await search(http, cache=cache, SEARXNG_URL=remote.url)
    assert len(remote.requests) == 1
    assert (first.output, again.output, cache.seconds) == (FOUND, FOUND, [300])
    assert again.display == "1 result for “q” from SearXNG (cached)"
    await search(http, "another", cache=cache, SEARXNG_URL=remote.url)
    assert len(remote.requests) == 2


async def refused(http, remote, cache=None, seconds=PATIENCE_SECONDS, kind=ToolExecutionError):
    with pytest.raises(kind) as caught:
        await search(http, cache=cache, seconds=seconds, SERPAPI_API_KEY=KEY, SERPAPI_BASE_URL=remote.url)
    assert KEY not in caught.value.message
    assert remote.url.removeprefix("http://") not in caught.value.message
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return caught.value


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (500, "HTTP 500"),
        (503, "HTTP 503"),
        (401, "refused the configured key"),
        (429, "no requests left"),
        (404, "404"),
    ],
)
async def test_a_status_other_than_200_is_an_error_and_is_not_cached(remote, http, status, words):
    async def answer(request):
        return web.json_response({"key": request.query["api_key"]}, status=status)

    remote.answer = answer
    cache = Cache()
    error = await refused(http, remote, cache)
    assert words in error.message
    assert (cache.rows, len(remote.requests)) == ({}, 1)


async def test_a_redirect_inward_is_not_followed(remote, http):
    async def answer(request):
        raise web.HTTPFound(f"{remote.url}/internal")

    remote.answer = answer
    error = await refused(http, remote)
    assert "redirect" in error.message
    assert [request.path for request in remote.requests] == ["/search.json"]


async def test_a_remote_that_does_not_answer_is_a_timeout(remote, http):
    async def answer(request):
        await remote.released.wait()
        return web.json_response(SERPAPI)

    remote.answer = answer
    error = await refused(http, remote, seconds=0.05, kind=ToolTimeout)
    assert error.elapsed >= 0.05
    assert not remote.released.is_set()


async def test_a_remote_that_drips_is_a_timeout(remote, http):
    async def answer(request):
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b'{"organic_results": [')
        await remote.released.wait()
        return response

    remote.answer = answer
    await refused(http, remote, seconds=0.2, kind=ToolTimeout)


async def test_an_endless_body_is_cut_off(remote, http):
    sent = 0

    async def answer(request):
        nonlocal sent
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b" " * 65_536)
            sent += 65_536

    remote.answer = answer
    error = await refused(http, remote)
    assert "more than 1,048,576 bytes" in error.message
    assert sent < 100 * MAX_BYTES


async def test_a_gzip_bomb_is_cut_off(remote, http):
    bomb = gzip.compress(b" " * 50 * MAX_BYTES)

    async def answer(request):
        return web.Response(body=bomb, headers={"Content-Encoding": "gzip", "Content-Type": "application/json"})

    remote.answer = answer
    assert len(bomb) < MAX_BYTES
    error = await refused(http, remote)
    assert "more than 1,048,576 bytes" in error.message


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b'{"organic_results": [', b"[" * 100_000, b"\xff\xfe", b"[]", b'"x"', b"null", b"1" * 5000],
)
async def test_garbage_is_an_error(remote, http, body):
    async def answer(request):
        return web.Response(body=body)

    remote.answer = answer
    assert "answered something that is not" in (await refused(http, remote)).message


async def test_a_body_that_is_cut_off_is_an_error(remote, http):
    async def answer(request):
        response = web.StreamResponse(headers={"Content-Length": "1000"})
        await response.prepare(request)
        await response.write(b"{")
        request.transport.close()
        return response

    remote.answer = answer
    assert "cut its answer off" in (await refused(http, remote)).message


async def test_a_remote_that_is_away_is_an_error(http):
    away = SimpleNamespace(url=f"http://127.0.0.1:{free_port()}")
    assert "could not be reached" in (await refused(http, away)).message


@pytest.mark.parametrize("url", ["not a url", "ftp://127.0.0.1", "http://[::1", "http://\n"])
async def test_an_address_that_is_none_is_an_error(http, url):
    assert "could not be reached" in (await refused(http, SimpleNamespace(url=url))).message


@pytest.mark.parametrize("rows", [None, {}, "x", 5, [], [None, 5, "x", [], {}]])
async def test_rows_of_another_shape_are_no_results(remote, http, rows):
    remote.answer = answers({"results": rows})
    result = await search(http, SEARXNG_URL=remote.url)
    assert (result.output, result.display) == ({"results": []}, "0 results for “q” from SearXNG")


async def test_without_an_engine_the_bundled_set_answers_and_says_so():
    result = await search(None, "Django\n async")
    assert result.output["results"][0]["title"] == "Asynchronous support in Django"
    assert {frozenset(row) for row in result.output["results"]} == {frozenset({"title", "url", "snippet"})}
    assert result.display == (
        "3 results for “Django async” (bundled demo set; configure an engine: "
        "set BRAVE_API_KEY, SERPAPI_API_KEY or SEARXNG_URL)"
    )
