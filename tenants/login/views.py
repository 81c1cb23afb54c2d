"""REST views that stand within one tenant's walls."""

from contextlib import ExitStack
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from tenants.people.principal import Principal
from tenants.scope import transactions


class WithinTenant(APIView):
    """A REST view whose ORM queries run inside the caller's walls, in one transaction."""

    scope = "history:read"
    _walls: ExitStack

    @property
    def principal(self) -> Principal:
        """Who is asking."""
        principal = self.request.user
        assert isinstance(principal, Principal)
        return principal

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Authenticate and authorise, then put up the walls."""
        super().initial(request, *args, **kwargs)
        self._walls.enter_context(transactions.scope(self.principal.tenant_id, self.principal.user_id))

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> Response:
        """Take the walls down again whatever happened."""
        with ExitStack() as self._walls:
            return super().dispatch(request, *args, **kwargs)  # type: ignore[return-value]
