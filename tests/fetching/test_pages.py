"""Pages that are fetched from a server on a real socket: what is read, and what hostile servers get."""

import asyncio
import gzip
import time
import uuid
from typing import Any

import pytest
from aiohttp import web

from tests.tools.test_egress import INSIDE, OUTSIDE, names, places
from tests.waiting import PATIENCE_SECONDS
from tools.errors import ToolCallRejected, ToolTimeout, ToolValidationError
from tools.fetching import extraction, pages, robots
from tools.fetching.pages import Page

__all__ = ["names", "places"]
TENANT = uuid.UUID(int=7)
WORDS = "The river engine carries every ledger past the quiet mountain gateway in the evening. "
ARTICLE = (
    "<!doctype html><html><head><title>  Rivers &amp;\nmountains </title><script>steal()</script></head><body>"
    f"<nav><a href='/'>Home</a> <a href='/x'>Navigation</a></nav><article><h1>Rivers</h1><p>{WORDS * 6}</p>"
    f"<p>Caf\u00e9 {WORDS * 4}</p></article><footer>Imprint</footer></body></html>"
)


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """No site is remembered from another test; and a machine that is busy is no page that takes for ever."""
    monkeypatch.setattr(pages, "_robots", robots.Memory())
    monkeypatch.setattr(pages, "CONNECT_SECONDS", PATIENCE_SECONDS)
    monkeypatch.setattr(extraction, "START_SECONDS", PATIENCE_SECONDS)
    monkeypatch.setattr(extraction, "SECONDS", PATIENCE_SECONDS)


@pytest.fixture
def site(places: Any) -> Any:
    """The server outside, without a robots.txt: `answers` are what its paths answer."""
    outside = places[0]
    outside.answers = {}

    async def answer(request: web.Request) -> web.StreamResponse:
        found = outside.answers.get(request.path)
        return web.Response(status=404) if found is None else await found(request)

    outside.answer = answer
    outside.url = f"http://{OUTSIDE}:{outside.port}"
    return outside


async def fetched(url: str, *hosts: str, seconds: float = PATIENCE_SECONDS) -> Page:
    """The page, for a tenant that allows these hosts."""

    async def allowed() -> tuple[str, ...]:
        return hosts

    return await pages.fetch(TENANT, url, allowed, seconds)


async def refused(url: str, *hosts: str, seconds: float = PATIENCE_SECONDS) -> str:
    """The words that a fetch is refused with."""
    with pytest.raises(ToolCallRejected) as caught:
        await fetched(url, *hosts, seconds=seconds)
    return caught.value.message


def html(body: str | bytes, type_: str = "text/html; charset=utf-8", status: int = 200, **headers: str) -> Any:
    """What a path answers."""

    async def answer(request: web.Request) -> web.Response:
        sent = body.encode() if isinstance(body, str) else body
        return web.Response(status=status, body=sent, headers={"Content-Type": type_, **headers})

    return answer


async def test_the_main_text_and_the_title_of_a_page_are_returned(site: Any) -> None:
    site.answers["/page"] = html(ARTICLE)
    page = await fetched(f"{site.url}/page#part")
    assert (page.url, page.title, page.whole) == (f"{site.url}/page", "Rivers & mountains", True)
    assert WORDS.strip() in page.text and "Café" in page.text
    assert not any(word in page.text for word in ("steal", "Navigation", "Imprint", "<"))
    assert site.requests == ["/robots.txt", "/page"]


