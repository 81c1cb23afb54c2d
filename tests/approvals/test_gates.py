"""The gates of approvals by themselves: which call goes on, and what is left undecided."""

import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from approvals.requests import gates
from approvals.rules.evaluation import Effort, Rule
from audit.canonical import sha256_hex
from tests.approvals.rules import TO_BOB
from tests.approvals.test_rules import a_rule
from tests.tools.test_schema_limits import bomb
from tools.gates import policy
from tools.gates.policy import Setting
from tools.gates.tool_gates import Answer, Caller, Candidate
from tools.registry import registry

TOOL = registry().get("send_email")
assert TOOL is not None
MAIL = {"to": "bob@example.com", "subject": "Hi", "body": "Text"}
CALLER = Caller(uuid.UUID(int=1), uuid.UUID(int=2), "default")
POLICY = policy.from_row(None, "all")


def candidate(arguments: Any = MAIL) -> Candidate:
    """A call of send_email."""
    return Candidate("send_email", TOOL, arguments, None, 0)


def request(**more: Any) -> Any:
    """The request under which the call was approved."""
    columns = {
        "tool_name": "send_email", "user_id": CALLER.user_id, "schema_hash": sha256_hex(TOOL.parameters),
        "params_hash": sha256_hex(MAIL), "usable_until": datetime.now(UTC) + timedelta(minutes=1), **more,
    }  # fmt: skip
    return SimpleNamespace(**columns)


def asked(gate: Any, arguments: Any = MAIL, known: policy.Policy = POLICY) -> Answer:
    """A gate's answer."""
    answer = gate(candidate(arguments), known, CALLER)
    assert isinstance(answer, Answer)
    return answer


def approving(*rules: Rule) -> Any:
    """The gate `approval` of one judging."""
    return gates.approving(rules, Effort())


# --- binding ---------------------------------------------------------------------------------------------------------
def test_the_call_that_was_approved_goes_on() -> None:
    assert asked(gates.binding(request())) == Answer("binding", True)


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
    answer = asked(gates.binding(request(**more)))
    assert (answer.ok, answer.code, answer.log) == (False, "policy_denied", why)


def test_a_call_with_other_arguments_does_not_go_on() -> None:
    answer = asked(gates.binding(request()), MAIL | {"subject": "Bye"})
    assert (answer.ok, answer.log) == (False, "The arguments are not those that were approved.")


def test_every_gate_stands_before_a_call_that_goes_on() -> None:
    def names(through: Any) -> list[str]:
        return [gate.__qualname__.partition(".")[0] for gate in through]

    assert names(gates.through(())) == ["allowlist", "arguments", "permission", "denying", "rate_limit", "approving"]
    assert names(gates.once_more((), request(), 1)) == [
        "allowlist", "binding", "arguments", "permission", "denying", "rate_limit", "approved"
    ]  # fmt: skip


@pytest.mark.parametrize(("needed", "counting"), [(1, 1), (2, 2), (2, 3)])
def test_enough_approvers_who_may_still_decide_let_a_call_go_on(needed: int, counting: int) -> None:
    assert asked(gates.approved(request(approvals_needed=needed), counting)) == Answer("approval", True)


@pytest.mark.parametrize(("needed", "counting"), [(1, 0), (2, 1), (2, 0)])
def test_too_few_approvers_who_may_still_decide_refuse_a_call(needed: int, counting: int) -> None:
    answer = asked(gates.approved(request(approvals_needed=needed), counting))
    assert (answer.ok, answer.code, answer.log) == (False, "approval_denied", f"{counting} of {needed} approvals count")
    assert "may not decide about approvals any more" in answer.model and "It did not run." in answer.model


# --- rules -----------------------------------------------------------------------------------------------------------
def test_a_rule_counts_its_uses_within_one_judging_and_anew_in_the_next() -> None:
    rule = a_rule(uses_left=2)
    gate = approving(rule)
    assert [asked(gate).holds for _ in range(4)] == [False, False, True, True]
    assert asked(approving(rule)).rule == rule.id


def test_a_call_of_a_lower_tier_uses_no_rule_up() -> None:
    rule = a_rule(tool_name="save_note", uses_left=1)
    note = Candidate("save_note", registry().get("save_note"), {"title": "a", "content": "b"}, None, 0)
    assert approving(rule)(note, POLICY, CALLER) == Answer("approval", True)


@pytest.mark.parametrize("more", [{"tool_name": "save_note"}, {"tool_name": "*"}, {"agent": "other"}], ids=repr)
def test_a_rule_approves_only_calls_that_it_concerns(more: dict[str, Any]) -> None:
    assert asked(approving(a_rule(**more))).holds


def test_where_several_people_have_to_approve_no_rule_stands_in() -> None:
    known = replace(POLICY, settings={"send_email": Setting(approvals_needed=2)})
    answer = asked(approving(a_rule()), known=known)
    assert (answer.holds, answer.log) == (True, "send_email is elevated: 2 humans have to approve it")


def test_one_judging_spends_its_effort_on_all_its_conditions_together() -> None:
    effort = Effort(seconds=0.02)
    sound = a_rule(condition=TO_BOB)
    assert asked(gates.approving([sound], effort)).rule == sound.id
    assert asked(gates.approving([a_rule(condition=bomb())], effort), {"a": 1}).holds
    assert asked(gates.approving([sound], effort)).holds
    answer = asked(gates.denying([replace(sound, effect="deny")], effort), MAIL | {"to": "eve@example.com"})
    assert (answer.ok, answer.log) == (False, "denied by the rule Mail, whose condition could not be decided")


def test_without_arguments_a_condition_may_or_may_not_hold() -> None:
    rules = [a_rule(name="Some", condition=TO_BOB), a_rule(name="Others", effect="deny", condition=TO_BOB)]
    denied, approved = (asked(gate, None) for gate in (gates.denying(rules, Effort()), approving(*rules)))
    assert (denied.ok, denied.log) == (True, "the rule Others may deny it, by its arguments")
    assert (approved.holds, approved.log) == (
        True, "send_email is elevated: a human has to approve it; the rule Some may, by its arguments"
    )  # fmt: skip
