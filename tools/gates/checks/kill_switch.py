"""The gate `kill_switch`: has an owner or the operator stopped the tool, its service, the agent, the model, the person,
or all of them."""

from audit.calls.recorder import Failure
from tenants.switches.on import Subject, Switch, killed
from tools.gates.interface import Candidate, Gate, GateContext, GateResult
from tools.gates.refusals import Words


class KillSwitches(Gate):
    """A switch that is on refuses the call, whatever the other gates say.

    The tool is listed all the same: a model that is refused tells the user who stopped it, and until when. What is
    queued already is asked about where it is claimed.
    """

    name = "kill_switch"
    code = "killed"
    passed = "No kill switch stops it"
    refused = "A kill switch stops it"

    def concerns(self, candidate: Candidate, context: GateContext) -> bool:
        """Only while a switch is on."""
        return any(each.is_on(context.now) for each in context.policy.switches)

    def check(self, candidate: Candidate, context: GateContext) -> GateResult:
        """By the switches that came with the member's rights, at this moment."""
        caller = context.caller
        subject = Subject(caller.user_id, caller.agent, caller.model, candidate.name)
        switch = killed(context.policy.switches, subject, context.now)
        if switch is None:
            return self.passes()
        failure = refusal(switch)
        return self.refuses(model=failure.message, user=failure.display, log=f"stopped by the kill switch {switch.id}")


def refusal(switch: Switch) -> Failure:
    """The error of a call that a switch stops."""
    words = Words(switch.what, switch.remedy, "")
    return Failure("killed", words.to_model("The call did not run. Do not try again."), None, words.to_user())
