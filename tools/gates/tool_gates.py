"""The gates that a suggested call passes, in order: each says yes, or no with a code and words for three readers.

    allowlist   does the tool exist, and do operator, tenant and agent let it be called at all     not_allowed
    schema      are the arguments JSON that the tool's schema accepts                              validation_error
    permission  do the user's role and grants, and the agent, reach that far                       permission_denied
    policy      does a rule of the tenant deny it                                                  policy_denied
    rate_limit  is there room in the window                                          rate_limited, unavailable
    approval    does a human have to say yes first; then the call is held                          policy_denied

`policy` and `approval` are handed in by `approvals.requests.gates`, in whose `through` the whole order stands.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from audit.calls.recorder import Failure
from tools.errors import ToolValidationError
from tools.gates import ratelimit, refusals
from tools.gates.policy import Policy
from tools.interface import Tier, Tool
from tools.schemas import schema

VALIDATION_RETRIES = 2


@dataclass(frozen=True, slots=True)
class Candidate:
    """A suggested call before the gates: `problem` is why its raw arguments could not be parsed, if so;
    `earlier_failures` counts the run's earlier validation errors of the same tool. Without `arguments` the question
    is what holds for any."""

    name: str
    tool: Tool | None
    arguments: Any
    problem: ToolValidationError | None
    earlier_failures: int


@dataclass(frozen=True, slots=True)
class Answer:
    """A gate's answer; a refusal has a code and words: `model` says what to do, `user` what happened, `log` why.

    `holds`: yes, once a human has said so too. `rule`: the tenant's rule that the answer follows.
    """

    gate: str
    ok: bool
    code: str | None = None
    model: str = ""
    user: str = ""
    log: str = ""
    field: str | None = None
    holds: bool = False
    rule: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The answer as `tool_calls.decision` keeps it."""
        shown: dict[str, Any] = {"gate": self.gate, "ok": self.ok}
        if not self.ok:
            shown |= {"code": self.code, "model": self.model, "user": self.user}
        more = {"holds": self.holds, "rule": self.rule, "log": self.log, "field": self.field}
        return shown | {name: value for name, value in more.items() if value}

    @property
    def failure(self) -> Failure:
        """The refusal as the call's recorded error."""
        return Failure(self.code or "policy_denied", self.model, self.field, self.user)


Gate = Callable[[Candidate, Policy, "Caller"], Awaitable[Answer] | Answer]


@dataclass(frozen=True, slots=True)
class Caller:
    """Whose limits a call is charged to, and the slug of the agent that calls.

    With `charge` False the limits are only looked at; `charged`: this call has been counted before.
    """

    tenant_id: Any
    user_id: Any
    agent: str = ""
    charge: bool = True
    charged: bool = False


def allowlist(candidate: Candidate, policy: Policy, caller: Caller) -> Answer:
    """Unknown tools, and tools that the operator, the tenant or the agent does not list, are refused."""
    refused = refusals.not_allowed(_quoted(candidate.name), candidate.tool, policy, caller.agent)
    if refused is None:
        return Answer("allowlist", True)
    return Answer(
        "allowlist",
        False,
        "not_allowed",
        model=refused.to_model(refusals.USE_OTHERS),
        user=refused.to_user(),
        log=refused.log,
    )


def arguments(candidate: Candidate, policy: Policy, caller: Caller) -> Answer:
    """What is not strict JSON, or not what the tool's schema asks for, goes back to the model to be corrected."""
    tool = candidate.tool
    assert tool is not None
    if candidate.problem is not None:
        message, field = candidate.problem.message, candidate.problem.field
    else:
        violation = schema.check(tool.parameters, candidate.arguments)
        if violation is None:
            return Answer("schema", True)
        message, field = violation.message, violation.field
    left = VALIDATION_RETRIES - candidate.earlier_failures
    advice = (
        f"Correct the arguments and call {tool.name} again ({left} {'retry' if left == 1 else 'retries'} left)."
        if left > 0
        else f"No retries are left: do not call {tool.name} again, and tell the user what went wrong."
    )
    return Answer(
        "schema",
        False,
        "validation_error",
        model=f"{message} {advice}",
        user=f"The assistant's arguments for {tool.name} were not valid.",
        log=message,
        field=field,
    )


def permission(candidate: Candidate, policy: Policy, caller: Caller) -> Answer:
    """A deny wins, then the agent's ceiling; an allow reaches beyond the role's; else the tier must be under it."""
    tool = candidate.tool
    assert tool is not None
    refused = refusals.not_permitted(tool, policy, caller.agent)
    if refused is None:
        return Answer("permission", True, log="a grant allows it" if policy.granted(tool, "allow") else "")
    return Answer(
        "permission",
        False,
        "permission_denied",
        model=refused.to_model(refusals.DO_NOT_TRY),
        user=refused.to_user(),
        log=refused.log,
    )


async def rate_limit(candidate: Candidate, policy: Policy, caller: Caller) -> Answer:
    """Counts the call; without a count, what changes things is refused and what only reads goes on uncounted."""
    tool = candidate.tool
    assert tool is not None
    rate = policy.rate(tool)
    if caller.charged:
        return Answer("rate_limit", True, log="counted when it was proposed")
    try:
        charge = await ratelimit.charge(
            tenant_id=caller.tenant_id,
            user_id=caller.user_id,
            tool=tool.name,
            rate=rate,
            count=caller.charge,
        )
    except ratelimit.LimitsUnavailable as away:
        if policy.tier(tool) is Tier.READ_ONLY:
            return Answer("rate_limit", True, log=f"limits unavailable ({away}); read-only, so let through uncounted")
        return Answer(
            "rate_limit",
            False,
            "unavailable",
            model=f"{tool.name} cannot run at the moment because its rate limit cannot be counted. It did not run. "
            "Tell the user to try later, and to tell the operator if it goes on.",
            user=f"The rate limit of {tool.name} cannot be counted at the moment, so it did not run. Try again in a "
            "minute; if it goes on, tell the operator.",
            log=f"limits unavailable ({away})",
        )
    if charge.allowed:
        return Answer("rate_limit", True, log=f"{charge.remaining} of {charge.limit} left")
    return Answer(
        "rate_limit",
        False,
        "rate_limited",
        model=f"{tool.name} is limited to {rate} for this user. It can be called again in {charge.reset} seconds.",
        user=f"{tool.name} was used too often: its rate limit is {rate}. It is available again in {charge.reset} "
        "seconds. The operator can change the limit (tool settings in /admin/).",
        log=f"over {rate}",
    )


def _quoted(name: str) -> str:
    return ascii(name[:80])
