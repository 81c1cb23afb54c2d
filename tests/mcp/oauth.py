"""An OAuth client of Toolgate's, step by step: what it sends, and a member's answer on the page."""

import base64
import hashlib
import secrets
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx
from allauth.idp.oidc.models import Client

from gateway.oauth import clients
from tenants.scope.routing import on_login
from tests.browser.sessions import session_of
from tests.mcp.raw import ACCEPT, MODERN
from tests.people import Person
from tests.stack import Stack

BACK = "http://127.0.0.1:9/callback"


def registered(name: str = "Editor", uri: str = BACK) -> Client:
    """A client that the operator made."""
    with on_login("operator"):
        return clients.register({"client_name": name, "redirect_uris": [uri]}, source="operator")


class Program:
    """A client of a running Toolgate; `session` belongs to the member who is asked, in a browser of their own."""

    def __init__(self, stack: Stack, person: Person, client_id: str = ""):
        self.url, self.person = stack.url, person
        self.client_id = client_id or registered().id
        self.verifier = secrets.token_urlsafe(48)
        self.browser = httpx.Client(base_url=stack.url, cookies={"sessionid": session_of(person)})

    def request(self, **changed: Any) -> dict[str, Any]:
        """The parameters of an authorization request; None takes one away."""
        challenge = base64.urlsafe_b64encode(hashlib.sha256(self.verifier.encode()).digest()).rstrip(b"=").decode()
        given = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": BACK,
            "scope": "tools:read chat",
            "state": "s 1",
            "code_challenge": challenge,
            "code_challenge_method": "S256",
            "resource": f"{self.url}/mcp",
            **changed,
        }
        return {name: value for name, value in given.items() if value is not None}

    def page(self, **changed: Any) -> httpx.Response:
        """What the browser is shown."""
        return self.browser.get("/oauth/authorize", params=self.request(**changed))

    def answer(self, answer: str, tenant: Any = None, **changed: Any) -> httpx.Response:
        """What comes of the member's answer."""
        assert self.page(**changed).status_code == 200
        form = {"answer": answer, "tenant": str(tenant or self.person.principal.tenant_id)}
        form["csrfmiddlewaretoken"] = self.browser.cookies["csrftoken"]
        return self.browser.post("/oauth/authorize", params=self.request(**changed), data=form)

    def code(self, tenant: Any = None, **changed: Any) -> str:
        """The code that the client is sent."""
        return sent(self.answer("allow", tenant, **changed))["code"]

    def token(self, **form: Any) -> httpx.Response:
        """A request for tokens."""
        return httpx.post(f"{self.url}/oauth/token", data={"client_id": self.client_id} | form)

    def exchange(self, code: str, **changed: Any) -> httpx.Response:
        """Tokens for a code."""
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": BACK, "code_verifier": self.verifier}
        return self.token(**form | changed)

    def refresh(self, token: str, **changed: Any) -> httpx.Response:
        """Tokens for a refresh token."""
        return self.token(grant_type="refresh_token", refresh_token=token, **changed)

    def tokens(self, tenant: Any = None, **changed: Any) -> dict[str, Any]:
        """What a client has after a member allowed it."""
        answer = self.exchange(self.code(tenant, **changed))
        assert answer.status_code == 200, answer.text
        return dict(answer.json())


def sent(answer: httpx.Response) -> dict[str, str]:
    """What a redirect to the client carries."""
    assert answer.status_code == 302, answer.text
    location = urlsplit(answer.headers["location"])
    assert f"{location.scheme}://{location.netloc}{location.path}" == BACK
    return dict(parse_qsl(location.query))


def ask(stack: Stack, token: str, method: str = "tools/list", **params: Any) -> httpx.Response:
    """A request to /mcp with a bearer."""
    envelope = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": envelope}}
    headers = {"Accept": ACCEPT, "MCP-Protocol-Version": MODERN, "Mcp-Method": method}
    headers |= {"Authorization": f"Bearer {token}"} | ({"Mcp-Name": params["name"]} if "name" in params else {})
    return httpx.post(f"{stack.url}/mcp", json=body, headers=headers)
