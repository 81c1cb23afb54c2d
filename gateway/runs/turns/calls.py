"""A turn's calls on behalf of their run: evaluated and committed, sent when it is their turn, and waited for."""

import asyncio
import uuid
from collections import Counter
from collections.abc import Sequence

from audit.calls.proposing import NewCall, Place
from audit.calls.rows import ToolCall
from gateway.providers.interface import Answer
from gateway.runs.execution import RunExecution, RunLost, UnitOfWork, advance
from gateway.runs.prompting import continuity, messages
from gateway.runs.rows import Run, RunCall, TurnValues
from gateway.runs.view import TurnView, asking, pending
from tools.gates import order
from tools.gates.interface import Occasion, Rights, Taint
from tools.invocation import evaluation
from tools.invocation.evaluation import Suggestion
from tools.invocation.ordering import next_batch
from tools.invocation.proposal import Proposal, Proposed, propose

# For how long the end of one call of a turn waits for that of the others, to be looked at with them.
TOGETHER_SECONDS = 0.02


async def commit(
    execution: RunExecution, turn: TurnView, answer: Answer, values: TurnValues, *, refused: bool = False
) -> None:
    """Evaluate the turn's calls by the rights that hold when they are committed, send the first ones, ask for others.

    With `refused` none of them runs: they came in an order that cannot be answered.
    """
    run, ports = execution.view.run, execution.ports
    earlier = (call for each in execution.view.turns for call in each.calls)
    suggestions = [Suggestion(call.name, call.arguments) for call in answer.calls]
    fresh: Run | None = None
    seen: Taint | None = None

    place = Place(
        *execution.scope,
        run.conversation_id,
        run.message_id,
        run.id,
        turn.number,
        origin=execution.caller.origin,
        agent=execution.caller.agent,
        model=execution.model,
    )

    async def record(
        step: UnitOfWork, evaluated: list[NewCall], queued: frozenset[uuid.UUID], rights: Rights
    ) -> Sequence[ToolCall]:
        nonlocal fresh
        fresh, written = await step.commit_turn(values, place, evaluated, queued, rights, seen)
        if fresh is None:
            raise RunLost
        return written

    async def taint(rights: Rights) -> Taint | None:
        nonlocal seen
        seen = None
        if any(evaluation.goes_by_taint(rights.policy, each) for each in suggestions):
            async with ports.step(execution) as step:
                seen = await step.taint()
        return seen

    def committed(proposed: Proposed) -> None:
        execution.known = proposed.rights
        turn.calls = [RunCall.of(call) for call in proposed.calls]
        turn.details = values.details
        advance(execution.view, fresh)
        execution.sent = execution.sent or bool(proposed.queued)

    await propose(
        Proposal(
            suggestions=suggestions,
            place=place,
            caller=execution.caller,
            step=lambda alone: ports.step(execution, alone=alone),
            gates=(lambda: order.gates(Occasion.MIXED)) if refused else ports.gates,
            new_id=ports.new_id,
            record=record,
            committed=committed,
            context=lambda: messages.led_up_to(execution.shown, execution.view),
            dispatch=ports.dispatch,
            publish=ports.publish,
            earlier_failures=Counter(call.tool_name for call in earlier if call.error_code == "validation_error"),
            most_seconds=run.profile["tool_seconds"],
            taint=taint,
        ),
        execution.known,
    )


def at_rest(turn: TurnView) -> bool:
    """Whether every call of the turn is final, and what humans decided about them has been noted."""
    return all(call.final for call in turn.calls) and not _unnoted(turn)


def halting(execution: RunExecution, turn: TurnView) -> RunCall | None:
    """The call that was not approved, if the agent's runs end with such a one."""
    if execution.view.run.profile.get("on_refused_approval") != "halt":
        return None
    refused = ("approval_denied", "approval_expired")
    return next((call for call in turn.calls if call.approval_id and call.error_code in refused), None)


