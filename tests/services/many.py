"""Hundreds of tools of a tenant's services, as their rows, without an API behind them."""

import json
from typing import Any

from services import changes
from services.changes import NewService, Source
from services.models import Service, ServiceTool
from tenants.scope import transactions
from tests.people import Cast

_WORDS = ("invoice", "customer", "shipment", "contract", "meeting", "ticket", "payment", "report", "supplier", "stock")
_MORE = "It is kept in step daily. " * 4
_VERBS = ("list", "create", "update", "archive", "export", "find", "send", "count", "share", "close")


def descriptor(count: int, first: int = 0) -> str:
    """A descriptor of so many tools, each with a description and a schema of the usual size."""
    tools: list[dict[str, Any]] = []
    for number in range(first, first + count):
        noun, verb = _WORDS[number % 10], _VERBS[number // 10 % 10]
        schema = {
            "type": "object",
            "properties": {
                "id": {"type": "string", "description": f"Which {noun} it is about, by its id."},
                "fields": {"type": "array", "items": {"type": "string"}, "description": "What to answer of it."},
                "page": {"type": "integer", "minimum": 1, "description": "Which page of the answer."},
            },
            "required": ["id"],
        }
        path = f"/{noun}/{{id}}/{verb}/{number}"
        description = f"{verb.title()} a {noun} of the back office, number {number}. " + _MORE
        http = {"method": "GET", "path": path}
        name = f"{verb}_{noun}_{number}"
        tools.append({"name": name, "description": description, "inputSchema": schema, "http": http})
    return json.dumps({"version": 2, "name": "office", "description": "The back office", "tools": tools})


def add_many(tenant: Cast, url: str, services: int, each: int) -> list[str]:
    """Add services of so many tools each, all enabled and read-only; the names of the tools."""
    with transactions.scope(*tenant.olga.scope):
        for number in range(services):
            given = {"slug": f"office{number}", "kind": "http", "url": "https://office.example"}
            changes.add(tenant.id, NewService.read(given), Source("http", descriptor(each, number * each)))
        # Where tests may have services.
        Service.objects.update(url=url)
        ServiceTool.objects.update(enabled=True, tier="read_only", idempotent=True)
        return list(ServiceTool.objects.order_by("tool_name").values_list("tool_name", flat=True))
