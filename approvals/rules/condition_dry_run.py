"""What an access condition would have done with the calls of the last 30 days, before it is saved.

It asks of what was recorded, newest first. The time, origin, tool, tier and arguments of a call are in its row; the
agent is its run's. The alert level is in its decision where a condition was asked then; where it is not, every level is
tried, and the condition is undecided unless all of them say the same. Roles are not recorded: it goes by today's.
"""

import time
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from django.db import router, transaction

from approvals.models import AccessCondition
from approvals.rules import dry_run
from approvals.rules.access_conditions import Condition
from approvals.rules.dry_run import EXAMPLES, FETCHED, MOST_CALLS, MOST_EFFORT, MOST_SECONDS, PEOPLE, PERIOD
from audit.models import Origin, ToolCall
from tenants.models import Membership, User
from tools.gates.checks import context as facts
from tools.gates.checks.context import MOST_ALERT
from tools.schemas.effort import Effort


@dataclass(slots=True)
class ConditionDryRun:
    """What was found: calls that it `concerns`, and of those that were not refused the ones that it would have been."""

    since: datetime
    examined: int = 0
    complete: bool = True
    concerns: int = 0
    undecided: int = 0
    refused: Counter[uuid.UUID] = field(default_factory=Counter)
    examples: list[dict[str, Any]] = field(default_factory=list)

    def note(self, call: ToolCall) -> None:
        """Count a call that the condition would have refused."""
        self.refused[call.user_id] += 1
        if len(self.examples) < EXAMPLES:
            about = {"tool_call_id": call.id, "tool": call.tool_name, "user": call.user_id}
            outcome = dry_run.outcome_of(call)
            self.examples.append({**about, "status": call.status, "outcome": outcome, "created_at": call.created_at})

    def body(self) -> dict[str, Any]:
        """The figures and examples as REST shows them."""
        most = [user_id for user_id, _ in self.refused.most_common(PEOPLE)]
        named = {*most, *(example["user"] for example in self.examples)}
        names = dict(User.objects.filter(id__in=named).values_list("id", "username"))
        people = {user_id: {"id": user_id, "username": names.get(user_id)} for user_id in named}
        return {
            "since": self.since,
            "examined": self.examined,
            "complete": self.complete,
            "concerns": self.concerns,
            "undecided": self.undecided,
            "would_have_refused": self.refused.total(),
            "by_user": [{**people[user_id], "calls": self.refused[user_id]} for user_id in most],
            "examples": [example | {"user": people[example["user"]]} for example in self.examples],
        }


def run(made: AccessCondition) -> ConditionDryRun:
    """Try a condition, saved or not, on its tenant's calls; only reads, and ends within seconds whatever it says."""
    condition = Condition(
        str(made.id), made.name, made.tool_name, made.agent, made.condition, made.time_zone, made.version
    )
    found = ConditionDryRun(datetime.now(UTC) - PERIOD)
    effort, until = Effort(MOST_EFFORT), time.monotonic() + MOST_SECONDS
    with transaction.atomic(using=router.db_for_read(ToolCall)):
        roles = dict(Membership.objects.filter(tenant_id=made.tenant_id).values_list("user_id", "role"))
        calls = dry_run.calls_of(made.tenant_id, found.since, more=("tier", "origin"))
        call: Any
        for call in calls.iterator(chunk_size=FETCHED):
            if found.examined == MOST_CALLS or time.monotonic() > until or effort.seconds <= 0:
                found.complete = False
                break
            found.examined += 1
            # The agent is gone with its run: it may have been the condition's.
            unknown = call.origin == Origin.CHAT and call.agent_slug is None
            if not condition.concerns(call.tool_name, condition.agent if unknown else call.agent_slug or ""):
                continue
            found.concerns += 1
            if dry_run.outcome_of(call) == dry_run.REFUSED:
                continue
            met = None if unknown else _met(condition, call, roles.get(call.user_id), effort)
            found.undecided += met is None
            if met is False:
                found.note(call)
    return found


def _met(condition: Condition, call: Any, role: str | None, effort: Effort) -> bool | None:
    """Whether the condition was met, as far as that can be said now."""
    by_arguments = facts.looks_at_arguments(condition.condition)
    if role is None or (by_arguments and (call.erased or not isinstance(call.input, dict))):
        return None
    answers = set()
    for known in _known(condition, call, role):
        value = {"args": call.input or {}, "context": known} if by_arguments else {"args": {}, "context": known}
        answers.add(effort.satisfies(condition.condition, value))
    return answers.pop() if len(answers) == 1 else None


def _known(condition: Condition, call: Any, role: str) -> Iterator[dict[str, Any]]:
    """The facts of the call, once for each alert level that there may have been."""
    known = {
        **facts.at(call.created_at, condition.time_zone),
        "agent": call.agent_slug or "",
        "origin": call.origin,
        "role": role,
        "tool": call.tool_name,
        "tier": call.tier or "",
    }
    recorded = _alert_level(call)
    for level in range(MOST_ALERT + 1) if recorded is None else [recorded]:
        yield {**known, "alert_level": level}


def _alert_level(call: Any) -> int | None:
    for answer in call.decision:
        known = (answer.get("facts") or {}).get("context") or {}
        if isinstance(known.get("alert_level"), int):
            return int(known["alert_level"])
    return None
