"""The gate `rate_limit`: is there room in the window of this user and tool."""

from tools.gates import rate_counter
from tools.gates.interface import Candidate, Gate, GateContext, GateResult
from tools.interface import Tier


class RateLimit(Gate):
    """Counts the call; without a count, what changes things is refused and what only reads goes on uncounted."""

    name = "rate_limit"
    code = "rate_limited"
    passed = "The limit has room"
    refused = "The limit is used up"

    async def check(self, candidate: Candidate, context: GateContext) -> GateResult:
        """Counted once for each call, when it is new."""
        tool, policy, caller = candidate.known_tool, context.policy, context.caller
        rate = policy.rate(tool)
        if caller.charged:
            return self.passes(log="counted when it was proposed")
        try:
            charge = await rate_counter.charge(
                tenant_id=caller.tenant_id,
                user_id=caller.user_id,
                tool=tool.name,
                rate=rate,
                count=caller.charge,
            )
        except rate_counter.LimitsUnavailable as away:
            wrong = isinstance(away, rate_counter.WrongRate)
            if context.tier(candidate) is Tier.READ_ONLY and not wrong:
                return self.passes(log=f"limits unavailable ({away}); read-only, so let through uncounted")
            return self.refuses(
                code="unavailable",
                model=f"{tool.name} cannot run at the moment because its rate limit cannot be counted. It did not run. "
                "Tell the user to try later, and to tell the operator if it goes on.",
                user=f"The rate limit of {tool.name} cannot be counted at the moment, so it did not run. Try again in "
                "a minute; if it goes on, tell the operator.",
                log=f"limits unavailable ({away})",
            )
        if charge.allowed:
            return self.passes(log=f"{charge.remaining} of {charge.limit} left")
        return self.refuses(
            model=f"{tool.name} is limited to {rate} for this user. It can be called again in {charge.reset} seconds.",
            user=f"{tool.name} was used too often: its rate limit is {rate}. It is available again in {charge.reset} "
            "seconds. An owner of the tenant can change the limit (/settings/tools/).",
            log=f"over {rate}",
        )
