"""What owners do to rules: check one, add one, change what may be changed. Rules are never deleted.

What a rule is about (effect, tool, who, agent, condition) never changes: what it let through stays explained by it. A
rule that should be about something else is switched off, and another one is made.
"""

import uuid
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import router, transaction

from approvals.errors import InvalidRule, NoSuchRule, NotAnOwner
from approvals.models import ApprovalRule
from approvals.rules import agents, conditions, rulebook
from approvals.rules.conditions import InvalidCondition
from approvals.rules.evaluation import EVERY_TOOL
from services import queries
from tenants.models import Membership, Role, User
from tenants.people import raising
from tenants.people.changes import Kind, Said, record
from tenants.people.principal import SCOPES
from tools.gates import policy
from tools.gates.policy import Setting
from tools.interface import Tier, Tool
from tools.models import ToolSetting
from tools.registry import registry

Effect = ApprovalRule.Effect


def _lets_more_through(before: Said | None, after: Said | None) -> bool:
    """A rule that approves is in force, more often or for longer than before; one that denies is not, or for less."""
    said = after or before
    if said is None or said.values["effect"] == Effect.DENY:
        return raising.switched_off(before, after) or (raising.is_on(before) and _longer(after, before))
    return raising.switched_on(before, after) or (raising.is_on(after) and _longer(before, after))


def _longer(one: Said | None, other: Said | None) -> bool:
    if one is None or other is None:
        return False
    uses = raising.more(one.values["uses_left"], other.values["uses_left"])
    return uses or raising.more(one.values["expires_at"], other.values["expires_at"], of=datetime.fromisoformat)


# What the record of changes says of a rule.
RULE = Kind(
    target="approval_rule",
    name="name",
    fields=(
        *("effect", "tool_name", "user_id", "role", "agent", "condition", "binding", "uses_left", "expires_at"),
        *("enabled", "owner_id"),
    ),
    raises=_lets_more_through,
)
# Every turn of every member reads those in force.
MOST_IN_FORCE = 100
LONGEST = timedelta(days=366)
MAX_USES = 1_000_000
MAX_NAME = 200


@dataclass(frozen=True, slots=True)
class NewRule:
    """A rule as it is asked for; `user` is an id or a username, "" is everyone, as for `role` and `agent`."""

    name: str
    effect: str
    tool: str
    user: str = ""
    role: str = ""
    agent: str = ""
    condition: Any = None
    uses_left: int | None = None
    expires_at: datetime | None = None

    @property
    def approves(self) -> bool:
        """Whether it approves, instead of denying."""
        return self.effect == Effect.APPROVE


def check(tenant_id: uuid.UUID, owner_id: uuid.UUID, wanted: NewRule) -> tuple[ApprovalRule, list[str]]:
    """The rule as it would be saved, and what its author should know of it. Raises InvalidRule or NotAnOwner."""
    if wanted.effect not in Effect.values:
        raise InvalidRule("effect must be approve or deny.", "effect")
    if wanted.approves:
        _require_owner(tenant_id, owner_id)
    tool = _tool(tenant_id, wanted)
    user_id = _member(tenant_id, wanted.user)
    if wanted.approves and user_id == owner_id:
        raise InvalidRule("A rule approves nothing of its owner's: somebody else has to make this one.", "user")
    if wanted.role and wanted.role not in Role.values:
        raise InvalidRule(f"role must be one of {', '.join(Role.values)}.", "role")
    if wanted.agent and not agents.queries().exists(tenant_id, wanted.agent):
        raise InvalidRule(f"The tenant has no agent {wanted.agent[:100]!r}.", "agent")
    if wanted.condition is not None:
        parameters = tool.parameters if tool else None
        try:
            conditions.check(wanted.condition, approves=wanted.approves, parameters=parameters)
        except InvalidCondition as error:
            raise InvalidRule(f"The condition cannot be used: {error}.", "condition") from None
    rule = ApprovalRule(
        tenant_id=tenant_id,
        name=wanted.name,
        effect=wanted.effect,
        tool_name=wanted.tool,
        user_id=user_id,
        role=wanted.role,
        agent=wanted.agent,
        condition=wanted.condition,
        # A service may define its tool anew at any time, and nobody has approved that.
        binding=tool.binding if tool and wanted.approves and registry().get(tool.name) is None else "",
        uses_left=wanted.uses_left,
        expires_at=wanted.expires_at,
        owner_id=owner_id,
    )
    _check_changeable(rule)
    return rule, list(_warnings(tenant_id, wanted, tool))


def add(tenant_id: uuid.UUID, owner_id: uuid.UUID, wanted: NewRule) -> tuple[ApprovalRule, list[str]]:
    """Save a rule, in force from now on; returns it with what its author should know. Raises as `check` does."""
    rule, warnings = check(tenant_id, owner_id, wanted)
    _require_room(tenant_id)
    with transaction.atomic(using=router.db_for_write(ApprovalRule)):
        rule.save(force_insert=True)
        record(None, RULE.of(rule))
    return rule, warnings


# What `change` takes, beside who changes it.
CHANGEABLE = ("name", "enabled", "uses_left", "expires_at")


