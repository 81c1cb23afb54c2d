"""Authorization servers that lie, answer rubbish, hang, or lead elsewhere: no token, no credential, and words."""

import asyncio
import logging
import uuid
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from services.connections import flow
from services.connections.errors import AttemptRefused, ServerFailed
from services.credentials import Credential, CredentialUnavailable, NotConnected, RefusedThere, resolver, tokens
from services.execution.tool import Declared, Endpoint, HttpTool
from services.oauth import discovery, exchange, grants
from services.oauth.errors import ServerUnusable
from services.oauth.grants import Client
from services.oauth.server import Server
from tenants.people.encryption import decrypt
from tests.connections.connecting import SESSION, add, expire, headers, kept
from tests.database import rows
from tests.people import Cast
from tests.services.api import Api, Asked, Reply, as_json
from tests.waiting import PATIENCE_SECONDS
from tools.errors import ToolCallRejected
from tools.interface import ToolContext

METADATA = "/.well-known/oauth-authorization-server"
SECRET = "a-client-secret-3b1f"
TOKEN = "an-access-token-77aa"
URL = "http://127.0.0.2:9"


def metadata(url: str, **more: Any) -> dict[str, Any]:
    """What an honest server publishes."""
    return {
        "issuer": url,
        "authorization_endpoint": f"{url}/auth",
        "token_endpoint": f"{url}/token",
        "code_challenge_methods_supported": ["S256"],
        **more,
    }


def client(url: str) -> dict[str, Any]:
    """The tenant's own credential at it."""
    return {"type": "oauth_client", "issuer": url, "client_id": "c", "client_secret": SECRET}


def user(url: str, **more: Any) -> dict[str, Any]:
    """A credential of each user's at it."""
    return {"type": "oauth_user", "issuer": url, "client_id": "c", **more}


GOOD = {"access_token": TOKEN, "token_type": "Bearer", "expires_in": 3600}
TOKEN_ANSWERS: dict[str, tuple[Reply, str]] = {
    "html": (Reply(200, b"<html>Log in</html>"), "did not answer with JSON"),
    "a list": (as_json([GOOD]), "JSON object"),
    "nothing": (Reply(200, b""), "not a bearer's"),
    "no token": (as_json({"token_type": "Bearer"}), "no access token"),
    "a token with a line break": (as_json(GOOD | {"access_token": "a\r\nX-Admin: 1"}), "no access token"),
    "a token that is long": (as_json(GOOD | {"access_token": "a" * 20_000}), "no access token"),
    "a token of another type": (as_json(GOOD | {"token_type": "mac"}), "not a bearer's"),
    "much": (Reply(200, b" " * (exchange.MAX_BYTES + 1)), "more than"),
    "packed": (Reply(200, b"\x1f\x8b", {"Content-Encoding": "gzip"}), "packed form"),
    "deep": (Reply(200, b"[" * 60_000), "did not answer with JSON"),
    "a redirect inwards": (Reply(307, b"", {"Location": "http://169.254.169.254/latest/meta-data/"}), "redirect"),
    "a refusal that repeats the secret": (
        as_json({"error": "invalid_client", "error_description": SECRET}, 401), "invalid_client",
    ),
    "an error code that is a script": (as_json({"error": f"\"<script>{SECRET}"}, 400), "HTTP 400, and no error code"),
    "a failure": (Reply(500, SECRET.encode()), "fails at the moment"),
    "too many": (as_json({"error": "slow_down"}, 429), "fails at the moment"),
}  # fmt: skip


