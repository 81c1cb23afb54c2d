"""REST views in one tenant's scope."""

import re
from contextlib import ExitStack
from typing import Any

from django.db import transaction
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from tenants.login import reauthentication
from tenants.people import changes
from tenants.people.principal import Principal
from tenants.scope import transactions

_ETAG = re.compile(r'(?:W/)?"([^"]*)"')


def if_match(request: Request) -> str | None:
    """The revision that a change is based on, as If-Match has it; None: whichever there is."""
    header = request.headers.get("If-Match", "*").strip()
    if header == "*" or request.method in ("GET", "HEAD", "OPTIONS"):
        return None
    tag = _ETAG.fullmatch(header)
    # What is no ETag is none that a setting has.
    return tag[1] if tag else ""


def etag(revision: str) -> dict[str, str]:
    """The header of an answer that shows settings of this revision."""
    return {"ETag": f'"{revision}"'}


class WithinTenant(APIView):
    """A REST view whose ORM queries run in the caller's tenant scope, in one transaction."""

    scope = "history:read"
    # Whether it answers with an ETag, and If-Match is held to what is changed (`tenants.people.changes.based_on`).
    etagged = False
    _entered: ExitStack

    @property
    def principal(self) -> Principal:
        """Who is asking."""
        principal = self.request.user
        assert isinstance(principal, Principal)
        return principal

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Authenticate and authorise, then enter the tenant scope."""
        super().initial(request, *args, **kwargs)
        self._entered.enter_context(transactions.scope(self.principal.tenant_id, self.principal.user_id))
        confirmed = reauthentication.is_confirmed(request, self.principal)
        self._entered.enter_context(changes.acting(self.principal.user_id, "api", confirmed=confirmed))
        self._entered.enter_context(changes.based_on(if_match(request) if self.etagged else None))

    def handle_exception(self, exc: Exception) -> Response:
        """What is answered to a request that failed; what it wrote before that is undone."""
        response = super().handle_exception(exc)
        if transaction.get_connection().in_atomic_block:
            transaction.set_rollback(True)
        return response

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> Response:
        """Leave the tenant scope, whatever happened."""
        with ExitStack() as self._entered:
            return super().dispatch(request, *args, **kwargs)  # type: ignore[return-value]
