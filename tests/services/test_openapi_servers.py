"""Operations and paths with servers of their own: where they are called, and as whom."""

from typing import Any

import pytest

from services.errors import InvalidService
from services.execution import elsewhere
from services.offers import openapi
from tests.people import Cast
from tests.services.api import TOKEN, Api, Owner, as_json, call, serving
from tests.services.test_openapi_requests import operation, parameter
from tests.stack import Stack

USUAL = "https://api.example/v1"


def server(url: str, **variables: str) -> dict[str, Any]:
    """A server of a document."""
    defaults = {name: {"default": each} for name, each in variables.items()}
    return {"url": url} | ({"variables": defaults} if defaults else {})


def servers_of(*own: Any, of_path: Any = None, usual: Any = None) -> list[str]:
    """Where an operation with these servers is called."""
    document = operation(**({"servers": list(own)} if own else {}))
    document |= {} if usual is None else {"servers": usual}
    if of_path is not None:
        document["paths"]["/things"]["servers"] = of_path
    [tool] = openapi.read("host", document, ["it"]).tools
    assert tool.http is not None and tool.given["http"].get("servers") == tool.http.get("servers")
    return list(tool.http.get("servers", []))


def test_an_operations_servers_count_before_its_paths_and_the_documents_are_the_services_own() -> None:
    upload, other = server("https://uploads.example/"), server("https://other.example/v2")
    assert servers_of() == servers_of(usual=[server(USUAL)]) == []
    assert servers_of(upload) == servers_of(upload, of_path=[other]) == ["https://uploads.example"]
    assert servers_of(of_path=[other, upload]) == ["https://other.example/v2", "https://uploads.example"]
    assert servers_of(server(USUAL), usual=[server("https://sandbox.example"), server(USUAL)]) == []
    assert servers_of(server("/")) == []
    assert servers_of(server("/"), usual=[server(USUAL)]) == [""]
    assert servers_of(server("/v2/")) == ["/v2"]
    assert servers_of(server("https://{region}.example/{v}", region="eu", v="v3")) == ["https://eu.example/v3"]


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:9000/x", "http://169.254.169.254/latest", "http://[::1]/", "ftp://files.example", "v2",
        "//evil.example", "https://{region}.example", "https://a:b@files.example", "https://files.example/?a=b", None,
        "/v1/../admin", 7, "https://files.example/#a", "javascript:alert(1)", "https://files.example\r\nX: y",
    ],
)  # fmt: skip
def test_a_server_that_may_not_be_called_is_refused_when_it_is_added(url: Any) -> None:
    with pytest.raises(InvalidService):
        servers_of({"url": url})


@pytest.mark.parametrize("given", [{"url": USUAL}, "https://x.example", [7], [{}], [server("https://x.example")] * 21])
def test_what_is_no_list_of_servers_is_refused(given: Any) -> None:
    with pytest.raises(InvalidService):
        servers_of(of_path=given)


def test_of_several_servers_the_one_of_the_services_host_is_called() -> None:
    given = ["https://eu.example/v2", "https://api.example/v2", "/v3"]
    assert elsewhere.base(USUAL, given) == "https://api.example/v2"
    assert elsewhere.base("https://api.example:8443/v1", given) == "https://api.example:8443/v3"
    assert elsewhere.base(USUAL, ["https://eu.example/v2"]) == "https://eu.example/v2"
    assert elsewhere.base(USUAL, [""]) == "https://api.example"


def test_an_operation_is_called_at_its_own_server_and_the_credential_goes_to_the_services_host_alone(
    stack: Stack, tenant: Cast, api: Api, url: str
) -> None:
    uploads = Api()
    uploads.on("/big/things", lambda asked: as_json({}, 401) if asked.query else as_json({"at": "uploads"}))
    api.on("/v1/things", as_json({"at": "service"}))
    api.on("/near/things", as_json({"at": "near"}))
    owner = Owner(stack, tenant.olga)
    credential = {"type": "bearer", "token": TOKEN}
    given = {"kind": "openapi", "descriptor": None, "operations": ["it"], "credential": credential}
    query = [parameter("q", {"type": "string"})]
    with serving(uploads) as far:
        for slug, own in (("usual", None), ("near", "/near"), ("far", f"{far}/big")):
            document = operation(parameters=query, **({"servers": [server(own)]} if own else {}))
            owner.add(f"{url}/v1", slug=slug, openapi=document, **given)
        outputs = [call(stack, tenant.alice, f"{slug}.it", {})["output"] for slug in ("usual", "near", "far")]
        refused = call(stack, tenant.alice, "far.it", {"q": "x"})
        assert owner.tool("it", "far")["http"] == {"method": "GET", "path": "/things", "servers": [f"{far}/big"]}
    assert outputs == [{"at": "service"}, {"at": "near"}, {"at": "uploads"}]
    assert [asked.headers.get("authorization") for asked in api.asked] == [f"Bearer {TOKEN}"] * 2
    assert [asked.headers.get("authorization") for asked in uploads.asked] == [None, None]
    assert "is not at its service's own host" in refused["error"]["message"]
