"""Invitations over REST: `/api/v1/invitations/`."""

import uuid
from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_field, extend_schema_serializer, extend_schema_view
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gateway.rest.approvals.request_serializers import Someone
from gateway.rest.framework.rows import RowsView
from gateway.rest.framework.schema import refusals
from tenants.login.reauthentication import ReauthenticationRequired
from tenants.members import invitations
from tenants.members.errors import AlreadyMember, InvalidAddress, NoSuchInvitation, TooManyInvitations
from tenants.models import Invitation, Role


@extend_schema_serializer(component_name="Invitation")
class InvitationSerializer(serializers.ModelSerializer[Invitation]):
    """An invitation that can be accepted still, without its link."""

    created_by = serializers.SerializerMethodField()

    class Meta:
        model = Invitation
        fields = ["id", "email", "role", "created_by", "created_at", "expires_at"]

    @extend_schema_field(Someone(allow_null=True))
    def get_created_by(self, row: Invitation) -> Any:
        """{"id", "username"}; null: the operator."""
        return None if row.created_by is None else Someone(row.created_by).data


@extend_schema_serializer(component_name="NewInvitation")
class NewInvitationSerializer(InvitationSerializer):
    """An invitation that was just made: `link` is shown this once."""

    link = serializers.URLField()

    class Meta(InvitationSerializer.Meta):
        fields = [*InvitationSerializer.Meta.fields, "link"]


@extend_schema_serializer(component_name="InvitationRequest")
class WantedInvitation(serializers.Serializer[Any]):
    """An invitation to be made."""

    role = serializers.ChoiceField(choices=Role.choices)
    email = serializers.CharField(
        max_length=254, allow_blank=True, default="", help_text="Whose it is alone. Empty: anybody's who has the link."
    )
    days = serializers.IntegerField(
        min_value=1, max_value=invitations.LONGEST_DAYS, default=invitations.DAYS, help_text="How long it works."
    )


class _Invitations(RowsView[Invitation]):
    serializer_class = InvitationSerializer
    queryset = Invitation.objects.none()
    scope = "admin"

    def rows(self) -> QuerySet[Invitation]:
        """The tenant's, as long as they can be accepted."""
        return invitations.open_ones(self.principal.tenant_id).select_related("created_by")


@extend_schema_view(get=extend_schema(operation_id="list_invitations"))
class InvitationListView(_Invitations, generics.ListAPIView[Invitation]):
    """Invitations that can be accepted still, newest first; and a new one."""

    @extend_schema(
        operation_id="create_invitation",
        request=WantedInvitation,
        responses={
            201: NewInvitationSerializer,
            **refusals(InvalidAddress, AlreadyMember, TooManyInvitations, ReauthenticationRequired),
        },
    )
    def post(self, request: Request) -> Response:
        """Invite somebody. The answer is the only one that has the link; Toolgate sends no mail for it."""
        wanted = WantedInvitation(data=request.data)
        wanted.is_valid(raise_exception=True)
        row, link = invitations.make(self.principal.tenant_id, self.principal.user_id, **wanted.validated_data)
        row.link = link  # type: ignore[attr-defined]
        return Response(NewInvitationSerializer(row).data, 201, headers={"Cache-Control": "no-store"})


class InvitationView(_Invitations):
    """One invitation."""

    @extend_schema(operation_id="revoke_invitation", responses={204: None, **refusals(NoSuchInvitation)})
    def delete(self, request: Request, id: uuid.UUID) -> Response:
        """End it at once."""
        invitations.revoke(self.principal.tenant_id, id)
        return Response(status=204)