async def wait(execution: RunExecution, turn: TurnView) -> None:
    """Wait until the turn's calls are final, sending the next ones when it is their turn.

    When only humans and children can move the others, the run is released, to wait in its rows.
    """
    async with asyncio.timeout(max(0.0, execution.seconds_left)):
        while True:
            if execution.sent:
                await execution.wake_up.gathered(len(_batch(execution, turn)), TOGETHER_SECONDS)
            execution.wake_up.clear()
            async with execution.ports.step(execution, alone=True) as step:
                turn.calls = await step.calls(turn)
            batch, ready = _batch(execution, turn), list[uuid.UUID]()
            suspended: Run | None = None
            if _moves_on(execution, turn, batch):
                async with execution.ports.step(execution) as step:
                    batch, ready = await _move_on(execution, step, turn)
                    if unnoted := _unnoted(turn):
                        await step.note(unnoted)
                        turn.calls = await step.calls(turn)
                    if not batch and not at_rest(turn) and not halting(execution, turn):
                        suspended = await step.suspend(turn, continuity.notice(pending(turn), asking(turn)))
                        if suspended is None:
                            raise RunLost
            # While some of them run, nothing is new before the next wake-up.
            execution.sent = bool(batch)
            execution.view.changed()
            if halting(execution, turn):
                return
            await _dispatch(execution, turn, ready)
            if suspended is not None:
                turn.suspensions += suspended.status == "requires_action"
                advance(execution.view, suspended)
                # A human who decided meanwhile, or a child that ended, has found the run still held; from now on nobody
                # does.
                async with execution.ports.step(execution, alone=True) as step:
                    moved = await step.calls(turn) != turn.calls
                if moved:
                    execution.ports.take_over_again(execution)
            if not batch:
                return


def _batch(execution: RunExecution, turn: TurnView) -> list[uuid.UUID]:
    """The ids of the calls that run, or may."""
    runnable = ((call.id, call.tool_name, _passed_over(call)) for call in turn.calls)
    return next_batch(runnable, execution.known.policy if execution.known else None)


def _moves_on(execution: RunExecution, turn: TurnView, batch: list[uuid.UUID]) -> bool:
    """Whether there is something to write: a call to be queued, a decision to be noted, a run to be released."""
    of_batch = [call for call in turn.calls if call.id in batch]
    waiting = any(call.status in ("proposed", "awaiting_approval") or call.answered for call in of_batch)
    left_to_humans = not batch and not at_rest(turn) and not halting(execution, turn)
    return waiting or bool(_unnoted(turn)) or left_to_humans


async def _move_on(
    execution: RunExecution, step: UnitOfWork, turn: TurnView
) -> tuple[list[uuid.UUID], list[uuid.UUID]]:
    """Queue what may run; returns the ids of all that runs or will, and of what was queued now."""
    ready: list[uuid.UUID] = []
    while True:
        turn.calls = await step.calls(turn)
        batch = _batch(execution, turn)
        of_batch = [call for call in turn.calls if call.id in batch]
        due = [call.id for call in of_batch if call.status == "proposed"]
        ready += await step.enqueue(due) if due else []
        approved = [call for call in of_batch if call.status == "awaiting_approval"]
        answered = [call for call in of_batch if call.answered]
        if not approved and not answered:
            return batch, ready
        known = await step.rights()
        # A gate may have refused one: then others take its place, so look again.
        ready += [call.id for call in approved if await step.resume(call, known)]
        ready += [call.id for call in answered if await step.go_on(call, known)]


def _passed_over(call: RunCall) -> bool:
    held = call.status == "awaiting_approval" and call.approval_status == "pending"
    return call.final or held or bool(call.pending_questions) or call.waits_for_child


def _unnoted(turn: TurnView) -> list[uuid.UUID]:
    """The requests of the turn's final calls that nobody has taken note of."""
    return [call.approval_id for call in turn.calls if call.approval_id and call.final and not call.approval_used_at]


async def _dispatch(execution: RunExecution, turn: TurnView, ids: list[uuid.UUID]) -> None:
    execution.sent = execution.sent or bool(ids)
    await execution.ports.dispatch(
        [(*execution.scope, call.id, call.tool_name) for call in turn.calls if call.id in ids]
    )
