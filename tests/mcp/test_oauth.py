"""OAuth for /mcp: a client asks a member on a page, and gets tokens for one tenant, one address and so long as they
are a member there."""

import asyncio
import json
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.auth import OAuthClientProvider, TokenStorage
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

from tenants.login import clients as grants
from tenants.models import Membership, User
from tenants.scope.routing import on_login
from tests.database import rows
from tests.mcp.oauth import BACK, Program, ask, registered, sent
from tests.people import Cast
from tests.stack import Stack
from tests.waiting import PATIENCE_SECONDS

NODE_MODULES = Path(__file__).parents[2] / ".venv" / "node" / "node_modules"

pytestmark = pytest.mark.xdist_group("mcp")


def _tokens(tenant: Cast) -> list[dict[str, Any]]:
    return rows("SELECT kind, spent_at FROM client_tokens WHERE tenant_id = %(t)s ORDER BY created_at", t=tenant.id)


class _Storage(TokenStorage):
    def __init__(self, client_id: str, issuer: str):
        self.client = OAuthClientInformationFull(
            client_id=client_id, redirect_uris=[BACK], token_endpoint_auth_method="none", issuer=issuer
        )
        self.tokens: OAuthToken | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


async def test_the_official_client_logs_in_calls_a_tool_and_refreshes(stack: Stack, tenant: Cast) -> None:
    program = await asyncio.to_thread(Program, stack, tenant.alice)
    storage = _Storage(program.client_id, stack.url)
    asked: list[str] = []

    async def open_browser(url: str) -> None:
        asked.append(url)

    async def wait_for_answer() -> AuthorizationCodeResult:
        query = {name: value for name, [value] in parse_qs(urlsplit(asked[-1]).query).items()}
        answer = sent(await asyncio.to_thread(program.answer, "allow", **query))
        return AuthorizationCodeResult(code=answer["code"], state=answer["state"], iss=answer["iss"])

    def provider() -> OAuthClientProvider:
        metadata = OAuthClientMetadata(redirect_uris=[BACK], client_name="Editor", token_endpoint_auth_method="none")
        return OAuthClientProvider(f"{stack.url}/mcp", metadata, storage, open_browser, wait_for_answer)

    async def save(auth: OAuthClientProvider) -> bool:
        http = httpx2.AsyncClient(auth=auth, timeout=PATIENCE_SECONDS)
        async with Client(streamable_http_client(f"{stack.url}/mcp", http_client=http)) as client:
            return bool((await client.call_tool("save_note", {"title": "a", "content": "b"})).is_error)

    auth = provider()
    assert await save(auth) is False
    assert len(asked) == 1
    assert storage.tokens is not None and storage.tokens.refresh_token
    first = storage.tokens.access_token
    # It believes that its access token has expired: it refreshes, and asks nobody.
    auth.context.token_expiry_time = 1.0
    assert await save(auth) is False
    assert storage.tokens.access_token != first
    assert len(asked) == 1
    [call] = {row["user_id"] for row in rows("SELECT user_id FROM tool_calls WHERE tenant_id = %(t)s", t=tenant.id)}
    assert call == tenant.alice.principal.user_id


