"""Rows of a tenant over REST: lists of those that the caller may see, and single ones."""

from typing import Any, TypeVar

from django.db.models import Model, QuerySet
from rest_framework import generics
from rest_framework.pagination import CursorPagination

from gateway.rest.framework.pagination import NewestFirst
from gateway.rest.framework.schema import ProblemSchema
from tenants.login.views import WithinTenant

Row = TypeVar("Row", bound=Model)


class RowsView(WithinTenant, generics.GenericAPIView[Row]):
    """The rows that `rows` finds, newest first; `queryset` says only of which model they are."""

    schema = ProblemSchema()
    pagination_class: type[CursorPagination] = NewestFirst
    filter_backends: list[Any] = []

    def rows(self) -> QuerySet[Row]:
        """Those that the caller may see."""
        raise NotImplementedError

    def get_queryset(self) -> QuerySet[Row]:
        """What `rows` finds; nothing while the OpenAPI document is made, which nobody asks for."""
        return super().get_queryset() if getattr(self, "swagger_fake_view", False) else self.rows()
