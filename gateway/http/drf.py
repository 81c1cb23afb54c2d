"""The rules of `gateway.http` as Django REST framework takes them: authentication, permission, and parser.

REST framework imports this module while it is imported itself, so what needs its views is in `drf_errors`.
"""

from collections.abc import Mapping
from typing import IO, Any

from rest_framework import authentication, exceptions
from rest_framework.parsers import BaseParser
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from gateway.http import bodies
from gateway.http.authentication import permit
from gateway.http.errors import CHALLENGE, InvalidKey, MissingScope
from gateway.http.request_limits import admit_now
from tenants.login.authentication import bearer, by_key_now, by_session
from tenants.people.principal import Principal


class ApiKeyAuthentication(authentication.BaseAuthentication):
    """`Authorization: Bearer tg_…`."""

    def authenticate(self, request: Request) -> tuple[Principal, None] | None:
        """Raises InvalidKey for a bearer that is no valid key; None when there is no bearer at all."""
        key = bearer(request.META.get("HTTP_AUTHORIZATION", ""))
        if key is None:
            return None
        principal = by_key_now(key)
        if principal is None:
            raise InvalidKey
        return _admitted(request, principal), None

    def authenticate_header(self, request: Request) -> str:
        """The challenge of a 401."""
        return CHALLENGE


class SessionAuthentication(authentication.SessionAuthentication):
    """Django's session, with CSRF checked."""

    def authenticate(self, request: Request) -> tuple[Principal, None] | None:  # type: ignore[override]
        """The session's user as a member of their current tenant."""
        principal = by_session(request._request)
        if principal is None:
            return None
        # On the DRF request it would parse the body, and the view that reads it raw would find nothing.
        self.enforce_csrf(request._request)  # type: ignore[arg-type]
        return _admitted(request, principal), None


def _admitted(request: Request, principal: Principal) -> Principal:
    """The principal, within the limits of requests; refusals find it at Django's request."""
    request._request.principal = principal  # type: ignore[attr-defined]
    return admit_now(principal, request.method or "")


class HasScope(BasePermission):
    """The principal's scopes hold the one that the view names in `scope`."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """False becomes 401 without a principal and 403 with one."""
        principal = request.user
        if not isinstance(principal, Principal):
            return False
        try:
            permit(principal, view.scope)
        except MissingScope as refusal:
            self.message = refusal.detail
            return False
        return True


class JSONParser(BaseParser):
    """Reads JSON; what is not JSON is a 400."""

    media_type = "application/json"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        """Raises ParseError."""
        try:
            return bodies.json(stream.read())
        except bodies.NotJSON as error:
            raise exceptions.ParseError(str(error)) from None
