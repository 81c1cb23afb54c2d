"""One request to `/mcp` on its way through the SDK: whose it is, and whether its client still listens."""

from dataclasses import dataclass
from typing import Any

from tenants.people.principal import Principal
from tenants.scope.transactions import TenantScope

# Where the ASGI scope of the request has it.
KEY = "toolgate.exchange"


@dataclass(slots=True)
class Exchange:
    """`gone`: the client has hung up, which in this protocol means that it does not want the result any more.

    `session` is what the client calls itself, empty when it does not.
    """

    principal: Principal
    session: str = ""
    gone: bool = False

    @property
    def tenant_scope(self) -> TenantScope:
        """The tenant scope of what it does."""
        return TenantScope(self.principal.tenant_id, self.principal.user_id)


def of(context: Any) -> Exchange:
    """The exchange of an SDK's request context."""
    found: Exchange = context.request.scope[KEY]
    return found
