"""Tools that are called with each person's own account, through every gate, with a real authorization server."""

import re
from collections.abc import Iterator

import httpx
import pytest

from tests.connections.authorization import AuthorizationServer, authorization_server
from tests.database import rows
from tests.people import Cast, Person
from tests.services.api import Api, Asked, Owner, Reply, approve, as_json, call, polled
from tests.services.mcp_server import Server
from tests.stack import Stack
from tests.waiting import until

ORDER = "/api/v1/orders/"
ARGUMENTS = {"order_id": "o-1"}


@pytest.fixture(scope="module")
def server() -> Iterator[AuthorizationServer]:
    """Toolgate registers itself there."""
    with authorization_server() as running:
        yield running


@pytest.fixture
def owner(stack: Stack, tenant: Cast, api: Api, url: str, server: AuthorizationServer) -> Owner:
    """Whose service's answers repeat the credential that they were asked with."""

    def guarded(asked: Asked) -> Reply:
        token = asked.headers.get("authorization", "").removeprefix("Bearer ")
        if not token or not server.knows(token):
            return as_json({"error": "invalid_token", "token": token}, 401)
        return as_json({"state": "filled", "asked_as": asked.headers["authorization"]})

    api.on(ORDER, guarded)
    credential = {
        "type": "oauth_user", "issuer": server.issuer, "registration": "dynamic", "scopes": ["orders:read"],
    }  # fmt: skip
    added = Owner(stack, tenant.olga)
    added.add(url, credential=credential)
    return added


def connections(stack: Stack, person: Person) -> list[dict[str, object]]:
    """The person's own, over REST."""
    answer = stack.get(person, "/api/v1/connections/")
    assert answer.status_code == 200, answer.text
    found: list[dict[str, object]] = answer.json()["connections"]
    return found


def connect(stack: Stack, person: Person, server: AuthorizationServer, slug: str = "desk") -> httpx.Response:
    """Connect with the person's key and a browser in which they are logged in; the page that they come to."""
    from tests.browser.sessions import session_of

    begun = httpx.post(f"{stack.url}/api/v1/connections/{slug}/connect/", headers=person.headers)
    assert begun.status_code == 200, begun.text
    back = server.accept(begun.json()["authorize_url"])
    with httpx.Client(base_url=stack.url, cookies={"sessionid": session_of(person)}, follow_redirects=True) as browser:
        asked = browser.get("/connections/callback/", params=back)
        assert f"Connect {slug}?" in asked.text and server.issuer in asked.text, asked.text
        # Nothing has happened yet, and nothing happens without the page's own form.
        assert connections(stack, person)[0]["state"] == "needs_connecting"
        assert browser.post("/connections/callback/", data=back).status_code == 403
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', asked.text)
        assert token is not None
        form = back | {"csrfmiddlewaretoken": token.group(1)}
        return browser.post("/connections/callback/", data=form, headers={"Referer": f"{stack.url}/"})


def test_a_call_without_a_connection_is_refused_before_anybody_is_asked_and_says_where_to_connect(
    stack: Stack, tenant: Cast, api: Api, owner: Owner
) -> None:
    owner.say("desk", "get_order", tier="elevated")
    refused = call(stack, tenant.alice, "desk.get_order", ARGUMENTS)
    assert (refused["status"], refused["error"]["code"]) == ("error", "permission_denied")
    assert "/settings/connections/" in refused["error"]["message"]
    found = stack.get(tenant.alice, f"/api/v1/tool-calls/{refused['id']}/").json()
    assert found["decision"][-1]["gate"] == "connection"
    assert rows("SELECT 1 FROM approval_requests WHERE tenant_id = %(tenant)s", tenant=tenant.id) == []
    assert api.of(ORDER) == []


