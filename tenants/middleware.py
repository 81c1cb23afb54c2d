"""Puts a superuser's admin requests on the operator's database login."""

from collections.abc import Awaitable, Callable

from asgiref.sync import iscoroutinefunction, markcoroutinefunction, sync_to_async
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from tenants.routing import on_login

ADMIN = "/admin/"


class OperatorDatabase:
    """Inside /admin/ a superuser sees every tenant, through a login of its own that the API never uses."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]):
        self.get_response = get_response
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        """Choose the login once the user is known."""
        if not request.path.startswith(ADMIN):
            return self.get_response(request)
        if iscoroutinefunction(self.get_response):
            return self._awaited(request)
        if not _is_operator(request):
            return self.get_response(request)
        with on_login("operator"):
            return _rendered(self.get_response(request))

    async def _awaited(self, request: HttpRequest) -> HttpResponseBase:
        if not await sync_to_async(_is_operator)(request):
            return await self.get_response(request)  # type: ignore[misc]
        with on_login("operator"):
            return await sync_to_async(_rendered)(await self.get_response(request))  # type: ignore[misc]


def _is_operator(request: HttpRequest) -> bool:
    return request.user.is_authenticated and request.user.is_superuser


def _rendered(response: HttpResponseBase) -> HttpResponseBase:
    """A lazily rendered page queries while it renders, and must do so on the same login."""
    if hasattr(response, "render") and not getattr(response, "is_rendered", True):
        response.render()
    return response
