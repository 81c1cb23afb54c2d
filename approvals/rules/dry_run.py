"""What a rule would have done with the calls of the last 30 days, before it is saved.

It reads what was recorded, newest first: whose call it was, which agent's, its arguments, and what came of it. Roles
are not recorded, so it goes by today's. It ends in bounded time, and says so when the 30 days were not through by then.
"""

import time
import uuid
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
from django.db import router, transaction
from django.db.models import BooleanField, ExpressionWrapper, OuterRef, Q, QuerySet, Subquery

from approvals.models import ApprovalRequest, ApprovalRule
from approvals.rules import agents
from approvals.rules.evaluation import EVERY_TOOL
from audit.identifiers import first_id_at
from audit.models import Origin, ToolCall
from tenants.models import Membership, User
from tools.schemas.effort import Effort

PERIOD = timedelta(days=30)
MOST_CALLS = 10_000
# Of the clock for everything, and of the CPU for the condition.
MOST_SECONDS = 5.0
MOST_EFFORT = 2.0
# Arguments may have 256 KiB each, and many times that once they are Python's.
FETCHED = 20
EXAMPLES = 20
PEOPLE = 20
# An example's longer arguments are left to the call's own page.
SHOWN_BYTES = 16_384
# What came of a call, by its approval request's status; the others are those below.
_HELD = {
    "approved": "approved_by_human",
    "denied": "denied_by_human",
    "expired": "expired",
    "cancelled": "cancelled",
    "pending": "waiting",
}
REFUSED, BY_RULE, RAN = "refused", "let_through_by_rule", "ran"


@dataclass(slots=True)
class DryRun:
    """What a dry run has found: `matched` calls, and of those the ones that would have ended otherwise, `changed`."""

    rule: ApprovalRule
    since: datetime
    examined: int = 0
    complete: bool = True
    undecided: int = 0
    matched: Counter[str] = field(default_factory=Counter)
    changed: Counter[uuid.UUID] = field(default_factory=Counter)
    examples: list[dict[str, Any]] = field(default_factory=list)

    @property
    def approves(self) -> bool:
        """Whether the rule approves, instead of denying."""
        return self.rule.effect == ApprovalRule.Effect.APPROVE

    def note(self, call: ToolCall) -> None:
        """Count a call that the rule matches."""
        outcome = outcome_of(call)
        self.matched[outcome] += 1
        if outcome == REFUSED or (self.approves and outcome in (BY_RULE, RAN)):
            return
        self.changed[call.user_id] += 1
        if len(self.examples) < EXAMPLES:
            size = len(orjson.dumps(call.input))
            self.examples.append(
                {
                    "tool_call_id": call.id,
                    "tool": call.tool_name,
                    "user": call.user_id,
                    "input": call.input if size <= SHOWN_BYTES else None,
                    "input_bytes": size,
                    "status": call.status,
                    "outcome": outcome,
                    "created_at": call.created_at,
                }
            )

    def body(self) -> dict[str, Any]:
        """The figures and examples as REST and the pages show them; ids are UUIDs and times datetimes."""
        most = [user_id for user_id, _ in self.changed.most_common(PEOPLE)]
        named = {*most, *(example["user"] for example in self.examples)}
        names = dict(User.objects.filter(id__in=named).values_list("id", "username"))
        people = {user_id: {"id": user_id, "username": names.get(user_id)} for user_id in named}
        uses = self.rule.uses_left
        would = self.changed.total() if uses is None else min(uses, self.changed.total())
        return {
            "since": self.since,
            "examined": self.examined,
            "complete": self.complete,
            "matched": self.matched.total(),
            "undecided": self.undecided,
            "would_have": {"approved": would if self.approves else 0, "denied": 0 if self.approves else would},
            "by_outcome": dict(self.matched.most_common()),
            "by_user": [{**people[user_id], "calls": self.changed[user_id]} for user_id in most],
            "examples": [example | {"user": people[example["user"]]} for example in self.examples],
        }


