"""How the OpenAPI document describes the two ways to authenticate."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension


class ApiKeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """`Authorization: Bearer tg_…`."""

    target_class = "tenants.authentication.ApiKeyAuthentication"
    name = "apiKey"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        """An HTTP bearer scheme."""
        return {"type": "http", "scheme": "bearer", "description": "An API key of a member: tg_…"}


class SessionScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Django's session cookie, with an X-CSRFToken on what changes things."""

    target_class = "tenants.authentication.SessionAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        """A cookie scheme."""
        return {"type": "apiKey", "in": "cookie", "name": "sessionid"}
