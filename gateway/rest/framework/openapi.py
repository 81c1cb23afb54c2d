"""What drf-spectacular cannot know by itself: the two ways to authenticate, and fields that are constants."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension, OpenApiSerializerFieldExtension

from gateway.http import problems


class ApiKeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """`Authorization: Bearer tg_…`."""

    target_class = "gateway.http.drf.ApiKeyAuthentication"
    name = "apiKey"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        """An HTTP bearer scheme."""
        return {"type": "http", "scheme": "bearer", "description": "An API key of a member: tg_…"}


class SessionScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Django's session cookie, with an X-CSRFToken on what changes things."""

    target_class = "gateway.http.drf.SessionAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        """A cookie scheme."""
        return {
            "type": "apiKey",
            "in": "cookie",
            "name": "sessionid",
            "description": "The session of a browser that is logged in; what changes something needs X-CSRFToken too.",
        }


class StreamTokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """`?token=…`, for one run's events."""

    target_class = "gateway.rest.chat.stream_tokens.StreamTokenAuthentication"
    name = "streamToken"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        """A token in the query."""
        description = "For one run's events and five minutes; made by POST …/stream-token."
        return {"type": "apiKey", "in": "query", "name": "token", "description": description}


class ConstantField(OpenApiSerializerFieldExtension):  # type: ignore[no-untyped-call]
    """A field that is always the same."""

    target_class = "gateway.rest.framework.fields.Constant"

    def map_serializer_field(self, auto_schema: Any, direction: str) -> dict[str, Any]:
        """A const, by which clients tell the members of a union apart."""
        return {"type": "string", "const": self.target.value}


class ProblemCodeField(OpenApiSerializerFieldExtension):  # type: ignore[no-untyped-call]
    """The code of a problem."""

    target_class = "gateway.rest.framework.fields.ProblemCode"

    def map_serializer_field(self, auto_schema: Any, direction: str) -> dict[str, Any]:
        """An enum of all codes."""
        return {"type": "string", "enum": problems.codes()}