def change(tenant_id: uuid.UUID, owner_id: uuid.UUID, rule_id: uuid.UUID, changes: dict[str, Any]) -> ApprovalRule:
    """Change what CHANGEABLE names; whoever does it answers for the rule from then on.

    Anybody who may change rules can switch one off. Raises NoSuchRule, InvalidRule or NotAnOwner.
    """
    for name in changes:
        if name not in CHANGEABLE:
            raise InvalidRule(f"{name} cannot be changed: switch this rule off and make another one.", name)
    with transaction.atomic(using=router.db_for_write(ApprovalRule)):
        rule = ApprovalRule.objects.select_for_update().filter(tenant_id=tenant_id, id=rule_id).first()
        if rule is None:
            raise NoSuchRule(rule_id)
        before = RULE.of(rule)
        was_in_force = rulebook.in_force(ApprovalRule.objects.filter(id=rule_id)).exists()
        for name, value in changes.items():
            setattr(rule, name, value)
        rule.owner_id = owner_id
        rule.updated_at = datetime.now(UTC)
        if rule.enabled:
            _check_changeable(rule)
            if rule.effect == Effect.APPROVE:
                _require_owner(tenant_id, owner_id)
                if rule.user_id == owner_id:
                    raise InvalidRule("A rule approves nothing of its owner's, and you would be its owner.")
            if not was_in_force:
                _require_room(tenant_id)
        elif "name" in changes:
            _check_name(rule.name)
        rule.save(update_fields=[*changes, "owner", "updated_at"])
        record(before, RULE.of(rule))
    return rule


# --- what is asked of a rule -----------------------------------------------------------------------------------------
def _check_name(name: str) -> None:
    if not 0 < len(name) <= MAX_NAME or not name.isprintable() or name.isspace():
        raise InvalidRule(f"name must be 1 to {MAX_NAME} printable characters.", "name")


def _check_changeable(rule: ApprovalRule) -> None:
    """Whether the rule may be in force, as far as what can be changed goes."""
    _check_name(rule.name)
    now = datetime.now(UTC)
    if rule.effect == Effect.APPROVE:
        if rule.expires_at is None:
            raise InvalidRule("A rule that approves must expire, within a year.", "expires_at")
        if rule.expires_at > now + LONGEST:
            raise InvalidRule("A rule that approves must expire within a year.", "expires_at")
        if rule.uses_left is not None and not 1 <= rule.uses_left <= MAX_USES:
            raise InvalidRule(f"uses_left must be from 1 to {MAX_USES:,}.", "uses_left")
    elif rule.uses_left is not None:
        raise InvalidRule("A rule that denies is never used up.", "uses_left")
    if rule.expires_at is not None and rule.expires_at <= now:
        raise InvalidRule("expires_at must be in the future.", "expires_at")


def _require_owner(tenant_id: uuid.UUID, owner_id: uuid.UUID) -> None:
    member = Membership.objects.filter(tenant_id=tenant_id, user_id=owner_id, user__is_active=True).first()
    if member is None or "admin" not in SCOPES[member.role]:
        raise NotAnOwner


def _require_room(tenant_id: uuid.UUID) -> None:
    if rulebook.in_force(ApprovalRule.objects.filter(tenant_id=tenant_id)).count() >= MOST_IN_FORCE:
        raise InvalidRule(f"{MOST_IN_FORCE} rules are in force, and no more can be; switch one off.")


def _tool(tenant_id: uuid.UUID, wanted: NewRule) -> Tool | None:
    """The tool that the rule is about; None for every tool."""
    if wanted.tool == EVERY_TOOL:
        if wanted.approves:
            raise InvalidRule("A rule that approves is about one tool.", "tool")
        return None
    tool = registry().get(wanted.tool) or queries.tool(tenant_id, wanted.tool)
    if tool is None:
        raise InvalidRule(f"There is no tool {wanted.tool[:100]!a}.", "tool")
    return tool


def _member(tenant_id: uuid.UUID, user: str) -> uuid.UUID | None:
    if not user:
        return None
    members = User.objects.filter(memberships__tenant_id=tenant_id)
    try:
        found = members.filter(id=uuid.UUID(user))
    except ValueError:
        found = members.filter(username=user)
    member = found.first()
    if member is None:
        raise InvalidRule("The tenant has no such member.", "user")
    return member.id


def _warnings(tenant_id: uuid.UUID, wanted: NewRule, tool: Tool | None) -> list[str]:
    shown = list(conditions.loose_ends(wanted.condition))
    if tool is not None and wanted.approves:
        tier, needed = _standing(tenant_id, tool)
        if tier is not Tier.ELEVATED:
            shown.append(f"Calls of {tool.name} wait for nobody, since its tier is {tier}: this rule changes nothing.")
        if needed > 1:
            shown.append(f"{needed} people have to approve {tool.name}, and no rule stands in for them.")
    return shown


def _standing(tenant_id: uuid.UUID, tool: Tool) -> tuple[Tier, int]:
    """The tool's tier in the tenant, and how many people have to approve an Elevated call of it."""
    row = ToolSetting.objects.filter(tenant_id=tenant_id, tool_name=tool.name).values_list(*Setting._fields).first()
    settings = {tool.name: Setting(*row)} if row else {}
    known = replace(policy.from_row(None, None), settings=settings)
    return known.tier(tool), known.setting(tool).approvals_needed
