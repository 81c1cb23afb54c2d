"""The model loop: ask for a turn, let the gates evaluate its calls, wait for them, feed back, until the run is over, or
waits for nothing but humans.

The same loop runs in the web process for a live request and in a worker for a run that nobody drives any
more; it starts from the rows alone, and every write carries the driver's fence.
"""

import logging
from dataclasses import replace
from functools import cache

from django.conf import settings

from approvals.events import ApprovalEvents
from audit.calls.recorder import Failure
from gateway.budgets import reservations
from gateway.budgets.errors import RUN_LIMITS, BudgetRefusal
from gateway.providers.errors import ProviderError, ProviderGarbled, ProviderRateLimited, ProviderRefused
from gateway.providers.interface import Answer, Prompt, Unsupported
from gateway.providers.registry import Providers, UnknownModel
from gateway.providers.routing.errors import ModelNotAllowed
from gateway.runs.execution import RunExecution, RunLost, advance
from gateway.runs.prompting import messages
from gateway.runs.rows import RunEnd, TurnValues, storable
from gateway.runs.turns import asking, calls, ownership
from gateway.runs.view import RunView, TurnView, attempt_of
from tenants.switches.errors import Killed
from tools.gates.interface import Rights
from tools.offering import offer

__all__ = ["RunExecution", "RunLost", "drive", "end", "providers"]

log = logging.getLogger(__name__)

SYSTEM = (
    "You can use tools. The gateway decides whether a call runs and tells you when it does not; "
    "never claim that it did."
)


# A turn that suggests more calls than this is no honest one; each of them would be a row.
MOST_CALLS = 1000


@cache
def providers() -> Providers:
    """This process's providers."""
    return Providers.from_settings(settings)


def model_of(agents: str) -> str:
    """The model of an agent, as "provider/model": its own, or the operator's default."""
    return agents or str(settings.DEFAULT_MODEL)


def system_of(instructions: str, with_tools: bool, of_services: str = "", searches: bool = False) -> str:
    """What a model is told before anything else; `searches`: it is not shown all of its tools."""
    parts = [instructions, SYSTEM if with_tools else "", offer.ADVICE if searches else "", of_services]
    return "\n\n".join(filter(None, parts))


async def drive(execution: RunExecution) -> None:
    """Take the run to its end, or to where only humans can take it on. Raises RunLost when it is not ours any more."""
    try:
        with execution.ports.watch(execution.view.id) as execution.wake_up:
            await _to_the_end(execution)
    except TimeoutError:
        await _out_of_time(execution)
    except ProviderError as error:
        log.warning("provider failed", extra={"why": error.message, "run_id": str(execution.view.id)})
        _void(execution.view)
        await end(execution, RunEnd.failed(*_error(execution, error)))
    except Unsupported as refusal:
        _void(execution.view)
        await end(execution, RunEnd.failed("invalid_request", refusal.message, 400))
    except (ModelNotAllowed, Killed) as refused:
        _void(execution.view)
        await end(execution, RunEnd.failed(refused.code, refused.detail, refused.status))
    except UnknownModel as unknown:
        _void(execution.view)
        await end(execution, RunEnd.failed("unknown_model", unknown.message, 404))
    except BudgetRefusal as refused:
        _void(execution.view)
        await end(execution, _refused(execution, refused))


def _refused(execution: RunExecution, refused: BudgetRefusal) -> RunEnd:
    """The end of a run whose next turn a budget, or its own limit, refuses: what was said before stays its answer."""
    if execution.view.turns or refused.code in RUN_LIMITS:
        return RunEnd("incomplete", _said(execution), "tokens", refused.code, refused.detail, 200)
    return RunEnd.failed(refused.code, refused.detail, refused.status)


def _error(execution: RunExecution, error: ProviderError) -> tuple[str, str, int]:
    """A provider's failure as the run's error: code, message, HTTP status.

    What it refuses of a compatible API's request is that client's own mistake, and no reason to ask again.
    """
    if execution.view.run.surface and isinstance(error, ProviderRefused) and error.status in (400, 413, 422):
        return "invalid_request", error.message, 400
    return "provider_error", error.message, 429 if isinstance(error, ProviderRateLimited) else 502


async def _to_the_end(execution: RunExecution) -> None:
    while not execution.view.final and not execution.view.parked:
        last = execution.view.last
        if last is not None and (refused := calls.halting(execution, last)):
            why = refused.error_code, refused.error_message
            await end(execution, RunEnd("cancelled", _said(execution), None, *why, 200))
        elif last is not None and execution.view.run.surface and last.suspensions and calls.at_rest(last):
            # Its client was told that a human decides, and comes back with its next request.
            await end(execution, RunEnd("completed", _said(execution)))
        elif last is not None and not calls.at_rest(last):
            await calls.wait(execution, last)
        elif len(execution.view.turns) >= execution.view.run.profile["max_turns"]:
            await end(execution, RunEnd("incomplete", _said(execution), "max_turns"))
        else:
            await _turn(execution)


