"""What the views of rules and of access conditions have in common."""

from typing import Any, TypeVar

from django.db.models import Model
from rest_framework import serializers

from approvals.requests import parsing
from gateway.rest.framework.rows import RowsView
from gateway.runs.errors import InvalidRequest
from tools.schemas.arguments import shown

Row = TypeVar("Row", bound=Model)
Shape = TypeVar("Shape", bound=serializers.Serializer[Any])


class RulesView(RowsView[Row]):
    """What approvers and auditors of a tenant read, and owners make and change."""

    lookup_field = "id"

    @property
    def scope(self) -> str:  # type: ignore[override]
        """What the request asks for."""
        return "approvals:read" if self.request.method in ("GET", "HEAD", "OPTIONS") else "admin"

    def given(self, shape: type[serializers.Serializer[Any]]) -> dict[str, Any]:
        """What the body holds, in that shape."""
        return dict(self.read(shape).validated_data)

    def read(self, shape: type[Shape]) -> Shape:
        """The body in that shape. A name that is not known is refused: misspelt, it would leave a rule too wide."""
        given = parsing.read(self.request._request.read(parsing.MAX_BYTES + 1))
        for name in given:
            if name not in shape().fields:
                raise InvalidRequest(f"{shown(name)} is not known here, or cannot be changed.", shown(name))
        read = shape(data=given)
        read.is_valid(raise_exception=True)
        return read