def test_the_official_client_for_javascript_logs_in_and_calls_a_tool(
    stack: Stack, tenant: Cast, tmp_path: Path
) -> None:
    if shutil.which("node") is None or not NODE_MODULES.is_dir():
        assert not os.environ.get("CI"), "CI must have node, and tests/node installed by `make test`"
        pytest.skip("there is no node, or tests/node is not installed")
    (tmp_path / "node_modules").symlink_to(NODE_MODULES)
    script = shutil.copy(Path(__file__).with_name("oauth_client.mjs"), tmp_path)
    program = Program(stack, tenant.alice)
    command = ["node", str(script), program.client_id, f"{stack.url}/mcp"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as client:
        assert client.stdin is not None and client.stdout is not None
        asked = parse_qs(urlsplit(json.loads(client.stdout.readline())["open"]).query)
        code = sent(program.answer("allow", **{name: value for name, [value] in asked.items()}))["code"]
        client.stdin.write(f"{code}\n")
        client.stdin.flush()
        assert json.loads(client.stdout.readline()) == {"failed": False, "scope": "chat tools:read"}
    [call] = rows("SELECT status, user_id FROM tool_calls WHERE tenant_id = %(t)s", t=tenant.id)
    assert (call["status"], call["user_id"]) == ("success", tenant.alice.principal.user_id)


def test_without_a_token_a_client_is_told_where_to_get_one(stack: Stack) -> None:
    answer = ask(stack, "none")
    assert answer.status_code == 401
    resource = f"{stack.url}/.well-known/oauth-protected-resource/mcp"
    assert f'resource_metadata="{resource}"' in answer.headers["www-authenticate"]
    protected = httpx.get(resource).json()
    assert (protected["resource"], protected["authorization_servers"]) == (f"{stack.url}/mcp", [stack.url])
    server = httpx.get(f"{stack.url}/.well-known/oauth-authorization-server").json()
    assert server["issuer"] == stack.url
    assert server["token_endpoint"] == f"{stack.url}/oauth/token"
    assert server["code_challenge_methods_supported"] == ["S256"]
    assert server["scopes_supported"] == protected["scopes_supported"] == ["chat", "tools:read"]
    assert "registration_endpoint" not in server
    assert httpx.get(f"{stack.url}/.well-known/oauth-authorization-server/elsewhere").status_code == 404


def test_the_page_names_client_tenant_and_rights_and_a_denial_goes_to_the_client(stack: Stack, tenant: Cast) -> None:
    program = Program(stack, tenant.alice, registered("Quill & Ink").id)
    page = program.page()
    assert page.status_code == 200
    for words in ("Quill &amp; Ink", tenant.alice.username, tenant.slug, "See which tools", "a program on your own"):
        assert words in page.text, words
    assert "form-action 'self' http://127.0.0.1:9" in page.headers["content-security-policy"]
    assert sent(program.answer("deny")) == {"error": "access_denied", "state": "s 1", "iss": stack.url}
    assert _tokens(tenant) == []


def test_who_is_not_logged_in_logs_in_first_and_comes_back(stack: Stack, tenant: Cast) -> None:
    program = Program(stack, tenant.alice)
    program.browser.cookies.clear()
    answer = program.page()
    assert answer.status_code == 302
    assert answer.headers["location"].startswith("/accounts/login/?next=/oauth/authorize%3F")


@pytest.mark.parametrize(
    "changed",
    [
        {"redirect_uri": "https://evil.example/callback"},
        {"redirect_uri": f"{BACK}/more"},
        {"redirect_uri": f"{BACK}?x=1"},
        {"redirect_uri": "http://127.0.0.1:9@evil.example/callback"},
        {"redirect_uri": "http://evil.example\\@127.0.0.1:9/callback"},
        {"redirect_uri": None},
        {"client_id": "nobody"},
        {"client_id": ["twice", "twice"]},
        {"client_id": "x" * 500},
        {"client_id": "https://127.0.0.1/client.json"},
        {"client_id": "https://[::ffff:169.254.169.254]/client.json"},
        {"client_id": "https://localhost"},
    ],
)
def test_an_error_that_concerns_the_clients_address_is_shown_and_sent_nowhere(
    stack: Stack, tenant: Cast, changed: dict[str, Any]
) -> None:
    answer = Program(stack, tenant.alice).page(**changed)
    assert (answer.status_code, "location" in answer.headers) == (400, False), answer.text
    assert "This client cannot be allowed" in answer.text


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"code_challenge": None}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"scope": "tools:read admin"}, "invalid_scope"),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"resource": "https://elsewhere.example/mcp"}, "invalid_target"),
        ({"resource": ["https://elsewhere.example/mcp", "x"]}, "invalid_target"),
    ],
)
def test_any_other_error_is_sent_to_the_client(stack: Stack, tenant: Cast, changed: dict[str, Any], error: str) -> None:
    answer = sent(Program(stack, tenant.alice).page(**changed))
    assert (answer["error"], answer["iss"]) == (error, stack.url)
    assert _tokens(tenant) == []


def test_a_form_from_another_site_allows_nothing(stack: Stack, tenant: Cast) -> None:
    program = Program(stack, tenant.alice)
    form = {"answer": "allow", "tenant": str(tenant.id)}
    assert program.browser.post("/oauth/authorize", params=program.request(), data=form).status_code == 403
    assert _tokens(tenant) == []


def test_a_member_of_two_tenants_chooses_and_the_token_reaches_no_other(
    stack: Stack, tenant: Cast, other_tenant: Cast
) -> None:
    with on_login("operator"):
        Membership.objects.create(tenant_id=other_tenant.id, user_id=tenant.alice.principal.user_id, role="auditor")
    program = Program(stack, tenant.alice)
    assert other_tenant.slug in program.page().text
    token = program.tokens(other_tenant.id)["access_token"]
    called = ask(stack, token, "tools/call", name="save_note", arguments={"title": "a", "content": "b"})
    assert called.status_code == 200
    placed = rows("SELECT tenant_id FROM tool_calls WHERE user_id = %(u)s", u=tenant.alice.principal.user_id)
    assert [row["tenant_id"] for row in placed] == [other_tenant.id]


