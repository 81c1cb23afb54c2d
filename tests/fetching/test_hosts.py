"""Which hosts an entry allows, and what no entry can be."""

import pytest
from yarl import URL

from tools.fetching import hosts
from tools.fetching.hosts import InvalidHost


def test_an_entry_is_stored_in_one_form() -> None:
    said = [" Example.COM. ", "example.com", "*.Bücher.example", "example.com:08443", "[2606:2800::1]:80", "1.2.3.4"]
    assert hosts.read(said) == [
        "*.xn--bcher-kva.example", "1.2.3.4", "[2606:2800::1]:80", "example.com", "example.com:8443",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "entry",
    [
        "", "*", "*.", "*.com", "**.example.com", "a.*.example.com", "https://example.com", "example.com/x", "a b",
        "user@example.com", "example.com:", "example.com:99999", "*.1.2.3.4", "exa\u0000mple.com", "a" * 300 + ".com",
        "example.com#", "[::1", "..", "[::1]", "127.0.0.1", "0x7f.1",
    ],
)  # fmt: skip
def test_what_names_no_host_or_too_many_is_refused(entry: str) -> None:
    with pytest.raises(InvalidHost) as refused:
        hosts.read([entry])
    assert refused.value.field == "fetch_hosts"


def test_there_is_a_most() -> None:
    assert len(hosts.read(f"h{number}.example.com" for number in range(200))) == 200
    with pytest.raises(InvalidHost, match="201 hosts; 200 can be allowed"):
        hosts.read(f"h{number}.example.com" for number in range(201))


@pytest.mark.parametrize(
    ("entry", "allowed", "others"),
    [
        (
            "example.com",
            ["https://example.com/x?y", "http://EXAMPLE.com./", "https://example.com:443/"],
            ["https://www.example.com/", "https://example.com.evil.test/", "https://evilexample.com/",
             "https://example.com:8443/", "http://example.com:443/", "https://example.org/"],
        ),
        (
            "*.example.com",
            ["https://www.example.com/", "https://a.b.example.com/"],
            ["https://example.com/", "https://evilexample.com/", "https://example.com.evil.test/"],
        ),
        ("example.com:8443", ["https://example.com:8443/", "http://example.com:8443/"], ["https://example.com/"]),
        ("[2606:2800::1]", ["https://[2606:2800::1]/"], ["https://[2606:2800::2]/"]),
        ("*.example.com:8443", ["https://a.example.com:8443/"], ["https://a.example.com/"]),
    ],
    ids=["exact", "under", "port", "address", "under with a port"],
)  # fmt: skip
def test_an_entry_allows_its_host_and_no_other(entry: str, allowed: list[str], others: list[str]) -> None:
    assert [url for url in [*allowed, *others] if hosts.allows([entry], URL(url))] == allowed


def test_what_cannot_be_decided_is_neither() -> None:
    assert hosts.decided("https://example.com/", None) is None
    assert hosts.decided("https://user@example.com/", ["example.com"]) is None
    assert hosts.decided("https://example.com/", ()) is False
    assert hosts.decided("https://example.com/", ["example.com"]) is True


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ("http://a.test/", "http://a.test/x", True),
        ("http://a.test/", "https://A.test./x", True),
        ("https://a.test/", "http://a.test/", False),
        ("http://a.test/", "http://a.test:8080/", False),
        ("http://a.test:8080/", "https://a.test:8080/", False),
        ("http://a.test/", "http://www.a.test/", False),
    ],
)
def test_a_redirect_stays_where_it_was(before: str, after: str, same: bool) -> None:
    assert hosts.same_place(URL(before), URL(after)) is same
