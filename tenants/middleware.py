"""Puts a superuser's admin requests on the operator's database login."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from tenants.routing import on_login


class OperatorDatabase:
    """Inside /admin/ a superuser sees every tenant, through a login of its own that the API never uses."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]):
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Choose the login once the user is known."""
        if request.path.startswith("/admin/") and request.user.is_authenticated and request.user.is_superuser:
            with on_login("operator"):
                response = self.get_response(request)
                # A lazily rendered page queries while it renders, and must do so on the same login.
                if hasattr(response, "render") and not getattr(response, "is_rendered", True):
                    response.render()
                return response
        return self.get_response(request)
