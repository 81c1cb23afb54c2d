"""Access conditions and the alert level over REST: `/api/v1/access-conditions/`, `/api/v1/alert-level/`."""

import uuid
from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_serializer, extend_schema_view
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response

from approvals.errors import InvalidRule, NoSuchRule
from approvals.models import AccessCondition, AlertLevel
from approvals.rules import access_conditions, condition_dry_run
from gateway.rest.approvals import rule_serializers as shapes
from gateway.rest.approvals.request_serializers import Someone
from gateway.rest.approvals.rules_view import RulesView
from gateway.rest.framework.schema import refusals
from tenants.login.reauthentication import ReauthenticationRequired
from tenants.login.views import etag
from tenants.people.changes import revision
from tools.gates.checks.context import MOST_ALERT

_CONDITION = 'A JSON Schema that {"args", "context"} must satisfy.'


@extend_schema_serializer(component_name="AccessCondition")
class ConditionSerializer(serializers.ModelSerializer[AccessCondition]):
    """What a tenant demands of calls of a tool."""

    tool = serializers.CharField(source="tool_name", help_text='A name, "service.*", or "*".')
    condition = serializers.DictField(help_text=_CONDITION)

    class Meta:
        model = AccessCondition
        fields = [
            "id",
            "name",
            "tool",
            "agent",
            "condition",
            "time_zone",
            "enabled",
            "version",
            "created_at",
            "updated_at",
        ]


class ConditionRequest(serializers.Serializer[Any]):
    """A condition to be made."""

    name = serializers.CharField(max_length=access_conditions.MAX_NAME)
    tool = serializers.CharField(help_text='A name, "service.*", or "*".')
    agent = serializers.CharField(required=False, allow_blank=True, help_text="An agent's slug; empty: every agent.")
    condition = serializers.DictField(help_text=_CONDITION)
    time_zone = serializers.CharField(required=False, help_text="Such as Europe/Berlin; UTC without it.")
    enabled = serializers.BooleanField(required=False)


class ConditionChange(serializers.Serializer[Any]):
    """What may be changed of it."""

    name = serializers.CharField(required=False, max_length=access_conditions.MAX_NAME)
    condition = serializers.DictField(required=False, help_text=_CONDITION)
    time_zone = serializers.CharField(required=False)
    enabled = serializers.BooleanField(required=False)


@extend_schema_serializer(component_name="AlertLevel")
class AlertSerializer(serializers.Serializer[Any]):
    """How alarmed the tenant is."""

    level = serializers.IntegerField(min_value=0, max_value=MOST_ALERT, help_text="0: all is well.")
    reason = serializers.CharField(required=False, allow_blank=True, max_length=access_conditions.MAX_REASON)


class _Conditions(RulesView[AccessCondition]):
    """The tenant's conditions: approvers and auditors read them, owners make and change them."""

    serializer_class = ConditionSerializer
    queryset = AccessCondition.objects.none()

    def rows(self) -> QuerySet[AccessCondition]:
        """Row-level security hides other tenants."""
        return AccessCondition.objects.filter(tenant_id=self.principal.tenant_id).order_by("-created_at")


@extend_schema_view(get=extend_schema(operation_id="list_access_conditions"))
class ConditionListView(_Conditions, generics.ListAPIView[AccessCondition]):
    """Conditions, newest first; a new one."""

    filter_backends: list[Any] = []

    @extend_schema(
        operation_id="create_access_condition",
        request=ConditionRequest,
        responses={201: ConditionSerializer, **refusals(InvalidRule)},
    )
    def post(self, request: Request) -> Response:
        """Make a condition; it is in force at once, unless it is not enabled."""
        made = access_conditions.add(self.principal.tenant_id, self.given(ConditionRequest))
        return Response(ConditionSerializer(AccessCondition.objects.get(id=made.id)).data, 201)


@extend_schema_view(get=extend_schema(operation_id="get_access_condition"))
class ConditionDetailView(_Conditions, generics.RetrieveAPIView[AccessCondition]):
    """One condition."""

    etagged = True

    def answer(self, row: AccessCondition) -> Response:
        """The condition, with the ETag that a change can be based on."""
        said = access_conditions.CONDITION.of(row)
        return Response(ConditionSerializer(row).data, headers=etag(revision(access_condition=said)))

    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """The condition as it is now."""
        return self.answer(self.get_object())

    @extend_schema(
        operation_id="update_access_condition",
        request=ConditionChange,
        responses={200: ConditionSerializer, **refusals(InvalidRule, NoSuchRule, ReauthenticationRequired)},
    )
    def patch(self, request: Request, id: uuid.UUID) -> Response:
        """Change it; its version goes up."""
        self.get_object()
        access_conditions.change(self.principal.tenant_id, id, self.given(ConditionChange))
        return self.answer(AccessCondition.objects.get(id=id))

    @extend_schema(
        operation_id="delete_access_condition", responses={204: None, **refusals(NoSuchRule, ReauthenticationRequired)}
    )
    def delete(self, request: Request, id: uuid.UUID) -> Response:
        """Remove it."""
        access_conditions.remove(self.principal.tenant_id, id)
        return Response(status=204)


class ConditionExample(serializers.Serializer[Any]):
    """A call that the condition would have refused."""

    tool_call_id = serializers.UUIDField()
    tool = serializers.CharField()
    user = Someone()
    status = serializers.CharField()
    outcome = serializers.CharField(help_text="What came of it.")
    created_at = serializers.DateTimeField()


class ConditionDryRun(serializers.Serializer[Any]):
    """What a condition would have done in the last 30 days."""

    since = serializers.DateTimeField()
    examined = serializers.IntegerField(help_text="The tenant's newest calls, up to 10,000.")
    complete = serializers.BooleanField(help_text="False: there are older calls since then that were not examined.")
    concerns = serializers.IntegerField(help_text="Those that the condition is about.")
    undecided = serializers.IntegerField(help_text="Those for which a fact is not known any more.")
    would_have_refused = serializers.IntegerField(help_text="Of those that no gate refused.")
    by_user = shapes.Concerned(many=True)
    examples = ConditionExample(many=True)


class ConditionDryRunView(_Conditions):
    """A condition, tried on what has happened."""

    @extend_schema(
        operation_id="dry_run_access_condition",
        request=ConditionRequest,
        responses={200: ConditionDryRun, **refusals(InvalidRule)},
    )
    def post(self, request: Request) -> Response:
        """What the condition would have done with the calls of the last 30 days; nothing is saved."""
        made = access_conditions.read(self.principal.tenant_id, self.given(ConditionRequest))
        return Response(condition_dry_run.run(made).body())


class AlertLevelView(_Conditions):
    """How alarmed the tenant is, which conditions can look at."""

    @extend_schema(operation_id="get_alert_level", responses=AlertSerializer)
    def get(self, request: Request) -> Response:
        """0 when nobody has said anything."""
        found = AlertLevel.objects.filter(tenant_id=self.principal.tenant_id).first()
        return Response({"level": found.level if found else 0, "reason": found.reason if found else ""})

    @extend_schema(
        operation_id="set_alert_level",
        request=AlertSerializer,
        responses={200: AlertSerializer, **refusals(InvalidRule, ReauthenticationRequired)},
    )
    def put(self, request: Request) -> Response:
        """Say how alarmed the tenant is; it holds for the next call of everybody."""
        given = self.given(AlertSerializer)
        made = access_conditions.alert(self.principal.tenant_id, given["level"], given.get("reason", ""))
        return Response({"level": made.level, "reason": made.reason})