def test_a_tenant_that_is_not_the_members_is_not_chosen(stack: Stack, tenant: Cast, other_tenant: Cast) -> None:
    assert Program(stack, tenant.alice).answer("allow", other_tenant.id).status_code == 400
    assert _tokens(tenant) == _tokens(other_tenant) == []


def test_a_token_reaches_mcp_and_nothing_else(stack: Stack, tenant: Cast) -> None:
    tokens = Program(stack, tenant.alice).tokens()
    assert ask(stack, tokens["access_token"]).status_code == 200
    for bearer in (tokens["access_token"], tokens["refresh_token"]):
        headers = {"Authorization": f"Bearer {bearer}"}
        assert httpx.get(f"{stack.url}/api/v1/tools/", headers=headers).status_code == 401
        assert httpx.get(f"{stack.url}/v1/models", headers=headers).status_code == 401
    refused = ask(stack, tokens["refresh_token"])
    assert refused.status_code == 401


async def test_a_token_for_another_address_is_refused(stack: Stack, tenant: Cast) -> None:
    from tenants.login.authentication import by_token

    tokens = await asyncio.to_thread(lambda: Program(stack, tenant.alice).tokens())
    assert await by_token(tokens["access_token"], f"{stack.url}/mcp") is not None
    assert await by_token(tokens["access_token"], "https://elsewhere.example/mcp") is None
    assert await by_token(tokens["refresh_token"], f"{stack.url}/mcp") is None


def test_a_token_is_limited_to_its_scopes(stack: Stack, tenant: Cast) -> None:
    token = Program(stack, tenant.alice).tokens(scope="tools:read")["access_token"]
    assert ask(stack, token).status_code == 200
    refused = ask(stack, token, "tools/call", name="save_note", arguments={"title": "a", "content": "b"})
    assert refused.status_code == 403
    assert 'error="insufficient_scope", scope="chat"' in refused.headers["www-authenticate"]
    assert rows("SELECT id FROM tool_calls WHERE tenant_id = %(t)s", t=tenant.id) == []


def test_the_tokens_of_a_removed_member_end_at_once(stack: Stack, tenant: Cast) -> None:
    program = Program(stack, tenant.alice)
    tokens = program.tokens()
    with on_login("operator"):
        Membership.objects.filter(tenant_id=tenant.id, user_id=tenant.alice.principal.user_id).delete()
    answer = ask(stack, tokens["access_token"])
    assert answer.status_code == 401
    assert 'error="invalid_token"' in answer.headers["www-authenticate"]
    assert program.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"
    assert _tokens(tenant) == []


def test_the_tokens_of_an_inactive_user_are_refused(stack: Stack, tenant: Cast) -> None:
    program = Program(stack, tenant.alice)
    tokens, code = program.tokens(), program.code()
    with on_login("operator"):
        User.objects.filter(pk=tenant.alice.principal.user_id).update(is_active=False)
    assert ask(stack, tokens["access_token"]).status_code == 401
    assert program.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"
    assert program.exchange(code).json()["error"] == "invalid_grant"


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"code_verifier": "x" * 64}, "invalid_grant"),
        ({"redirect_uri": "http://127.0.0.1:10/callback"}, "invalid_request"),
        ({"client_id": "nobody"}, "invalid_client"),
    ],
)
def test_a_code_that_comes_with_a_wrong_word_is_spent_or_another_clients(
    stack: Stack, tenant: Cast, changed: dict[str, str], error: str
) -> None:
    program = Program(stack, tenant.alice)
    refused = program.exchange(program.code(), **changed)
    assert (refused.status_code in (400, 401), refused.json()["error"]) == (True, error)
    assert [row["kind"] for row in _tokens(tenant)] == ["code"]


def test_a_code_of_another_client_is_worth_nothing(stack: Stack, tenant: Cast) -> None:
    program = Program(stack, tenant.alice)
    code = program.code()
    assert program.exchange(code, client_id=registered("Thief").id).json()["error"] == "invalid_grant"
    assert program.exchange(code).status_code == 200


