"""The tool history over REST: `/api/v1/tool-calls/`."""

import uuid
from collections.abc import Iterable
from typing import Any, Self

import django_filters
from django.core.exceptions import ValidationError
from django.db.models import Case, F, QuerySet, Value, When
from django_filters.rest_framework import DjangoFilterBackend, FilterSet
from drf_spectacular.utils import extend_schema, extend_schema_serializer, extend_schema_view
from rest_framework import generics
from rest_framework.request import Request
from rest_framework.response import Response

from audit.evidence import receipts
from audit.history import calls, reads
from audit.history.pages import usernames
from audit.models import ToolCall
from gateway.rest import call_serializers
from gateway.rest.audit import ledger_serializers
from gateway.rest.framework.schema import ProblemSchema
from gateway.rest.inbox.sent import SentMessageSerializer
from notifications.destinations import sending
from tenants.login.views import WithinTenant
from tenants.people.principal import Principal
from tenants.scope.jsonb import JSONField

LISTED_OUTPUT_BYTES = 16_384


@extend_schema_serializer(component_name="ToolCallRecordInFull")
class DetailSerializer(call_serializers.ToolCallSerializer):
    """A tool call in full, with what it has sent in the caller's name."""

    messages = SentMessageSerializer(
        many=True, required=False, help_text="What it has sent in the caller's name, and how far that is, if it has."
    )

    class Meta(call_serializers.ToolCallSerializer.Meta):
        fields = [*call_serializers.ToolCallSerializer.Meta.fields, "messages"]
        read_only_fields = call_serializers.ToolCallSerializer.Meta.fields


class Listed:
    """A list of `audit.history.calls` as cursor pagination asks for it: ordered, filtered by its cursor, sliced."""

    def __init__(self, principal: Principal, filters: calls.Filters, of: QuerySet[ToolCall]) -> None:
        self._principal, self._filters, self._of = principal, filters, of
        self._oldest_first = False
        self._place: dict[str, uuid.UUID] = {}

    def order_by(self, ordering: str) -> Self:
        """By id, in either direction."""
        self._oldest_first = not ordering.startswith("-")
        return self

    def filter(self, **place: str) -> Self:
        """From the id of a cursor on; ValidationError when it is none."""
        (name, value), *_ = place.items()
        try:
            self._place = {"after" if name == "id__gt" else "before": uuid.UUID(value)}
        except ValueError:
            raise ValidationError("no id") from None
        return self

    def __getitem__(self, part: slice) -> list[ToolCall]:
        place = self._place or ({"after": uuid.UUID(int=0)} if self._oldest_first else {})
        return calls.page(self._principal, self._filters, limit=part.stop, calls=self._of, **place)[part.start :]


class ToolCallFilter(FilterSet):
    """`?tool=&status=&error_code=&conversation=&run=&since=&until=&user=&q=`."""

    tool = django_filters.CharFilter()
    status = django_filters.CharFilter()
    error_code = django_filters.CharFilter()
    conversation = django_filters.UUIDFilter()
    run = django_filters.UUIDFilter()
    since = django_filters.IsoDateTimeFilter()
    until = django_filters.IsoDateTimeFilter()
    user = django_filters.CharFilter()
    q = django_filters.CharFilter()

    class Meta:
        model = ToolCall
        fields: list[str] = []

    def filter_queryset(self, queryset: QuerySet[ToolCall]) -> Any:
        """What was asked for, as `audit.history.calls` is asked."""
        given = {name: value or None for name, value in self.form.cleaned_data.items()}
        assert self.request is not None
        filters = calls.Filters(
            user=given["user"],
            tool=given["tool"],
            status=given["status"],
            error_code=given["error_code"],
            conversation_id=given["conversation"],
            run_id=given["run"],
            since=given["since"],
            until=given["until"],
            words=given["q"],
        )
        return Listed(self.request.user, filters, queryset)


class _Calls(WithinTenant, generics.GenericAPIView[ToolCall]):
    """The calls that the caller may see: their own; for auditors and owners, the tenant's."""

    scope = "history:read"
    schema = ProblemSchema()
    serializer_class = call_serializers.ToolCallSerializer
    lookup_field = "id"
    queryset = ToolCall.objects.order_by("-id")

    def get_queryset(self) -> QuerySet[ToolCall]:
        """Row-level security already hides other tenants."""
        found = super().get_queryset()
        return found.none() if getattr(self, "swagger_fake_view", False) else calls.visible(self.principal, found)

    def named(self, found: Iterable[ToolCall]) -> None:
        """Give each call the `username` of its user; None once they have left the tenant."""
        names: dict[uuid.UUID, str] = {self.principal.user_id: self.principal.username}
        others = {call.user_id for call in found} - names.keys()
        if others:
            names |= usernames(others)
        for call in found:
            call.username = names.get(call.user_id)  # type: ignore[attr-defined]


@extend_schema_view(get=extend_schema(operation_id="list_tool_calls"))
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
        """Put each page's small outputs where the serializer looks for them, and put on record who was shown it."""
        page = super().paginate_queryset(queryset)
        self.named(page or ())
        for call in page or ():
            call.output = call.listed_output
        asked = {
            name: value for name, value in self.request.query_params.items() if name in ToolCallFilter.base_filters
        }
        me = self.principal.user_id
        reads.of_calls(reader_id=me, calls=page or (), action=reads.Action.LIST, via="api", filters=asked)
        return page


@extend_schema_view(get=extend_schema(operation_id="get_tool_call"))
class ToolCallDetailView(_Calls, generics.RetrieveAPIView[ToolCall]):
    """One tool call, whole."""

    serializer_class = DetailSerializer

    def get_object(self) -> ToolCall:
        """The call; that it was shown to somebody else than its user is put on record."""
        call = super().get_object()
        self.named([call])
        if sent := sending.of_call(self.principal, call):
            call.messages = sent  # type: ignore[attr-defined]
        me = self.principal.user_id
        reads.of_calls(reader_id=me, calls=[call], action=reads.Action.DETAIL, via="api", call_id=call.id)
        return call


class ReceiptView(_Calls):
    """What a call did, in hashes, with its ledger entries and the proof that the log has them."""

    @extend_schema(operation_id="get_tool_call_receipt", responses=ledger_serializers.Receipt)
    def get(self, request: Request, id: uuid.UUID) -> Response:
        """The receipt; its inclusion proof is null until every entry is sealed."""
        call = self.get_object()
        me = self.principal.user_id
        reads.of_calls(reader_id=me, calls=[call], action=reads.Action.RECEIPT, via="api", call_id=call.id)
        return Response(receipts.of_call(call))
