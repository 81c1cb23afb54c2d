"""Who changed which setting, over REST: `/api/v1/changes/`."""

from typing import Any

import django_filters
from django.db.models import QuerySet
from django_filters.rest_framework import DjangoFilterBackend, FilterSet
from drf_spectacular.utils import extend_schema, extend_schema_field, extend_schema_serializer, extend_schema_view
from rest_framework import generics, serializers
from rest_framework.exceptions import PermissionDenied

from audit.changes import reading
from audit.history import access_log
from audit.models import SettingChange
from gateway.rest.approvals.request_serializers import Someone
from gateway.rest.framework.schema import ProblemSchema
from tenants.login.views import WithinTenant


@extend_schema_serializer(component_name="SettingChange")
class ChangeSerializer(serializers.ModelSerializer[SettingChange]):
    """A setting that was created, changed or deleted."""

    actor = serializers.SerializerMethodField()
    changes = serializers.DictField(
        child=serializers.ListField(min_length=2, max_length=2),
        help_text='By field: [before, after]; null where there was none. Of secrets only "none", "set", "set anew".',
    )

    class Meta:
        model = SettingChange
        fields = ["id", "actor", "via", "target", "target_id", "name", "action", "changes", "created_at"]

    @extend_schema_field(Someone(allow_null=True))
    def get_actor(self, row: SettingChange) -> dict[str, Any] | None:
        """{"id", "username"}, the name null for who is no member; null for commands, webhooks and Toolgate itself."""
        if row.actor_id is None:
            return None
        return {"id": str(row.actor_id), "username": self.context["names"].get(row.actor_id)}


class ChangeFilter(FilterSet):
    """`?target=&name=&by=&since=&until=`."""

    target = django_filters.CharFilter()
    name = django_filters.CharFilter()
    by = django_filters.CharFilter(help_text="A username.")
    since = django_filters.IsoDateTimeFilter()
    until = django_filters.IsoDateTimeFilter()

    class Meta:
        model = SettingChange
        fields: list[str] = []

    def filter_queryset(self, queryset: QuerySet[SettingChange]) -> Any:
        """What was asked for, as `audit.changes.reading` is asked."""
        assert self.request is not None
        given = {name: value or None for name, value in self.form.cleaned_data.items()}
        return reading.found(self.request.user, reading.Filters(**given))


@extend_schema_view(get=extend_schema(operation_id="list_changes"))
class ChangeListView(WithinTenant, generics.ListAPIView[SettingChange]):
    """Who changed which setting of the tenant from what to what, newest first; for auditors and owners."""

    schema = ProblemSchema()
    serializer_class = ChangeSerializer
    filterset_class = ChangeFilter
    filter_backends = [DjangoFilterBackend]
    queryset = SettingChange.objects.none()

    def get_queryset(self) -> QuerySet[SettingChange]:
        """The tenant's."""
        if not getattr(self, "swagger_fake_view", False) and not self.principal.sees_whole_history:
            raise PermissionDenied("The changes of a tenant's settings are for its auditors and owners to read.")
        return super().get_queryset()

    def paginate_queryset(self, queryset: Any) -> Any:
        """A page, and the names of those who are in it."""
        page = super().paginate_queryset(queryset)
        self._names = access_log.names({row.actor_id for row in page or ()})
        return page

    def get_serializer_context(self) -> dict[str, Any]:
        """With the names."""
        return {**super().get_serializer_context(), "names": getattr(self, "_names", {})}
