"""A user's own accounts at services over REST: what is connected, connecting one, and ending that."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gateway.rest.framework.asynchronous import AsyncView
from gateway.rest.framework.fields import Recorded
from gateway.rest.framework.schema import refusals
from services.connections import flow, listing, revocation
from services.connections.errors import NoSuchService, ServerFailed
from tenants.people.changes import acting

STATES = (listing.CONNECTED, listing.EXPIRED, listing.NEEDED)


class Connection(Recorded):
    """A service that people connect to, and the caller's connection; never a token."""

    service = serializers.CharField()
    description = serializers.CharField()
    url = serializers.CharField()
    state = serializers.ChoiceField(choices=STATES)
    issuer = serializers.CharField(allow_null=True, help_text="The authorization server; null: found at connecting.")
    scopes = serializers.ListField(child=serializers.CharField(), help_text="Granted; of none yet, what is asked for.")
    resource = serializers.CharField(allow_null=True, help_text="What the tokens are for, where the server is told.")
    connected_at = serializers.DateTimeField(allow_null=True)
    last_used_at = serializers.DateTimeField(allow_null=True, help_text="To the minute.")
    expires_at = serializers.DateTimeField(allow_null=True, help_text="Null where it refreshes itself.")
    problem = serializers.CharField(allow_null=True, help_text="Why the last refresh failed.")


class ConnectionList(serializers.Serializer[Any]):
    """The caller's connections."""

    connections = Connection(many=True)


class Connect(serializers.Serializer[Any]):
    """Where to go in a browser."""

    authorize_url = serializers.CharField()
    expires_at = serializers.DateTimeField()
    scopes = serializers.ListField(child=serializers.CharField(), help_text="What is asked for.")


class ConnectionListView(AsyncView):
    """The caller's own connections."""

    pagination_class = None

    @extend_schema(operation_id="list_connections", responses={200: ConnectionList})
    async def get(self, request: Request) -> Response:
        """Every service that people connect to, by slug."""
        return Response({"connections": await listing.of_user(self.tenant_scope)})


class ConnectView(AsyncView):
    """Connecting."""

    @extend_schema(
        operation_id="connect_service",
        request=None,
        responses={200: Connect, **refusals(NoSuchService, ServerFailed)},
    )
    async def post(self, request: Request, slug: str) -> Response:
        """The address to open in a browser in which the caller is logged in to Toolgate, which asks once more there."""
        return Response(await flow.begin(self.tenant_scope, slug, None))


class ConnectionView(AsyncView):
    """One connection."""

    @extend_schema(operation_id="disconnect_service", responses={204: None, **refusals(NoSuchService)})
    async def delete(self, request: Request, slug: str) -> Response:
        """Forget it, and tell its server so; 204 also when there was none."""
        with acting(self.tenant_scope.user_id, "api"):
            ended = await flow.end(self.tenant_scope, slug)
        if ended:
            await revocation.ask([self.tenant_scope.tenant_id])
        return Response(status=204)
