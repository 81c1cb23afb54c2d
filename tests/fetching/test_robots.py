"""robots.txt: its rules, what an answer that is none means, and how much is remembered."""

import time

import pytest
from yarl import URL

from tools.fetching import robots
from tools.fetching.robots import Memory, Rules, Unknown, parse

SITE = URL("https://example.com/private/page")


class Asked:
    """A site that answers `status` and `text`, and counts how often it is asked."""

    def __init__(self, status: int = 200, text: str = "") -> None:
        self.status, self.text, self.urls = status, text, list[str]()

    async def __call__(self, url: URL) -> tuple[int, str]:
        self.urls.append(str(url))
        return self.status, self.text


@pytest.mark.parametrize(
    ("text", "path", "allowed"),
    [
        ("User-agent: *\nDisallow: /private", "/private/x", False),
        ("User-agent: *\nDisallow: /private", "/public", True),
        ("User-agent: *\nDisallow:", "/x", True),
        ("User-agent: *\nDisallow: /\nAllow: /open", "/open/x", True),
        ("User-agent: *\nAllow: /a\nDisallow: /a", "/a", True),
        ("User-agent: *\nDisallow: /\n\nUser-agent: Toolgate/1.0\nDisallow: /x", "/y", True),
        ("User-agent: toolgate\nUser-agent: other\nDisallow: /", "/y", False),
        ("User-agent: other\nDisallow: /", "/y", True),
        ("User-agent: toolgate\nDisallow: /a\nSitemap: /s\nUser-agent: toolgate\nDisallow: /b", "/b", False),
        ("user-agent : * # all\r\ndisallow : /*.pdf$ # no", "/x.pdf", False),
        ("User-agent: *\nDisallow: /*.pdf$", "/x.pdf?y", True),
        ("User-agent: *\nDisallow: /a*b*c", "/a1b2c3", False),
        ("User-agent: *\nDisallow: /a%2fb", "/a%2Fb", False),
        ("User-agent: *\nDisallow: /%7Ebob", "/~bob", False),
        ("User-agent: *\nDisallow: /ü", "/%C3%BC", False),
        ("User-agent: *\nDisallow: /", "/robots.txt", True),
        ("\ufeffUser-agent: *\nDisallow: /", "/x", False),
        ("Disallow: /", "/x", True),
        ("<html>not found</html>", "/x", True),
    ],
)
def test_the_rules_decide(text: str, path: str, allowed: bool) -> None:
    assert parse(text).allow(robots._normal(path)) is allowed


@pytest.mark.parametrize(("status", "allowed"), [(200, False), (404, True), (401, True), (410, True)])
async def test_a_site_without_one_lets_everything_be_fetched(status: int, allowed: bool) -> None:
    asked = Asked(status, "User-agent: *\nDisallow: /private")
    assert await Memory().allows(SITE, asked) is allowed
    assert asked.urls == ["https://example.com/robots.txt"]


@pytest.mark.parametrize("status", [429, 500, 503, 302])
async def test_one_that_does_not_say_lets_nothing_be_fetched_and_is_asked_again_soon(status: int) -> None:
    now = [0.0]
    asked, memory = Asked(status), Memory(lambda: now[0])
    for _ in range(2):
        with pytest.raises(Unknown, match=f"HTTP {status}"):
            await memory.allows(SITE, asked)
    assert len(asked.urls) == 1
    now[0], asked.status = robots.UNKNOWN_SECONDS, 404
    assert await memory.allows(SITE, asked)


async def test_rules_are_remembered_for_an_hour_and_each_origin_has_its_own() -> None:
    now = [0.0]
    asked, memory = Asked(200, "User-agent: *\nDisallow: /private"), Memory(lambda: now[0])
    for url in (SITE, SITE, SITE.with_scheme("http"), SITE.with_port(8443)):
        assert not await memory.allows(url, asked)
    assert [URL(each).origin() for each in asked.urls] == [
        URL("https://example.com"), URL("http://example.com"), URL("https://example.com:8443"),
    ]  # fmt: skip
    now[0] = robots.FRESH_SECONDS
    asked.text = ""
    assert await memory.allows(SITE, asked)


async def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(robots, "MOST_CHARACTERS", 3000)
    memory = Memory()
    for number in range(20):
        await memory.allows(
            URL(f"https://h{number}.example.com/"), Asked(200, f"User-agent: *\nDisallow: /{'x' * 500}")
        )
    assert len(memory._known) == 4
    assert memory._characters == sum(200 + known.size - 200 for _, known in memory._known.values()) <= 3000


def test_rules_that_are_made_to_be_slow_are_not() -> None:
    rules = Rules(tuple((False, "/" + "*a" * 250 + "b$") for _ in range(1000)))
    began = time.process_time()
    assert rules.allow("/" + "a" * 2000)
    # A backtracking engine would not end.
    assert time.process_time() - began < 20
