"""Budgets over REST: owners set them, members see their own."""

from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_field, extend_schema_serializer, extend_schema_view
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gateway.budgets import amounts, changes
from gateway.budgets.changes import NewBudget
from gateway.budgets.errors import BudgetExists, InvalidBudget, NoSuchBudget
from gateway.budgets.models import Budget
from gateway.rest.framework.pagination import Pages
from gateway.rest.framework.rows import RowsView
from gateway.rest.framework.schema import refusals
from tenants.login.reauthentication import ReauthenticationRequired
from tenants.login.views import etag
from tenants.people.changes import revision


@extend_schema_serializer(component_name="Budget")
class BudgetSerializer(serializers.ModelSerializer[Budget]):
    """A budget, and how much of it is gone. Amounts are decimal strings, in its unit."""

    scope = serializers.SerializerMethodField(help_text='{"tenant": id}, {"user": id}, {"agent": id} or {"key": id}.')
    unit = serializers.ChoiceField(choices=Budget.Unit.values)
    window = serializers.ChoiceField(choices=Budget.Window.values, help_text="Days and months are those of UTC.")
    limit = serializers.SerializerMethodField()
    spent = serializers.SerializerMethodField(help_text="In the window that holds now.")
    reserved = serializers.SerializerMethodField(help_text="By turns that are under way.")
    ends_at = serializers.SerializerMethodField(help_text="When it begins anew; null: never.")

    class Meta:
        model = Budget
        fields = ["id", "scope", "unit", "window", "limit", "spent", "reserved", "ends_at", "created_at"]

    def get_scope(self, row: Budget) -> dict[str, str]:
        """Whose it is."""
        whose, of = row.scope
        return {whose: str(of)}

    def get_limit(self, row: Budget) -> str:
        """Exact."""
        return f"{row.limit.normalize():f}"

    def get_spent(self, row: Budget) -> str:
        """Exact."""
        return f"{self.context['amounts'][row.id].spent.normalize():f}"

    def get_reserved(self, row: Budget) -> str:
        """Exact."""
        return f"{self.context['amounts'][row.id].reserved.normalize():f}"

    @extend_schema_field(serializers.DateTimeField(allow_null=True))
    def get_ends_at(self, row: Budget) -> Any:
        """The next window's beginning."""
        ends_at = self.context["amounts"][row.id].ends_at
        return ends_at and serializers.DateTimeField().to_representation(ends_at)


@extend_schema_serializer(component_name="BudgetRequest")
class WantedBudget(serializers.Serializer[Any]):
    """A budget to be set."""

    scope = serializers.DictField(
        child=serializers.CharField(), required=False, help_text='Such as {"user": id}; without it the tenant\'s.'
    )
    unit = serializers.ChoiceField(choices=Budget.Unit.values)
    window = serializers.ChoiceField(choices=Budget.Window.values)
    limit = serializers.CharField(help_text="A decimal number, 0 or more; a string or a number.")


@extend_schema_serializer(component_name="BudgetChange")
class ChangedBudget(serializers.Serializer[Any]):
    """What can be changed of a budget."""

    limit = serializers.CharField(help_text="A decimal number, 0 or more; a string or a number.")


class _ByAge(Pages):
    ordering = ("created_at", "id")  # type: ignore[assignment]


class _Budgets(RowsView[Budget]):
    """Everybody sees their own, owners and auditors all; owners set them."""

    serializer_class = BudgetSerializer
    queryset = Budget.objects.none()
    pagination_class = _ByAge

    @property
    def scope(self) -> str:  # type: ignore[override]
        """What the request wants."""
        return "history:read" if self.request.method in ("GET", "HEAD", "OPTIONS") else "admin"

    def rows(self) -> QuerySet[Budget]:
        """Those that the caller sees."""
        return changes.seen_by(self.principal)

    def shown(self, rows: Any, *, many: bool = False) -> Any:
        """As the API says them."""
        held = amounts.of(rows if many else [rows])
        return BudgetSerializer(rows, many=many, context={"amounts": held}).data

    def found(self, id: Any, *, lock: bool = False) -> Budget:
        """One that the caller sees. Raises NoSuchBudget."""
        try:
            return changes.found(self.principal, id, lock=lock)
        except ValidationError:
            raise NoSuchBudget(id) from None


@extend_schema_view(get=extend_schema(operation_id="list_budgets"))
class BudgetListView(_Budgets):
    """Budgets, oldest first; a new one."""

    @extend_schema(responses={200: BudgetSerializer(many=True)})
    def get(self, request: Request) -> Response:
        """The caller's; owners and auditors see all of the tenant."""
        page = self.paginate_queryset(self.get_queryset())
        return self.get_paginated_response(self.shown(page, many=True))

    @extend_schema(
        operation_id="create_budget",
        request=WantedBudget,
        responses={201: BudgetSerializer, **refusals(InvalidBudget, BudgetExists)},
    )
    def post(self, request: Request) -> Response:
        """Set a budget; it counts from the next turns on."""
        given = _given(request)
        wanted = NewBudget.read(given, self.principal.tenant_id)
        return Response(self.shown(changes.add(self.principal.tenant_id, wanted)), 201)


class BudgetView(_Budgets):
    """One budget."""

    etagged = True

    def answer(self, row: Budget) -> Response:
        """The budget, with the ETag that a change can be based on."""
        return Response(self.shown(row), headers=etag(revision(budget=changes.said(row))))

    @extend_schema(operation_id="get_budget", responses={200: BudgetSerializer, **refusals(NoSuchBudget)})
    def get(self, request: Request, id: Any) -> Response:
        """With what of it is spent and reserved."""
        return self.answer(self.found(id))

    @extend_schema(
        operation_id="update_budget",
        request=ChangedBudget,
        responses={200: BudgetSerializer, **refusals(NoSuchBudget, InvalidBudget, ReauthenticationRequired)},
    )
    def patch(self, request: Request, id: Any) -> Response:
        """Change its limit; what is spent stays."""
        budget, given = self.found(id, lock=True), _given(request)
        if set(given) != {"limit"}:
            raise InvalidBudget("Only the limit of a budget can be changed, and is needed.", "limit")
        return self.answer(changes.change(budget, given["limit"]))

    @extend_schema(
        operation_id="delete_budget", responses={204: None, **refusals(NoSuchBudget, ReauthenticationRequired)}
    )
    def delete(self, request: Request, id: Any) -> Response:
        """End it; the usage stays."""
        changes.remove(self.found(id, lock=True))
        return Response(status=204)


def _given(request: Request) -> dict[str, Any]:
    if not isinstance(request.data, dict):
        raise InvalidBudget("The body must be a JSON object.")
    return dict(request.data)
