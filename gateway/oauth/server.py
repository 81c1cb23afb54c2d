"""oauthlib's endpoints for what is granted here, over allauth's clients and our grants and tokens."""

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlencode

from allauth.idp.oidc.internal.oauthlib.request_validator import OAuthLibRequestValidator
from django.conf import settings
from django.http import HttpRequest, QueryDict
from oauthlib.common import Request
from oauthlib.oauth2.rfc6749.endpoints import AuthorizationEndpoint, RevocationEndpoint, TokenEndpoint
from oauthlib.oauth2.rfc6749.grant_types import AuthorizationCodeGrant, RefreshTokenGrant
from oauthlib.oauth2.rfc6749.grant_types.authorization_code import code_challenge_method_s256
from oauthlib.oauth2.rfc6749.tokens import BearerToken

from gateway.oauth import redirects
from tenants.login import clients
from tenants.models import ClientToken

# What a client may be granted, in words for the person who is asked.
SCOPES = {
    "tools:read": "See which tools you may use, and what they are for",
    "chat": "Call these tools for you; what needs an approval still waits for one",
}


class Validator(OAuthLibRequestValidator):  # type: ignore[misc]
    """Answers oauthlib's questions; one for each request."""

    def __init__(self) -> None:
        super().__init__()
        self.spent: clients.Spent | None = None

    def client_authentication_required(self, request: Request, *args: Any, **kwargs: Any) -> bool:
        """Never: all clients are public."""
        return False

    def is_pkce_required(self, client_id: str, request: Request) -> bool:
        """Always, for the same reason."""
        return True

    def validate_redirect_uri(
        self, client_id: str, redirect_uri: str, request: Request, *args: Any, **kwargs: Any
    ) -> bool:
        """Letter by letter, but for the port of the user's own machine."""
        return redirects.is_allowed(redirect_uri, request.client.get_redirect_uris())

    def get_default_scopes(self, client_id: str, request: Request, *args: Any, **kwargs: Any) -> list[str]:
        """All there are."""
        return list(SCOPES)

    def validate_scopes(
        self, client_id: str, scopes: Iterable[str], client: Any, request: Request, *args: Any, **kwargs: Any
    ) -> bool:
        """Whether all of them exist."""
        return set(scopes) <= SCOPES.keys()

    def save_authorization_code(
        self, client_id: str, code: dict[str, str], request: Request, *args: Any, **kwargs: Any
    ) -> None:
        """Store what the member agreed to, and put our code in the place of oauthlib's."""
        code["code"] = clients.agree(
            request.principal,
            client_id,
            scopes=list(dict.fromkeys(request.scopes)),
            resource=settings.OAUTH_RESOURCE,
            details={"redirect_uri": request.redirect_uri, "challenge": request.code_challenge},
        )

    def validate_code(
        self, client_id: str, code: str, client: Any, request: Request, *args: Any, **kwargs: Any
    ) -> bool:
        """Spend the code, whatever else is wrong with the request."""
        return self._spend(ClientToken.Kind.CODE, code, request)

    def get_code_challenge(self, code: str, request: Request) -> str | None:
        """The challenge that the verifier has to fit."""
        return self.spent.details["challenge"] if self.spent else None

    def get_code_challenge_method(self, code: str, request: Request) -> str:
        """Others are refused before there is a code."""
        return "S256"

    def confirm_redirect_uri(
        self, client_id: str, code: str, redirect_uri: str, client: Any, request: Request, *args: Any, **kwargs: Any
    ) -> bool:
        """Whether the code was sent there."""
        return self.spent is not None and redirect_uri == self.spent.details["redirect_uri"]

    def invalidate_authorization_code(
        self, client_id: str, code: str, request: Request, *args: Any, **kwargs: Any
    ) -> None:
        """It is spent."""

    def validate_refresh_token(
        self, refresh_token: str, client: Any, request: Request, *args: Any, **kwargs: Any
    ) -> bool:
        """Spend the refresh token."""
        return self._spend(ClientToken.Kind.REFRESH, refresh_token, request)

    def get_original_scopes(self, refresh_token: str, request: Request, *args: Any, **kwargs: Any) -> list[str]:
        """What the member agreed to."""
        assert self.spent is not None
        return self.spent.scopes

    def rotate_refresh_token(self, request: Request) -> bool:
        """Always."""
        return True

    def save_bearer_token(self, token: dict[str, Any], request: Request, *args: Any, **kwargs: Any) -> None:
        """Store new tokens, and put them in the place of oauthlib's."""
        assert self.spent is not None
        token["access_token"], token["refresh_token"] = clients.issue(self.spent, request.scopes)

    def revoke_token(self, token: str, token_type_hint: str, request: Request, *args: Any, **kwargs: Any) -> None:
        """End the grant: with a refresh token its access tokens go too."""
        clients.revoke(token, request.client_id)

    def _spend(self, kind: ClientToken.Kind, token: str, request: Request) -> bool:
        self.spent = clients.spend(kind, token, request.client_id)
        if self.spent is None:
            return False
        request.user, request.scopes = self.spent.username, self.spent.scopes
        return True


class _CodeGrant(AuthorizationCodeGrant):  # type: ignore[misc]
    """The challenge is a hash of the verifier; a plain one shows it to whoever sees the first request."""

    _code_challenge_methods = {"S256": code_challenge_method_s256}


class Server(AuthorizationEndpoint, TokenEndpoint, RevocationEndpoint):  # type: ignore[misc]
    """The endpoints for one request."""

    def __init__(self) -> None:
        self.validator = Validator()
        code, refresh = _CodeGrant(self.validator), RefreshTokenGrant(self.validator)
        bearer = BearerToken(self.validator, lambda request: "", int(clients.ACCESS_LASTS.total_seconds()))
        AuthorizationEndpoint.__init__(
            self, default_response_type="code", response_types={"code": code}, default_token_type=bearer
        )
        TokenEndpoint.__init__(
            self,
            default_grant_type="authorization_code",
            grant_types={"authorization_code": code, "refresh_token": refresh},
            default_token_type=bearer,
        )
        RevocationEndpoint.__init__(self, self.validator)


def query(request: HttpRequest) -> tuple[str, str, str, dict[str, str]]:
    """An authorization request as oauthlib reads it."""
    return f"{request.path}?{_encoded(request.GET)}", "GET", "", {}


def form(request: HttpRequest) -> tuple[str, str, str, dict[str, str]]:
    """A posted request as oauthlib reads it."""
    return request.path, "POST", _encoded(request.POST), {"Content-Type": "application/x-www-form-urlencoded"}


def _encoded(given: QueryDict) -> str:
    return urlencode([(name, value) for name, values in given.lists() for value in values])
