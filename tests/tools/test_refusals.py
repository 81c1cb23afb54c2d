"""What people are told when a gate refuses a tool: what refused it, and who can change that."""

import uuid
from dataclasses import replace
from typing import Any

import pytest
from django.test import override_settings

from audit.canonical import sha256_hex
from tests.approvals.test_rules import a_rule
from tests.tools.test_gates import approval
from tools.gates import policy, rate_counter
from tools.gates.checks.allowlist import Allowlist
from tools.gates.checks.binding import Binding
from tools.gates.checks.permission import Permission
from tools.gates.checks.rate_limit import RateLimit
from tools.gates.checks.rules import Rules
from tools.gates.interface import Caller, Candidate, Gate, GateContext, GateResult
from tools.gates.policy import Policy, Setting
from tools.interface import Tier
from tools.registry import registry

TOOL = registry().get("send_email")
NOTE = registry().get("save_note")
assert TOOL is not None
assert NOTE is not None
MAIL = {"to": "bob@example.com", "subject": "Hi", "body": "Text"}
CALLER = Caller(uuid.UUID(int=1), uuid.UUID(int=2), "helper")
OPEN = Policy("member", Tier.ELEVATED, None, None, {}, (), None)

OPERATOR_LIST = "Only the operator can allow it (TOOLGATE_ALLOWED_TOOLS)."
SETTINGS = "An owner of the tenant can switch it on (/settings/tools/)."
AGENT_TOOLS = "An owner of the tenant can add it to the agent (/settings/agents/), or another agent can be chosen."
AGENT_TIER = "An owner of the tenant can raise its max tier (/settings/agents/), or another agent can be chosen."
GRANT = "An owner of the tenant can give a grant (/settings/tools/)."
DENYING_GRANT = "An owner of the tenant can take it away (/settings/tools/)."
MEMBERS = "An owner of the tenant can invite them again (/settings/people/)."

CASES: dict[str, tuple[Any, Policy, str, str, str, str]] = {
    "the operator's list": (
        Allowlist(), replace(OPEN, operator_tools=frozenset({"save_note"})), "not_allowed",
        "'send_email' is not among the tools that the operator of this Toolgate allows.",
        OPERATOR_LIST, "not on the operator's allowlist",
    ),
    "the tenant's settings": (
        Allowlist(), replace(OPEN, settings={"send_email": Setting(enabled=False)}), "not_allowed",
        "'send_email' is switched off for this tenant.", SETTINGS, "switched off by the tenant",
    ),
    "the agent's tools": (
        Allowlist(), replace(OPEN, agent_tools=frozenset({"save_note"})), "not_allowed",
        "'send_email' is not among the tools of the agent helper.", AGENT_TOOLS, "not among the agent's tools",
    ),
    "no member": (
        Permission(), replace(OPEN, role=None), "permission_denied",
        "The user is not a member of this tenant any more, so send_email may not be used.",
        MEMBERS, "the user is no longer a member of the tenant",
    ),
    "a grant that denies": (
        Permission(), replace(OPEN, grants=(("send_email", "deny"),)), "permission_denied",
        "A grant of this tenant denies send_email to the user.", DENYING_GRANT, "a grant denies it",
    ),
    "the agent's max tier": (
        Permission(), replace(OPEN, agent_ceiling=Tier.WORKSPACE, grants=(("*", "allow"),)),
        "permission_denied",
        "send_email has the tier elevated, and the agent helper may use workspace at most; no grant reaches beyond "
        "that.", AGENT_TIER, "elevated is above what the agent may use, workspace",
    ),
    "the role's ceiling": (
        Permission(), replace(OPEN, ceiling=Tier.SYSTEM), "permission_denied",
        "send_email has the tier elevated, and the role member may use system at most.",
        GRANT, "elevated is above the ceiling of the role member, system",
    ),
}  # fmt: skip


def asked(gate: Gate, known: Policy = OPEN, tool: Any = TOOL, **more: Any) -> GateResult:
    """A gate's answer about a mail."""
    answer = gate.check(Candidate(tool.name, tool, MAIL, None, 0), GateContext(known, CALLER, **more))
    assert isinstance(answer, GateResult)
    return answer


