"""A tool of a service as a `Tool`: what gates and models go by, and for a worker how it is called."""

import time
from dataclasses import dataclass, field
from typing import Any

from yarl import URL

from services.credentials import Credential
from services.execution import answers, request
from services.offers.placing import Http
from tenants.people.encryption import Undecipherable
from tenants.scope.transactions import TenantScope
from tools.errors import ToolError, ToolExecutionError, ToolPermissionDenied, ToolTimeout, ToolValidationError
from tools.interface import Tier, Tool, ToolContext, ToolResult
from tools.network import egress
from tools.schemas import schema

CONNECT_SECONDS = 10.0
_SHOWN = 200
# Of the call's time: the rest is for saying what became of it, before the call itself is ended.
_SHARE = 0.95


@dataclass(frozen=True, slots=True)
class Declared:
    """What gates, models and approvals go by, as the tenant's rows say; `binding` is as in `Tool`."""

    name: str
    description: str
    parameters: dict[str, Any]
    tier: str
    idempotent: bool
    parallel_safe: bool
    timeout: float
    binding: str


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a call of the tool goes, and as whom."""

    url: str
    http: dict[str, Any]
    credential: Credential = field(repr=False)


class ServiceTool(Tool):
    """A tool that a tenant's rows declare; two with the same declaration are equal."""

    def __init__(self, declared: Declared):
        self.declared = declared
        # What other tools say in their class, this one says by itself.
        vars(self).update(
            name=declared.name,
            description=declared.description,
            parameters=declared.parameters,
            tier=Tier(declared.tier),
            idempotent=declared.idempotent,
            parallel_safe=declared.parallel_safe,
            timeout=declared.timeout,
        )

    @property
    def binding(self) -> str:
        """The definition that was accepted and the address it is called at."""
        return self.declared.binding

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ServiceTool) and self.declared == other.declared

    def __hash__(self) -> int:
        return hash((self.declared.name, self.declared.binding))


class ClosedTool(ServiceTool):
    """One that was switched off, or has changed, after a call of it had passed the gates."""

    def __init__(self, declared: Declared, why: str):
        super().__init__(declared)
        self._why = why

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        """Nothing is called."""
        raise ToolPermissionDenied(f"{self.name} was not called: {self._why}.")


class HttpTool(ServiceTool):
    """One that is called by one HTTP request, through the egress guard."""

    def __init__(self, declared: Declared, endpoint: Endpoint):
        super().__init__(declared)
        self._endpoint = endpoint

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        """Output: the answer's JSON or text. No redirect is followed, and no credential is in an error's words."""
        # It may have got another schema since the call passed the gates.
        violation = schema.check(self.parameters, params)
        if violation is not None:
            raise ToolValidationError(f"{self.name} has changed meanwhile: {violation.message}", violation.field)
        http = self._endpoint.http
        place = Http(http["method"], http["path"], http["body"], http["places"])
        made = request.build(self._endpoint.url, place, params, identity_of(ctx, http["identity"]))
        try:
            credential = self._endpoint.credential.headers()
        except Undecipherable:
            raise ToolExecutionError(
                f"The credential of {self.name} cannot be read any more; an owner has to set it again."
            ) from None
        began = time.monotonic()
        try:
            answer = await egress.request(
                made.method,
                URL(made.url, encoded=True),
                data=made.data,
                headers=made.headers | credential,
                connect_seconds=min(CONNECT_SECONDS, ctx.seconds),
                seconds=ctx.seconds * _SHARE,
                most=answers.MAX_BYTES + 1,
            )
        except egress.EgressFailed as failed:
            raise self._unanswered(failed, time.monotonic() - began) from None
        found = answers.output(self.name, answer, credential)
        return ToolResult(found, _shown(self.name, answer, found))

    def _unanswered(self, failed: egress.EgressFailed, elapsed: float) -> ToolError:
        if isinstance(failed, egress.EgressRefused):
            return ToolPermissionDenied(
                f"The address of {self.name} may not be reached: {failed} An owner can change the service's address;"
                " the operator can allow private ones (TOOLGATE_EGRESS_ALLOW)."
            )
        unsure = "" if self.idempotent else " It may or may not have had its effect."
        if isinstance(failed, egress.TooSlow):
            return ToolTimeout(f"{self.name} did not answer within {elapsed:.1f} seconds.{unsure}", elapsed)
        return ToolExecutionError(f"{self.name} could not be reached, or cut its answer off.{unsure}")


def identity_of(ctx: ToolContext | TenantScope, names: list[str]) -> dict[str, str]:
    """The values of identity placeholders: whoever is authenticated, whatever a model says."""
    known = {"claw_id": ctx.user_id, "toolgate_user": ctx.user_id, "toolgate_tenant": ctx.tenant_id}
    return {name: str(known[name]) for name in names}


def _shown(name: str, answer: egress.Answer, found: Any) -> str:
    """One line for people."""
    if isinstance(found, list):
        what = f"{len(found):,} {'item' if len(found) == 1 else 'items'}"
    else:
        what = f"{len(answer.body):,} bytes"
    return f"{name} answered {what}"[:_SHOWN]
