"""Tools whose tier goes by the arguments of a call: the gates ask for the call's, lists show the tool's."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from django.test import override_settings

from tests.tools.test_gates import CALLER, POLICY
from tools.gates.checks.approval import Approving
from tools.gates.checks.permission import Permission
from tools.gates.interface import Candidate, Gate, GateContext, GateResult, Rights, Taint, TaintSource
from tools.gates.policy import Policy, Setting
from tools.interface import CallFacts, Tier, Tool, ToolContext, ToolResult
from tools.invocation import evaluation, lookup
from tools.invocation.evaluation import Suggestion
from tools.registry import Registry
from tools.schemas.schema import InvalidToolDeclaration
from tools.settings import changes

NEAR, FAR, UNKNOWN, BROKEN = ({"where": each} for each in ("near", "far", "unknown", "broken"))
MEMBER = replace(POLICY, role="member", ceiling=Tier.ELEVATED, agent_tools=None, operator_tools=None)


class Going(Tool):
    """Goes somewhere: near by itself, far after a human."""

    name = "going"
    description = "Go."
    parameters = {
        "type": "object",
        "properties": {"where": {"type": "string"}},
        "required": ["where"],
        "additionalProperties": False,
    }
    tier = Tier.ELEVATED
    least_tier = Tier.SYSTEM

    def tier_of(self, arguments: Mapping[str, Any], facts: CallFacts) -> Tier | None:
        """As the place says; what is broken raises, and what is low is below what the tool declares."""
        places = {"near": Tier.SYSTEM, "far": Tier.ELEVATED, "low": Tier.READ_ONLY}
        if arguments["where"] == "tainted":
            return None if facts.tainted is None else Tier.ELEVATED if facts.tainted else Tier.SYSTEM
        return None if arguments["where"] == "unknown" else places[arguments["where"]]

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        """Nowhere."""
        return ToolResult({}, "Gone")


GOING = Going()


def answered(gate: Gate, arguments: Any, known: Policy = MEMBER) -> GateResult:
    """A gate's answer about a call with these arguments."""
    answer = gate.check(Candidate("going", GOING, arguments), GateContext(known, CALLER))
    assert isinstance(answer, GateResult)
    return answer


def test_a_call_is_held_by_its_arguments_and_what_cannot_be_decided_is_held_too() -> None:
    asked = {
        each["where"]: answered(Approving(), each).holds for each in (NEAR, FAR, UNKNOWN, BROKEN, {"where": "low"})
    }
    assert asked == {"near": False, "far": True, "unknown": True, "broken": True, "low": True}


@pytest.mark.parametrize(
    ("taint", "mode", "held"),
    [
        (None, "ask", True),
        (Taint((TaintSource("untrusted", "web_search", "2026-11-22T09:00:00Z"),)), "ask", True),
        (Taint((TaintSource("untrusted", "web_search", "2026-11-22T09:00:00Z"),)), "deny", True),
        (Taint((TaintSource("untrusted", "web_search", "2026-11-22T09:00:00Z"),)), "off", False),
        (Taint((TaintSource("private", "search_notes", "2026-11-22T09:00:00Z"),)), "ask", False),
        (Taint(), "ask", False),
    ],
)
def test_a_fact_that_is_not_known_is_never_the_lower_tier(taint: Taint | None, mode: str, held: bool) -> None:
    context = GateContext(replace(MEMBER, taint=mode), replace(CALLER, taint=taint))
    answer = Approving().check(Candidate("going", GOING, {"where": "tainted"}), context)
    assert isinstance(answer, GateResult)
    assert answer.holds is held


def test_without_arguments_the_answer_says_that_they_decide() -> None:
    answer = answered(Approving(), None)
    assert (answer.holds, answer.log) == (
        True, "going is elevated: a human has to approve it; its arguments say whether, and it is system at least",
    )  # fmt: skip


def test_tenant_and_operator_raise_every_call() -> None:
    said = replace(MEMBER, settings={"going": Setting(tier="elevated")})
    assert answered(Approving(), NEAR, said).holds
    with override_settings(TOOLGATE_TOOL_TIERS={"going": "elevated"}):
        assert answered(Approving(), NEAR).holds
    assert not answered(Approving(), NEAR).holds


def test_an_agent_that_reaches_as_far_as_some_calls_makes_those_and_no_others() -> None:
    near = replace(MEMBER, agent_ceiling=Tier.SYSTEM)
    asked = [answered(Permission(), arguments, near).ok for arguments in (None, NEAR, FAR, UNKNOWN)]
    assert asked == [True, True, False, False]
    refused = answered(Permission(), FAR, near)
    assert refused.log == "elevated is above what the agent may use, system"
    assert not answered(Permission(), None, replace(MEMBER, agent_ceiling=Tier.WORKSPACE)).ok


async def test_the_row_has_the_tier_that_held_and_wrong_arguments_have_the_tools(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lookup, "known", lambda policy, name: GOING)
    suggested = [f'{{"where": "{each}"}}' for each in ("near", "far", "unknown")] + ['{"where": 1}', '"near"', "{"]
    calls = await evaluation.evaluate(
        [Suggestion("going", each) for each in suggested],
        Rights(MEMBER, ()),
        CALLER,
        earlier_failures=None,
        most_seconds=1,
        gates=[gate for gate in evaluation.order.new_call() if gate.name in ("schema", "permission", "approval")],
    )
    assert [call.tier for call in calls] == ["system", *["elevated"] * 5]
    assert [call.approval_id is None for call in calls] == [True, False, False, True, True, True]
    assert [call.refusal and call.refusal.code for call in calls] == [None] * 3 + ["validation_error"] * 3


def test_an_approver_who_edits_a_call_is_asked_by_the_tier_of_what_it_is_then() -> None:
    near = replace(MEMBER, agent_ceiling=Tier.SYSTEM)
    assert answered(Permission(), NEAR, near).ok
    assert not answered(Permission(), NEAR | FAR, near).ok


@pytest.mark.parametrize("least", [Tier.ELEVATED, "system"], ids=["not below", "no tier"])
def test_a_least_tier_that_is_none_is_refused(least: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Going, "least_tier", least)
    with pytest.raises(InvalidToolDeclaration, match="least_tier must be a tier below tier"):
        Registry().register(Going())


def test_a_least_tier_wants_the_method_that_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Going, "tier_of", Tool.tier_of)
    with pytest.raises(InvalidToolDeclaration, match="tier_of is missing"):
        Registry().register(Going())


def test_a_tenant_can_say_that_every_call_is_elevated() -> None:
    assert changes._tier(GOING, "elevated") == "elevated"
    with pytest.raises(Exception, match="nobody lowers it"):
        changes._tier(GOING, "system")
