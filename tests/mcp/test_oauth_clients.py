"""Which OAuth clients may ask: by a metadata document at their id, registered where that is allowed, the operator's."""

import io
import json
from typing import Any

import pytest
from allauth.idp.oidc.models import Client as OAuthClient
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.test import Client, override_settings
from redis.exceptions import ConnectionError as RedisAway

from gateway.oauth import clients, redirects
from tests.browser.sessions import session_of
from tests.mcp.oauth import registered
from tests.people import Cast
from tools.network import egress

ID = "https://editor.example/oauth/client.json"
BACK = "http://localhost:3118/callback"
CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


def _document(**changed: Any) -> dict[str, Any]:
    given = {"client_id": ID, "client_name": "Editor", "redirect_uris": ["http://localhost/callback"], **changed}
    return {name: value for name, value in given.items() if value is not None}


class _Web:
    """What the address of the document answers, and how often it was asked."""

    def __init__(self, body: bytes, status: int = 200, encoding: str = ""):
        self.answer, self.asked = egress.Answer(status, body, encoding), 0

    async def request(self, method: str, url: str, **options: Any) -> egress.Answer:
        egress.check(url)
        assert options["most"] <= 64 * 1024 and options["seconds"] <= 10
        self.asked += 1
        return egress.Answer(self.answer.status, self.answer.body[: options["most"]], self.answer.encoding)


@pytest.fixture
def person(tenant: Cast) -> Client:
    client = Client()
    client.cookies["sessionid"] = session_of(tenant.alice)
    return client


def _ask(person: Client, client_id: str = ID, back: str = BACK) -> Any:
    form = {"client_id": client_id, "redirect_uri": back, "response_type": "code", "code_challenge": CHALLENGE}
    return person.get("/oauth/authorize", form | {"code_challenge_method": "S256", "scope": "chat"})


