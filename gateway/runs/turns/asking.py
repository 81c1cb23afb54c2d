"""Asking a model for a turn: the run's model, and where its provider fails, its fallbacks in order.

Another model is asked only before anything of the answer was passed on, or where what was passed on can be taken back:
over our own API the turn is asked again (`message.restarted`), over a compatible API it is not. Nothing is asked for a
run that somebody else holds or ended meanwhile, and nothing after the turn's commit.
"""

import asyncio
import logging
import time
import uuid
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace

from gateway.budgets import prices
from gateway.budgets.errors import BudgetRefusal
from gateway.budgets.prices import Price
from gateway.providers import media, retry
from gateway.providers.errors import ProviderError, ProviderMisconfigured, ProviderRefused, ProviderUnavailable
from gateway.providers.interface import Answer, Family, Opaque, Prompt, Unsupported
from gateway.providers.routing.resolution import ResolvedModel
from gateway.runs.execution import RunExecution, RunLost
from gateway.runs.rows import storable
from gateway.runs.view import TurnView
from tenants.switches.errors import Killed
from tenants.switches.on import Subject, Switch, killed

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """An answer and who gave it; `failed` are the models that were asked before, each with why it failed."""

    answer: Answer
    family: Family
    latency_ms: int
    model: str
    price: Price | None
    failed: tuple[tuple[str, str], ...] = ()


def not_killed(
    candidates: Sequence[ResolvedModel], switches: Iterable[Switch], user_id: uuid.UUID, agent: str
) -> tuple[ResolvedModel, ...]:
    """The candidates that no kill switch stops. Raises Killed when none is left."""
    known = tuple(switches)
    if not known:
        return tuple(candidates)
    stopped = [killed(known, Subject(user_id, agent, each.name)) for each in candidates]
    found = tuple(each for each, switch in zip(candidates, stopped, strict=True) if switch is None)
    if not found and stopped[0] is not None:
        raise Killed(stopped[0])
    return found


async def ask(execution: RunExecution, turn: TurnView, prompt: Prompt) -> ModelAnswer:
    """Ask for a turn. What comes of it is put into the turn's view as it comes.

    Raises UnknownModel, ModelNotAllowed and BudgetRefusal for the run's own model, Killed when every model is stopped,
    RunLost when the run is not ours any more; else what the last model that was asked raised: ProviderError,
    Unsupported, or TimeoutError when the run's time is over.
    """
    began = time.monotonic()
    candidates = await execution.ports.route(execution)
    refuse_other_models(execution, prompt)
    failed: list[tuple[str, str]] = []
    failure: Exception | None = None
    for at, candidate in enumerate(candidates):
        if failure is not None and not await execution.ports.still_ours(execution):
            raise RunLost
        try:
            price = prices.of(candidate.kind, candidate.model, candidate.price)
            answer, family = await _ask_one(execution, turn, candidate, prompt, price, last=at + 1 == len(candidates))
            latency_ms = round((time.monotonic() - began) * 1000)
            return ModelAnswer(answer, family, latency_ms, candidate.name, price, tuple(failed))
        except (Unsupported, BudgetRefusal) as refusal:
            # Of the run's own model, it is the run's end; of a fallback, this one is passed over.
            if failure is None:
                raise
            why: Exception = failure
            failed.append((candidate.name, refusal.message if isinstance(refusal, Unsupported) else refusal.detail))
        except ProviderError as error:
            why = error
            failed.append((candidate.name, error.message))
            if not _helps(error) or ((turn.length or turn.heard) and execution.view.run.surface):
                break
        failure = why
        log.warning("model failed", extra={"model": candidate.name, "run_id": str(execution.view.id)})
    assert failed
    raise _with_all(why, failed)


def refuse_other_models(execution: RunExecution, prompt: Prompt) -> None:
    """Refuse fields that have a provider choose another model. Raises OtherModelsAsked."""
    if execution.routing is not None:
        run_by_provider = tuple(tool.raw for tool in prompt.client_tools if tool.parameters is None)
        execution.routing.refuse_other_models(prompt.options, run_by_provider)


async def _ask_one(
    execution: RunExecution,
    turn: TurnView,
    candidate: ResolvedModel,
    prompt: Prompt,
    price: Price | None,
    *,
    last: bool,
) -> tuple[Answer, Family]:
    """Ask one model, again where that may help. One that has not begun to answer when half of the run's time is over
    is given up, unless it is the last."""
    view = execution.view
    if turn.length or turn.heard:
        turn.restart()
        view.changed()
    fitting = media.fitted(replace(prompt, model=candidate.model), candidate.name, candidate.kind)
    provider = execution.ports.within_budgets(execution, candidate.adapter, turn.number, candidate.name, price)

    # The last one has all of the run's time.
    patience = None if last else asyncio.timeout(execution.seconds_left / 2)

    def begun() -> None:
        if patience is not None and not patience.expired():
            patience.reschedule(None)

    def hear(text: str) -> None:
        begun()
        turn.say(storable(text))
        view.changed()

    def see(part: Opaque) -> None:
        begun()
        turn.heard.append(part)
        view.changed()

    def restart() -> None:
        turn.restart()
        view.changed()

    try:
        async with patience or nullcontext():
            answer = await retry.ask(
                provider,
                fitting,
                hear if execution.streams else None,
                see,
                seconds=execution.seconds_left,
                # What a compatible API's client has read cannot be taken back.
                on_restart=None if view.run.surface else restart,
            )
    except TimeoutError:
        if patience is None or not patience.expired():
            raise
        raise ProviderUnavailable(f"{candidate.slug} did not begin to answer in time.") from None
    return answer, provider.family


def _helps(error: ProviderError) -> bool:
    """Whether another model may answer what this one did not: not when it is the request that was refused."""
    return isinstance(error, ProviderMisconfigured) or not isinstance(error, ProviderRefused)


def _with_all(error: Exception, failed: list[tuple[str, str]]) -> Exception:
    """The failure, naming the models that were asked before."""
    if isinstance(error, ProviderError) and len(failed) > 1:
        error.message = f"{error.message} These models were asked: {', '.join(name for name, _ in failed)}."
    return error
