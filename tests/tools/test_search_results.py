import json

import pytest

from tools.search import demo
from tools.search.results import MAX_RESULTS, results


def row(**values):
    return results([{"t": "T", "u": "https://a.example/", "s": "S"} | values], title="t", url="u", snippet="s")


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("a <strong>bold</strong> word", "a bold word"),
        ("Tom &amp; Jerry &#39;s", "Tom & Jerry 's"),
        ("nul\x00 and \ud800 and \x1b[31m", "nul and and [31m"),
        ("lines\r\n\n  and\ttabs", "lines and tabs"),
        ("1 < 2", "1 < 2"),
        ("<" * 100_000, "<" * 599 + "…"),
        ("x" * 10_000, "x" * 599 + "…"),
        (None, ""),
        (["x"], ""),
    ],
)
def test_a_snippet_is_one_clean_line_of_plain_text(text, plain):
    (found,) = row(s=text)
    assert found.snippet == plain
    json.dumps(found.as_json(), ensure_ascii=False).encode()


def test_a_result_without_a_title_shows_its_address():
    assert row(t="")[0].title == "https://a.example/"


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "data:text/html,x",
        "/relative",
        "",
        None,
        5,
        "https://",
        "http://[",
        "https://u:p@a.example/",
    ]
    + ["https://a.example/\x00", "https://a.example/\n", "https://a.example/ b", "https://a.example/" + "a" * 3000],
)
def test_a_result_whose_address_is_not_a_plain_web_page_is_left_out(url):
    assert row(u=url) == []


def test_there_are_at_most_eight_results():
    rows = [{"t": str(number), "u": "https://a.example/"} for number in range(20)]
    found = results(rows, title="t", url="u", snippet="s")
    assert [result.title for result in found] == [str(number) for number in range(MAX_RESULTS)]


@pytest.mark.parametrize("query", ["weather in Paris", "??", "\u0440\u0443\u0441", " "])
def test_what_the_bundled_set_does_not_know_it_says(query):
    found = demo.search(query)
    assert [result.title for result in found] == ["Brave Search API", "SerpAPI", "SearXNG documentation"]
    assert all("demo set" in result.snippet for result in found)


def test_the_bundled_set_is_short_and_well_formed():
    assert 25 <= len(demo._PAGES) <= 35
    for page in demo._PAGES + demo._ENGINES:
        (same,) = results([page.as_json()], title="title", url="url", snippet="snippet")
        assert same == page
