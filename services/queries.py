"""A tenant's own tools for synchronous code: rules are made about them, and pages list them."""

import uuid

from django.db.models import F, Func, OuterRef, Subquery, TextField, Value
from django.db.models.functions import Concat

from services.execution.tool import Declared, ServiceTool
from services.models import ServiceTool as Row
from tools.interface import Tool


class _Sha256(Func):
    template = "encode(sha256(convert_to(%(expressions)s, 'UTF8')), 'hex')"
    output_field = TextField()


# The same as in services.catalogue.
_BINDING = _Sha256(Concat(F("accepted_hash"), Value(" "), F("service__url"), output_field=TextField()))


def tool(tenant_id: uuid.UUID, name: str) -> Tool | None:
    """The tenant's tool of exactly this name, whether it can be called now or not."""
    rows = Row.objects.filter(tenant_id=tenant_id, tool_name=name).select_related("service")
    row = rows.annotate(binding=_BINDING).first() if "\x00" not in name else None
    if row is None:
        return None
    declared = Declared(
        name=row.tool_name,
        description=row.definition["description"],
        parameters=row.parameters,
        tier=row.tier,
        idempotent=row.idempotent,
        parallel_safe=row.parallel_safe,
        timeout=row.service.timeout,
        binding=row.binding,
    )
    return ServiceTool(declared)


def names() -> list[str]:
    """The names of the tools within the caller's scope, sorted."""
    return list(Row.objects.order_by("tool_name").values_list("tool_name", flat=True))


def present_binding() -> Subquery:
    """What approvals of the outer row's tool (`tenant_id`, `tool_name`) are bound to now; null: no service has it."""
    rows = Row.objects.filter(tenant_id=OuterRef("tenant_id"), tool_name=OuterRef("tool_name"))
    return Subquery(rows.order_by().annotate(binding=_BINDING).values("binding"))
