"""The gates by themselves: their order, which call goes on, and what is left undecided."""

import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from approvals.rules.evaluation import Rule
from audit.canonical import sha256_hex
from audit.models import ErrorCode
from tests.approvals.rules import TO_BOB
from tests.approvals.test_rules import a_rule
from tests.tools.test_schema_limits import bomb
from tools.gates import order, policy
from tools.gates.checks.approval import Approving
from tools.gates.checks.binding import Binding
from tools.gates.checks.rules import Rules
from tools.gates.interface import Approval, Caller, Candidate, Gate, GateContext, GateResult, Occasion
from tools.gates.policy import Setting
from tools.registry import registry
from tools.schemas.effort import Effort

TOOL = registry().get("send_email")
assert TOOL is not None
MAIL = {"to": "bob@example.com", "subject": "Hi", "body": "Text"}
CALLER = Caller(uuid.UUID(int=1), uuid.UUID(int=2), "default")
POLICY = policy.from_row(None, "all")


def candidate(arguments: Any = MAIL) -> Candidate:
    """A call of send_email."""
    return Candidate("send_email", TOOL, arguments, None, 0)


def approval(**more: Any) -> Approval:
    """What was approved, and by how many who still count."""
    approved: dict[str, Any] = {
        "tool_name": "send_email", "user_id": CALLER.user_id, "schema_hash": sha256_hex(TOOL.parameters),
        "params_hash": sha256_hex(MAIL), "usable_until": datetime.now(UTC) + timedelta(minutes=1),
        "approvals_needed": 1, "counting": 1,
    }  # fmt: skip
    return Approval(**approved | more)


def context(*rules: Rule, known: policy.Policy = POLICY, **more: Any) -> GateContext:
    """One evaluation under these rules."""
    return GateContext(known, CALLER, rules, **more)


def asked(gate: Gate, within: GateContext, arguments: Any = MAIL) -> GateResult:
    """A gate's answer."""
    answer = gate.check(candidate(arguments), within)
    assert isinstance(answer, GateResult)
    return answer


# --- binding ---------------------------------------------------------------------------------------------------------
def test_the_call_that_was_approved_goes_on() -> None:
    assert asked(Binding(), context(approval=approval())) == GateResult("binding", True)


def test_a_call_that_nobody_approved_is_not_bound_to_anything() -> None:
    answer = asked(Binding(), context())
    assert (answer.ok, answer.code, answer.log) == (False, "policy_denied", "What was approved is another call.")


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"tool_name": "save_note"}, "What was approved is another call."),
        ({"user_id": uuid.UUID(int=3)}, "What was approved is another call."),
        ({"schema_hash": sha256_hex({})}, "The parameters of send_email have changed since the call was approved."),
        ({"params_hash": sha256_hex({"to": "eve@example.com"})}, "The arguments are not those that were approved."),
        ({"usable_until": datetime(2020, 1, 1, tzinfo=UTC)}, "The approval was not used in time."),
    ],
    ids=lambda each: str(each)[:30],
)  # fmt: skip
def test_any_other_call_does_not(more: dict[str, Any], why: str) -> None:
    answer = asked(Binding(), context(approval=approval(**more)))
    assert (answer.ok, answer.code, answer.log) == (False, "policy_denied", why)


def test_a_call_with_other_arguments_does_not_go_on() -> None:
    answer = asked(Binding(), context(approval=approval()), MAIL | {"subject": "Bye"})
    assert (answer.ok, answer.log) == (False, "The arguments are not those that were approved.")


def test_every_gate_stands_before_a_call_that_goes_on() -> None:
    new = [gate.name for gate in order.new_call()]
    more = ["permission", "condition", "policy", "taint", "connection", "rate_limit", "approval"]
    assert new == ["kill_switch", "allowlist", "schema", *more]
    resumed = [gate.name for gate in order.resumed_call()]
    assert resumed == ["kill_switch", "allowlist", "binding", "schema", *more]


