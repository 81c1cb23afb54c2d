"""Whose turn it is at the database: few at a time, first come, first served."""

import asyncio

# Longer than what a call or a chat does at a time, also on a busy machine.
MOMENT_SECONDS = 0.02


class Turns:
    """At most `count` have a turn at a time, and the others wait for theirs.

    A backend that works fills a processor's caches with what it knows, so many that work a little in turn push out each
    other's all the time. Who takes longer than a moment is not counted any more, whatever it waits for: nobody waits
    for a lock that another one holds, nor for a download.
    """

    def __init__(self, count: int):
        self.count = count
        # Since when they are counted, the first of them first.
        self._counted: dict[object, float] = {}
        self._waiting: dict[object, asyncio.Future[None]] = {}
        self._timer: asyncio.TimerHandle | None = None

    def at_once(self) -> object | None:
        """A turn, which lasts until its `end`; None where that has to be waited for."""
        if self._waiting or len(self._counted) >= self.count:
            return None
        turn = object()
        self._counted[turn] = asyncio.get_running_loop().time()
        return turn

    async def take(self) -> object:
        """The same, waiting for it."""
        if (free := self.at_once()) is not None:
            return free
        turn = object()
        granted = self._waiting[turn] = asyncio.get_running_loop().create_future()
        self._watch()
        try:
            await granted
        except asyncio.CancelledError:
            self._waiting.pop(turn, None)
            self.end(turn)
            raise
        return turn

    def end(self, turn: object) -> None:
        """Give the turn to whoever waits for one."""
        self._counted.pop(turn, None)
        self._grant()

    def _grant(self) -> None:
        while self._waiting and len(self._counted) < self.count:
            turn = next(iter(self._waiting))
            granted = self._waiting.pop(turn)
            if not granted.done():
                self._counted[turn] = granted.get_loop().time()
                granted.set_result(None)

    def _watch(self) -> None:
        """Look again when the first of those who have a turn has had it for a moment, as long as others wait."""
        if self._timer is None and self._waiting:
            first = next(iter(self._counted.values()))
            self._timer = asyncio.get_running_loop().call_at(first + MOMENT_SECONDS, self._pass_over)

    def _pass_over(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time()
        for turn in [each for each, since in self._counted.items() if now - since >= MOMENT_SECONDS]:
            if self._waiting:
                del self._counted[turn]
                self._grant()
        self._watch()
