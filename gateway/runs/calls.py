"""A turn's calls on behalf of their run: judged and committed, sent when it is their turn, and waited for."""

import asyncio
import uuid
from collections import Counter
from collections.abc import Iterable

from approvals.events import ApprovalEvents
from audit.calls.recorder import NewCall, Place
from gateway.providers.interface import Answer
from gateway.runs.execution import RunExecution, RunLost, UnitOfWork, advance
from gateway.runs.prompting import continuity, messages
from gateway.runs.rows import Run, TurnValues
from gateway.runs.view import Row, TurnView, pending
from tools.gates import order
from tools.gates.interface import Gate, Occasion, Rights, RulesExhausted
from tools.invocation import evaluation
from tools.invocation.evaluation import Suggestion
from tools.invocation.ordering import next_batch


async def commit(
    execution: RunExecution, turn: TurnView, answer: Answer, values: TurnValues, *, refused: bool = False
) -> None:
    """Judge the turn's calls by the rights that stand when they are committed, send the first ones, ask for others.

    With `refused` none of them runs: they came in an order that cannot be answered.
    """
    run = execution.view.run
    place = Place(*execution.scope, run.conversation_id, run.message_id, run.id, turn.number)
    asked = ApprovalEvents([])
    while True:
        known = execution.known or await _rights(execution)
        evaluated = await _evaluated(
            execution, answer, known, order.gates(Occasion.MIXED) if refused else execution.ports.gates()
        )
        queued = next_batch((call.id, call.tool_name, bool(call.refusal or call.approval_id)) for call in evaluated)
        held = [call for call in evaluated if call.approval_id]
        try:
            async with execution.ports.step(execution) as step:
                execution.known = await step.rights()
                if execution.known != known:
                    # Somebody changed the rules while the model thought: judge again, by today's.
                    continue
                fresh = await step.commit_turn(values)
                if fresh is None:
                    raise RunLost
                turn.calls = await step.propose(place, evaluated, frozenset(queued))
                await step.use_rules(_rules_used(evaluated))
                if held:
                    context = messages.led_up_to(execution.shown, execution.view)
                    asked = await step.ask_humans(
                        place, held, known.policy, agent=execution.caller.agent, context=context
                    )
        except RulesExhausted:
            execution.known = None
            continue
        break
    turn.details = values.details
    advance(execution.view, fresh)
    await _dispatch(execution, turn, queued)
    await execution.ports.publish(asked)


async def _evaluated(execution: RunExecution, answer: Answer, known: Rights, gates: Iterable[Gate]) -> list[NewCall]:
    earlier = (call for turn in execution.view.turns for call in turn.calls)
    return await evaluation.evaluate(
        [Suggestion(call.name, call.arguments) for call in answer.calls],
        known,
        execution.caller,
        earlier_failures=Counter(call["tool_name"] for call in earlier if call["error_code"] == "validation_error"),
        most_seconds=execution.view.run.profile["tool_seconds"],
        gates=gates,
        new_id=execution.ports.new_id,
    )


def _rules_used(evaluated: list[NewCall]) -> list[str]:
    return [answer["rule"] for call in evaluated for answer in call.decision if answer["ok"] and "rule" in answer]


def at_rest(turn: TurnView) -> bool:
    """Whether every call of the turn is final, and what humans decided about them has been noted."""
    return all(_is_final(call) and not _unnoted(call) for call in turn.calls)


def halting(execution: RunExecution, turn: TurnView) -> Row | None:
    """The call that was not approved, if the agent's runs end with such a one."""
    if execution.view.run.profile.get("on_refused_approval") != "halt":
        return None
    refused = ("approval_denied", "approval_expired")
    return next((call for call in turn.calls if call["approval_id"] and call["error_code"] in refused), None)


async def wait(execution: RunExecution, turn: TurnView) -> None:
    """Wait until the turn's calls are final, sending the next ones when it is their turn.

    When only humans can move the others, the run is let go of, to wait in its rows.
    """
    async with asyncio.timeout(max(0.0, execution.seconds_left)):
        while True:
            if execution.sent:
                await execution.wake_up.wait()
            execution.wake_up.clear()
            suspended: Run | None = None
            async with execution.ports.step(execution) as step:
                batch, ready = await _move_on(execution, step, turn)
                if unnoted := [call["approval_id"] for call in turn.calls if _is_final(call) and _unnoted(call)]:
                    await step.note(unnoted)
                    turn.calls = await step.calls(turn)
                if not batch and not at_rest(turn) and not halting(execution, turn):
                    suspended = await step.suspend(turn, continuity.notice(pending(turn)))
                    if suspended is None:
                        raise RunLost
            execution.sent = False
            execution.view.changed()
            if halting(execution, turn):
                return
            await _dispatch(execution, turn, ready)
            if suspended is not None:
                turn.suspensions += 1
                advance(execution.view, suspended)
                if execution.wake_up.is_set():
                    # A human decided while we let go, and may have found the run still held.
                    await execution.ports.request_takeover(execution.scope, execution.view.id)
            if not batch:
                return


async def _move_on(
    execution: RunExecution, step: UnitOfWork, turn: TurnView
) -> tuple[list[uuid.UUID], list[uuid.UUID]]:
    """Queue what may run; returns the ids of all that runs or will, and of what was queued now."""
    ready: list[uuid.UUID] = []
    while True:
        turn.calls = await step.calls(turn)
        batch = next_batch((call["id"], call["tool_name"], _passed_over(call)) for call in turn.calls)
        of_batch = [call for call in turn.calls if call["id"] in batch]
        due = [call["id"] for call in of_batch if call["status"] == "proposed"]
        ready += await step.enqueue(due) if due else []
        approved = [call for call in of_batch if call["status"] == "awaiting_approval"]
        if not approved:
            return batch, ready
        known = await step.rights()
        # A gate may have refused one: then others take its place, so look again.
        ready += [call["id"] for call in approved if await step.resume(call, known)]


def _passed_over(call: Row) -> bool:
    return _is_final(call) or (call["status"] == "awaiting_approval" and call["approval_status"] == "pending")


def _unnoted(call: Row) -> bool:
    return bool(call["approval_id"]) and call.get("approval_used_at") is None


def _is_final(call: Row) -> bool:
    return call["status"] in ("success", "error")


async def _dispatch(execution: RunExecution, turn: TurnView, ids: list[uuid.UUID]) -> None:
    execution.sent = execution.sent or bool(ids)
    await execution.ports.dispatch(
        [(*execution.scope, call["id"], call["tool_name"]) for call in turn.calls if call["id"] in ids]
    )


async def _rights(execution: RunExecution) -> Rights:
    async with execution.ports.step(execution) as step:
        return await step.rights()