@pytest.mark.parametrize("cause", CASES)
def test_a_refusal_says_what_refused_and_who_can_change_it(cause: str) -> None:
    gate, known, code, what, who, log = CASES[cause]
    answer = asked(gate, known)
    assert (answer.ok, answer.code, answer.log) == (False, code, log)
    assert answer.user == f"{what} {who}"
    advice = "Use only tools that are offered to you." if code == "not_allowed" else "Do not try again."
    assert answer.model == f"{what} {advice} Tell the user: {who}"


def test_nobody_is_sent_to_the_operator_for_what_an_owner_can_change() -> None:
    refused = [asked(gate, known) for gate, known, *_ in CASES.values()]
    named = {answer.log for answer in refused if "operator" in answer.user.lower()}
    assert named == {"not on the operator's allowlist"}


def test_a_tool_that_is_none_is_nobodys_to_allow() -> None:
    answer = Allowlist().check(Candidate("rm -rf", None, {}, None, 0), GateContext(OPEN, CALLER))
    assert answer.user == "There is no tool 'rm -rf' here."
    assert answer.model == "There is no tool 'rm -rf' here. Use only tools that are offered to you."


def test_a_raised_tier_is_said_to_be_raised() -> None:
    with override_settings(TOOLGATE_TOOL_TIERS={"save_note": "elevated"}):
        answer = asked(Permission(), replace(OPEN, ceiling=Tier.WORKSPACE), NOTE)
    assert answer.user.startswith("save_note has the tier elevated, raised from workspace, and the role member may use")


async def test_a_limit_says_what_it_is_and_who_sets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async def over(**more: Any) -> Any:
        return rate_counter.Charge(False, 10, 0, 42)

    monkeypatch.setattr(rate_counter, "charge", over)
    answer = await RateLimit().check(Candidate("send_email", TOOL, MAIL, None, 0), GateContext(OPEN, CALLER))
    assert answer.code == "rate_limited"
    assert answer.user == (
        f"send_email was used too often: its rate limit is {TOOL.rate}. It is available again in 42 seconds. "
        "An owner of the tenant can change the limit (/settings/tools/)."
    )


async def test_a_limit_that_cannot_be_counted_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(**more: Any) -> Any:
        raise rate_counter.LimitsUnavailable("away")

    monkeypatch.setattr(rate_counter, "charge", away)
    answer = await RateLimit().check(Candidate("send_email", TOOL, MAIL, None, 0), GateContext(OPEN, CALLER))
    assert answer.code == "unavailable"
    for words in (answer.user, answer.model):
        assert "rate limit" in words and "tell the operator" in words and "owner" not in words


def test_a_rule_that_denies_is_the_owners() -> None:
    answer = asked(Rules(), rules=[a_rule(effect="deny")])
    assert answer.code == "policy_denied"
    assert answer.user == (
        "A rule of your tenant denies this use of send_email. An owner can change the rules (/approvals/rules/)."
    )


@pytest.mark.parametrize("changed", [{"schema_hash": "other"}, {"params_hash": sha256_hex({})}])
def test_what_an_approval_no_longer_covers_is_asked_anew(changed: dict[str, Any]) -> None:
    known = replace(policy.from_row(None, "all"), role="member")
    answer = asked(Binding(), known, approval=approval(user_id=CALLER.user_id, **changed))
    assert answer.code == "policy_denied"
    assert answer.model.endswith("a human will be asked anew.")


@pytest.mark.parametrize("rate", ["10 per minute", "10/mx", "ten", "10/0s"])
async def test_what_is_no_rate_lets_nothing_through_not_even_what_only_reads(rate: str) -> None:
    tool = registry().get("list_tasks")
    assert tool is not None and tool.tier is Tier.READ_ONLY
    known = replace(OPEN, settings={"list_tasks": policy.Setting(rate=rate)})
    answer = await RateLimit().check(Candidate("list_tasks", tool, {}), GateContext(known, CALLER))
    assert (answer.ok, answer.code) == (False, "unavailable")
