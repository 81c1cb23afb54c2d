"""Which tool a name is: one of this process's, or one of a service of the tenant.

Whoever has a member's rights finds it there (`known`); whoever works on a recorded call asks the database (`of_call`).
"""

from collections.abc import Callable, Hashable, Iterator
from typing import TypeVar

from django.conf import settings

from tenants.scope.transactions import Connection, TenantScope
from tools.gates.policy import Policy
from tools.interface import Tool
from tools.invocation import ports
from tools.registry import registry

T = TypeVar("T")


def known(policy: Policy, name: str) -> Tool | None:
    """The tool of exactly this name, as far as the policy's tenant has it open to anybody."""
    return registry().get(name) or policy.service_tools.get(name)


def everything(policy: Policy) -> Iterator[Tool]:
    """Every tool that the policy's tenant has, in the order of their names."""
    tools = {tool.name: tool for tool in registry().all() if tool.listed}
    # This process's own come first where two have the same name.
    tools = {**policy.service_tools, **tools}
    return (tools[name] for name in sorted(tools))


def once(policy: Policy, key: Hashable, make: Callable[[], T]) -> T:
    """What `make` makes of the policy and the process's tools, made once while both are the same.

    Where the tenant has conditions it is made each time: they look at the clock.
    """
    if policy.conditions:
        return make()
    tools, tiers = registry().all(), settings.TOOLGATE_TOOL_TIERS
    made = policy.derived.get(key)
    if made is None or made[0] is not tools or made[1] is not tiers:
        made = policy.derived[key] = tools, tiers, make()
    found: T = made[2]
    return found


async def of_call(connection: Connection, name: str) -> Tool | None:
    """The tool by that name in the tenant of the connection's scope, ready to be executed; None when there is none."""
    return registry().get(name) or (await ports.services().tool(connection, name) if "." in name else None)


async def in_scope(scope: TenantScope, name: str) -> Tool | None:
    """As `of_call`, for who has no transaction open; one of this process's costs no statement."""
    found = registry().get(name)
    if found is not None or "." not in name:
        return found
    return await ports.services().tool_in(scope, name)
