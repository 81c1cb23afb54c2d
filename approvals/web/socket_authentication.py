"""Who opens a socket: a member by their key, or by their session from a page of ours."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.sessions.backends.db import SessionStore
from django.http import HttpRequest, parse_cookie
from django.http.request import split_domain_port, validate_host

from tenants.login.authentication import SecondFactorMissing, bearer, by_key_now, by_session
from tenants.people.principal import Principal


class SocketClient:
    """What a handshake says of its sender, to be looked up again whenever it matters."""

    def __init__(self, scope: Mapping[str, Any]):
        self._headers: dict[str, str] = {}
        for name, value in scope["headers"]:
            known = self._headers.get(name.decode("latin-1"))
            text = value.decode("latin-1")
            # Two are none that anything is equal to.
            self._headers[name.decode("latin-1")] = text if known is None else f"{known}, {text}"

    def principal(self) -> Principal | None:
        """The member as the database knows them at this moment, or None; synchronous.

        A key needs no origin: no browser sends it by itself. A session counts only from a page of this host, or of
        CORS_ALLOWED_ORIGINS.
        """
        key = bearer(self._headers.get("authorization", ""))
        if key is not None:
            return by_key_now(key)
        if not self._from_a_page_of_ours():
            return None
        session_key = parse_cookie(self._headers.get("cookie", "")).get(settings.SESSION_COOKIE_NAME, "")
        if not (session_key.isascii() and session_key.isalnum()):
            return None
        request = HttpRequest()
        request.session = SessionStore(session_key)
        request.user = get_user(request)
        with suppress(SecondFactorMissing):
            return by_session(request)
        return None

    def _from_a_page_of_ours(self) -> bool:
        """The browser says which page opens the socket, and no page can make it say something else."""
        origin, host = self._headers.get("origin", "").lower(), self._headers.get("host", "").lower()
        if origin in settings.CORS_ALLOWED_ORIGINS:
            return True
        schemes = ("https",) if settings.SESSION_COOKIE_SECURE else ("https", "http")
        domain, _ = split_domain_port(host)
        ours = validate_host(domain, settings.ALLOWED_HOSTS)
        return ours and any(origin == f"{scheme}://{host}" for scheme in schemes)
