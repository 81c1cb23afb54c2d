"""Approval rules over REST: `/api/v1/approval-rules/`."""

import uuid
from typing import Any

import django_filters
from django.db.models import QuerySet
from django_filters.rest_framework import DjangoFilterBackend, FilterSet
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import generics
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from approvals.errors import InvalidRule, NotAnOwner
from approvals.models import ApprovalRule
from approvals.rules import changes as rule_changes
from approvals.rules import dry_run, rulebook
from approvals.rules.changes import NewRule
from gateway.rest.approvals import rule_serializers as shapes
from gateway.rest.approvals.rules_view import RulesView
from gateway.rest.framework.schema import refusals
from tenants.login.reauthentication import ReauthenticationRequired
from tenants.login.views import etag
from tenants.people.changes import revision

_REFUSED = refusals(InvalidRule, NotAnOwner, ReauthenticationRequired)


class RuleFilter(FilterSet):
    """`?tool=&effect=&enabled=`."""

    tool = django_filters.CharFilter("tool_name")
    effect = django_filters.ChoiceFilter(choices=ApprovalRule.Effect.choices)
    enabled = django_filters.BooleanFilter()

    class Meta:
        model = ApprovalRule
        fields: list[str] = []


class _Rules(RulesView[ApprovalRule]):
    """The tenant's rules: approvers and auditors read them, owners make and change them."""

    serializer_class = shapes.Rule
    queryset = ApprovalRule.objects.none()

    def rows(self) -> QuerySet[ApprovalRule]:
        """Row-level security hides other tenants."""
        return rulebook.visible()

    def wanted(self) -> NewRule:
        """The rule in the body; who may not approve a call by this key may make no rule that does."""
        wanted = self.read(shapes.RuleRequest).wanted()
        if wanted.approves and "approvals:decide" not in self.principal.scopes:
            raise PermissionDenied("A rule that approves needs the scope approvals:decide.")
        return wanted

    def found(self, rule_id: uuid.UUID) -> dict[str, Any]:
        """A rule as it is shown."""
        return rulebook.body(rulebook.visible().get(id=rule_id))


@extend_schema_view(get=extend_schema(operation_id="list_approval_rules"))
class RuleListView(_Rules, generics.ListAPIView[ApprovalRule]):
    """Rules, newest first; a new one."""

    filterset_class = RuleFilter
    filter_backends = [DjangoFilterBackend]

    @extend_schema(
        operation_id="create_approval_rule", request=shapes.RuleRequest, responses={201: shapes.Rule, **_REFUSED}
    )
    def post(self, request: Request) -> Response:
        """Make a rule; it is in force at once, and `warnings` says what its author should know of it."""
        rule, warnings = rule_changes.add(self.principal.tenant_id, self.principal.user_id, self.wanted())
        return Response({**self.found(rule.id), "warnings": warnings}, 201)


@extend_schema_view(get=extend_schema(operation_id="get_approval_rule"))
class RuleDetailView(_Rules, generics.RetrieveAPIView[ApprovalRule]):
    """One rule; switch it off, or change its name, uses or expiry."""

    etagged = True

    def answer(self, id: uuid.UUID) -> Response:
        """The rule, with the ETag that a change can be based on."""
        rule = self.get_object()
        return Response(self.found(id), headers=etag(revision(approval_rule=rule_changes.RULE.of(rule))))

    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """The rule as it is now."""
        return self.answer(kwargs["id"])

    @extend_schema(
        operation_id="update_approval_rule", request=shapes.RuleChange, responses={200: shapes.Rule, **_REFUSED}
    )
    def patch(self, request: Request, id: uuid.UUID) -> Response:
        """Change a rule, and answer for it from now on."""
        self.get_object()
        changes = self.given(shapes.RuleChange)
        rule_changes.change(self.principal.tenant_id, self.principal.user_id, id, changes)
        return self.answer(id)


class RuleDryRunView(_Rules):
    """Try a rule before it is made."""

    @extend_schema(
        operation_id="dry_run_approval_rule", request=shapes.RuleRequest, responses={200: shapes.DryRun, **_REFUSED}
    )
    def post(self, request: Request) -> Response:
        """What the rule would have done with the tool's calls of the last 30 days; nothing is saved."""
        rule, warnings = rule_changes.check(self.principal.tenant_id, self.principal.user_id, self.wanted())
        return Response({**dry_run.run(rule).body(), "warnings": warnings})
