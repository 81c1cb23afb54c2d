"""The text of turns under way, from the process that drives a run to those whose clients watch it.

A process whose clients watch a run that it does not drive announces so every second, with how much of the text it has.
The driver's process publishes what comes after that, on a channel of the announcer's own, until the announcements stop.
While nobody announces a run, its text costs Redis nothing. Redis stores none of it: what gets lost is sent again after
the next announcement, and is in the rows when the turn ends.
"""

import asyncio
import logging
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import orjson
from redis.exceptions import RedisError

from gateway.models import Run
from gateway.runs.view import RunView, TurnView, show
from tools.invocation.live import wakeups
from tools.network import redis

log = logging.getLogger(__name__)

INTEREST = "toolgate:watched"
ANNOUNCE_SECONDS = 1.0
INTEREST_SECONDS = 5.0
COALESCE_SECONDS = 0.1
LONGEST_PIECE = 16_384
_LEAST_PAUSE = 0.02


@dataclass(slots=True)
class _Reached:
    """How much of a run's text another process has, and until when it wants more."""

    until: float
    turn: int
    attempt: int
    length: int


@dataclass(slots=True, eq=False)
class _Driven:
    """A run that this process drives, and the processes that watch it, by channel."""

    view: RunView
    watchers: dict[str, _Reached] = field(default_factory=dict)
    sender: asyncio.Task[None] | None = None
    wake: asyncio.Event | None = None


@dataclass(slots=True, eq=False)
class _Followed:
    """A run that another process drives: its turn under way, as far as it is known here, and the views that show it."""

    turn: TurnView | None = None
    views: list[RunView] = field(default_factory=list)

    @property
    def driven(self) -> bool:
        """Whether anybody drives the run; one that waits for humans has no text under way."""
        return any(view.run.status == Run.Status.IN_PROGRESS for view in self.views)


