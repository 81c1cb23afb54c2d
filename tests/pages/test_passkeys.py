"""Passkeys: added by who proved who they are, good for a log-in without password or code, each answer once."""

import hashlib
import json
import re
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from django.contrib.sessions.backends.base import SessionBase as SessionStore
from django.core.cache import cache
from django.test import Client, override_settings
from fido2.cose import ES256
from fido2.utils import websafe_decode, websafe_encode
from fido2.webauthn import AttestationObject, AttestedCredentialData, AuthenticatorData, CollectedClientData
from redis.exceptions import ConnectionError as RedisAway

from tenants.login.second_factor import passkeys
from tenants.models import User
from tenants.scope import transactions
from tests.at_once import both
from tests.database import rows
from tests.pages.browsing import confirmed, signed_in
from tests.people import PASSWORD, Person, make_tenant

PAGE, STEP, CHALLENGE = "/settings/passkeys/", "/accounts/passkey/", "/accounts/passkey/challenge/"
ORIGIN, HOST = "https://toolgate.example", "toolgate.example"
FLAG = AuthenticatorData.FLAG


@pytest.fixture(autouse=True)
def _at_a_name() -> Any:
    """Where browsers have passkeys, and windows that no slow machine lets end within a test."""
    with override_settings(PUBLIC_URL=ORIGIN, LOGIN_ATTEMPTS="200/d"):
        yield


class Device:
    """What holds a passkey, and answers as it is told to."""

    def __init__(self) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.id = hashlib.sha256(str(id(self)).encode()).digest()
        self.counter, self.user = 0, b""
        self.flags, self.origin, self.host = FLAG.UP | FLAG.UV, ORIGIN, HOST

    def _data(self, credential: AttestedCredentialData | None = None) -> AuthenticatorData:
        flags = self.flags | (FLAG.AT if credential else 0)
        return AuthenticatorData.create(
            hashlib.sha256(self.host.encode()).digest(), flags, self.counter, credential or b""
        )

    def made(self, options: dict[str, Any]) -> str:
        """The answer to being asked for a new passkey."""
        asked = options["publicKey"]
        self.user = websafe_decode(asked["user"]["id"])
        public = ES256.from_cryptography_key(self.key.public_key())
        credential = AttestedCredentialData.create(b"\0" * 16, self.id, public)
        client = CollectedClientData.create("webauthn.create", asked["challenge"], self.origin)
        attested = AttestationObject.create("none", self._data(credential), {})
        return self._answer({"clientDataJSON": client.b64, "attestationObject": websafe_encode(attested)})

    def used(self, options: dict[str, Any]) -> str:
        """The answer to being asked for it."""
        client = CollectedClientData.create("webauthn.get", options["publicKey"]["challenge"], self.origin)
        data = self._data()
        signature = self.key.sign(data + hashlib.sha256(client).digest(), ec.ECDSA(hashes.SHA256()))
        return self._answer(
            {
                "clientDataJSON": client.b64,
                "authenticatorData": websafe_encode(data),
                "signature": websafe_encode(signature),
                "userHandle": websafe_encode(self.user),
            }
        )

    def _answer(self, response: dict[str, str]) -> str:
        text = websafe_encode(self.id)
        return json.dumps({"id": text, "rawId": text, "type": "public-key", "response": response})


def _options(client: Client) -> dict[str, Any]:
    [found] = re.findall(
        r'<script id="passkey-options" type="application/json">(.+?)</script>', client.get(PAGE).content.decode()
    )
    options: dict[str, Any] = json.loads(found)
    return options


def _added(person: Person, name: str = "laptop") -> Device:
    device, client = Device(), signed_in(person)
    answer = client.post(f"{PAGE}add/", {"name": name, "answer": device.made(_options(client))})
    assert (answer.status_code, answer["Location"]) == (302, PAGE)
    return device


def _stored(person: Person) -> list[dict[str, Any]]:
    return rows(
        "SELECT * FROM mfa_authenticator WHERE user_id = %(u)s AND type = 'webauthn' ORDER BY id",
        u=person.principal.user_id,
    )


def _log_in(device: Device, client: Client | None = None) -> tuple[Client, Any]:
    client = client or Client(REMOTE_ADDR="192.0.2.140")
    options = client.post(CHALLENGE).json()
    return client, client.post(STEP, {"answer": device.used(options), "next": "/history/"})


def _inside(client: Client) -> bool:
    return client.get("/history/").status_code == 200


