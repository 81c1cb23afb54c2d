"""A tool of a service as a `Tool`: what gates and models go by, and for a worker how it is called."""

import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from yarl import URL

from services.credentials import NONE, Credential, CredentialError, RefusedThere, hidden, resolver
from services.execution import answers, elsewhere, pages, request
from services.offers.placing import Http
from tenants.scope.transactions import TenantScope
from tools.errors import ToolError, ToolExecutionError, ToolPermissionDenied, ToolTimeout, ToolValidationError
from tools.interface import Tier, Tool, ToolContext, ToolResult
from tools.labels import Label, feeds_of
from tools.network import clients, egress
from tools.schemas import schema

CONNECT_SECONDS = 10.0
_SHOWN = 200
# In SQL over `services s`: which service it is, and where, as sources of what was read say it.
PLACE = "left(encode(sha256(convert_to(s.id || ' ' || s.url, 'UTF8')), 'hex'), 12)"
# Of the call's time: the rest is for saying what became of it, before the call itself is ended.
SHARE = 0.95


@dataclass(frozen=True, slots=True)
class Declared:
    """What gates, models and approvals go by, as the tenant's rows say; `binding` is as in `Tool`. `place` is PLACE
    where each call goes to the service itself, else ""."""

    name: str
    description: str
    parameters: dict[str, Any]
    tier: str
    idempotent: bool
    parallel_safe: bool
    timeout: float
    binding: str
    reads_private: bool = True
    reads_untrusted: bool = True
    leaves_tenant: bool = True
    place: str = ""

    @property
    def labels(self) -> frozenset[Label]:
        """Those that its owners say it has."""
        return frozenset(label for label in Label if getattr(self, label.value))


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a call of the tool goes, and as whom; `service` is the service's id."""

    service: str
    url: str
    http: dict[str, Any]
    credential: Credential = field(repr=False)

    def key(self, tenant_id: uuid.UUID, credential: Mapping[str, str]) -> clients.Key:
        """Whose connections, and sessions, a call uses."""
        return tenant_id, f"{self.service} {self.url}", clients.digest(credential)


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
            labels=declared.labels,
        )

    def check(self, params: dict[str, Any]) -> None:
        """Raise ToolValidationError when it has got another schema since the call passed the gates."""
        violation = schema.check(self.parameters, params)
        if violation is not None:
            raise ToolValidationError(f"{self.name} has changed meanwhile: {violation.message}", violation.field)

    @property
    def binding(self) -> str:
        """The definition that was accepted and the address it is called at."""
        return self.declared.binding

    @property
    def own_feeds(self) -> str:
        """Those of its service as it is now."""
        return feeds_of(self.name.partition(".")[0], self.declared.place) if self.declared.place else ""

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
        """Output: the answer's JSON or text, with its next page where there is one (`services.execution.pages`).

        No redirect is followed, no next page is asked for, and no credential is in an error's words.
        """
        self.check(params)
        http = Http.stored(self._endpoint.http)
        if http.hosts:
            made = elsewhere.build(http, params)
        else:
            identity = identity_of(ctx, self._endpoint.http["identity"])
            base = elsewhere.base(self._endpoint.url, http.servers) if http.servers else self._endpoint.url
            made = request.build(base, http, params, identity)
        # It was given for the service's own host.
        ours = not (http.hosts or http.servers) or elsewhere.same_origin(made.url, self._endpoint.url)
        scope, credential = TenantScope(ctx.tenant_id, ctx.user_id), self._endpoint.credential if ours else NONE
        try:
            headers = await resolver.headers(scope, credential)
            answer = await self._sent(made, headers, ctx)
            if answer.status == 401 and (newer := await resolver.refreshed(scope, credential, headers)) is not None:
                # What was refused has had no effect. The answer may repeat either credential.
                answer = await self._sent(made, newer, ctx)
                headers = newer | {f"{name}, refused": value for name, value in headers.items()}
            if credential.personal and answer.status in RefusedThere.STATUSES:
                raise RefusedThere(credential.slug, answer.status)
        except CredentialError as failed:
            raise failed.as_tool_error() from None
        if not ours and answer.status in (401, 403) and self._endpoint.credential.identity != "none":
            raise ToolExecutionError(
                f"{self.name} is not at its service's own host, where alone the service's credential is sent, and was"
                f" refused without it (HTTP {answer.status}). An owner can add a service with the address of that host."
            )
        found = answers.output(self.name, answer, headers, http.success)
        shown = _shown(self.name, answer, found)
        if answer.link and not http.hosts:
            link = hidden(answer.link, headers)
            found = pages.with_next(found, link, sent=made.url, http=http, parameters=self.parameters, given=params)
        return ToolResult(found, shown)

    async def _sent(self, made: request.Request, headers: dict[str, str], ctx: ToolContext) -> egress.Answer:
        began = time.monotonic()
        try:
            async with clients.client_of(self._endpoint.key(ctx.tenant_id, headers)) as client:
                return await client.request(
                    made.method,
                    URL(made.url, encoded=True),
                    data=made.data,
                    headers=made.headers | headers,
                    connect_seconds=min(CONNECT_SECONDS, ctx.seconds),
                    seconds=ctx.seconds * SHARE,
                    most=answers.MAX_BYTES + 1,
                )
        except egress.EgressFailed as failed:
            raise self._unanswered(failed, time.monotonic() - began) from None

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
