"""A run in the hands of the process that drives it."""

import asyncio
import time
from dataclasses import dataclass, field

from approvals.rights import Rights
from gateway.providers.interface import PromptMessage
from gateway.view import Row, RunView
from tenants.scoping import Scope
from tools.gates import Caller


class RunLost(Exception):
    """Somebody else drives or ended the run: whatever we know of it is old."""


@dataclass(slots=True)
class Drive:
    """A run in our hands: what is shown to the model before this run's own turns, and when its time is over.

    `streams`: somebody wants the text as it comes. `known` are the user's rights as of the last look at them.
    `woken` is set when the run's calls may have changed; `sent`: calls were sent and not looked at since.
    """

    view: RunView
    scope: Scope
    shown: list[PromptMessage]
    deadline: float
    streams: bool
    known: Rights | None = None
    woken: asyncio.Event = field(default_factory=asyncio.Event)
    sent: bool = False

    @property
    def caller(self) -> Caller:
        """Who calls the run's tools."""
        return Caller(*self.scope, agent=self.view.row["profile"].get("slug", ""))

    @property
    def seconds_left(self) -> float:
        """Of the run's time budget."""
        return self.deadline - time.monotonic()


def advance(view: RunView, row: Row | None) -> None:
    """Go on with the run's new row; raises RunLost without one."""
    if row is None:
        raise RunLost
    view.row = row
    view.changed()