class Relay:
    """One event loop's part: sends the text of the runs that it drives, receives that of the runs that it follows.

    `behind` is told of a run whose text is further than the rows that are shown of it.
    """

    def __init__(self, behind: Callable[[uuid.UUID], None] = lambda run_id: None) -> None:
        self._behind = behind
        self.channel = f"toolgate:text:{uuid.uuid4().hex}"
        self.subscribed = asyncio.Event()
        self._driven: dict[uuid.UUID, _Driven] = {}
        self._followed: dict[uuid.UUID, _Followed] = {}
        self._announcer: asyncio.Task[None] | None = None
        self._ask = asyncio.Event()

    # --- the driver's side -------------------------------------------------------------------------------------------
    @contextmanager
    def driving(self, view: RunView) -> Iterator[None]:
        """Send the run's text to whoever announces that it watches."""
        driven = self._driven[view.id] = _Driven(view)
        try:
            yield
        finally:
            if self._driven.get(view.id) is driven:
                del self._driven[view.id]
            if driven.sender is not None:
                driven.sender.cancel()

    def watched(self, run_id: uuid.UUID) -> bool:
        """Whether another process watches a run that this one drives."""
        return run_id in self._driven and bool(self._driven[run_id].watchers)

    def heed(self, data: bytes) -> None:
        """Take an announcement: `{"to": channel, "runs": [[run, turn, attempt, length], ...]}`."""
        with suppress(ValueError, TypeError, KeyError):
            said = orjson.loads(data)
            until = time.monotonic() + INTEREST_SECONDS
            for run, turn, attempt, length in said["runs"]:
                driven = self._driven.get(uuid.UUID(run))
                if driven is None:
                    continue
                driven.watchers[str(said["to"])] = _Reached(until, int(turn), int(attempt), int(length))
                if driven.sender is None:
                    driven.sender = asyncio.create_task(self._send(driven))
                elif driven.wake is not None:
                    driven.wake.set()

    async def _send(self, driven: _Driven) -> None:
        view = driven.view
        committed = view.run.turns
        try:
            with view.watched() as driven.wake:
                while True:
                    driven.wake.clear()
                    now = time.monotonic()
                    driven.watchers = {to: each for to, each in driven.watchers.items() if each.until > now}
                    if not driven.watchers:
                        return
                    if view.run.turns != committed:
                        # The rest of the turn's text is in the rows, and its calls are.
                        committed = view.run.turns
                        await wakeups.publish(view.id)
                    for to, reached in list(driven.watchers.items()):
                        await _send_rest(view, to, reached)
                    await asyncio.sleep(COALESCE_SECONDS)
                    with suppress(TimeoutError):
                        async with asyncio.timeout(INTEREST_SECONDS):
                            await driven.wake.wait()
        except (RedisError, OSError) as away:
            log.warning("text not passed on", extra={"run_id": str(view.id), "why": type(away).__name__})
            # Who still watches will say so again.
            driven.watchers.clear()
        finally:
            driven.sender = driven.wake = None

    # --- the watchers' side ------------------------------------------------------------------------------------------
    @contextmanager
    def following(self, view: RunView) -> Iterator[None]:
        """Show the run's turn under way in a view whose run another process drives; its reader is authorised."""
        followed = self._followed.setdefault(view.id, _Followed())
        followed.views.append(view)
        if not show(view, followed.turn):
            self._behind(view.id)
        self.ask()
        try:
            yield
        finally:
            followed.views.remove(view)
            if not followed.views:
                del self._followed[view.id]

    def under_way(self, run_id: uuid.UUID) -> TurnView | None:
        """The turn that another process has under way, as far as it is known here."""
        followed = self._followed.get(run_id)
        return followed.turn if followed is not None else None

    def ask(self) -> None:
        """Announce at once what is followed here."""
        self._ask.set()
        if self._announcer is None:
            self._announcer = asyncio.create_task(self._announce())

    async def _announce(self) -> None:
        try:
            while self._followed:
                # What is sent before would be lost.
                await self.subscribed.wait()
                self._ask.clear()
                runs = [[run_id.hex, *_reached(each.turn)] for run_id, each in self._followed.items() if each.driven]
                try:
                    if runs:
                        await redis.client().publish(INTEREST, orjson.dumps({"to": self.channel, "runs": runs}))
                except (RedisError, OSError) as away:
                    log.warning("watching not announced", extra={"why": type(away).__name__})
                    await asyncio.sleep(ANNOUNCE_SECONDS)
                await asyncio.sleep(_LEAST_PAUSE)
                with suppress(TimeoutError):
                    async with asyncio.timeout(ANNOUNCE_SECONDS):
                        await self._ask.wait()
        finally:
            self._announcer = None

    def receive(self, data: bytes | None) -> None:
        """Take a piece of text, `{"run", "turn", "attempt", "at", "text"}`; None: from now on pieces reach us."""
        if data is None:
            self.subscribed.set()
            self._ask.set()
            return
        with suppress(ValueError, TypeError, KeyError):
            piece = orjson.loads(data)
            followed = self._followed.get(uuid.UUID(piece["run"]))
            if followed is not None:
                self._take(followed, piece["turn"], piece["attempt"], piece["at"], piece["text"])

    def _take(self, followed: _Followed, number: int, attempt: int, at: int, text: str) -> None:
        turn = followed.turn
        new_turn = turn is None or (turn.number, turn.attempt) < (number, attempt)
        if turn is None or new_turn:
            turn = followed.turn = TurnView(number, attempt)
        elif (turn.number, turn.attempt) > (number, attempt):
            return
        if at > turn.length:
            # What comes before it was lost.
            self.ask()
        elif new := text[turn.length - at :]:
            turn.say(new)
        shown = [show(view, turn) for view in followed.views]
        if new_turn and not all(shown):
            self._behind(followed.views[0].id)


def _reached(turn: TurnView | None) -> tuple[int, int, int]:
    return (0, 0, 0) if turn is None else (turn.number, turn.attempt, turn.length)


async def _send_rest(view: RunView, to: str, reached: _Reached) -> None:
    """Send what a process does not have of the turn under way. Raises RedisError, OSError."""
    turn = view.last
    if turn is None or turn.number <= view.run.turns:
        return
    number, attempt = turn.number, turn.attempt
    begun = (reached.turn, reached.attempt) == (number, attempt)
    at = reached.length if begun else 0
    text = turn.after(at)
    if begun and not text:
        return
    for start in range(0, max(len(text), 1), LONGEST_PIECE):
        piece = {"run": view.id.hex, "turn": number, "attempt": attempt, "at": at + start}
        piece["text"] = text[start : start + LONGEST_PIECE]
        await redis.client().publish(to, orjson.dumps(piece))
    reached.turn, reached.attempt, reached.length = number, attempt, at + len(text)