def test_a_person_connects_calls_and_disconnects(
    stack: Stack, tenant: Cast, api: Api, owner: Owner, server: AuthorizationServer
) -> None:
    [before] = connections(stack, tenant.alice)
    assert (before["service"], before["state"], before["issuer"]) == ("desk", "needs_connecting", server.issuer)
    assert owner.get()["credential"] == {
        "type": "oauth_user", "issuer": server.issuer, "scopes": ["orders:read"],
        "connected": False, "expires_at": None,
    }  # fmt: skip
    page = connect(stack, tenant.alice, server)
    assert page.url.path == "/settings/connections/" and "desk is connected." in page.text
    [after] = connections(stack, tenant.alice)
    assert (after["state"], after["scopes"], after["problem"]) == ("connected", ["orders:read"], None)
    assert [each["state"] for each in connections(stack, tenant.bob)] == ["needs_connecting"]
    assert owner.get()["credential"]["connected"] is False

    done = call(stack, tenant.alice, "desk.get_order", ARGUMENTS)
    assert done["status"] == "success", done
    assert done["output"] == {"state": "filled", "asked_as": "Bearer [credential]"}
    assert call(stack, tenant.bob, "desk.get_order", ARGUMENTS)["error"]["code"] == "permission_denied"
    [asked] = api.of(ORDER)
    token = asked.headers["authorization"].removeprefix("Bearer ")
    assert server.knows(token) and token not in page.text

    ended = httpx.delete(f"{stack.url}/api/v1/connections/desk/", headers=tenant.alice.headers)
    assert ended.status_code == 204
    assert connections(stack, tenant.alice)[0]["state"] == "needs_connecting"
    until(lambda: not server.knows(token))
    assert call(stack, tenant.alice, "desk.get_order", ARGUMENTS)["error"]["code"] == "permission_denied"
    assert len(api.of(ORDER)) == 1

    recorded = stack.get(tenant.olga, "/api/v1/changes/?target=connection").json()["results"]
    assert [(each["name"], each["action"], each["via"]) for each in recorded] == [
        ("desk", "deleted", "api"), ("desk", "created", "page"),
    ]  # fmt: skip
    assert recorded[1]["changes"]["issuer"] == [None, server.issuer]
    assert recorded[1]["changes"]["token"] == ["none", "set"]
    assert token not in str(recorded)


def test_a_token_that_ended_at_the_server_is_refreshed_once_and_a_grant_that_ended_is_said_so(
    stack: Stack, tenant: Cast, api: Api, owner: Owner, server: AuthorizationServer
) -> None:
    connect(stack, tenant.alice, server)
    first = call(stack, tenant.alice, "desk.get_order", ARGUMENTS)
    assert first["status"] == "success", first
    old = api.of(ORDER)[-1].headers["authorization"].removeprefix("Bearer ")
    server.end(old)
    second = call(stack, tenant.alice, "desk.get_order", ARGUMENTS)
    assert second["status"] == "success", second
    new = api.of(ORDER)[-1].headers["authorization"].removeprefix("Bearer ")
    assert [each.headers["authorization"] for each in api.of(ORDER)] == [f"Bearer {t}" for t in (old, old, new)]
    # As if it had lasted a while.
    rows(
        "UPDATE connections SET refreshed_at = now() - interval '1 hour' WHERE tenant_id = %(tenant)s RETURNING 1",
        tenant=tenant.id,
    )
    server.end(new, whole=True)
    ended = call(stack, tenant.alice, "desk.get_order", ARGUMENTS)
    assert (ended["status"], ended["error"]["code"]) == ("error", "permission_denied")
    assert new not in str(ended) and "/settings/connections/" in ended["error"]["message"]
    third = call(stack, tenant.alice, "desk.get_order", ARGUMENTS)
    found = stack.get(tenant.alice, f"/api/v1/tool-calls/{third['id']}/").json()
    assert found["decision"][-1]["gate"] == "connection"
    assert connections(stack, tenant.alice)[0]["state"] == "expired"


def test_an_approved_call_of_somebody_who_disconnected_meanwhile_does_not_run(
    stack: Stack, tenant: Cast, api: Api, owner: Owner, server: AuthorizationServer
) -> None:
    owner.say("desk", "get_order", tier="elevated")
    connect(stack, tenant.alice, server)
    held = call(stack, tenant.alice, "desk.get_order", ARGUMENTS)
    assert held["status"] == "awaiting_approval"
    httpx.delete(f"{stack.url}/api/v1/connections/desk/", headers=tenant.alice.headers)
    approve(stack, tenant.carol, held["approval_id"])
    ended = polled(stack, tenant.alice, held["id"])
    assert (ended["status"], ended["error"]["code"]) == ("error", "permission_denied")
    assert api.of(ORDER) == []