def run(rule: ApprovalRule) -> DryRun:
    """Try a rule, saved or not, on its tenant's calls; only reads, and ends within seconds whatever its condition."""
    found = DryRun(rule, datetime.now(UTC) - PERIOD)
    effort, until = Effort(MOST_EFFORT), time.monotonic() + MOST_SECONDS
    with transaction.atomic(using=router.db_for_read(ToolCall)):
        of_role = _of_role(rule)
        # A cursor of the server's, which the transaction makes possible: never are all calls in memory.
        for call in _calls(rule, found.since).iterator(chunk_size=FETCHED):
            if found.examined == MOST_CALLS or time.monotonic() > until or effort.seconds <= 0:
                found.complete = False
                break
            found.examined += 1
            if not _concerns(rule, call, of_role):
                continue
            fits = _fits(rule, call, effort)
            found.undecided += fits is None
            # A rule denies what it cannot decide; of arguments that were erased nobody knows what it would have done.
            if fits or (fits is None and not found.approves and call.input is not None):
                found.note(call)
    return found


def outcome_of(call: Any) -> str:
    """What came of a call, in one word."""
    if call.approval_status is not None:
        return _HELD[call.approval_status]
    if any(not answer["ok"] for answer in call.decision):
        return REFUSED
    return BY_RULE if any("rule" in answer for answer in call.decision) else RAN


def _calls(rule: ApprovalRule, since: datetime) -> QuerySet[ToolCall]:
    """The newest calls of the rule's tool, one more than are examined; who made them is looked at afterwards, so that
    the index alone bounds what is read."""
    return calls_of(rule.tenant_id, since, tool=rule.tool_name, agents_too=bool(rule.agent))


def calls_of(
    tenant_id: uuid.UUID,
    since: datetime,
    *,
    tool: str = EVERY_TOOL,
    agents_too: bool = True,
    more: tuple[str, ...] = (),
) -> QuerySet[ToolCall]:
    """The tenant's newest calls that Toolgate was asked to make, with what came of them, and with `more` columns."""
    calls = ToolCall.objects.filter(tenant_id=tenant_id, id__gte=first_id_at(since)).exclude(origin=Origin.NATIVE)
    if tool != EVERY_TOOL:
        calls = calls.filter(tool_name=tool)
    status = ApprovalRequest.objects.filter(id=OuterRef("approval_id")).order_by().values("status")
    erased = ExpressionWrapper(Q(input__isnull=True, input_raw__isnull=True), BooleanField())
    calls = calls.annotate(approval_status=Subquery(status), erased=erased)
    if agents_too:
        # Not the column `agent`, which calls of earlier releases do not have.
        calls = calls.annotate(agent_slug=agents.queries().of_call)
    columns = ("id", "tenant_id", "user_id", "tool_name", "input", "status", "decision", "created_at")
    return calls.only(*columns, *more).order_by("-id")[: MOST_CALLS + 1]


def _of_role(rule: ApprovalRule) -> frozenset[uuid.UUID]:
    members = Membership.objects.filter(tenant_id=rule.tenant_id, role=rule.role)
    return frozenset(members.values_list("user_id", flat=True)) if rule.role else frozenset()


def _concerns(rule: ApprovalRule, call: Any, of_role: frozenset[uuid.UUID]) -> bool:
    return (
        rule.user_id in (None, call.user_id)
        and (not rule.role or call.user_id in of_role)
        and (not rule.agent or call.agent_slug == rule.agent)
        and (rule.effect == ApprovalRule.Effect.DENY or call.user_id != rule.owner_id)
    )


def _fits(rule: ApprovalRule, call: Any, effort: Effort) -> bool | None:
    if rule.condition is None:
        return True
    if call.erased:
        return None
    # What was no object never came as far as a rule.
    return effort.satisfies(rule.condition, call.input) if isinstance(call.input, dict) else False
