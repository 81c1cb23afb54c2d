"""The snapshot of a service: its document read into an offer, and its tools' rows brought in line with it.

in the offer, no row          a new row, not enabled, its definition accepted as the owner who adds it sees it
in both, the accepted hash    nothing; what was pending is dropped
in both, another hash         pending: closed until an owner accepts this hash
a row, not in the offer       closed, its hash empty; dropped when it was never enabled
"""

from typing import Any

from django.db.models.functions import Now

from services import recorded
from services.models import Service, ServiceTool
from services.offers import definition, descriptor, documents, mcp, openapi
from services.offers.definition import Definition
from services.offers.descriptor import Offer
from tenants.people.changes import Said, record_all
from tools.registry import registry


def read(kind: str, slug: str, document: Any, operations: list[str]) -> Offer:
    """The offer that a descriptor or a document makes; raises InvalidService."""
    if kind == "mcp":
        return mcp.read(slug, document)
    return openapi.read(slug, document, operations) if kind == "openapi" else descriptor.read(slug, document)


def parsed(text: str, field: str) -> Any:
    """What is in a document that was fetched; raises InvalidService."""
    return documents.decoded(text, field)


def take(service: Service, offer: Offer, *, new: bool = False) -> None:
    """Bring the rows of a service's tools in line with its offer; raises InvalidService."""
    names = [each.name for each in offer.tools]
    others = ServiceTool.objects.filter(tenant_id=service.tenant_id).exclude(service=service)
    taken = dict(others.values_list("alias", "tool_name"))
    definition.refuse_collisions(service.slug, names, taken, list(registry().all()))
    rows = {row.name: row for row in ServiceTool.objects.select_for_update().filter(service=service)}
    before = {name: recorded.tool(row) for name, row in rows.items()}
    ServiceTool.objects.bulk_create([_new(service, each) for each in offer.tools if each.name not in rows])
    for each in offer.tools:
        if (row := rows.pop(each.name, None)) is not None:
            _compare(row, each)
    for row in rows.values():
        if row.enabled:
            _save(row, hash="", pending=None)
        else:
            row.delete()
    if not new:
        _record(service, before)
    # Owners choose the feeds of an MCP server, among its resources.
    feeds = mcp.still_there(service.feeds, offer.mcp) if service.kind == Service.Kind.MCP else offer.feeds
    # What has changed is not put into prompts until an owner has read it.
    same = (service.skill, service.feeds) == (offer.skill, feeds)
    Service.objects.filter(pk=service.pk).update(
        # What an MCP server says has not been read by an owner before it is added.
        in_prompts=service.in_prompts and (same or (new and service.kind != Service.Kind.MCP)),
        skill_problem=offer.skill_problem,
        description=offer.description,
        skill=offer.skill,
        endpoints=offer.endpoints,
        feeds=feeds,
        mcp=offer.mcp,
        snapshot_at=Now(),
        updated_at=Now(),
    )


def _record(service: Service, before: dict[str, Said]) -> None:
    """Put on record which tools came, changed or went."""
    after = {row.name: recorded.tool(row) for row in ServiceTool.objects.filter(service=service)}
    record_all((before.get(name), after.get(name)) for name in sorted({*before, *after}))


def accept(row: ServiceTool) -> None:
    """Make the pending definition the accepted one; of a tool that is gone nothing is left."""
    if not row.hash:
        row.delete()
    elif row.pending is not None:
        pending = row.pending
        values = {"definition": pending["given"], "parameters": pending["parameters"], "http": pending["http"]}
        _save(row, **values, accepted_hash=row.hash, pending=None)


def _new(service: Service, offered: Definition) -> ServiceTool:
    full = f"{service.slug}.{offered.name}"
    return ServiceTool(
        tenant_id=service.tenant_id,
        service=service,
        name=offered.name,
        tool_name=full,
        alias=definition.aliased(full),
        definition=offered.given,
        parameters=offered.parameters,
        http=offered.http,
        hash=offered.hash,
        accepted_hash=offered.hash,
    )


def _compare(row: ServiceTool, offered: Definition) -> None:
    found = offered.hash
    pending = None
    if found != row.accepted_hash:
        pending = {"given": offered.given, "parameters": offered.parameters, "http": offered.http}
    if (row.hash, row.pending) != (found, pending):
        _save(row, hash=found, pending=pending)


def _save(row: ServiceTool, **values: Any) -> None:
    ServiceTool.objects.filter(pk=row.pk).update(**values, updated_at=Now())
