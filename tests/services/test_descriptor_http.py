"""What a descriptor's `http` says beside method, path and body: headers, names in the query, success, and hosts."""

from collections.abc import Iterator
from typing import Any

import pytest

from services import credentials
from services.errors import InvalidService
from services.offers.definition import Definition
from tests.services.api import TOKEN, Api, as_json, serving
from tests.services.calling import allowed, called, one, violation
from tools.errors import ToolCallRejected, ToolPermissionDenied, ToolValidationError

ANY = {"host": {"type": "string"}, "path": {"type": "string"}, "method": {"type": "string"}, "query": {}, "body": {}}


@pytest.fixture(autouse=True)
def _allowed() -> Iterator[None]:
    with allowed():
        yield


def tool(http: dict[str, Any], **properties: Any) -> Definition:
    """The tool of a descriptor that has one."""
    schema = {"type": "object", "properties": properties}
    given = {"name": "t", "description": "A tool.", "inputSchema": schema, "http": http}
    return one({"version": 2, "tools": [given]})


def reaching(*hosts: str) -> Definition:
    """A tool that may reach these hosts."""
    return tool({"method": "POST", "path": "/", "hosts": list(hosts)}, **ANY)


async def test_constant_headers_are_sent_and_a_query_has_the_names_of_the_api(api: Api, url: str) -> None:
    api.on("/", as_json({"ok": True}))
    http = {"method": "GET", "path": "/a", "headers": {"Notion-Version": "2022-06-28"}, "query": {"limit": "$top"}}
    await called(tool(http, limit={"type": "integer"}), url, {"limit": 3})
    [asked] = api.asked
    assert (asked.headers["notion-version"], asked.target) == ("2022-06-28", "/a?%24top=3")


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": "Bearer x"}, {"Host": "a"}, {"Cookie": "a=b"}, {"X": "a\r\nY: b"}, {"X Y": "a"}, {"X": 1},
        {"X": ""}, {"Content-Length": "0"}, ["X"], {f"X{n}": "a" for n in range(11)},
    ],
)  # fmt: skip
def test_a_header_that_is_the_connection_s_or_the_credential_s_is_refused(headers: Any) -> None:
    with pytest.raises(InvalidService) as refused:
        tool({"method": "GET", "path": "/a", "headers": headers})
    assert refused.value.field == "descriptor.tools[0].http.headers"


@pytest.mark.parametrize("query", ["limit", {"limit": 1}, [1], {"limit": None}, {"nothing": "$top"}])
def test_a_query_of_what_is_no_argument_is_refused(query: Any) -> None:
    with pytest.raises(InvalidService):
        tool({"method": "GET", "path": "/a", "query": query}, limit={"type": "integer"})


@pytest.mark.parametrize(
    "answer", [{"ok": False, "error": "channel_not_found"}, {"error": "x"}, {"ok": "true"}, [True], "text", None]
)
async def test_an_answer_that_does_not_say_success_is_a_failure_whatever_its_status(
    api: Api, url: str, answer: Any
) -> None:
    api.on("/", as_json(answer))
    declared = tool({"method": "POST", "path": "/a", "success": "ok"})
    with pytest.raises(ToolCallRejected, match="does not say ok"):
        await called(declared, url, {})
    api.on("/", as_json({"ok": True, "ts": "1"}))
    assert await called(declared, url, {}) == {"ok": True, "ts": "1"}


async def test_only_listed_hosts_are_called_and_the_gate_already_refuses_others(api: Api, url: str) -> None:
    api.on("/", as_json({"ok": True}))
    declared = reaching(url, "hooks.example.com")
    assert declared.parameters["properties"]["host"]["enum"] == [url, "hooks.example.com"]
    assert violation(declared, {"host": "evil.example", "path": "/"}).startswith("host: ")
    assert violation(declared, {"path": "/"})
    sent = {"host": url, "path": "/v1/a b", "method": "PUT", "query": {"dry": True}, "body": {"n": 1}}
    await called(declared, "https://hooks.example.com", sent)
    [asked] = api.asked
    assert (asked.method, asked.target, asked.json) == ("PUT", "/v1/a%20b?dry=true", {"n": 1})
    # What passed the gate before the owner changed the list is refused in the worker, too.
    other = reaching("hooks.example.com")
    assert other.http is not None
    loose = Definition("t", other.given, {"type": "object"}, other.http)
    with pytest.raises(ToolPermissionDenied, match=r"Only these hosts may be called: hooks\.example\.com\."):
        await called(loose, url, {"host": url, "path": "/"})
    assert len(api.asked) == 1


@pytest.mark.parametrize("path", ["", "a", "//evil.example/x/..", "/../a", "/a/%2e%2e/b", "/./a", "@evil.example"])
async def test_a_path_that_is_none_or_climbs_is_refused(api: Api, url: str, path: str) -> None:
    with pytest.raises(ToolValidationError) as refused:
        await called(reaching(url), url, {"host": url, "path": path})
    assert (refused.value.field, api.asked) == ("path", [])


@pytest.mark.parametrize("path", ["/a?b=c", "/a#b", "/a\r\nX: y", "/\\evil.example", "/a;b"])
async def test_a_path_stays_a_path(api: Api, url: str, path: str) -> None:
    api.on("/", as_json({}))
    await called(reaching(url), url, {"host": url, "path": path})
    assert api.asked[0].query == [] and "\\" not in api.asked[0].target and len(api.asked[0].headers) < 10


async def test_the_credential_goes_to_the_service_s_own_host_only(api: Api, url: str) -> None:
    api.on("/", as_json({}))
    credential = credentials.read({"type": "bearer", "token": TOKEN})
    elsewhere = Api()
    elsewhere.on("/", as_json({}))
    with serving(elsewhere) as other:
        for host in (url, other):
            await called(reaching(url, other), url, {"host": host, "path": "/"}, credential)
    assert api.asked[0].headers["authorization"] == f"Bearer {TOKEN}"
    assert "authorization" not in elsewhere.asked[0].headers


@pytest.mark.parametrize(
    "hosts",
    [
        ["127.0.0.1"], ["169.254.169.254"], ["http://user@a.example"], ["a.example/path"], ["A.example"],
        ["a.example", "a.example"], [1], "a.example", ["a b"], ["ftp://a.example"],
        [f"h{n}.example" for n in range(51)],
    ],
)  # fmt: skip
def test_a_list_of_hosts_with_anything_but_hosts_is_refused(hosts: Any) -> None:
    with pytest.raises(InvalidService) as refused:
        tool({"method": "POST", "path": "/", "hosts": hosts}, **ANY)
    assert refused.value.field == "descriptor.tools[0].http.hosts"