def test_a_client_with_a_metadata_document_is_known_by_its_host(
    person: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    web = _Web(json.dumps(_document()).encode())
    monkeypatch.setattr(egress, "request", web.request)
    OAuthClient.objects.using("operator").filter(id=ID).delete()
    page = _ask(person)
    assert page.status_code == 200
    assert "vouched for by <strong>editor.example</strong>" in page.content.decode()
    assert "form-action 'self' http://localhost:3118" in page["Content-Security-Policy"]
    # It is read again only when it is an hour old; and then whatever it said before is over.
    assert (_ask(person).status_code, web.asked) == (200, 1)
    OAuthClient.objects.using("operator").filter(id=ID).update(data={"source": "document", "read_at": 0})
    web.answer = egress.Answer(200, json.dumps(_document(redirect_uris=["https://other.example/"])).encode())
    assert (_ask(person).status_code, web.asked) == (400, 2)
    OAuthClient.objects.using("operator").filter(id=ID).update(data={"source": "document", "read_at": 0})
    web.answer = egress.Answer(503, b"")
    assert (_ask(person, back="https://other.example/").status_code, web.asked) == (400, 3)


@pytest.mark.parametrize(
    ("web", "words"),
    [
        (_Web(b"x" * 100_000), "answers something else"),
        (_Web(b"{}", 302), "answers something else"),
        (_Web(b"{}", encoding="gzip"), "answers something else"),
        (_Web(b"["), "not JSON"),
        (_Web(b"[" * 10_000), "not JSON"),
        (_Web(b"[]"), "not a JSON object"),
        (_Web(json.dumps(_document(client_id=f"{ID}x")).encode()), "another client"),
        (_Web(json.dumps(_document(token_endpoint_auth_method="private_key_jwt")).encode()), "not offered"),
        (_Web(json.dumps(_document(client_name="a\u202eb")).encode()), "can be printed"),
        (_Web(json.dumps(_document(client_name=["a"])).encode()), "can be printed"),
        (_Web(json.dumps(_document(redirect_uris=None)).encode()), "redirect_uris"),
        (_Web(json.dumps(_document(redirect_uris=["javascript:alert(1)"])).encode()), "redirect_uris"),
    ],
)  # fmt: skip
def test_a_document_that_says_nothing_sound_is_no_client(
    person: Client, monkeypatch: pytest.MonkeyPatch, web: _Web, words: str
) -> None:
    monkeypatch.setattr(egress, "request", web.request)
    OAuthClient.objects.using("operator").filter(id=ID).delete()
    page = _ask(person)
    assert (page.status_code, words in page.content.decode()) == (400, True), page.content.decode()
    assert not OAuthClient.objects.using("operator").filter(id=ID).exists()


@pytest.mark.parametrize(
    "client_id",
    ["https://127.0.0.1/c.json", "https://169.254.169.254/latest", "https://2130706433/c", "https://[::1]/c",
     "https://user:pw@editor.example/c", "https://editor.example/", "https://editor.example/a/../b",
     "https://editor.example/c?x=1", "https://editor.example/c#x", "http://editor.example/c", "HTTPS://editor.example/c",
     "https://editor.example/\n", "https://" + "e" * 200 + ".example/c", "https://[", ""],
)  # fmt: skip
def test_an_id_that_may_not_be_asked_is_asked_nothing(
    person: Client, monkeypatch: pytest.MonkeyPatch, client_id: str
) -> None:
    web = _Web(json.dumps(_document(client_id=client_id)).encode())
    monkeypatch.setattr(egress, "request", web.request)
    assert (_ask(person, client_id).status_code, web.asked) == (400, 0)


def test_nobody_who_is_not_logged_in_has_toolgate_ask_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    web = _Web(json.dumps(_document()).encode())
    monkeypatch.setattr(egress, "request", web.request)
    assert (_ask(Client()).status_code, web.asked) == (302, 0)
    form = {"client_id": ID, "grant_type": "refresh_token", "refresh_token": "tgr_x"}
    assert (Client().post("/oauth/token", form).status_code, web.asked) in ((400, 0), (401, 0))


def _register(body: object, address: str = "192.0.2.1") -> Any:
    data = body if isinstance(body, str) else json.dumps(body)
    return Client(REMOTE_ADDR=address).post("/oauth/register", data, content_type="application/json")


def test_nobody_registers_unless_the_operator_allows_it() -> None:
    answer = _register({"redirect_uris": [BACK]})
    assert (answer.status_code, answer.json()["error"]) == (403, "access_denied")


@override_settings(TOOLGATE_OAUTH_REGISTRATION=True, OAUTH_REGISTRATIONS="1000/d")
def test_a_registered_client_is_public_and_may_ask(person: Client) -> None:
    wants = {"client_name": "Editor", "redirect_uris": [BACK], "token_endpoint_auth_method": "client_secret_post"}
    answer = _register(wants)
    made = answer.json()
    assert (answer.status_code, made["token_endpoint_auth_method"], "client_secret" in made) == (201, "none", False)
    assert _ask(person, made["client_id"]).status_code == 200
    metadata = Client().get("/.well-known/oauth-authorization-server").json()
    assert metadata["registration_endpoint"] == "http://127.0.0.1:8000/oauth/register"


@override_settings(TOOLGATE_OAUTH_REGISTRATION=True, OAUTH_REGISTRATIONS="1000/d")
@pytest.mark.parametrize(
    "body",
    ["", "[", "[]", "null", '{"redirect_uris": 1}', '{"redirect_uris": []}', '{"redirect_uris": ["x"]}',
     '{"redirect_uris": [["http://localhost/"]]}', '{"redirect_uris": ["http://editor.example/"]}',
     '{"redirect_uris": ["https://a.example/"], "client_name": "\\u0000"}',
     json.dumps({"redirect_uris": ["https://a.example/"] * 100}),
     json.dumps({"redirect_uris": ["https://a.example/" + "a" * 20_000]})],
)  # fmt: skip
def test_senseless_metadata_registers_nothing(body: str) -> None:
    before = OAuthClient.objects.using("operator").count()
    answer = _register(body)
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_client_metadata")
    assert OAuthClient.objects.using("operator").count() == before


@override_settings(TOOLGATE_OAUTH_REGISTRATION=True, OAUTH_REGISTRATIONS="2/d")
def test_registrations_are_counted_and_refused_when_they_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    statuses = [_register({"redirect_uris": [BACK]}, "192.0.2.77").status_code for _ in range(3)]
    assert statuses == [201, 201, 429]

    def away(*args: object, **kwargs: object) -> None:
        raise RedisAway("away")

    monkeypatch.setattr(cache, "add", away)
    answer = _register({"redirect_uris": [BACK]}, "192.0.2.78")
    assert (answer.status_code, answer["Retry-After"]) == (503, "10")


def test_the_operator_makes_a_client(person: Client) -> None:
    said = io.StringIO()
    call_command("create_oauth_client", "Editor", "--redirect-uri", BACK, stdout=said)
    assert _ask(person, said.getvalue().strip()).status_code == 200
    with pytest.raises(CommandError, match="redirect_uris"):
        call_command("create_oauth_client", "Editor", "--redirect-uri", "javascript:alert(1)", stdout=said)


@pytest.mark.parametrize(
    ("uri", "sound"),
    [
        ("https://editor.example/cb", True),
        ("https://editor.example:8443/cb?x=1", True),
        ("http://localhost/cb", True),
        ("http://127.0.0.1:99/cb", True),
        ("http://[::1]:99/", True),
        ("cursor://anysphere.cursor-retrieval/oauth/callback", True),
        ("com.example.app:/cb", True),
        ("http://editor.example/cb", False),
        ("http://localhost.evil.example/", False),
        ("http://localhost:1@evil.example/", False),
        ("https://evil.example\\@editor.example/cb", False),
        ("https://a@editor.example/cb", False),
        ("https://editor.example/cb#x", False),
        ("https://*.example/cb", False),
        ("javascript://a/%0aalert(1)", False),
        ("data:/text", False),
        ("file:///etc/passwd", False),
        ("//editor.example/cb", False),
        ("cursor://a b", False),
        ("https://editor.example/\n", False),
        ("https://e" + "é" + ".example/", False),
    ],
)
def test_where_a_client_may_have_people_sent(uri: str, sound: bool) -> None:
    assert (redirects.problem_of(uri) is None) is sound


def test_the_port_is_free_on_the_users_own_machine_only() -> None:
    allowed = ["http://localhost/cb", "https://editor.example/cb"]
    assert redirects.is_allowed("http://localhost:5123/cb", allowed)
    assert not redirects.is_allowed("http://127.0.0.1:5123/cb", allowed)
    assert not redirects.is_allowed("http://localhost:5123/cb/more", allowed)
    assert not redirects.is_allowed("https://editor.example:8443/cb", allowed)
    assert not redirects.is_allowed("https://localhost:5123/cb", allowed)


def test_a_client_has_no_secret_that_any_word_fits() -> None:
    client = registered()
    assert not client.check_secret("!") and not client.check_secret("")
    assert clients.vouched_for_by(client) == "the operator of this Toolgate"
