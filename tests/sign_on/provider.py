"""An OpenID provider that a test steers: it signs what it is told to, true or not."""

import base64
import hashlib
import html
import json
import re
import time
import uuid
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from django.test import Client

from gateway.sign_on import setup
from tenants.models import ConfirmedDomain, SignOnProvider
from tenants.people.changes import acting
from tenants.scope import transactions
from tenants.scope.routing import on_login
from tests.people import Cast
from tests.services.api import Api, Asked, Reply, as_json

CLIENT, SECRET = "toolgate", "a secret: with/odd&characters"
START, BACK = "/accounts/single-sign-on/", "/accounts/single-sign-on/callback/"
_KEYS: list[rsa.RSAPrivateKey] = []


def key(which: int) -> rsa.RSAPrivateKey:
    """One of a few keys; making one takes its time."""
    while len(_KEYS) <= which:
        _KEYS.append(rsa.generate_private_key(public_exponent=65537, key_size=2048))
    return _KEYS[which]


def as_jwk(which: int) -> dict[str, Any]:
    """Its public half, as the provider publishes it."""
    made: dict[str, Any] = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key(which).public_key()))
    return made | {"kid": f"key-{which}", "use": "sig", "alg": "RS256"}


class Provider:
    """What it says: `claims` of who logs in next, `metadata` and `published` keys; `signs_with` may be another key."""

    def __init__(self, api: Api, issuer: str):
        self.api, self.issuer = api, issuer
        self.domain = f"{uuid.uuid4().hex[:12]}.example"
        self.claims: dict[str, Any] = {"sub": "ada", "email": f"ada@{self.domain}", "email_verified": True}
        self.metadata: dict[str, Any] = {}
        self.published, self.signs_with, self.header = [0], 0, {}
        self.token: Any = None
        self.userinfo: dict[str, Any] | None = None
        self._codes: dict[str, dict[str, str]] = {}
        api.on("/.well-known/openid-configuration", lambda asked: as_json(self._metadata()))
        api.on("/jwks", lambda asked: as_json({"keys": [as_jwk(each) for each in self.published]}))
        api.on("/token", self._token)
        api.on("/me", lambda asked: as_json(self.userinfo or {}, 200 if self.userinfo else 404))

    def _metadata(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/auth",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/jwks",
            "userinfo_endpoint": f"{self.issuer}/me",
        } | self.metadata

    def _token(self, asked: Asked) -> Reply:
        form = {name: values[0] for name, values in parse_qs(asked.body.decode()).items()}
        known = self._codes.pop(form["code"], None)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest())
        if known is None or challenge.rstrip(b"=").decode() != known["code_challenge"]:
            return as_json({"error": "invalid_grant"}, 400)
        token = self.token if self.token is not None else self.signed({"nonce": known["nonce"]} | self.claims)
        return as_json({"access_token": "an-access-token", "token_type": "Bearer", "id_token": token})

    def signed(self, claims: dict[str, Any]) -> str:
        """An ID token; None leaves a claim out."""
        now = int(time.time())
        usual = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 300, "auth_time": now}
        said = {name: value for name, value in (usual | claims).items() if value is not None}
        header = {"kid": f"key-{self.signs_with}"} | self.header
        return jwt.encode(said, key(self.signs_with), "RS256", headers=header)

    def accept(self, where: str) -> dict[str, str]:
        """Log in there; the query that the browser is sent back with."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(where).query).items()}
        assert asked["response_type"] == "code" and asked["code_challenge_method"] == "S256"
        code = uuid.uuid4().hex
        self._codes[code] = asked
        return {"code": code, "state": asked["state"]}

    def set_up(self, tenant: Cast, *, confirm: bool = True, **given: Any) -> SignOnProvider:
        """The tenant's, by its owner; the operator confirms the domain."""
        if confirm:
            with on_login("operator"):
                ConfirmedDomain.objects.create(domain=self.domain, tenant_id=tenant.id)
        wanted = {"domain": self.domain, "issuer": self.issuer, "client_id": CLIENT, "client_secret": SECRET}
        owner = tenant.olga.principal
        with transactions.scope(tenant.id, owner.user_id), acting(owner.user_id, "page"):
            return setup.create(owner, wanted | given)


def sent_to(answer: Any) -> str:
    """Where the page that leaves goes to."""
    assert answer.status_code == 200, answer.content.decode()
    [where] = re.findall(r'<a class="button main" href="([^"]+)" rel="noreferrer">', answer.content.decode())
    return html.unescape(where)


def log_in(client: Client, provider: Provider, **query: str) -> Any:
    """The answer to coming back, of somebody whom the provider identifies as it is told."""
    where = sent_to(client.post(START, {"email": f"anybody@{provider.domain}", "next": "/history/"}))
    return client.get(BACK, provider.accept(where) | query)
