"""What was used, over REST, as JSON and as CSV."""

import csv
import io
from typing import Any

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from audit.history.exports.formats import safe
from gateway.budgets import usage
from gateway.budgets.errors import InvalidUsage
from gateway.budgets.usage import Asked, Usage
from gateway.rest.framework.schema import ProblemSchema, refusals
from tenants.login.views import WithinTenant

NUMBERS = ("requests", "input_tokens", "output_tokens", "cached_tokens", "cost", "unpriced", "estimated")
_PARAMETERS = [
    OpenApiParameter("by", str, many=True, enum=usage.BY, description="What it is added up by; may be repeated."),
    OpenApiParameter("since", str, description="A day or a moment; without it 30 days before `until`."),
    OpenApiParameter("until", str, description="A day or a moment, left out; without it the end of today."),
]


@extend_schema_serializer(component_name="UsageSum")
class SumSerializer(serializers.Serializer[Any]):
    """What was used."""

    requests = serializers.IntegerField(help_text="Turns that models were asked for; by tool: calls.")
    input_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    cached_tokens = serializers.IntegerField(help_text="Of the input.")
    cost = serializers.CharField(source="dollars", help_text="US dollars, to a millionth.")
    unpriced = serializers.IntegerField(help_text="Requests that no price is known of; they count as 0.")
    estimated = serializers.IntegerField(help_text="Requests whose usage nobody knows: what was reserved counts.")


@extend_schema_serializer(component_name="UsageRow")
class RowSerializer(SumSerializer):
    """What was used by one."""

    of = serializers.DictField(child=serializers.CharField(allow_null=True), help_text="By what was asked: its value.")
    names = serializers.DictField(child=serializers.CharField(), help_text="What users, agents and keys are called.")


@extend_schema_serializer(component_name="UsageReport")
class UsageSerializer(serializers.Serializer[Any]):
    """What was used between two moments."""

    since = serializers.DateTimeField()
    until = serializers.DateTimeField()
    rows = RowSerializer(many=True)
    whole = SumSerializer(help_text="Of all turns.")


class _Usage(WithinTenant):
    schema = ProblemSchema()

    def asked(self, request: Request) -> tuple[Asked, Usage]:
        """What is asked, and the answer. Raises InvalidUsage."""
        query = request.query_params
        asked = Asked.read(query.getlist("by"), query.get("since", ""), query.get("until", ""))
        return asked, usage.used(self.principal, asked)


class UsageView(_Usage):
    """What was used: of the caller; of the tenant for owners and auditors."""

    @extend_schema(
        operation_id="get_usage",
        parameters=_PARAMETERS,
        responses={200: UsageSerializer, **refusals(InvalidUsage)},
    )
    def get(self, request: Request) -> Response:
        """Added up; nothing of a conversation is in it."""
        asked, found = self.asked(request)
        given = {"since": asked.since, "until": asked.until, "rows": found.rows, "whole": found.whole}
        return Response(UsageSerializer(given).data)


class UsageFileView(_Usage):
    """The same as CSV."""

    @extend_schema(
        operation_id="get_usage_csv",
        parameters=_PARAMETERS,
        responses={(200, "text/csv"): OpenApiTypes.STR, **refusals(InvalidUsage)},
    )
    def get(self, request: Request) -> HttpResponse:
        """A line for each row, and no sum."""
        asked, found = self.asked(request)
        answer = HttpResponse(as_csv(asked, found), content_type="text/csv; charset=utf-8")
        answer["Content-Disposition"] = 'attachment; filename="usage.csv"'
        return answer


def as_csv(asked: Asked, found: Usage) -> str:
    """The rows as RFC 4180 has them; a column for each `by`, one for each name, and the numbers."""
    names = [name for name in asked.by if name in ("user", "agent", "key")]
    text = io.StringIO()
    lines = csv.writer(text)
    lines.writerow([*asked.by, *(f"{name}_name" for name in names), *NUMBERS])
    for row in found.rows or ([found.whole] if not asked.by else []):
        cells = [safe(text or "") for text in [row.of[name] for name in asked.by] + [row.names[name] for name in names]]
        numbers = [row.dollars if name == "cost" else getattr(row, name) for name in NUMBERS]
        lines.writerow([*cells, *numbers])
    return text.getvalue()
