"""Puts a superuser's admin requests on the operator's database login."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest

from tenants.scope.routing import on_login

ADMIN = "/admin/"


class OperatorDatabase:
    """In /admin/ a superuser sees every tenant, through a separate login that the API never uses.

    It is the innermost middleware and synchronous, and so are those around it: a request changes threads once, and not
    for each of them.
    """

    sync_capable = True
    async_capable = False

    def __init__(self, get_response: Callable[[HttpRequest], Any]):
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> Any:
        """Choose the login when the user is known."""
        if not request.path.startswith(ADMIN) or not _is_operator(request):
            return self.get_response(request)
        with on_login("operator"):
            return _rendered(self.get_response(request))


def _is_operator(request: HttpRequest) -> bool:
    return bool(request.user.is_authenticated and request.user.is_superuser)


def _rendered(response: Any) -> Any:
    """Render on the same login, since a lazily rendered page queries while it renders."""
    if hasattr(response, "render") and not getattr(response, "is_rendered", True):
        response.render()
    return response