@pytest.mark.parametrize("kind", ["code", "refresh"])
def test_of_many_uses_at_once_one_gets_tokens_and_then_the_grant_ends(stack: Stack, tenant: Cast, kind: str) -> None:
    program = Program(stack, tenant.alice)
    once = program.code() if kind == "code" else program.tokens()["refresh_token"]
    use = program.exchange if kind == "code" else program.refresh
    with ThreadPoolExecutor(5) as pool:
        answers = list(pool.map(lambda _: use(once), range(5)))
    assert sorted(answer.status_code for answer in answers) == [200, 400, 400, 400, 400]
    # Whoever had it may be a thief, so nobody keeps what came of it.
    [lucky] = [answer.json()["access_token"] for answer in answers if answer.status_code == 200]
    assert ask(stack, lucky).status_code == 401
    assert _tokens(tenant) == []


def test_a_refresh_that_asks_for_too_much_costs_nothing(stack: Stack, tenant: Cast) -> None:
    program = Program(stack, tenant.alice)
    token = program.tokens(scope="tools:read")["refresh_token"]
    assert program.refresh(token, scope="tools:read chat").json()["error"] == "invalid_scope"
    assert program.refresh(token, resource="https://elsewhere.example/").json()["error"] == "invalid_target"
    again = program.refresh(token, resource=f"{stack.url}/mcp")
    assert (again.status_code, again.json()["scope"]) == (200, "tools:read")


@pytest.mark.parametrize("kind", ["access_token", "refresh_token"])
def test_revoking_either_token_ends_both(stack: Stack, tenant: Cast, kind: str) -> None:
    program, thief = Program(stack, tenant.alice), registered("Thief")
    tokens = program.tokens()
    for client_id, status in ((thief.id, 200), (program.client_id, 401)):
        form = {"token": tokens[kind], "client_id": client_id}
        assert httpx.post(f"{stack.url}/oauth/revoke", data=form).status_code == 200
        assert ask(stack, tokens["access_token"]).status_code == status
    assert _tokens(tenant) == []


@pytest.mark.parametrize(
    ("form", "error"),
    [
        ({}, "unsupported_grant_type"),
        ({"grant_type": "password", "username": "a", "password": "b"}, "unsupported_grant_type"),
        ({"grant_type": "client_credentials"}, "unsupported_grant_type"),
        ({"grant_type": "authorization_code"}, "invalid_request"),
        ({"grant_type": "authorization_code", "code": "tgc_x", "client_id": "a\0b"}, "invalid_request"),
        ({"grant_type": "refresh_token", "refresh_token": "x" * 10_000}, "invalid_grant"),
        ({"grant_type": ["refresh_token", "refresh_token"], "refresh_token": "x"}, "invalid_request"),
        (
            {"grant_type": "refresh_token", "refresh_token": "tgr_\ud800".encode("utf-8", "surrogatepass")},
            "invalid_grant",
        ),
    ],
)
def test_a_senseless_request_for_tokens_is_a_400(stack: Stack, tenant: Cast, form: dict[str, Any], error: str) -> None:
    answer = Program(stack, tenant.alice).token(**form)
    assert (answer.status_code, answer.json()["error"]) == (400, error)


@pytest.mark.parametrize("path", ["token", "revoke"])
def test_what_stands_in_the_address_is_no_form(stack: Stack, tenant: Cast, path: str) -> None:
    program = Program(stack, tenant.alice)
    token = program.tokens()["refresh_token"]
    form = {"grant_type": "refresh_token", "client_id": program.client_id, "refresh_token": token, "token": token}
    answer = httpx.post(f"{stack.url}/oauth/{path}", params={"token": token}, data=form)
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")
    assert program.refresh(token).status_code == 200


async def test_no_token_is_stored_and_what_ended_is_forgotten(stack: Stack, tenant: Cast) -> None:
    tokens = await asyncio.to_thread(lambda: Program(stack, tenant.alice).tokens())
    stored = str(rows("SELECT t::text AS t FROM client_tokens t WHERE tenant_id = %(t)s", t=tenant.id))
    for token in (tokens["access_token"], tokens["refresh_token"]):
        assert token not in stored and token.removeprefix("tgo_").removeprefix("tgr_") not in stored
    # As its owner would a month later.
    rows(
        "UPDATE client_tokens SET expires_at = now() - interval '1 s' WHERE tenant_id = %(t)s RETURNING kind",
        t=tenant.id,
    )
    rows(
        "UPDATE client_grants SET created_at = now() - interval '31 d' WHERE tenant_id = %(t)s RETURNING id",
        t=tenant.id,
    )
    assert (await asyncio.to_thread(ask, stack, tokens["access_token"])).status_code == 401
    await grants.forget()
    assert rows("SELECT id FROM client_grants WHERE tenant_id = %(t)s", t=tenant.id) == []
    assert _tokens(tenant) == []