@pytest.mark.parametrize("what", TOKEN_ANSWERS)
async def test_an_answer_that_is_no_token_is_no_credential(
    tenant: Cast, api: Api, url: str, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    answer, words = TOKEN_ANSWERS[what]
    api.on(METADATA, as_json(metadata(url)))
    api.on("/token", answer)
    service = await asyncio.to_thread(add, tenant, URL, client(url))
    with caplog.at_level(logging.DEBUG), pytest.raises(CredentialUnavailable) as refused:
        await headers(service, tenant.alice)
    assert words in str(refused.value) and "Nothing was called." in str(refused.value)
    [row] = kept(tenant)
    assert row["access_token"] == "" and row["refreshing_until"] is None
    for said in (str(refused.value), row["problem"], caplog.text):
        assert SECRET not in said and "169.254" not in said
    # Nobody went where it pointed.
    assert {each.path for each in api.asked} == {METADATA, "/token"}


async def come_back(tenant: Cast) -> None:
    """Connect alice to a server that says yes to everybody."""
    begun = await flow.begin(tenant.alice.scope, "desk", SESSION)
    state = begun["authorize_url"].partition("state=")[2].partition("&")[0]
    await flow.finish(tenant.alice.scope, flow.Returned(state, "code"), SESSION)


@pytest.mark.parametrize("what", TOKEN_ANSWERS)
async def test_an_answer_that_is_no_token_connects_nobody(tenant: Cast, api: Api, url: str, what: str) -> None:
    answer, words = TOKEN_ANSWERS[what]
    api.on(METADATA, as_json(metadata(url)))
    api.on("/token", answer)
    await asyncio.to_thread(add, tenant, URL, user(url, client_secret=SECRET))
    with pytest.raises((ServerFailed, AttemptRefused)) as refused:
        await come_back(tenant)
    assert words in str(refused.value) and SECRET not in str(refused.value)
    assert kept(tenant) == [] and len(api.of("/token")) == 1
    assert {each.path for each in api.asked} == {METADATA, "/token"}


@pytest.mark.parametrize("what", TOKEN_ANSWERS)
async def test_an_answer_that_is_no_newer_token_ends_no_connection(tenant: Cast, api: Api, url: str, what: str) -> None:
    answer, words = TOKEN_ANSWERS[what]
    api.on(METADATA, as_json(metadata(url)))
    api.on("/token", as_json(GOOD | {"refresh_token": "r1"}))
    service = await asyncio.to_thread(add, tenant, URL, user(url, client_secret=SECRET))
    await come_back(tenant)
    await asyncio.to_thread(expire, tenant)
    api.on("/token", answer)
    with pytest.raises(CredentialUnavailable) as refused:
        await headers(service, tenant.alice)
    assert words in str(refused.value) and SECRET not in str(refused.value)
    [row] = kept(tenant)
    assert (row["ended_at"], row["refreshing_until"], decrypt(row["refresh_token"])) == (None, None, "r1")
    api.on("/token", as_json(GOOD | {"access_token": "another"}))
    assert (await headers(service, tenant.alice))["Authorization"] == "Bearer another"
    assert dict(parse_qsl(api.asked[-1].body.decode()))["refresh_token"] == "r1"


DOCUMENTS: dict[str, tuple[Callable[[str], Reply], str]] = {
    "another issuer": (lambda url: as_json(metadata(url) | {"issuer": "https://a.example.com"}), "another issuer"),
    "no issuer": (lambda url: as_json({"token_endpoint": f"{url}/token"}), "another issuer"),
    "an endpoint inwards": (lambda url: as_json(metadata(url, token_endpoint="https://10.0.0.1/t")), "not a public"),
    "an endpoint in the clear": (lambda url: as_json(metadata(url, token_endpoint="http://example.com/")), "https://"),
    "an endpoint that is a script": (
        lambda url: as_json(metadata(url, authorization_endpoint="javascript:alert(1)")), "cannot be used",
    ),
    "no PKCE": (lambda url: as_json(metadata(url, code_challenge_methods_supported=["plain"])), "PKCE"),
    "rubbish": (lambda url: Reply(200, b"\xff\xfe"), "did not answer with JSON"),
    "a redirect": (lambda url: Reply(302, b"", {"Location": "http://169.254.169.254/"}), "redirect"),
}  # fmt: skip


@pytest.mark.parametrize("what", DOCUMENTS)
async def test_metadata_that_lies_or_leads_inwards_connects_nobody(tenant: Cast, api: Api, url: str, what: str) -> None:
    document, words = DOCUMENTS[what]
    api.on(METADATA, document(url))
    await asyncio.to_thread(add, tenant, URL, user(url))
    with pytest.raises(ServerFailed, match=words):
        await flow.begin(tenant.alice.scope, "desk", SESSION)
    assert {each.path for each in api.asked} == {METADATA}
    assert rows("SELECT 1 FROM connection_attempts WHERE tenant_id = %(tenant)s", tenant=tenant.id) == []


async def test_a_server_that_is_down_is_said_so_and_the_present_token_is_used_to_its_end(
    tenant: Cast, api: Api, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As if it were due in the next minute, without a minute that could pass meanwhile.
    monkeypatch.setattr(tokens, "AHEAD_SECONDS", 7200)
    monkeypatch.setattr(tokens, "PAUSE_SECONDS", 3600)
    api.on(METADATA, as_json(metadata(url)))
    api.on("/token", as_json(GOOD))
    service = await asyncio.to_thread(add, tenant, URL, client(url))
    # It is due soon, being good for an hour, and not at once; then the server is away.
    for _ in range(3):
        assert (await headers(service, tenant.alice))["Authorization"] == f"Bearer {TOKEN}"
    assert len(api.of("/token")) == 1
    api.on("/token", Reply(503))
    await asyncio.to_thread(
        rows, "UPDATE connections SET refreshed_at = NULL WHERE tenant_id = %(tenant)s RETURNING 1", tenant=tenant.id
    )
    assert (await headers(service, tenant.alice))["Authorization"] == f"Bearer {TOKEN}"
    assert "fails at the moment" in kept(tenant)[0]["problem"]
    await asyncio.to_thread(expire, tenant)
    with pytest.raises(CredentialUnavailable, match="fails at the moment"):
        await headers(service, tenant.alice)
    api.on("/token", as_json(GOOD | {"access_token": "another"}))
    assert (await headers(service, tenant.alice))["Authorization"] == "Bearer another"
    assert kept(tenant)[0]["problem"] == ""
    api.on("/token", as_json(GOOD | {"expires_in": 0}))
    await asyncio.to_thread(expire, tenant)
    with pytest.raises(CredentialUnavailable, match="over already"):
        await headers(service, tenant.alice)
    assert len(api.of("/token")) == 5


async def test_a_slow_server_is_not_waited_for_longer_than_its_time_and_asked_once_for_all(
    tenant: Cast, api: Api, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(asked: Asked) -> Reply:
        api.released.wait(PATIENCE_SECONDS)
        return as_json(GOOD)

    api.on(METADATA, as_json(metadata(url)))
    api.on("/token", as_json(GOOD))
    service = await asyncio.to_thread(add, tenant, URL, client(url))
    # The server is known, and was quick so far.
    assert await headers(service, tenant.alice)
    await asyncio.to_thread(expire, tenant)
    api.on("/token", slow)
    # Long enough for all of them to come while the first one waits.
    monkeypatch.setattr(exchange, "SECONDS", 3.0)
    asking = [headers(service, tenant.alice) for _ in range(10)]
    found = await asyncio.gather(*asking, return_exceptions=True)
    assert {type(each) for each in found} == {CredentialUnavailable}
    assert {"did not answer in time" in str(each) for each in found} == {True}
    assert len(api.of("/token")) == 2


async def test_the_resource_a_service_names_is_held_to_its_own_host(tenant: Cast, api: Api, url: str) -> None:
    api.on("/mcp", Reply(401, b"", {"WWW-Authenticate": f'Bearer resource_metadata="{url}/meta"'}))
    api.on(METADATA, as_json(metadata(url, registration_endpoint=f"{url}/reg")))
    api.on("/reg", as_json({"client_id": "given-by-it"}, 201))
    given = {"type": "oauth_user", "registration": "dynamic"}
    await asyncio.to_thread(add, tenant, f"{url}/mcp", given)
    for named in ("https://bank.example.com", f"{url}/mcpx", f"{url}/mcp/deeper", "rubbish", None):
        api.on("/meta", as_json({"resource": named, "authorization_servers": [url]}))
        with pytest.raises(ServerFailed, match="another resource"):
            await flow.begin(tenant.alice.scope, "desk", SESSION)
    for servers in ([], None, [1], ["http://169.254.169.254"]):
        api.on("/meta", as_json({"resource": f"{url}/mcp", "authorization_servers": servers}))
        with pytest.raises(ServerFailed):
            await flow.begin(tenant.alice.scope, "desk", SESSION)
    assert not api.of("/reg")
    api.on("/meta", as_json({"resource": f"{url}/mcp", "authorization_servers": [url]}))
    begun = await flow.begin(tenant.alice.scope, "desk", SESSION)
    query = dict(parse_qsl(urlsplit(begun["authorize_url"]).query))
    assert (query["resource"], query["code_challenge_method"]) == (f"{url}/mcp", "S256")
    assert (query["client_id"], query["redirect_uri"]) == ("given-by-it", flow.redirect_uri())
    [registered] = api.of("/reg")
    assert registered.json["redirect_uris"] == [flow.redirect_uri()]


async def test_metadata_on_another_host_than_the_service_is_not_asked(tenant: Cast, api: Api, url: str) -> None:
    api.on("/mcp", Reply(401, b"", {"WWW-Authenticate": 'Bearer resource_metadata="https://evil.example.com/meta"'}))
    await asyncio.to_thread(add, tenant, f"{url}/mcp", {"type": "oauth_user", "registration": "dynamic"})
    with pytest.raises(ServerFailed, match="does not say which authorization server"):
        await flow.begin(tenant.alice.scope, "desk", SESSION)


async def test_a_connection_without_a_refresh_token_is_over_with_its_token(tenant: Cast, api: Api, url: str) -> None:
    api.on(METADATA, as_json(metadata(url)))
    api.on("/token", as_json(GOOD))
    service = await asyncio.to_thread(add, tenant, URL, user(url))
    await come_back(tenant)
    sent = await headers(service, tenant.alice)
    # A service that refuses it may refuse this one path: the connection stays.
    assert await resolver.refreshed(tenant.alice.scope, Credential.of(service), sent) is None
    assert await headers(service, tenant.alice) == sent
    called = HttpTool(
        Declared("desk.get_order", "One order.", {"type": "object"}, "read_only", True, True, 20.0, ""),
        Endpoint("desk", url, {"method": "GET", "path": "/orders", "body": "none", "places": {}, "identity": []},
                 Credential.of(service)),
    )  # fmt: skip
    context = ToolContext(uuid.uuid4(), tenant.id, tenant.alice.scope.user_id, None, None, 20.0)
    for status in (401, 403):
        api.on("/orders", Reply(status, TOKEN.encode()))
        with pytest.raises(ToolCallRejected, match="refused your account there.*/settings/connections/") as said:
            await called.execute({}, context)
        assert TOKEN not in str(said.value)
    await asyncio.to_thread(expire, tenant)
    with pytest.raises(NotConnected, match="has ended there"):
        await headers(service, tenant.alice)
    assert kept(tenant)[0]["access_token"] == ""


@pytest.mark.parametrize(
    ("status", "challenge", "missing"),
    [
        (403, 'Bearer error="insufficient_scope", scope="notes:write notes:read"', "notes:write notes:read"),
        (403, 'Bearer scope="a", error=insufficient_scope', "a"),
        (403, 'Bearer error="insufficient_scope", scope="a \u202e b"', "a b"),
        (403, 'Bearer error="insufficient_scope"', ""),
        (403, 'Bearer error="invalid_token", scope="a"', ""),
        (401, 'Bearer error="insufficient_scope", scope="a"', ""),
        (403, "", ""),
    ],
)
def test_the_scope_that_an_account_lacks_is_named_where_the_service_says_it(
    status: int, challenge: str, missing: str
) -> None:
    assert discovery.missing_scope(status, {"WWW-Authenticate": challenge}) == missing
    words = str(RefusedThere("desk", 403, missing))
    assert (f"It needs the scope {missing}: an owner adds it to the scopes of desk first." in words) is bool(missing)


async def test_a_server_that_answers_messages_alone_is_asked_with_one(api: Api, url: str) -> None:
    challenge = f'Bearer error="x", scope="notes:read notes:write", resource_metadata="{url}/meta"'
    refusal = Reply(401, b"", {"WWW-Authenticate": challenge})
    api.on("/mcp", lambda asked: refusal if asked.method == "POST" else Reply(405))
    known = {"resource": f"{url}/mcp", "authorization_servers": [url], "scopes_supported": ["all", 'not "one"', 1]}
    api.on("/meta", as_json(known))
    found = await discovery.protected(f"{url}/mcp", mcp=True)
    assert found == discovery.Protected(url, f"{url}/mcp", "notes:read notes:write")
    assert [each.json["method"] for each in api.of("/mcp") if each.method == "POST"] == ["tools/list"]
    # A service of another kind is sent nothing, since a POST may do something there.
    api.asked.clear()
    with pytest.raises(ServerUnusable, match="does not say which authorization server"):
        await discovery.protected(f"{url}/mcp")
    assert {each.method for each in api.asked} == {"GET"}


async def test_where_an_owner_names_no_scopes_those_that_the_service_names_are_asked_for(
    tenant: Cast, api: Api, url: str
) -> None:
    api.on("/mcp", Reply(401, b"", {"WWW-Authenticate": f'Bearer resource_metadata="{url}/meta"'}))
    api.on("/meta", as_json({"resource": url, "authorization_servers": [url], "scopes_supported": ["a", "b", "c d"]}))
    api.on(METADATA, as_json(metadata(url)))
    for given, asked in ({}, "a b"), ({"scopes": ["a"]}, "a"):
        credential = {"type": "oauth_user", "client_id": "c", **given}
        slug = f"desk-{len(asked)}"
        await asyncio.to_thread(add, tenant, f"{url}/mcp", credential, slug)
        begun = await flow.begin(tenant.alice.scope, slug, SESSION)
        assert dict(parse_qsl(urlsplit(begun["authorize_url"]).query))["scope"] == asked
        assert begun["scopes"] == asked.split()


async def test_a_secret_that_the_server_takes_nowhere_is_not_sent(api: Api, url: str) -> None:
    api.on("/token", as_json(GOOD))
    server = Server(issuer=url, token_endpoint=f"{url}/token", methods=("none",))
    await grants.for_client(server, Client("c", SECRET), scope="", resource="")
    [asked] = api.of("/token")
    assert ("client_id", "c") in parse_qsl(asked.body.decode())
    assert SECRET not in f"{asked.body!r} {asked.headers}"
