"""Where the caller is logged in: `/api/v1/sessions/`."""

from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_serializer
from rest_framework import generics, serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from gateway.rest.framework.pagination import Pages
from gateway.rest.framework.rows import RowsView
from gateway.rest.framework.schema import refusals
from tenants.errors import Refused
from tenants.login import sessions
from tenants.models import UserSession
from tenants.people.principal import scopes_of


class NarrowKey(Refused):
    """A key that may do less than its member ends no session of theirs."""

    status = 403
    code = "forbidden"

    def __init__(self) -> None:
        super().__init__(
            "This key is narrowed to some scopes, so it ends no sessions. Use /settings/sessions/, or a key with every "
            "scope of your role."
        )


@extend_schema_serializer(component_name="Session")
class SessionSerializer(serializers.ModelSerializer[UserSession]):
    """One place where the caller is logged in."""

    device = serializers.SerializerMethodField(help_text="The browser, as it says itself.")
    current = serializers.SerializerMethodField(help_text="Whether this request came with it.")

    class Meta:
        model = UserSession
        fields = ["id", "device", "agent", "address", "created_at", "last_used_at", "current"]

    def get_device(self, row: UserSession) -> str:
        """In words."""
        return sessions.device(row.agent)

    def get_current(self, row: UserSession) -> bool:
        """By the request's cookie."""
        return bool(row.session_key == self.context["key"])


class _LastUsedFirst(Pages):
    ordering = ("-last_used_at", "-id")  # type: ignore[assignment]


class _Sessions(RowsView[UserSession]):
    serializer_class = SessionSerializer
    queryset = UserSession.objects.none()
    pagination_class = _LastUsedFirst

    def rows(self) -> Any:
        """The caller's own, in whatever tenant they are used."""
        return sessions.of(self.principal.user_id)

    def get_serializer_context(self) -> dict[str, Any]:
        """Which one the request came with; none with a key."""
        return {**super().get_serializer_context(), "key": self.key}

    @property
    def key(self) -> str | None:
        """The key of the request's session."""
        return self.request.session.session_key if self.principal.key_id is None else None

    def check(self) -> None:
        """Raises NarrowKey."""
        if self.principal.key_id is not None and self.principal.scopes != scopes_of(self.principal.role):
            raise NarrowKey


class SessionListView(_Sessions, generics.ListAPIView[UserSession]):
    """Where the caller is logged in."""

    @extend_schema(operation_id="list_sessions")
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """The sessions that go on, the last used first."""
        return super().get(request, *args, **kwargs)

    @extend_schema(operation_id="end_other_sessions", responses={204: None, **refusals(NarrowKey)})
    def delete(self, request: Request) -> Response:
        """End all of them at once, but the one that the request came with."""
        self.check()
        sessions.end_others(self.principal.user_id, self.key)
        return Response(status=204)


class SessionView(_Sessions):
    """One session."""

    @extend_schema(operation_id="end_session", responses={204: None, **refusals(NarrowKey)})
    def delete(self, request: Request, id: Any) -> Response:
        """End it at once."""
        self.check()
        row = self.get_queryset().filter(pk=id).first()
        if row is None:
            raise NotFound("There is no such session.")
        sessions.end(row)
        return Response(status=204)
