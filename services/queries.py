"""A tenant's own tools for synchronous code: rules are made about them, and pages list them."""

import uuid

from django.db.models import F, Func, OuterRef, Subquery, TextField, Value
from django.db.models.functions import Concat

from services.execution.tool import Declared, ServiceTool
from services.models import Service
from services.models import ServiceTool as Row
from tools.interface import Tool
from tools.registry import registry


class _Sha256(Func):
    template = "encode(sha256(convert_to(%(expressions)s, 'UTF8')), 'hex')"
    output_field = TextField()


# The same as in services.catalogue.
_BINDING = _Sha256(Concat(F("accepted_hash"), Value(" "), F("service__url"), output_field=TextField()))


def tool(tenant_id: uuid.UUID, name: str) -> Tool | None:
    """The tenant's tool of exactly this name, whether it can be called now or not."""
    rows = Row.objects.filter(tenant_id=tenant_id, tool_name=name).select_related("service")
    row = rows.annotate(binding=_BINDING).first() if "\x00" not in name else None
    return None if row is None else as_tool(row, row.binding)


def as_tool(row: Row, binding: str = "") -> Tool:
    """What a row with its service declares; `binding` is what approvals of its calls are bound to."""
    declared = Declared(
        name=row.tool_name,
        description=row.definition["description"],
        parameters=row.parameters,
        tier=row.tier,
        idempotent=row.idempotent,
        parallel_safe=row.parallel_safe,
        timeout=row.service.timeout,
        binding=binding,
        reads_private=row.reads_private,
        reads_untrusted=row.reads_untrusted,
        leaves_tenant=row.leaves_tenant,
    )
    return ServiceTool(declared)


def names(tenant_id: uuid.UUID | None = None) -> list[str]:
    """The names of the tools within the caller's scope, sorted; with a tenant those of that one alone."""
    found = Row.objects.filter(tenant_id=tenant_id) if tenant_id else Row.objects.all()
    return list(found.order_by("tool_name").values_list("tool_name", flat=True))


def named_tool(tenant_id: uuid.UUID | None, name: str) -> str | None:
    """The tool's name where there is such a one: a built-in, or one of the tenant's services; without a tenant of any.

    For kill switches: whether it can be called now does not matter.
    """
    rows = Row.objects.filter(tool_name=name)
    there = registry().get(name) or (rows if tenant_id is None else rows.filter(tenant_id=tenant_id)).exists()
    return name if there else None


def named_service(tenant_id: uuid.UUID | None, slug: str) -> str | None:
    """The service's slug where the tenant has such a one; without a tenant any has."""
    rows = Service.objects.filter(slug=slug)
    return slug if (rows if tenant_id is None else rows.filter(tenant_id=tenant_id)).exists() else None


def present_binding() -> Subquery:
    """What approvals of the outer row's tool (`tenant_id`, `tool_name`) are bound to now; null: no service has it."""
    rows = Row.objects.filter(tenant_id=OuterRef("tenant_id"), tool_name=OuterRef("tool_name"))
    return Subquery(rows.order_by().annotate(binding=_BINDING).values("binding"))
