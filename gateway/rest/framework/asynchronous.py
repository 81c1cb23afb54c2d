"""DRF views with coroutines for handlers: authenticated like any other, without holding a thread while they wait."""

from typing import Any

from asgiref.sync import sync_to_async
from django.db import connections
from django.http.response import HttpResponseBase
from rest_framework.request import Request
from rest_framework.views import APIView

from gateway.rest.framework.schema import ProblemSchema
from tenants.people.principal import Principal
from tenants.scope.transactions import TenantScope


class AsyncView(APIView):
    """`get`, `post` and so on are `async def`; `scope` is the scope that they ask for."""

    scope = "chat"
    schema = ProblemSchema()

    @property
    def principal(self) -> Principal:
        """Who is asking."""
        principal = self.request.user
        assert isinstance(principal, Principal)
        return principal

    @property
    def tenant_scope(self) -> TenantScope:
        """The tenant and the user that the caller is."""
        return TenantScope(self.principal.tenant_id, self.principal.user_id)

    async def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> HttpResponseBase:  # type: ignore[override]
        """APIView.dispatch, with the handler awaited and the authentication off the event loop."""
        self.args, self.kwargs = args, kwargs
        self.request = request = self.initialize_request(request, *args, **kwargs)
        self.headers = self.default_response_headers
        try:
            await sync_to_async(self._admit)(request, *args, **kwargs)
            handler = getattr(self, (request.method or "").lower(), None) or self.http_method_not_allowed
            answered = handler(request, *args, **kwargs)
            response = await answered if hasattr(answered, "__await__") else answered
        except Exception as error:
            response = await sync_to_async(self.handle_exception)(error)
        self.response = self.finalize_response(request, response, *args, **kwargs)
        self.response.headers.setdefault("Cache-Control", "no-store")
        return self.response

    def _admit(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Authenticate and authorise, and keep no connection: the request may last for hours."""
        try:
            self.initial(request, *args, **kwargs)
        finally:
            connections["default"].close()

    async def options(self, request: Any, *args: Any, **kwargs: Any) -> HttpResponseBase:  # type: ignore[override]
        """What DRF answers to OPTIONS."""
        return await sync_to_async(super().options)(request, *args, **kwargs)
