"""Members over REST: `/api/v1/members/`."""

import uuid
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_serializer, extend_schema_view
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gateway.rest.approvals.request_serializers import Someone
from gateway.rest.framework.rows import RowsView
from gateway.rest.framework.schema import refusals
from tenants.login.reauthentication import ReauthenticationRequired
from tenants.members import memberships
from tenants.members.errors import LastOwner, NoSuchMember, NotAnOwnerNow
from tenants.models import Membership, Role


@extend_schema_serializer(component_name="Member")
class MemberSerializer(serializers.ModelSerializer[Membership]):
    """A member of the tenant. In addresses the `user.id` names them."""

    user = Someone()
    email = serializers.CharField(source="user.email", help_text="Empty: the account has none.")
    is_active = serializers.BooleanField(source="user.is_active", help_text="False: the operator closed the account.")

    class Meta:
        model = Membership
        fields = ["user", "email", "role", "is_active", "last_seen_at", "created_at"]


@extend_schema_serializer(component_name="MemberChange")
class RoleChange(serializers.Serializer[Any]):
    """What a member is from now on."""

    role = serializers.ChoiceField(choices=Role.choices)


class _Members(RowsView[Membership]):
    serializer_class = MemberSerializer
    queryset = Membership.objects.none()

    @property
    def scope(self) -> str:  # type: ignore[override]
        """Everybody may know who they are, owners may change members."""
        return "tools:read" if self.request.method in ("GET", "HEAD", "OPTIONS") else "admin"

    def rows(self) -> QuerySet[Membership]:
        """Those that the caller sees."""
        return memberships.seen_by(self.principal)

    def named(self, id: uuid.UUID) -> Membership:
        """One of them. Raises NoSuchMember."""
        try:
            return self.get_queryset().get(user_id=id)
        except (Membership.DoesNotExist, ValidationError):
            raise NoSuchMember from None


@extend_schema_view(get=extend_schema(operation_id="list_members"))
class MemberListView(_Members, generics.ListAPIView[Membership]):
    """The tenant's members for owners, newest first; everybody else sees themself."""


class MemberView(_Members):
    """One member."""

    @extend_schema(operation_id="get_member", responses={200: MemberSerializer, **refusals(NoSuchMember)})
    def get(self, request: Request, id: uuid.UUID) -> Response:
        """The member."""
        return Response(MemberSerializer(self.named(id)).data)

    @extend_schema(
        operation_id="update_member",
        request=RoleChange,
        responses={
            200: MemberSerializer,
            **refusals(NoSuchMember, LastOwner, NotAnOwnerNow, ReauthenticationRequired),
        },
    )
    def patch(self, request: Request, id: uuid.UUID) -> Response:
        """Give the member another role; it holds for their next request."""
        self.named(id)
        given = RoleChange(data=request.data)
        given.is_valid(raise_exception=True)
        role = given.validated_data["role"]
        return Response(MemberSerializer(memberships.change_role(self.principal.tenant_id, id, role)).data)

    @extend_schema(
        operation_id="remove_member", responses={204: None, **refusals(NoSuchMember, LastOwner, NotAnOwnerNow)}
    )
    def delete(self, request: Request, id: uuid.UUID) -> Response:
        """Remove the member: keys, sessions and applications end at once, open runs and waiting calls in seconds."""
        memberships.remove(self.principal.tenant_id, id)
        return Response(status=204)