def _said(execution: RunExecution) -> str:
    return execution.view.turns[-1].text if execution.view.turns else ""


async def _out_of_time(execution: RunExecution) -> None:
    """End the run, keeping what the model had said of the turn that it was asked for."""
    view = execution.view
    ending = RunEnd("incomplete", _said(execution), "time")
    asked = view.turns[-1] if len(view.turns) > view.run.turns else None
    if asked is None or not asked.text:
        _void(view)
        await end(execution, ending)
        return
    answer = Answer(asked.text, finish_reason="cut_off")
    used = reservations.used(view.run.model, None, answer.usage)
    async with execution.ports.step(execution, alone=True) as step:
        run = await step.commit_last_turn(asked, TurnValues.of(answer, asked.attempt, 0, used), ending)
    advance(view, run)


def _void(view: RunView) -> None:
    """Drop the turn that was asked for and never answered."""
    if len(view.turns) > view.run.turns:
        view.turns.pop()


async def _turn(execution: RunExecution) -> None:
    """Ask the model once, and commit what it answered before anything comes of it."""
    view = execution.view
    if execution.known is None or _changed_since(execution.known, view):
        async with execution.ports.step(execution) as step:
            execution.known = await step.rights()
    number = len(view.turns) + 1
    options = execution.asked.options_of(number)
    demanded = frozenset({options.tool_choice.name} if options.tool_choice is not None else ())
    offered = execution.offered(demanded)
    tools = offered.specs
    of_services = ""
    if execution.known.policy.service_context:
        of_services = await execution.ports.service_context(execution, [tool.name for tool in tools])
    prompt = Prompt(
        model=view.run.model,
        system=system_of(view.run.profile["instructions"], bool(tools), of_services, offered.searches),
        messages=(*execution.shown, *messages.of_turns(view.turns, view.run.profile["max_result_bytes"])),
        tools=tools,
        client_tools=execution.asked.client_tools,
        options=options,
    )
    turn = TurnView(number, attempt_of(view.run.fence))
    view.turns.append(turn)

    asked = await asking.ask(execution, turn, prompt)
    answer = asked.answer
    if (text := storable(answer.text)) != answer.text:
        answer = replace(answer, text=text)
    if len(answer.calls) > MOST_CALLS:
        raise ProviderGarbled(f"The model suggested {len(answer.calls)} calls in one turn; {MOST_CALLS} are the most.")
    if turn.text != answer.text:
        turn.pieces, turn.length = [answer.text], len(answer.text)
    by_another = "" if asked.model == view.run.model else asked.model
    used = reservations.used(asked.model, asked.price, answer.usage)
    owned = ownership.split(answer.calls, execution.asked.client_names)
    if owned.managed:
        managed = replace(answer, calls=owned.managed) if owned.client else answer
        values = TurnValues.of(
            managed,
            turn.attempt,
            asked.latency_ms,
            used,
            family=asked.family,
            left_out=owned.left_out,
            failed=asked.failed,
            model=by_another,
        )
        # The calls are those of the model that answered.
        turn.details = values.details
        await calls.commit(execution, turn, managed, values, refused=owned.mixed)
        if owned.mixed:
            await end(execution, RunEnd.failed("mixed_tool_calls", ownership.instruction(owned), 422))
    else:
        client = ownership.with_new_ids(owned.client, execution.transcript)
        values = TurnValues.of(
            replace(answer, calls=()) if answer.calls else answer,
            turn.attempt,
            asked.latency_ms,
            used,
            client,
            asked.family,
            failed=asked.failed,
            model=by_another,
        )
        turn.details = values.details
        turn.finish_reason = answer.finish_reason
        reason = "tokens" if answer.finish_reason == "length" else None
        ending = RunEnd("incomplete" if reason else "completed", answer.text, reason)
        async with execution.ports.step(execution, alone=True) as step:
            run = await step.commit_last_turn(turn, values, ending)
        advance(view, run)


def _changed_since(known: Rights, view: RunView) -> bool:
    """Whether the rights were others when the last turn's calls were looked at: what was stopped is not asked for."""
    calls_of_last = view.last.calls if view.last is not None else ()
    return any(call.version not in (None, known.version) for call in calls_of_last)


async def end(execution: RunExecution, ending: RunEnd) -> None:
    """End the run; calls that nobody has begun are withdrawn in the same transaction."""
    stopped = Failure("cancelled", "The run ended before this call began.", display="The run ended before it began.")
    withdrawn = ApprovalEvents([])
    async with execution.ports.step(execution) as step:
        run = await step.finish(ending)
        if run is not None and execution.view.turns:
            withdrawn = await step.withdraw(stopped)
            for turn in execution.view.turns:
                if not calls.at_rest(turn):
                    turn.calls = await step.calls(turn)
    advance(execution.view, run)
    await execution.ports.publish(withdrawn)
