"""Which tool a name is: one of this process's, or one of a service of the tenant.

Whoever has a member's rights finds it there (`known`); whoever works on a recorded call asks the database (`of_call`).
"""

from collections.abc import Iterator

from tenants.scope.transactions import Connection, TenantScope, transaction
from tools.gates.policy import Policy
from tools.interface import Tool
from tools.invocation import ports
from tools.registry import registry


def known(policy: Policy, name: str) -> Tool | None:
    """The tool of exactly this name, as far as the policy's tenant has it open to anybody."""
    return registry().get(name) or policy.service_tools.get(name)


def everything(policy: Policy) -> Iterator[Tool]:
    """Every tool that the policy's tenant has, in the order of their names."""
    tools = {tool.name: tool for tool in registry().all()}
    # This process's own come first where two have the same name.
    tools = {**policy.service_tools, **tools}
    return (tools[name] for name in sorted(tools))


async def of_call(connection: Connection, name: str) -> Tool | None:
    """The tool by that name in the tenant of the connection's scope, ready to be executed; None when there is none."""
    return registry().get(name) or (await ports.services().tool(connection, name) if "." in name else None)


async def in_scope(scope: TenantScope, name: str) -> Tool | None:
    """As `of_call`, for who has no transaction open; one of this process's costs no statement."""
    found = registry().get(name)
    if found is not None or "." not in name:
        return found
    async with transaction(scope) as connection:
        return await of_call(connection, name)