@pytest.mark.parametrize(
    ("body", "type_", "text"),
    [
        (b'{"a": [1, 2]}', "application/json", '{"a": [1, 2]}'),
        (b"one\r\ntwo\x07\x00"[:-1], "text/plain", "one\ntwo"),
        (b"<feed>\xc3\xa9</feed>", "application/atom+xml", "<feed>é</feed>"),
        ("Zürich".encode("latin-1"), "text/plain; charset=utf-8", "Zürich"),
        ("Zürich".encode(), "text/plain; charset=shift_jis", None),
        ("Zürich".encode("latin-1"), "text/plain; charset=nonsense", "Zürich"),
        (b"plain", "text/plain; charset=unicode_escape", "plain"),
        (b"+ADw-script+AD4-", "text/plain; charset=utf-7", "+ADw-script+AD4-"),
        ("\ufeffhi".encode("utf-16-be"), "text/plain", "hi"),
        ("日本".encode("euc-jp"), "text/plain; charset=EUC-JP", "日本"),
        (b"", "text/plain", ""),
    ],
    ids=lambda each: each if isinstance(each, str) and "/" in each else "",
)
async def test_text_of_other_types_is_returned_as_it_is(site: Any, body: bytes, type_: str, text: str | None) -> None:
    site.answers["/x"] = html(body, type_)
    page = await fetched(f"{site.url}/x")
    assert page.title == ""
    if text is None:
        # It says what it is not, and that can be read: nobody can know better, and nothing breaks.
        assert page.text.startswith("Z")
    else:
        assert page.text == text


async def test_a_page_that_names_its_encoding_itself_is_read_in_it(site: Any) -> None:
    body = ARTICLE.replace("<head>", '<head><meta charset="windows-1252">').encode("cp1252")
    site.answers["/x"] = html(body, "text/html")
    assert "Café" in (await fetched(f"{site.url}/x")).text


@pytest.mark.parametrize(
    "body", ["<p>Hello</p>", "Hello", "<?xml version='1.0' encoding='utf-8'?><html><p>Hello</p></html>"]
)
async def test_a_page_without_a_main_text_is_all_of_its_text(site: Any, body: str) -> None:
    site.answers["/x"] = html(body)
    assert (await fetched(f"{site.url}/x")).text == "Hello"


async def test_an_empty_page_has_no_text(site: Any) -> None:
    site.answers["/x"] = html("")
    assert await fetched(f"{site.url}/x") == Page(f"{site.url}/x", "", "", True)


async def test_a_long_page_is_cut_and_says_so(site: Any) -> None:
    site.answers["/x"] = html("a " * 80_000, "text/plain")
    page = await fetched(f"{site.url}/x")
    assert (len(page.text), page.whole) == (100_000, False)


@pytest.mark.parametrize(
    ("type_", "words"),
    [
        ("image/png", "'image/png', which is no text"),
        ("application/pdf", "'application/pdf', which is no text"),
        ("application/octet-stream", "'application/octet-stream', which is no text"),
        ("", "without saying what it is"),
    ],
)
async def test_what_is_no_text_is_refused_without_being_read(site: Any, type_: str, words: str) -> None:
    site.answers["/x"] = html(b"%PDF", type_)
    assert words in await refused(f"{site.url}/x")


async def test_what_only_says_that_it_is_text_is_refused(site: Any) -> None:
    site.answers["/x"] = html(b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "text/html")
    assert await refused(f"{site.url}/x") == f"{OUTSIDE} answered something that is no text, whatever it says."


async def test_an_endless_body_ends_at_the_bound(site: Any) -> None:
    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/html"})
        await response.prepare(request)
        try:
            while True:
                await response.write(b"<p>more</p>" * 6000)
        except (ConnectionError, asyncio.CancelledError):
            return response

    site.answers["/x"] = endless
    assert (
        await refused(f"{site.url}/x")
        == f"{OUTSIDE} answered more than 4,194,304 bytes, which is the most that is read."
    )


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
async def test_a_bomb_is_unpacked_no_further_than_the_bound(site: Any, encoding: str) -> None:
    import zlib

    plain = b"<p>" * 2_000_000
    packed = gzip.compress(plain) if encoding == "gzip" else zlib.compress(plain)
    assert len(packed) < 100_000
    site.answers["/x"] = html(packed, **{"Content-Encoding": encoding})
    assert "answered more than 4,194,304 bytes" in await refused(f"{site.url}/x")


