"""Approval requests over REST: `/api/v1/approvals/`."""

import uuid
from collections.abc import Awaitable
from datetime import timedelta
from typing import Any

import django_filters
from asgiref.sync import sync_to_async
from django import forms
from django.db.models import QuerySet
from django_filters.rest_framework import DjangoFilterBackend, FilterSet
from drf_spectacular.utils import extend_schema, extend_schema_field, extend_schema_view
from rest_framework import generics
from rest_framework.exceptions import PermissionDenied
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from approvals.errors import (
    AlreadyDecided,
    AlreadyVoted,
    ArgumentsChanged,
    Conflict,
    Expired,
    InvalidArguments,
    InvalidReason,
    NoSuchRequest,
    NotAnApprover,
    NotYours,
    OwnRequest,
)
from approvals.models import ApprovalRequest
from approvals.requests import decisions, parsing, queue
from approvals.requests.decisions import Decider
from gateway.http.drf import HasScope
from gateway.rest.approvals import request_serializers as shapes
from gateway.rest.framework.asynchronous import AsyncView
from gateway.rest.framework.schema import ProblemSchema, refusals
from tenants.login.views import WithinTenant
from tenants.people.principal import SCOPES

_DECIDED: dict[Any, Any] = {200: shapes.Approval, **refusals(NoSuchRequest, Expired)}
_APPROVED = (
    _DECIDED
    | refusals(NotAnApprover, OwnRequest, InvalidArguments, InvalidReason)
    | refusals(AlreadyDecided, AlreadyVoted, ArgumentsChanged, shape=shapes.ConflictProblem)
)
_DENIED = (
    _DECIDED
    | refusals(NotAnApprover, OwnRequest, InvalidReason)
    | refusals(AlreadyDecided, ArgumentsChanged, shape=shapes.ConflictProblem)
)
_CANCELLED = _DECIDED | refusals(NotYours) | refusals(AlreadyDecided, shape=shapes.ConflictProblem)


class AgeField(forms.CharField):
    """A time span: 90, 90s, 15m, 2h or 3d."""

    def clean(self, value: Any) -> timedelta | None:
        """None when nothing was given."""
        text = super().clean(value)
        span = queue.age(text) if text else None
        if text and span is None:
            raise forms.ValidationError("Enter seconds, or a time span like 15m, 2h or 3d.")
        return span


@extend_schema_field(str)
class AgeFilter(django_filters.Filter):
    """Takes a time span."""

    field_class = AgeField


class ApprovalFilter(FilterSet):
    """`?status=&tool=&user=&older_than=`."""

    status = django_filters.ChoiceFilter(choices=ApprovalRequest.Status.choices, method="narrow")
    tool = django_filters.CharFilter(method="narrow")
    user = django_filters.CharFilter(method="narrow", help_text="A user id or username.")
    older_than = AgeFilter(method="narrow", help_text="Seconds, or 15m, 2h, 3d.")

    class Meta:
        model = ApprovalRequest
        fields: list[str] = []

    def narrow(self, requests: QuerySet[ApprovalRequest], name: str, value: Any) -> QuerySet[ApprovalRequest]:
        """As the queue understands it."""
        return queue.narrowed(requests, **{name: value})


class _Approvals(WithinTenant, generics.GenericAPIView[ApprovalRequest]):
    """The tenant's approval requests."""

    scope = "approvals:read"
    schema = ProblemSchema()
    serializer_class = shapes.Approval
    lookup_field = "id"
    queryset = ApprovalRequest.objects.none()

    def get_queryset(self) -> QuerySet[ApprovalRequest]:
        """Row-level security hides other tenants."""
        return super().get_queryset() if getattr(self, "swagger_fake_view", False) else queue.visible()


@extend_schema_view(get=extend_schema(operation_id="list_approvals"))
class ApprovalListView(_Approvals, generics.ListAPIView[ApprovalRequest]):
    """Approval requests, newest first."""

    filterset_class = ApprovalFilter
    filter_backends = [DjangoFilterBackend]


@extend_schema_view(get=extend_schema(operation_id="get_approval"))
class ApprovalDetailView(_Approvals, generics.RetrieveAPIView[ApprovalRequest]):
    """One approval request."""

    permission_classes = [IsAuthenticated]

    def get_queryset(self) -> QuerySet[ApprovalRequest]:
        """Who may not read the tenant's sees their own; another's is 404."""
        requests = super().get_queryset()
        if getattr(self, "swagger_fake_view", False) or "approvals:read" in self.principal.scopes:
            return requests
        return requests.filter(user_id=self.principal.user_id)


class _DecidingView(AsyncView):
    permission_classes = [IsAuthenticated]

    async def said(self, request_id: uuid.UUID, verdict: str) -> parsing.Said:
        """What the body holds, once it is known that there is such a request and that the caller may decide."""
        if await sync_to_async(queue.look)(self.principal, request_id) is None:
            raise NoSuchRequest(request_id)
        if "approvals:decide" not in SCOPES[self.principal.role]:
            raise NotAnApprover
        if "approvals:decide" not in self.principal.scopes:
            raise PermissionDenied("This needs the scope approvals:decide.")
        raw = await sync_to_async(self.request._request.read)(parsing.MAX_BYTES + 1)
        return parsing.said(parsing.read(raw), verdict)

    @property
    def decider(self) -> Decider:
        """The caller, deciding here."""
        return Decider(*self.tenant_scope, via="api")

    async def decided(self, request_id: uuid.UUID, decision: Awaitable[Any]) -> Response:
        """The request as it is after the decision, which also a conflict shows."""
        try:
            await decision
        except Conflict as refusal:
            refusal.more = {"approval": await sync_to_async(queue.look)(self.principal, request_id)}
            raise
        return Response(await sync_to_async(queue.look)(self.principal, request_id))


class ApproveView(_DecidingView):
    """Let a call run."""

    @extend_schema(operation_id="approve_request", request=shapes.Approve, responses=_APPROVED)
    async def post(self, request: Request, id: uuid.UUID) -> Response:
        """Approve a call with the arguments that were `seen`, or with other `arguments` instead.

        Without `seen` the arguments as the model sent them are approved, or edited, and nothing else. An edit voids the
        approvals that were given before it, also when it is taken back.
        """
        said = await self.said(id, "approve")
        decision = decisions.approve(self.decider, id, reason=said.reason, arguments=said.arguments, seen=said.seen)
        return await self.decided(id, decision)


class DenyView(_DecidingView):
    """Let a call not run."""

    @extend_schema(operation_id="deny_request", request=shapes.Deny, responses=_DENIED)
    async def post(self, request: Request, id: uuid.UUID) -> Response:
        """Deny a call; its run goes on, and the model is told the reason."""
        said = await self.said(id, "deny")
        return await self.decided(id, decisions.deny(self.decider, id, reason=said.reason, seen=said.seen))


class CancelView(_DecidingView):
    """Withdraw one's own request."""

    permission_classes = [HasScope]

    @extend_schema(operation_id="cancel_request", request=None, responses=_CANCELLED)
    async def post(self, request: Request, id: uuid.UUID) -> Response:
        """Withdraw a call that was asked for in the caller's name; its run goes on without it."""
        try:
            return await self.decided(id, decisions.cancel(self.tenant_scope, id))
        except NotYours:
            # Who may not read others' requests is not told which there are.
            if "approvals:read" not in self.principal.scopes:
                raise NoSuchRequest(id) from None
            raise
