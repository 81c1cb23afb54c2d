"""From suggested calls to recorded ones, in one commit: the way of every call, a turn's or a single one.

evaluate, then in one transaction: are the rights still those, record, count the rules' uses, ask humans. Where no rule
was used and nobody is asked, that is a single statement. After the commit what may run is sent to the workers, and
humans are told. If rights or rules changed meanwhile, nothing is recorded, and the calls are evaluated again.
"""

import uuid
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from audit.calls.proposing import NewCall, Place
from audit.calls.rows import ToolCall
from tools.gates.interface import Caller, Gate, Rights, RightsChanged, RulesExhausted, Taint
from tools.invocation import evaluation
from tools.invocation.dispatch import QueuedCall
from tools.invocation.evaluation import Suggestion
from tools.invocation.ordering import next_batch
from tools.invocation.ports import UnitOfWork

Step = TypeVar("Step", bound=UnitOfWork)


@dataclass(frozen=True, slots=True)
class Proposed:
    """Calls as they were recorded, in order, the ids of those that are queued, and by which rights."""

    calls: Sequence[ToolCall]
    queued: frozenset[uuid.UUID]
    rights: Rights


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal(Generic[Step]):
    """Calls that somebody suggests, and what comes with them.

    `step` opens a transaction; `alone`: no more than one statement comes, which is a transaction by itself. `gates` are
    asked, and `new_id` names calls. `record` writes the calls, those of the set queued, unless the rights are others by
    now, with what else belongs into the commit, and may raise to leave everything out; `committed` hears of the commit
    before anything is sent. `context` is what approvers are shown. `earlier_failures` and `most_seconds` are as in
    `evaluation.evaluate`. `taint` reads what the calls' session has read, where that matters under the rights; without
    it, it is what the `caller` says.
    """

    suggestions: Sequence[Suggestion]
    place: Place
    caller: Caller
    step: Callable[[bool], AbstractAsyncContextManager[Step]]
    gates: Callable[[], Iterable[Gate]]
    new_id: Callable[[], uuid.UUID]
    record: Callable[[Step, list[NewCall], frozenset[uuid.UUID], Rights], Awaitable[Sequence[ToolCall]]]
    committed: Callable[[Proposed], None]
    context: Callable[[], list[dict[str, Any]]]
    dispatch: Callable[[Sequence[QueuedCall]], Awaitable[None]]
    publish: Callable[[Any], Awaitable[None]]
    earlier_failures: Mapping[str, int] | None
    most_seconds: float
    taint: Callable[[Rights], Awaitable[Taint | None]] | None = None


async def propose(proposal: Proposal[Step], rights: Rights | None = None) -> Proposed:
    """Evaluate and record the calls, by the rights that hold when they are recorded, and send what may run.

    `rights` are those that were read last, if any; the transaction that records finds out whether they still hold.
    """
    place, caller = proposal.place, proposal.caller
    while True:
        if rights is None:
            async with proposal.step(False) as step:
                rights = await step.rights()
        if proposal.taint is not None and (seen := await proposal.taint(rights)) is not caller.taint:
            caller = replace(caller, taint=seen)
        evaluated = await evaluation.evaluate(
            proposal.suggestions,
            rights,
            caller,
            earlier_failures=proposal.earlier_failures,
            most_seconds=proposal.most_seconds,
            gates=proposal.gates(),
            new_id=proposal.new_id,
        )
        runnable = ((call.id, call.tool_name, _ended_or_held(call)) for call in evaluated)
        queued = frozenset(next_batch(runnable, rights.policy))
        held, rules = [call for call in evaluated if call.approval_id], _rules_used(evaluated)
        asked: Any = None
        try:
            async with proposal.step(not held and not rules) as step:
                calls = await proposal.record(step, evaluated, queued, rights)
                if rules:
                    await step.use_rules(rules)
                if held:
                    context = proposal.context()
                    asked = await step.ask_humans(place, held, rights.policy, agent=caller.agent, context=context)
        except (RightsChanged, RulesExhausted):
            rights = None
            continue
        break
    proposed = Proposed(calls, queued, rights)
    proposal.committed(proposed)
    sent = [(place.tenant_id, place.user_id, call.id, call.tool_name) for call in calls if call.id in queued]
    await proposal.dispatch(sent)
    if asked is not None:
        await proposal.publish(asked)
    return proposed


def _ended_or_held(call: NewCall) -> bool:
    return bool(call.refusal or call.approval_id)


def _rules_used(evaluated: list[NewCall]) -> list[str]:
    return [answer["rule"] for call in evaluated for answer in call.decision if answer["ok"] and "rule" in answer]
