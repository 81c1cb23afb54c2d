"""The model loop: ask for a turn, let the gates judge its calls, wait for them, feed back, until the run is over.

The same loop runs in the web process for a live request and in a worker for a run that nobody drives any
more; it starts from the rows alone, and every write carries the driver's fence.
"""

import asyncio
import logging
import re
import time
import uuid
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cache

from django.conf import settings

from audit import recorder
from audit.recorder import Failure, NewCall, Place
from gateway import prompts, records
from gateway.providers import retry
from gateway.providers.errors import ProviderError, ProviderGarbled, ProviderRateLimited
from gateway.providers.interface import Answer, Prompt, PromptMessage
from gateway.providers.registry import Providers, UnknownModel
from gateway.view import Row, RunView, TurnView, attempt_of
from gateway.waits import waits
from tenants.scoping import Scope, transaction
from tools import pipeline, policy
from tools.dispatch import dispatch
from tools.gates import Caller
from tools.ordering import next_batch
from tools.pipeline import Suggestion
from tools.policy import Policy

log = logging.getLogger(__name__)

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")

SYSTEM = (
    "You can use tools. The gateway decides whether a call runs and tells you when it does not; "
    "never claim that it did."
)


# A turn that suggests more calls than this is no honest one; each of them would be a row.
MOST_CALLS = 1000


class RunLost(Exception):
    """Somebody else drives or ended the run: whatever we know of it is old."""


@cache
def providers() -> Providers:
    """This process's providers."""
    return Providers.from_settings(settings)


@dataclass(slots=True)
class Drive:
    """A run in our hands: what is shown to the model before this run's own turns, and when its time is over.

    `streams`: somebody wants the text as it comes. `known` is the policy as of the last look at it.
    `woken` is set when the run's calls may have changed; `sent`: calls were sent and not looked at since.
    """

    view: RunView
    scope: Scope
    shown: list[PromptMessage]
    deadline: float
    streams: bool
    known: Policy | None = None
    woken: asyncio.Event = field(default_factory=asyncio.Event)
    sent: bool = False

    @property
    def seconds_left(self) -> float:
        """Of the run's time budget."""
        return self.deadline - time.monotonic()


async def drive(it: Drive) -> None:
    """Take the run to its end. Raises RunLost when it is not ours any more."""
    try:
        with waits().for_run(it.view.id) as it.woken:
            await _to_the_end(it)
    except TimeoutError:
        await _out_of_time(it)
    except ProviderError as error:
        log.warning("provider failed", extra={"why": error.message, "run_id": str(it.view.id)})
        status = 429 if isinstance(error, ProviderRateLimited) else 502
        _void(it.view)
        await end(it, records.end_values("failed", "", error=("provider_error", error.message, status)))
    except UnknownModel as unknown:
        _void(it.view)
        await end(it, records.end_values("failed", "", error=("unknown_model", unknown.message, 404)))


async def _to_the_end(it: Drive) -> None:
    while not it.view.final:
        last = it.view.last
        if last is not None and not _all_final(last):
            await _await_calls(it, last)
        elif len(it.view.turns) >= it.view.row["profile"]["max_turns"]:
            await end(it, records.end_values("incomplete", _said(it), incomplete_reason="max_turns"))
        else:
            await _turn(it)


def _all_final(turn: TurnView) -> bool:
    return all(call["status"] in ("success", "error") for call in turn.calls)


def _said(it: Drive) -> str:
    return it.view.turns[-1].text if it.view.turns else ""


async def _out_of_time(it: Drive) -> None:
    """End the run, keeping what the model had said of the turn that it was asked for."""
    view = it.view
    values = records.end_values("incomplete", _said(it), incomplete_reason="time")
    asked = view.turns[-1] if len(view.turns) > view.row["turns"] else None
    if asked is None or not asked.text:
        _void(view)
        await end(it, values)
        return
    answer = Answer(asked.text, finish_reason="cut_off")
    async with transaction(it.scope) as connection:
        cut = records.turn_values(uuid.uuid4(), asked.attempt, answer, 0)
        row = await records.commit_last_turn(connection, view.row, cut, values)
    _advance(view, row)


def _void(view: RunView) -> None:
    """Drop the turn that was asked for and never answered."""
    if len(view.turns) > view.row["turns"]:
        view.turns.pop()


