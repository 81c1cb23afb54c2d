"""Services as their owners see them: never a credential, and how the last real calls went."""

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import connections, router

from services.models import Connection, Service, ServiceTool
from services.offers import definition

# By tool: the last call that reached the service, or tried to. Each is one look into an index.
_LAST_CALLS = """
    SELECT last.* FROM unnest(%s::text[]) AS named (tool_name) CROSS JOIN LATERAL (
        SELECT c.tool_name, c.status, c.error_code, c.error_message, c.finished_at, c.execution_time_ms
        FROM tool_calls c
        WHERE c.tenant_id = %s AND c.tool_name = named.tool_name AND c.started_at IS NOT NULL
            AND c.finished_at IS NOT NULL
        ORDER BY c.id DESC LIMIT 1) last"""
# Which of a service's tools are asked about: those that can have been called.
MOST_ASKED = 100

LastCalls = dict[str, dict[str, Any]]
Connected = Mapping[uuid.UUID, Connection]
_OAUTH = (Service.Identity.OAUTH_CLIENT, Service.Identity.OAUTH_USER)


def summary(service: Service, connected: Connected | None = None) -> dict[str, Any]:
    """A service as lists show it; `connected` as in `credential`."""
    return {
        "slug": service.slug,
        "kind": service.kind,
        "url": service.url,
        "description": service.description,
        "enabled": service.enabled,
        "credential": credential(service, connected),
        "timeout": service.timeout,
        "source_url": service.source_url or None,
        "operations": service.operations,
        "snapshot_at": service.snapshot_at,
        "created_at": service.created_at,
        "updated_at": service.updated_at,
    }


def credential(service: Service, connected: Connected | None) -> dict[str, Any]:
    """What may be said of a service's credential; of an OAuth one also whether there are tokens, and until when.

    `connected` has connections by service: the viewer's where each user has their own, else the tenant's.
    """
    said: dict[str, Any] = {"type": service.identity}
    if service.header:
        said["name"] = service.header
    if service.identity in _OAUTH:
        found = (connected or {}).get(service.id)
        said |= {name: service.oauth[name] for name in ("client_id", "scopes", "resource") if name in service.oauth}
        said |= {"issuer": service.oauth.get("issuer"), "connected": found is not None, "expires_at": None}
        if found is not None:
            said |= {"issuer": found.issuer, "expires_at": found.expires_at}
    return said


def connected(services: Sequence[Service]) -> Connected:
    """The connections of these services that the viewer's scope has, by service; none asks for none."""
    wanted = [each.id for each in services if each.identity in _OAUTH]
    if not wanted:
        return {}
    found = Connection.objects.filter(service__in=wanted, ended_at=None).exclude(access_token="")
    return {each.service_id: each for each in found.only("service_id", "issuer", "expires_at")}


def details(service: Service) -> dict[str, Any]:
    """A service with its tools and how their last calls went: three statements, however many tools it has."""
    tools = list(ServiceTool.objects.filter(service=service).order_by("tool_name"))
    last = last_calls(service.tenant_id, [each.tool_name for each in tools if each.enabled][:MOST_ASKED])
    return summary(service, connected([service])) | {
        "endpoints": service.endpoints,
        "feeds": service.feeds,
        "skill": service.skill,
        "skill_problem": service.skill_problem,
        "in_prompts": service.in_prompts,
        "mcp": service.mcp or None,
        "status": status(last),
        "tools": [tool(each, last) for each in tools],
    }


def tool(row: ServiceTool, last: LastCalls | None = None) -> dict[str, Any]:
    """A tool: what it is, what its tenant says of it, and what changed since it was accepted."""
    drift = _drift(row)
    given = row.definition
    return {
        "name": row.name,
        "tool": row.tool_name,
        "title": given.get("title", ""),
        "description": given["description"],
        "input_schema": given.get("inputSchema", {"type": "object"}),
        "output_schema": given.get("outputSchema"),
        "parameters": row.parameters,
        "annotations": given.get("annotations", {}),
        "http": _http(row.http) if row.http and "path" in row.http else None,
        "enabled": row.enabled and drift is None,
        "tier": row.tier,
        "idempotent": row.idempotent,
        "parallel_safe": row.parallel_safe,
        "labels": {
            "reads_private": row.reads_private,
            "reads_untrusted": row.reads_untrusted,
            "leaves_tenant": row.leaves_tenant,
        },
        "hash": row.hash or row.accepted_hash,
        "accepted_hash": row.accepted_hash,
        "drift": drift,
        "last_call": (last or {}).get(row.tool_name),
    }


def status(last: LastCalls) -> dict[str, Any]:
    """What the last real calls of a service did: unknown without any, failing when the newest failed."""
    newest = sorted(last.values(), key=lambda call: call["finished_at"], reverse=True)
    good = [call for call in newest if call["status"] == "success"]
    bad = [call for call in newest if call["status"] != "success"]
    state = "unknown" if not newest else "ok" if newest[0] in good else "failing"
    return {
        "state": state,
        "last_success_at": _moment(good),
        "last_failure_at": _moment(bad),
        "last_error": {"code": bad[0]["error_code"], "message": bad[0]["error_message"]} if bad else None,
    }


def last_calls(tenant_id: uuid.UUID, names: list[str]) -> LastCalls:
    """The last call of each tool that reached its service, or tried to; by the tool's full name."""
    if not names:
        return {}
    with connections[router.db_for_read(Service)].cursor() as cursor:
        cursor.execute(_LAST_CALLS, [names, str(tenant_id)])
        columns = ("status", "error_code", "error_message", "finished_at", "execution_time_ms")
        return {name: dict(zip(columns, rest, strict=True)) for name, *rest in cursor.fetchall()}


def _moment(calls: list[dict[str, Any]]) -> datetime | None:
    return calls[0]["finished_at"] if calls else None


def _http(http: dict[str, Any]) -> dict[str, Any]:
    """How a tool is called: `servers` where that is not at its service's address."""
    shown = {"method": http["method"], "path": http["path"]}
    return shown | ({"servers": http["servers"]} if http.get("servers") else {})


def _drift(row: ServiceTool) -> dict[str, Any] | None:
    if row.hash == row.accepted_hash:
        return None
    if not row.hash:
        return {"removed": True, "hash": row.accepted_hash, "changes": []}
    after = row.pending["given"] if row.pending else {}
    return {"removed": False, "hash": row.hash, "changes": definition.changes(row.definition, after)}
