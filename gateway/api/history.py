"""The tool history over REST: `/api/v1/tool-calls/`."""

import uuid
from datetime import UTC, datetime
from typing import Any

import django_filters
from django.db.models import Case, F, JSONField, OuterRef, Q, QuerySet, Subquery, Value, When
from django_filters.rest_framework import DjangoFilterBackend, FilterSet
from drf_spectacular.utils import extend_schema
from rest_framework import generics
from rest_framework.request import Request
from rest_framework.response import Response

from audit import reads, receipts
from audit.models import ToolCall
from gateway.api import ledger_serializers, serializers
from gateway.api.schema import ProblemSchema
from tenants.models import User
from tenants.views import WithinTenant

LISTED_OUTPUT_BYTES = 16_384
# An id is made a moment before its row, perhaps by another machine's clock.
SLACK_MILLISECONDS = 60_000


class ToolCallFilter(FilterSet):
    """`?tool=&status=&error_code=&conversation=&run=&since=&until=&user=&q=`."""

    tool = django_filters.CharFilter("tool_name")
    status = django_filters.CharFilter("status")
    error_code = django_filters.CharFilter("error_code")
    conversation = django_filters.UUIDFilter("conversation_id")
    run = django_filters.UUIDFilter("run_id")
    since = django_filters.IsoDateTimeFilter(method="filter_since")
    until = django_filters.IsoDateTimeFilter(method="filter_until")
    user = django_filters.CharFilter(method="filter_user")
    q = django_filters.CharFilter(method="filter_q")

    class Meta:
        model = ToolCall
        fields: list[str] = []

    def filter_since(self, calls: QuerySet[ToolCall], name: str, value: datetime) -> QuerySet[ToolCall]:
        """Since a time; the id, which grows with time, lets PostgreSQL leave older partitions alone."""
        milliseconds = max(0, int(value.timestamp() * 1000) - SLACK_MILLISECONDS)
        return calls.filter(
            created_at__gte=_in_utc(value), id__gte=uuid.UUID(int=min(milliseconds, (1 << 48) - 1) << 80)
        )

    def filter_until(self, calls: QuerySet[ToolCall], name: str, value: datetime) -> QuerySet[ToolCall]:
        """Before a time."""
        return calls.filter(created_at__lt=_in_utc(value))

    def filter_user(self, calls: QuerySet[ToolCall], name: str, value: str) -> QuerySet[ToolCall]:
        """By user id or username."""
        try:
            return calls.filter(user_id=uuid.UUID(value))
        except ValueError:
            return calls.filter(user__username=value)

    def filter_q(self, calls: QuerySet[ToolCall], name: str, value: str) -> QuerySet[ToolCall]:
        """Words in the tool's name, what was shown, or the error."""
        return calls.filter(
            Q(tool_name__icontains=value) | Q(display__icontains=value) | Q(error_message__icontains=value)
        )


def _in_utc(moment: datetime) -> datetime:
    """The moment without its offset, which may be one that PostgreSQL does not take."""
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        # Within a day of the first or last moment that Python knows, where no call is.
        return moment.replace(tzinfo=UTC)


class _Calls(WithinTenant, generics.GenericAPIView[ToolCall]):
    """The calls that the caller may see: their own; for auditors and owners, the tenant's."""

    scope = "history:read"
    schema = ProblemSchema()
    serializer_class = serializers.ToolCallSerializer
    lookup_field = "id"
    # Not a join: a member who has left is no user that the tenant sees, and their calls stay.
    queryset = ToolCall.objects.annotate(
        username=Subquery(User.objects.filter(id=OuterRef("user_id")).values("username"))
    ).order_by("-id")

    def get_queryset(self) -> QuerySet[ToolCall]:
        """Row-level security already hides other tenants."""
        calls = super().get_queryset()
        if getattr(self, "swagger_fake_view", False):
            return calls.none()
        return calls if self.principal.sees_whole_history else calls.filter(user_id=self.principal.user_id)


class ToolCallListView(_Calls, generics.ListAPIView[ToolCall]):
    """The tool history, newest first."""

    filterset_class = ToolCallFilter
    filter_backends = [DjangoFilterBackend]

    def get_queryset(self) -> QuerySet[ToolCall]:
        """A page carries no output beyond LISTED_OUTPUT_BYTES."""
        small = When(output_bytes__lte=LISTED_OUTPUT_BYTES, then=F("output"))
        listed = Case(small, default=Value(None, JSONField()), output_field=JSONField())
        return super().get_queryset().defer("output", "row_key").annotate(listed_output=listed)

    def paginate_queryset(self, queryset: Any) -> Any:
        """Put each page's small outputs where the serializer looks for them."""
        page = super().paginate_queryset(queryset)
        for call in page or ():
            call.output = call.listed_output
        return page


class ToolCallDetailView(_Calls, generics.RetrieveAPIView[ToolCall]):
    """One tool call, whole."""


class ReceiptView(_Calls):
    """What a call did, in hashes, with its ledger entries and the proof that the log has them."""

    @extend_schema(operation_id="tool_call_receipt", responses=ledger_serializers.Receipt)
    def get(self, request: Request, id: uuid.UUID) -> Response:
        """The receipt; its inclusion proof is null until every entry is sealed."""
        call = self.get_object()
        me = self.principal.user_id
        reads.of_calls(reader_id=me, calls=[call], action=reads.Action.RECEIPT, via="api", call_id=call.id)
        return Response(receipts.of_call(call))