def test_an_approved_call_of_somebody_whose_grant_ended_at_the_server_meanwhile_has_no_effect(
    stack: Stack, tenant: Cast, api: Api, owner: Owner, server: AuthorizationServer
) -> None:
    connect(stack, tenant.alice, server)
    assert call(stack, tenant.alice, "desk.get_order", ARGUMENTS)["status"] == "success"
    token = api.of(ORDER)[-1].headers["authorization"].removeprefix("Bearer ")
    owner.say("desk", "get_order", tier="elevated")
    held = call(stack, tenant.alice, "desk.get_order", ARGUMENTS)
    assert held["status"] == "awaiting_approval"
    # As if it had lasted a while.
    rows(
        "UPDATE connections SET refreshed_at = now() - interval '1 hour' WHERE tenant_id = %(tenant)s RETURNING 1",
        tenant=tenant.id,
    )
    server.end(token, whole=True)
    approve(stack, tenant.carol, held["approval_id"])
    ended = polled(stack, tenant.alice, held["id"])
    assert (ended["status"], ended["error"]["code"]) == ("error", "permission_denied")
    assert "/settings/connections/" in ended["error"]["message"]
    # The service was asked with what it refuses, and with nothing else.
    assert [each.headers["authorization"] for each in api.of(ORDER)] == [f"Bearer {token}"] * 2
    assert connections(stack, tenant.alice)[0]["state"] == "expired"


def test_who_asks_for_what_is_not_there_is_told_so(stack: Stack, tenant: Cast, owner: Owner) -> None:
    for method, path in (("POST", "none/connect/"), ("DELETE", "none/"), ("POST", "de%00sk/connect/")):
        answer = httpx.request(method, f"{stack.url}/api/v1/connections/{path}", headers=tenant.alice.headers)
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), answer.text
    assert httpx.get(f"{stack.url}/api/v1/connections/").status_code == 401


class Guarded(Server):
    """An MCP server that lets in who has a token of the authorization server, and says which one it trusts."""

    def __init__(self, api: Api, url: str, server: AuthorizationServer):
        super().__init__(api)
        self._trusted, self._about = server, f"{url}/.well-known/oauth-protected-resource/mcp"
        about = {"resource": f"{url}/mcp", "authorization_servers": [server.issuer]}
        api.on("/.well-known/oauth-protected-resource/mcp", as_json(about))

    def _reply(self, asked: Asked) -> Reply:
        token = asked.headers.get("authorization", "").removeprefix("Bearer ")
        if not token or not self._trusted.knows(token):
            return Reply(401, b"", {"WWW-Authenticate": f'Bearer resource_metadata="{self._about}"'})
        return super()._reply(asked)


def test_an_mcp_server_says_which_authorization_server_it_trusts_and_gets_each_persons_own_token(
    stack: Stack, tenant: Cast, api: Api, url: str, server: AuthorizationServer
) -> None:
    far = Guarded(api, url, server)
    owner = Owner(stack, tenant.olga)
    credential = {"type": "oauth_user", "registration": "dynamic", "scopes": ["orders:read"]}
    added = owner.ask("POST", "", {"slug": "far", "kind": "mcp", "url": f"{url}/mcp", "credential": credential})
    assert (added.status_code, added.json()["tools"]) == (201, []), added.text
    # What it offers is read with its owner's own account.
    refused = owner.ask("POST", "far/refresh/")
    assert refused.status_code == 502 and "/settings/connections/" in refused.json()["detail"]
    assert far.messages == []
    connect(stack, tenant.olga, server, "far")
    refreshed = owner.ask("POST", "far/refresh/")
    assert [each["tool"] for each in refreshed.json()["tools"]] == ["far.echo"], refreshed.text
    owner.say("far", "echo", enabled=True, tier="read_only")
    assert call(stack, tenant.alice, "far.echo", {"text": "hi"})["error"]["code"] == "permission_denied"
    assert far.calls == []
    connect(stack, tenant.alice, server, "far")
    done = call(stack, tenant.alice, "far.echo", {"text": "hi"})
    assert done["status"] == "success", done
    [shown] = connections(stack, tenant.alice)
    assert (shown["issuer"], shown["resource"]) == (server.issuer, f"{url}/mcp")
    asked = [each for each in server.control()["asked"] if each.get("resource") == f"{url}/mcp"]
    assert {each["grant_type"] for each in asked} == {"authorization_code"} and len(asked) == 2
