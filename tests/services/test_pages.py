"""The next page of a service's answer: told by the arguments that lead to it, and never gone to."""

from typing import Any

import pytest

from services.execution import pages
from services.offers import descriptor
from services.offers.definition import Definition
from services.offers.placing import Http
from tests.people import Cast
from tests.services.api import TOKEN, Api, Asked, Owner, Reply, as_json, call, serving
from tests.services.calling import allowed, called
from tests.stack import Stack

TEXT, NUMBER = {"type": "string"}, {"type": "integer", "minimum": 1}
LISTING = {
    "name": "list",
    "description": "Lists things.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "owner": TEXT, "state": TEXT, "page": NUMBER, "limit": NUMBER, "labels": {"type": "array", "items": TEXT},
            "all": {"type": "boolean"}, "near": {"type": "number"}, "cursor": {"type": ["string", "null"]},
        },
        "required": ["owner"],
    },
    "http": {"method": "GET", "path": "/of/{owner}/things", "query": {"limit": "per-page"}},
}  # fmt: skip
LISTED = {key: value for key, value in LISTING.items() if key != "http"}
SENT = "https://api.example/of/octo/things"
NO_ARGUMENTS = {"note": "There is a next page, and no arguments of this tool lead to it."}
ELSEWHERE = {"note": "There is a next page at another host, which is not asked."}


def tool(http: Any = LISTING["http"]) -> Definition:
    """The tool of a descriptor."""
    return descriptor.read("desk", {"version": 2, "tools": [LISTED | {"http": http}]}).tools[0]


def after(link: str, given: dict[str, Any], query: str = "", **more: Any) -> Any:
    """What is said of the next page of a call that asked for this query; None for nothing."""
    listing = tool()
    assert listing.http is not None
    http = Http.stored(listing.http | more)
    found = pages.with_next(
        [1], link, sent=SENT + query, http=http, parameters=listing.parameters, given={"owner": "octo"} | given
    )
    if found == [1]:
        return None
    assert found["result"] == [1] and list(found) == ["next", "result"]
    return found["next"]


@pytest.mark.parametrize(
    ("target", "given", "query", "found"),
    [
        ("https://api.example/of/octo/things?page=2", {}, "", {"page": 2}),
        ("?page=3&per-page=50", {"page": 2, "limit": 50}, "?page=2&per-page=50", {"page": 3, "limit": 50}),
        ("/of/octo/things?cursor=a%3D&state=x", {"state": "x"}, "?state=x", {"cursor": "a=", "state": "x"}),
        # What the next page does not have is left out.
        ("?cursor=b", {"page": 1, "state": "open"}, "?page=1&state=open", {"cursor": "b"}),
        ("?page=2&labels=x&labels=y", {"labels": ["x", "y"]}, "?labels=x&labels=y", {"page": 2, "labels": ["x", "y"]}),
        ("?page=2&labels=z", {}, "", {"page": 2, "labels": ["z"]}),
        ("?all=true&near=1.5&page=2", {}, "", {"all": True, "near": 1.5, "page": 2}),
        # The path is written in another way, as some servers do.
        ("https://api.example/things-of/1234?page=2", {}, "", {"page": 2}),
    ],
)
def test_the_next_page_is_told_as_the_arguments_that_get_it(
    target: str, given: dict[str, Any], query: str, found: dict[str, Any]
) -> None:
    assert after(f'<{target}>; rel="next"', given, query) == {"arguments": {"owner": "octo"} | found}


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("https://evil.example/of/octo/things?page=2", ELSEWHERE),
        ("http://api.example/of/octo/things?page=2", ELSEWHERE),
        ("https://api.example:8443/of/octo/things?page=2", ELSEWHERE),
        ("//169.254.169.254/?page=2", ELSEWHERE),
        ("?after=x", NO_ARGUMENTS),
        ("/cursors/abc", NO_ARGUMENTS),
        ("?page=two", NO_ARGUMENTS),
        ("?page=0", NO_ARGUMENTS),
        ("?page=2&page=3", NO_ARGUMENTS),
        ("?owner=other", NO_ARGUMENTS),
        ("https://[", NO_ARGUMENTS),
        ("?" + "&".join(f"a{number}=1" for number in range(300)), NO_ARGUMENTS),
    ],
)
def test_a_next_page_that_no_arguments_lead_to_is_said_to_be_there(target: str, said: dict[str, str]) -> None:
    assert after(f'<{target}>; rel="next"', {}) == said


@pytest.mark.parametrize(
    ("link", "page"),
    [
        ('<?page=1>; rel="prev", <?page=3>; rel="next"', 3),
        ("<?page=3>;rel=next", 3),
        ("<?page=3>; title=\"a, b\"; REL='x'; rel=next", None),
        ('<?page=3>; title="; rel=next"', None),
        ('<?page=3>; title="a, <b>; c"; rel="last NEXT"', 3),
        ('<?page=1>; rel="prev"', None),
        ("?page=3; rel=next", None),
        ("<" * 4000 + ">;" * 2000, None),
        ("", None),
    ],
)
def test_a_link_is_read_as_its_rfc_says(link: str, page: int | None) -> None:
    assert after(link, {}) == (None if page is None else {"arguments": {"owner": "octo", "page": page}})


def test_a_call_that_changes_something_has_no_next_page() -> None:
    assert after("<?page=2>; rel=next", {}, method="POST") is None


async def test_an_identity_in_the_query_is_no_argument_of_the_next_page_either() -> None:
    listing = tool({"method": "GET", "path": "/things", "query": ["claw_id"]})
    api = Api()
    api.on("/things", as_json([1], Link="<?owner=octo&page=2>; rel=next"))
    with serving(api) as url, allowed():
        found = await called(listing, url, {"owner": "octo"})
    assert found["next"] == {"arguments": {"owner": "octo", "page": 2}}


def test_a_model_gets_page_after_page_by_calls_of_its_own(stack: Stack, tenant: Cast, api: Api, url: str) -> None:
    def listed(asked: Asked) -> Reply:
        page = int(dict(asked.query).get("page", "1"))
        link = {"Link": f'<{url}/of/octo/things?page={page + 1}&token={TOKEN}>; rel="next"'} if page == 3 else {}
        more = {"Link": f'<{url}/of/octo/things?page={page + 1}>; rel="next"'} if page < 3 else link
        return as_json([page], **more)

    api.on("/of/octo/things", listed)
    owner = Owner(stack, tenant.olga)
    owner.add(url, descriptor={"version": 2, "tools": [LISTING]}, credential={"type": "bearer", "token": TOKEN})
    first = call(stack, tenant.alice, "desk.list", {"owner": "octo"})
    assert first["output"] == {"next": {"arguments": {"owner": "octo", "page": 2}}, "result": [1]}
    second = call(stack, tenant.alice, "desk.list", first["output"]["next"]["arguments"])
    assert second["output"]["result"] == [2]
    # What is not to be told is not told by a link either.
    third = call(stack, tenant.alice, "desk.list", second["output"]["next"]["arguments"])
    assert third["output"] == {"next": NO_ARGUMENTS, "result": [3]}
    assert TOKEN not in str(third)
    assert len(api.asked) == 3
