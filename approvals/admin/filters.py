"""What the admin's queue is narrowed by."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.contrib.filters.admin import DropdownFilter

from approvals.models import ApprovalRequest
from approvals.requests import queue
from audit.history.filters import RECENT
from audit.templatetags.audit_text import visible

AGES = {"5m": "5 minutes", "1h": "an hour", "6h": "6 hours", "1d": "a day", "7d": "a week"}


class _Narrowing(DropdownFilter):
    """A filter that the queue itself knows, by `parameter_name`."""

    def queryset(self, request: HttpRequest, queryset: QuerySet[ApprovalRequest]) -> QuerySet[ApprovalRequest]:
        """The requests that are left."""
        narrowing: dict[str, Any] = {self.parameter_name: self.value() or ""}
        return queue.narrowed(queryset, **narrowing)


class StatusFilter(_Narrowing):
    """By status, as the queue tells it."""

    title = parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Every status."""
        return [(value, str(label)) for value, label in ApprovalRequest.Status.choices]


class ToolFilter(_Narrowing):
    """By tool; the choice is of the latest requests' tools."""

    title = parameter_name = "tool"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """The names among the latest requests."""
        return _recent("tool_name")


class UserFilter(_Narrowing):
    """By who asked; the choice is of those who asked lately."""

    title = parameter_name = "user"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """The names among the latest requests."""
        return _recent("user__username")


class AgeFilter(DropdownFilter):
    """By age."""

    title = "age"
    parameter_name = "older_than"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """From minutes to a week."""
        return [(key, f"more than {words}") for key, words in AGES.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[ApprovalRequest]) -> QuerySet[ApprovalRequest]:
        """The requests that are older."""
        return queue.narrowed(queryset, older_than=queue.age(self.value() or ""))


def _recent(field: str) -> list[tuple[str, str]]:
    recent = ApprovalRequest.objects.order_by("-id").values_list(field, flat=True)[:RECENT]
    return [(name, visible(name)[:64]) for name in sorted(set(recent))]