async def test_what_is_packed_all_the_same_is_unpacked_and_what_is_packed_otherwise_is_refused(site: Any) -> None:
    site.answers["/x"] = html(
        gzip.compress(b"one ") + gzip.compress(b"two"), "text/plain", **{"Content-Encoding": "gzip"}
    )
    assert (await fetched(f"{site.url}/x")).text == "one two"
    site.answers["/x"] = html(b"x", **{"Content-Encoding": "br"})
    assert "packed its answer" in await refused(f"{site.url}/x")
    site.answers["/x"] = html(b"no gzip", **{"Content-Encoding": "gzip"})
    assert "cannot be unpacked" in await refused(f"{site.url}/x")


async def test_a_slow_drip_ends_with_the_time(site: Any) -> None:
    async def drip(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/html"})
        await response.prepare(request)
        await response.write(b"<p>")
        await site.released.wait()
        return response

    site.answers["/x"] = drip
    with pytest.raises(ToolTimeout, match=f"{OUTSIDE} did not answer within"):
        await fetched(f"{site.url}/x", seconds=0.5)


@pytest.mark.parametrize("status", [400, 401, 404, 500, 503, 304])
async def test_an_error_of_the_site_is_said(site: Any, status: int) -> None:
    site.answers["/x"] = html("", status=status)
    assert await refused(f"{site.url}/x") == f"{OUTSIDE} answered HTTP {status}."


# --- redirects -------------------------------------------------------------------------------------------------------
def to(location: str) -> Any:
    """A redirect."""
    return html("", status=302, Location=location)


async def test_a_redirect_on_the_same_host_is_followed(site: Any) -> None:
    site.answers |= {"/a": to("/b?x=1"), "/b": html("There", "text/plain")}
    assert await fetched(f"{site.url}/a") == Page(f"{site.url}/b?x=1", "", "There", True)


@pytest.mark.parametrize("spelled", [INSIDE, "2130706433", "[::ffff:127.0.0.1]", "0x7f.1"])
async def test_a_redirect_inwards_reaches_nothing(site: Any, places: Any, spelled: str) -> None:
    site.answers["/a"] = to(f"http://{spelled}:{site.port}/secret")
    words = await refused(f"{site.url}/a", INSIDE, f"{INSIDE}:{site.port}", "*.example.com")
    assert words.startswith(f"{OUTSIDE} redirects to where no request may go: ")
    assert places[1].requests == []


async def test_a_redirect_to_a_name_that_leads_inside_reaches_nothing(site: Any, places: Any, names: Any) -> None:
    names["evil.test"] = [[INSIDE]]
    site.answers["/a"] = to(f"http://evil.test:{site.port}/secret")
    assert "leads to no public address" in await refused(f"{site.url}/a", f"evil.test:{site.port}")
    assert places[1].requests == []


async def test_a_redirect_to_another_host_goes_no_further_than_the_tenant_allows(site: Any, names: Any) -> None:
    names["other.test"] = [[OUTSIDE], [OUTSIDE]]
    site.answers |= {"/a": to(f"http://other.test:{site.port}/b"), "/b": html("There", "text/plain")}
    words = await refused(f"{site.url}/a", "other.test", "*.test")
    assert words == (
        f"{OUTSIDE} redirects to http://other.test, where nothing is fetched without a human. Nothing was fetched from "
        f"there. To have it, call web_fetch with http://other.test:{site.port}/b."
    )
    assert site.requests == ["/robots.txt", "/a"]
    assert (await fetched(f"{site.url}/a", f"other.test:{site.port}")).text == "There"


@pytest.mark.parametrize("location", ["", "javascript:alert(1)", "file:///etc/passwd", "http://[::1", "//user@x/"])
async def test_a_redirect_to_no_place_is_refused(site: Any, location: str) -> None:
    site.answers["/a"] = to(location) if location else html("", status=302)
    assert "redirects" in await refused(f"{site.url}/a")
    assert site.requests[:2] == ["/robots.txt", "/a"]


async def test_redirects_end(site: Any) -> None:
    site.answers["/a"] = to("/a")
    assert await refused(f"{site.url}/a") == f"{OUTSIDE} redirects more than 5 times."
    assert site.requests.count("/a") == 6


# --- robots.txt ------------------------------------------------------------------------------------------------------
async def test_what_a_site_does_not_want_fetched_is_not(site: Any) -> None:
    site.answers |= {"/robots.txt": html("User-agent: *\nDisallow: /x", "text/plain"), "/x": html("x"), "/y": to("/x")}
    assert "does not let programs fetch this page" in await refused(f"{site.url}/x")
    assert "does not let programs fetch this page" in await refused(f"{site.url}/y")
    assert site.requests == ["/robots.txt", "/y"]


async def test_a_site_whose_wishes_are_not_known_is_left_alone(site: Any) -> None:
    site.answers["/robots.txt"] = html("", status=503)
    assert "its robots.txt answered HTTP 503. Nothing was fetched" in await refused(f"{site.url}/x")
    assert site.requests == ["/robots.txt"]


# --- bombs -----------------------------------------------------------------------------------------------------------
async def test_a_page_that_takes_too_long_is_ended_and_the_next_one_is_read(
    site: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.answers |= {"/bomb": html("<body>" + "<div>x</div>" * 300_000), "/page": html(ARTICLE)}
    # The process is there, so that the time is the page's alone.
    assert (await fetched(f"{site.url}/page")).title == "Rivers & mountains"
    monkeypatch.setattr(extraction, "SECONDS", 0.2)
    ticks = asyncio.create_task(_ticks())
    assert "built so that its text cannot be found within" in await refused(f"{site.url}/bomb")
    assert await _stopped(ticks) > 1
    monkeypatch.setattr(extraction, "SECONDS", PATIENCE_SECONDS)
    assert (await fetched(f"{site.url}/page")).title == "Rivers & mountains"


async def _ticks() -> int:
    """How often the event loop went on."""
    count = 0
    try:
        while True:
            await asyncio.sleep(0.01)
            count += 1
    except asyncio.CancelledError:
        return count


async def _stopped(ticks: "asyncio.Task[int]") -> int:
    ticks.cancel()
    return await ticks


@pytest.mark.parametrize(
    "page",
    ["<div>" * 200_000, "<p><b>" * 100_000, "<table><tr><td>" * 50_000, "<a" + " x=1" * 200_000, "<" * 500_000,
     "&" * 500_000],
    ids=["nested", "unclosed", "tables", "attributes", "brackets", "entities"],
)  # fmt: skip
async def test_other_bombs_are_answered_with_words_or_text(
    site: Any, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extraction, "SECONDS", 6.0)
    site.answers["/x"] = html(page)
    try:
        answered = (await fetched(f"{site.url}/x")).text
    except ToolCallRejected as rejected:
        answered = rejected.message
    assert len(answered) <= 100_000


async def test_a_tenant_has_one_page_at_a_time_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    at_once, most = [0], [0]

    def looks(page: bytes) -> extraction.Extracted:
        at_once[0] += 1
        most[0] = max(most[0], at_once[0])
        time.sleep(0.01)
        at_once[0] -= 1
        return extraction.Extracted("", "", True)

    monkeypatch.setattr(extraction, "_extracted", looks)
    # A tenant of this event loop's alone: the lock of another is bound to the loop that it was waited for in.
    tenant_id = uuid.uuid4()
    await asyncio.gather(*(extraction.extract(tenant_id, "x") for _ in range(6)))
    assert most == [1]


@pytest.mark.parametrize("url", [f"http://{INSIDE}/", "http://user@example.com/", "ftp://example.com/", "http://a b/"])
async def test_a_url_that_no_request_may_go_to_is_for_the_model_to_correct(url: str) -> None:
    with pytest.raises(ToolValidationError) as caught:
        await fetched(url)
    assert caught.value.field == "url"