def test_a_passkey_logs_in_without_password_and_code_and_is_a_second_factor() -> None:
    tenant = make_tenant(PASSWORD)
    device = _added(tenant.alice)
    rows("UPDATE tenants SET second_factor_required = true WHERE id = %(t)s RETURNING id", t=tenant.id)
    client, answer = _log_in(device)
    assert (answer.status_code, answer["Location"]) == (302, "/history/")
    assert _inside(client) and str(client.session["_auth_user_id"]) == str(tenant.alice.principal.user_id)
    assert client.post("/settings/keys/", {}).status_code == 200
    assert "last used" in client.get(PAGE).content.decode()


def test_adding_one_asks_again_who_one_is_and_removing_does_not() -> None:
    person = make_tenant(PASSWORD).alice
    late, device = signed_in(person, seconds_ago=3600), Device()
    page = late.get(PAGE).content.decode()
    assert "passkey-options" not in page and "/accounts/confirm/?next=/settings/passkeys/" in page
    asked = late.post(f"{PAGE}add/", {"name": "x", "answer": "{}"})
    assert asked.status_code == 403 and _stored(person) == []
    assert confirmed(late, late.get("/accounts/confirm/"), "/accounts/confirm/").status_code == 302
    form = {"name": "Ada's <b>phone</b>", "answer": device.made(_options(late))}
    assert late.post(f"{PAGE}add/", form).status_code == 302
    assert "Ada&#x27;s &lt;b&gt;phone" in late.get(PAGE).content.decode()
    [row] = _stored(person)
    later = signed_in(person, seconds_ago=3600)
    assert later.post(f"{PAGE}{row['id']}/rename/", {"name": "phone"}).status_code == 302
    assert _stored(person)[0]["data"]["name"] == "phone"
    assert later.post(f"{PAGE}{row['id']}/rename/", {"name": "a\u202eb"}).status_code == 400
    assert later.post(f"{PAGE}{row['id']}/remove/").status_code == 302
    assert _stored(person) == [] and _log_in(device)[1].status_code == 403


def test_an_answer_counts_once_and_in_its_own_session() -> None:
    device = _added(make_tenant(PASSWORD).alice)
    client, other = Client(REMOTE_ADDR="192.0.2.141"), Client(REMOTE_ADDR="192.0.2.142")
    answer = device.used(client.post(CHALLENGE).json())
    other.post(CHALLENGE)
    assert other.post(STEP, {"answer": answer}).status_code == 403 and not _inside(other)
    assert client.post(STEP, {"answer": answer}).status_code == 302
    client.post("/accounts/logout/")
    assert client.post(STEP, {"answer": answer}).status_code == 403 and not _inside(client)


def test_what_was_asked_is_answered_once_also_where_the_answer_was_wrong() -> None:
    device = _added(make_tenant(PASSWORD).alice)
    client = Client(REMOTE_ADDR="192.0.2.144")
    options = client.post(CHALLENGE).json()
    right = device.used(options)
    device.key = ec.generate_private_key(ec.SECP256R1())
    assert client.post(STEP, {"answer": device.used(options)}).status_code == 403
    assert client.post(STEP, {"answer": right}).status_code == 403 and not _inside(client)


def test_a_copy_of_a_device_that_counts_is_noticed() -> None:
    device = _added(make_tenant(PASSWORD).alice)
    device.counter = 7
    assert _log_in(device)[1].status_code == 302
    for counter in (7, 6, 0):
        device.counter = counter
        client, answer = _log_in(device)
        assert answer.status_code == 403 and not _inside(client)
    device.counter = 8
    assert _log_in(device)[1].status_code == 302


def test_of_two_copies_of_a_device_that_answer_at_once_one_logs_in() -> None:
    alice = make_tenant(PASSWORD).alice
    device, user = _added(alice), User(pk=alice.principal.user_id)
    device.counter = 7

    def use() -> bool:
        session = SessionStore()
        with transactions.of_user(user.pk):
            return passkeys.use(session, user, device.used(passkeys.begin_using(session)))

    first, second = both(use, use)
    assert (first, second.result()) == (True, False)


@pytest.mark.parametrize("wrong", ["origin", "host", "not unlocked", "not present", "key", "other's", "inactive"])
def test_a_wrong_answer_logs_nobody_in(wrong: str) -> None:
    tenant = make_tenant(PASSWORD)
    device = _added(tenant.alice)
    if wrong == "origin":
        device.origin = "https://toolgate.example.elsewhere.example"
    elif wrong == "host":
        device.host = "elsewhere.example"
    elif wrong == "not unlocked":
        device.flags = FLAG.UP
    elif wrong == "not present":
        device.flags = FLAG.UV
    elif wrong == "key":
        device.key = ec.generate_private_key(ec.SECP256R1())
    elif wrong == "other's":
        device.user = tenant.bob.principal.user_id.bytes
    else:
        rows("UPDATE users SET is_active = false WHERE id = %(u)s RETURNING id", u=tenant.alice.principal.user_id)
    client, answer = _log_in(device)
    assert (answer.status_code, "not known here" in answer.content.decode()) == (403, True)
    assert not _inside(client)