def test_each_other_occasion_asks_its_own_gates() -> None:
    asked_of = {occasion: [gate.name for gate in order.gates(occasion)] for occasion in Occasion}
    assert asked_of[Occasion.ACCESS] == [
        "kill_switch", "allowlist", "permission", "condition", "policy", "connection", "rate_limit", "approval"
    ]  # fmt: skip
    assert asked_of[Occasion.LISTED] == ["allowlist", "permission", "condition"]
    assert asked_of[Occasion.MIXED] == ["ownership"]


def test_every_gate_has_a_name_of_its_own_a_code_and_two_labels() -> None:
    assert len(set(order.names())) == len(order.GATES) == 12
    for gate in order.GATES:
        assert gate.code in ErrorCode.values
        assert order.label(gate.name) == (gate.passed, gate.refused)
        assert gate.passed != gate.refused


@pytest.mark.parametrize(("needed", "counting"), [(1, 1), (2, 2), (2, 3)])
def test_enough_approvers_who_may_still_decide_let_a_call_go_on(needed: int, counting: int) -> None:
    within = context(approval=approval(approvals_needed=needed, counting=counting))
    assert asked(Approving(), within) == GateResult("approval", True)


@pytest.mark.parametrize(("needed", "counting"), [(1, 0), (2, 1), (2, 0)])
def test_too_few_approvers_who_may_still_decide_refuse_a_call(needed: int, counting: int) -> None:
    answer = asked(Approving(), context(approval=approval(approvals_needed=needed, counting=counting)))
    assert (answer.ok, answer.code, answer.log) == (False, "approval_denied", f"{counting} of {needed} approvals count")
    assert "may not decide about approvals any more" in answer.model and "It did not run." in answer.model


# --- rules -----------------------------------------------------------------------------------------------------------
def test_a_rule_counts_its_uses_within_one_judging_and_anew_in_the_next() -> None:
    rule = a_rule(uses_left=2)
    within = context(rule)
    assert [asked(Approving(), within).holds for _ in range(4)] == [False, False, True, True]
    assert asked(Approving(), context(rule)).rule == rule.id


def test_a_call_of_a_lower_tier_uses_no_rule_up() -> None:
    rule = a_rule(tool_name="save_note", uses_left=1)
    note = Candidate("save_note", registry().get("save_note"), {"title": "a", "content": "b"}, None, 0)
    assert Approving().check(note, context(rule)) == GateResult("approval", True)


@pytest.mark.parametrize("more", [{"tool_name": "save_note"}, {"tool_name": "*"}, {"agent": "other"}], ids=repr)
def test_a_rule_approves_only_calls_that_it_concerns(more: dict[str, Any]) -> None:
    assert asked(Approving(), context(a_rule(**more))).holds


def test_where_several_people_have_to_approve_no_rule_stands_in() -> None:
    known = replace(POLICY, settings={"send_email": Setting(approvals_needed=2)})
    answer = asked(Approving(), context(a_rule(), known=known))
    assert (answer.holds, answer.log) == (True, "send_email is elevated: 2 humans have to approve it")


def test_one_judging_spends_its_effort_on_all_its_conditions_together() -> None:
    effort = Effort(seconds=0.02)
    sound = a_rule(condition=TO_BOB)
    assert asked(Approving(), context(sound, effort=effort)).rule == sound.id
    assert asked(Approving(), context(a_rule(condition=bomb()), effort=effort), {"a": 1}).holds
    assert asked(Approving(), context(sound, effort=effort)).holds
    denying = context(replace(sound, effect="deny"), effort=effort)
    answer = asked(Rules(), denying, MAIL | {"to": "eve@example.com"})
    assert (answer.ok, answer.log) == (False, "denied by the rule Mail, whose condition could not be decided")


def test_without_arguments_a_condition_may_or_may_not_hold() -> None:
    rules = [a_rule(name="Some", condition=TO_BOB), a_rule(name="Others", effect="deny", condition=TO_BOB)]
    denied, approved = (asked(gate, context(*rules), None) for gate in (Rules(), Approving()))
    assert (denied.ok, denied.log) == (True, "the rule Others may deny it, by its arguments")
    assert (approved.holds, approved.log) == (
        True, "send_email is elevated: a human has to approve it; the rule Some may, by its arguments"
    )  # fmt: skip
