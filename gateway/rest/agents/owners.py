"""What the views of agents and tools have in common: owners only, one object as the body."""

from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar

from django.db.models import Model, QuerySet
from rest_framework.response import Response

from gateway.rest.framework import body
from gateway.rest.framework.pagination import Pages
from gateway.rest.framework.schema import ProblemSchema
from gateway.runs.errors import InvalidRequest
from tenants.login.views import WithinTenant

Row = TypeVar("Row", bound=Model)


class OwnersView(WithinTenant):
    """A view within the caller's tenant, for whoever has the scope admin."""

    scope = "admin"
    schema = ProblemSchema()
    pagination_class: type[Pages] = Pages

    def given(self, known: Collection[str] | None = None) -> dict[str, Any]:
        """The object in the body, empty without one; raises InvalidRequest for fields that are not among `known`."""
        given = body.json_object(self.request)
        for name in given:
            if known is not None and name not in known:
                raise InvalidRequest(f"{name:.80} is not known here.", name[:80])
        return given

    def paged(self, found: QuerySet[Row], shown: Callable[[Sequence[Row]], list[Any]]) -> Response:
        """A page of what was found, by the view's `pagination_class`, as `shown` has its rows."""
        pages = self.pagination_class()
        return pages.get_paginated_response(shown(pages.paginate_queryset(found, self.request, self)))