@pytest.mark.parametrize(
    "answer",
    ["", "x", "[]", "{}", "null", '{"response": 7}', '{"response": {"userHandle": "AA"}}', "[" * 9000, "x" * 70_000],
    ids=lambda text: text[:20],
)
def test_a_senseless_answer_is_a_wrong_one(answer: str) -> None:
    client = Client(REMOTE_ADDR="192.0.2.143")
    client.post(CHALLENGE)
    assert client.post(STEP, {"answer": answer}).status_code == 403
    person = make_tenant(PASSWORD).alice
    member = signed_in(person)
    member.get(PAGE)
    assert member.post(f"{PAGE}add/", {"name": "x", "answer": answer}).status_code == 400
    assert _stored(person) == []


def test_what_was_not_asked_for_is_not_added() -> None:
    tenant = make_tenant(PASSWORD)
    client, device = signed_in(tenant.alice), Device()
    options = _options(client)
    made = device.made(options)
    # Of another session; then a second time; then the same device again.
    theirs = signed_in(tenant.bob)
    _options(theirs)
    assert theirs.post(f"{PAGE}add/", {"name": "x", "answer": made}).status_code == 400
    assert client.post(f"{PAGE}add/", {"name": "x", "answer": made}).status_code == 302
    assert client.post(f"{PAGE}add/", {"name": "x", "answer": made}).status_code == 400
    assert client.post(f"{PAGE}add/", {"name": "x", "answer": device.made(_options(client))}).status_code == 400
    device.flags = FLAG.UP
    assert client.post(f"{PAGE}add/", {"name": "x", "answer": Device().made(options)}).status_code == 400
    assert (len(_stored(tenant.alice)), _stored(tenant.bob)) == (1, [])
    # Nor is another's renamed or removed.
    [row] = _stored(tenant.alice)
    assert theirs.post(f"{PAGE}{row['id']}/rename/", {"name": "mine"}).status_code == 404
    assert theirs.post(f"{PAGE}{row['id']}/remove/").status_code == 404
    assert _stored(tenant.alice) == [row]


def test_a_session_of_a_tenants_provider_adds_none() -> None:
    person = make_tenant(PASSWORD).alice
    client = signed_in(person)
    session = client.session
    session["single_sign_on_tenant"] = str(person.principal.tenant_id)
    session.save()
    assert "Log in with your password to add a passkey." in client.get(PAGE).content.decode()
    assert client.post(f"{PAGE}add/", {"name": "x", "answer": "{}"}).status_code == 403
    assert _stored(person) == []


def test_switching_the_codes_off_leaves_passkeys() -> None:
    from tenants.login.second_factor import factors
    from tenants.models import User
    from tenants.scope import transactions

    person = make_tenant(PASSWORD).alice
    device = _added(person)
    with transactions.of_user(person.principal.user_id):
        factors.disable(User(pk=person.principal.user_id))
    assert _log_in(device)[1].status_code == 302


def test_attempts_are_counted_and_never_uncounted(monkeypatch: pytest.MonkeyPatch) -> None:
    device = _added(make_tenant(PASSWORD).alice)
    right, device.key = device.key, ec.generate_private_key(ec.SECP256R1())
    with override_settings(LOGIN_ATTEMPTS="2/d"):
        statuses = [_log_in(device, Client(REMOTE_ADDR=f"192.0.2.{150 + last}"))[1].status_code for last in range(2)]
        device.key = right
        client, answer = _log_in(device, Client(REMOTE_ADDR="192.0.2.152"))
    assert (statuses, answer.status_code, _inside(client)) == ([403, 403], 429, False)
    client = Client(REMOTE_ADDR="192.0.2.153")
    options = client.post(CHALLENGE).json()

    def away(*args: object, **kwargs: object) -> None:
        raise RedisAway("away")

    monkeypatch.setattr(cache, "add", away)
    assert client.post(STEP, {"answer": device.used(options)}).status_code == 503
    monkeypatch.undo()
    assert not _inside(client)


@pytest.mark.parametrize("address", ["http://127.0.0.1:8000", "http://[::1]:8000", "http://toolgate.example"])
def test_where_browsers_have_none_the_pages_say_so(address: str) -> None:
    with override_settings(PUBLIC_URL=address):
        assert "browsers have them at a name" in signed_in(make_tenant().alice).get(PAGE).content.decode()
        assert "browsers have them at a name" in Client().get(STEP).content.decode()
        assert Client().post(CHALLENGE).status_code == 409