async def _turn(it: Drive) -> None:
    """Ask the model once, and commit what it answered before anything comes of it."""
    view = it.view
    provider, model = providers().resolve(view.row["model"])
    if it.known is None:
        it.known = await _policy(it)
    prompt = Prompt(
        model=model,
        system="\n\n".join(filter(None, [view.row["profile"]["instructions"], SYSTEM])),
        messages=(*it.shown, *prompts.of_run(view, view.row["profile"]["max_result_bytes"])),
        tools=tuple(tool.spec for tool in pipeline.offered(it.known)),
    )
    turn = TurnView(len(view.turns) + 1, attempt_of(view.row["fence"]))
    view.turns.append(turn)

    def hear(text: str) -> None:
        turn.say(_storable(text))
        view.changed()

    def restart() -> None:
        turn.restart()
        view.changed()

    began = time.monotonic()
    answer = await retry.ask(
        provider, prompt, hear if it.streams else None, seconds=it.seconds_left, on_restart=restart
    )
    answer = replace(answer, text=_storable(answer.text))
    if len(answer.calls) > MOST_CALLS:
        raise ProviderGarbled(f"The model suggested {len(answer.calls)} calls in one turn; {MOST_CALLS} are the most.")
    if turn.text != answer.text:
        turn.pieces, turn.length = [answer.text], len(answer.text)
    latency_ms = round((time.monotonic() - began) * 1000)
    values = records.turn_values(uuid.uuid4(), turn.attempt, answer, latency_ms)
    if answer.calls:
        await _commit_calls(it, turn, answer, values)
    else:
        reason = "tokens" if answer.finish_reason == "length" else None
        end = records.end_values("incomplete" if reason else "completed", answer.text, incomplete_reason=reason)
        async with transaction(it.scope) as connection:
            row = await records.commit_last_turn(connection, view.row, values, end)
        _advance(view, row)


def _storable(text: str) -> str:
    """A model's text as PostgreSQL can keep it: NUL and lone surrogates become U+FFFD."""
    return _UNSTORABLE.sub("\ufffd", text)


async def _commit_calls(it: Drive, turn: TurnView, answer: Answer, values: Row) -> None:
    """Judge the turn's calls by the policy that stands when they are committed, and send the first ones."""
    row = it.view.row
    place = Place(*it.scope, row["conversation_id"], row["message_id"], row["id"], turn.number)
    while True:
        rights = it.known or await _policy(it)
        judged = await _judged(it, answer, rights)
        queued = next_batch((call.id, call.tool_name, call.refusal is not None) for call in judged)
        async with transaction(it.scope) as connection:
            it.known = await policy.load(connection, it.scope.user_id, row["profile"]["tools"])
            if it.known != rights:
                # Somebody changed the rules while the model thought: judge again, by today's.
                continue
            fresh = await records.commit_turn(connection, row, values)
            if fresh is None:
                raise RunLost
            turn.calls = await recorder.propose(connection, place, judged, frozenset(queued))
        break
    _advance(it.view, fresh)
    await _dispatch(it, turn, queued)


async def _judged(it: Drive, answer: Answer, rights: Policy) -> list[NewCall]:
    earlier = (call for turn in it.view.turns for call in turn.calls)
    return await pipeline.judge(
        [Suggestion(call.name, call.arguments) for call in answer.calls],
        rights,
        Caller(*it.scope),
        earlier_failures=Counter(call["tool_name"] for call in earlier if call["error_code"] == "validation_error"),
        most_seconds=it.view.row["profile"]["tool_seconds"],
    )


async def _await_calls(it: Drive, turn: TurnView) -> None:
    """Wait until the turn's calls are final, sending the next ones when it is their turn."""
    async with asyncio.timeout(max(0.0, it.seconds_left)):
        while True:
            if it.sent:
                await it.woken.wait()
            it.woken.clear()
            async with transaction(it.scope) as connection:
                turn.calls = await records.calls(connection, it.view.id, turn.number)
                batch = next_batch((call["id"], call["tool_name"], _is_final(call)) for call in turn.calls)
                due = [call["id"] for call in turn.calls if call["id"] in batch and call["status"] == "proposed"]
                ready = await recorder.enqueue(connection, due) if due else []
            it.sent = False
            it.view.changed()
            if not batch:
                return
            await _dispatch(it, turn, ready)


def _is_final(call: Row) -> bool:
    return call["status"] in ("success", "error")


async def _dispatch(it: Drive, turn: TurnView, ids: list[uuid.UUID]) -> None:
    it.sent = True
    await dispatch([(*it.scope, call["id"], call["tool_name"]) for call in turn.calls if call["id"] in ids])


async def _policy(it: Drive) -> Policy:
    async with transaction(it.scope) as connection:
        return await policy.load(connection, it.scope.user_id, it.view.row["profile"]["tools"])


async def end(it: Drive, values: Row) -> None:
    """End the run; calls that nobody has begun are withdrawn in the same transaction."""
    stopped = Failure("cancelled", "The run ended before this call began.", display="The run ended before it began.")
    async with transaction(it.scope) as connection:
        row = await records.finish(connection, it.view.row, values)
        if row is not None and it.view.turns:
            await recorder.withdraw(connection, it.view.id, stopped)
            for turn in it.view.turns:
                if turn.calls and not _all_final(turn):
                    turn.calls = await records.calls(connection, it.view.id, turn.number)
    _advance(it.view, row)


def _advance(view: RunView, row: Row | None) -> None:
    if row is None:
        raise RunLost
    view.row = row
    view.changed()
