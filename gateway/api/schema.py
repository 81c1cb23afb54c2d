"""What every operation may answer besides its own: problems, as the OpenAPI document tells them."""

from typing import Any

from drf_spectacular.openapi import AutoSchema

from gateway.api import problems, serializers

STATUSES = (400, 401, 403, 404, 409)


class ProblemSchema(AutoSchema):
    """drf-spectacular's schema, with a problem document under each error status that is not described already."""

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        """The operation with its problems."""
        operation: dict[str, Any] | None = super().get_operation(*args, **kwargs)
        if operation is not None:
            problem = self.resolve_serializer(serializers.Problem, "response").ref
            for status in STATUSES:
                described = {"description": "", "content": {problems.CONTENT_TYPE: {"schema": problem}}}
                operation["responses"].setdefault(str(status), described)
        return operation
