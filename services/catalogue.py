"""How the tools of a tenant's services reach its members' rights, and the workers that run a call.

What is read here is the last accepted snapshot. Nothing is asked of a service.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from services.credentials import COLUMNS, Credential
from services.execution.tool import PLACE, ClosedTool, Declared, Endpoint, HttpTool, ServiceTool
from services.mcp.tool import LookAgain, McpTool
from tenants.scope.transactions import Connection, TenantScope, read
from tools.interface import Tool

OFF = "it is switched off for this tenant"
SERVICE_OFF = "its service is switched off for this tenant"
CHANGED = "its service defines it differently than when it was accepted, and an owner has to read and accept that"
GONE = "its service does not offer it any more"
_WHY = {"off": OFF, "service": SERVICE_OFF, "changed": CHANGED, "gone": GONE}

_STATE = """CASE WHEN NOT s.enabled THEN 'service' WHEN NOT t.enabled THEN 'off' WHEN t.hash = '' THEN 'gone'
        WHEN t.hash <> t.accepted_hash THEN 'changed' ELSE '' END"""
# An approval of a call is good for what was accepted, called where it was called then.
_DECLARED = f"""t.tool_name, t.definition->>'description', t.parameters, t.tier, t.idempotent, t.parallel_safe,
        s.timeout, encode(sha256(convert_to(t.accepted_hash || ' ' || s.url, 'UTF8')), 'hex'),
        t.reads_private, t.reads_untrusted, t.leaves_tenant,
        CASE WHEN coalesce(t.http->'hosts', t.http->'servers', '[]') = '[]' THEN {PLACE} ELSE '' END"""
_SOURCE = "service_tools t JOIN services s ON s.tenant_id = t.tenant_id AND s.id = t.service_id"
# A column beside those of tools.gates.policy: every tool of the tenant's services, of closed ones only name and state.
# Whatever changes what it says must let cached rights be read again; services/migrations/0001_initial.py says where.
COLUMN = f"""
    (SELECT jsonb_agg(CASE {_STATE} WHEN '' THEN jsonb_build_array('', {_DECLARED})
            ELSE jsonb_build_array({_STATE}, t.tool_name) END)
        FROM {_SOURCE} WHERE t.tenant_id = m.tenant_id) AS service_tools"""
_TOOL = f"""
    SELECT {_STATE} AS state, jsonb_build_array({_DECLARED}) AS declared, t.http, {COLUMNS}
    FROM {_SOURCE} WHERE t.tool_name = """
_TOOL_COLUMNS = ("state", "declared", "http", *(each.split()[-1].rpartition(".")[2] for each in COLUMNS.split(",")))


class _Read(NamedTuple):
    """What a row's column says, once it has been read."""

    tools: dict[str, Tool]
    closed: dict[str, str]


def from_row(row: dict[str, Any] | None) -> dict[str, Any]:
    """`service_tools` and `closed_tools` of a policy, out of a row that holds COLUMN.

    A row that a process remembers is read once: with hundreds of tools, each request would take milliseconds for it.
    """
    if row is None:
        return {"service_tools": {}, "closed_tools": {}}
    if not isinstance(row["service_tools"], _Read):
        row["service_tools"] = _read(row["service_tools"] or ())
    read: _Read = row["service_tools"]
    return {"service_tools": read.tools, "closed_tools": read.closed}


def _read(listed: Iterable[list[Any]]) -> _Read:
    tools: dict[str, Tool] = {}
    closed: dict[str, str] = {}
    for state, *values in listed:
        if state:
            closed[values[0]] = _WHY[state]
        else:
            tools[values[0]] = ServiceTool(Declared(*values))
    return _Read(tools, closed)


def _row(*values: Any) -> dict[str, Any]:
    return dict(zip(_TOOL_COLUMNS, values, strict=True))


class ServiceTools:
    """See `tools.invocation.ports.Services`; `look_again` is for a service whose tool is not as it was accepted."""

    def __init__(self, look_again: LookAgain):
        self._look_again = look_again

    async def tool(self, connection: Connection, name: str) -> Tool | None:
        """With the credential, still encrypted; one that may not be called any more says so when it is executed."""
        row = await (await connection.execute(f"{_TOOL}%s".encode(), [name])).fetchone()
        return None if row is None else self._made(row)

    async def tool_in(self, scope: TenantScope, name: str) -> Tool | None:
        """The same, in one round trip."""
        found: list[dict[str, Any]] = await read(scope, f"{_TOOL}$1".encode(), [name], _row)
        return self._made(found[0]) if found else None

    def _made(self, row: dict[str, Any]) -> Tool:
        declared = Declared(*row["declared"])
        if row["state"]:
            return ClosedTool(declared, _WHY[row["state"]])
        endpoint = Endpoint(str(row["service_id"]), row["url"], row["http"], Credential.of_row(row))
        return McpTool(declared, endpoint, self._look_again) if row["kind"] == "mcp" else HttpTool(declared, endpoint)
