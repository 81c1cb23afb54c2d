"""How the tools of a tenant's services reach its members' rights, and the workers that run a call.

What is read here is the last accepted snapshot. Nothing is asked of a service.
"""

from typing import Any

from services.credentials import Credential
from services.execution.tool import ClosedTool, Declared, Endpoint, HttpTool, ServiceTool
from tenants.scope.transactions import Connection
from tools.interface import Tool

OFF = "it is switched off for this tenant"
SERVICE_OFF = "its service is switched off for this tenant"
CHANGED = "its service defines it differently than when it was accepted, and an owner has to read and accept that"
GONE = "its service does not offer it any more"
_WHY = {"off": OFF, "service": SERVICE_OFF, "changed": CHANGED, "gone": GONE}

_STATE = """CASE WHEN NOT s.enabled THEN 'service' WHEN NOT t.enabled THEN 'off' WHEN t.hash = '' THEN 'gone'
        WHEN t.hash <> t.accepted_hash THEN 'changed' ELSE '' END"""
# An approval of a call is good for what was accepted, called where it was called then.
_DECLARED = """t.tool_name, t.definition->>'description', t.parameters, t.tier, t.idempotent, t.parallel_safe,
        s.timeout, encode(sha256(convert_to(t.accepted_hash || ' ' || s.url, 'UTF8')), 'hex')"""
_SOURCE = "service_tools t JOIN services s ON s.tenant_id = t.tenant_id AND s.id = t.service_id"
# A column beside those of tools.gates.policy: every tool of the tenant's services, of closed ones only name and state.
# Whatever changes what it says must let cached rights be read again; services/migrations/0001_initial.py says where.
COLUMN = f"""
    (SELECT jsonb_agg(CASE {_STATE} WHEN '' THEN jsonb_build_array('', {_DECLARED})
            ELSE jsonb_build_array({_STATE}, t.tool_name) END)
        FROM {_SOURCE} WHERE t.tenant_id = m.tenant_id) AS service_tools"""
_TOOL = f"""
    SELECT {_STATE} AS state, jsonb_build_array({_DECLARED}) AS declared, t.http, s.url, s.identity, s.header, s.secret
    FROM {_SOURCE} WHERE t.tool_name = %s"""


def from_row(row: dict[str, Any] | None) -> dict[str, Any]:
    """`service_tools` and `closed_tools` of a policy, out of a row that holds COLUMN."""
    tools: dict[str, Tool] = {}
    closed: dict[str, str] = {}
    for state, *values in (row and row["service_tools"]) or ():
        if state:
            closed[values[0]] = _WHY[state]
        else:
            tools[values[0]] = ServiceTool(Declared(*values))
    return {"service_tools": tools, "closed_tools": closed}


class ServiceTools:
    """See `tools.invocation.ports.Services`."""

    async def tool(self, connection: Connection, name: str) -> Tool | None:
        """With the credential, still encrypted; one that may not be called any more says so when it is executed."""
        row = await (await connection.execute(_TOOL.encode(), [name])).fetchone()
        if row is None:
            return None
        declared = Declared(*row["declared"])
        if row["state"]:
            return ClosedTool(declared, _WHY[row["state"]])
        credential = Credential(row["identity"], row["header"], row["secret"])
        return HttpTool(declared, Endpoint(row["url"], row["http"], credential))
